"""Several upstream dimensions that follow one downstream dimension: carried as boxes, equal to what each cell needs by itself."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.assets import (
    All,
    Daily,
    DimensionPair,
    Dimensions,
    Hourly,
    Identity,
    Last,
    Mapping,
    Multi,
    PartitionsDef,
    PartitionSet,
    Rolling,
    Specific,
    Static,
    StaticTable,
    TimeOverlap,
    space_of,
    upstream_of,
)
from partita.assets.mappings.definitions import DimensionMapping
from partita.assets.partitions.definitions import SinglePartitions
from partita.core.catalog import EdgeMap, set_of
from partita.core.catalog.axes import AxesEdge

AS_OF = datetime(2024, 1, 12, tzinfo=UTC)
DAYS = Daily("2024-01-01", end="2024-01-05")
HOURS = Hourly("2024-01-02", end="2024-01-04")
A, B, C = Static("a", "b", "c"), Static("c", "a"), Static("b", "x", "a", "c")
SECOND: tuple[SinglePartitions, ...] = (A, DAYS)
KEYS = ("a", "b", "c", "x", "gone")


@st.composite
def mappings(draw: st.DrawFn) -> tuple[PartitionsDef, PartitionsDef, Mapping]:
    """Two or three of the upstream dimensions follow the same downstream dimension, by tables of any form."""
    schemes = draw(st.lists(st.sampled_from([A, B, C]), min_size=2, max_size=3))
    down: dict[str, SinglePartitions] = {"p": draw(st.sampled_from([A, B, C])), "q": draw(st.sampled_from(SECOND))}
    up: dict[str, SinglePartitions] = {f"u{at}": scheme for at, scheme in enumerate(schemes)}
    pairs = [DimensionPair(name, "p", draw(st.one_of(tables, st.just(Identity())))) for name in up]
    if draw(st.booleans()):
        place = draw(st.integers(0, len(up)))
        timed = down["q"] == DAYS
        followed: st.SearchStrategy[DimensionMapping] = st.sampled_from(
            [TimeOverlap(0, 0), TimeOverlap(-1, 0), Rolling(2, "days", "clip")]
        )
        more = DimensionPair("t", "q", draw(followed)) if timed else DimensionPair("t", None, draw(alike))
        up = dict([*list(up.items())[:place], ("t", HOURS if timed else A), *list(up.items())[place:]])
        pairs.append(more)
    return Multi(**down), Multi(**up), Dimensions(tuple(draw(st.permutations(pairs))))


tables: st.SearchStrategy[DimensionMapping] = st.dictionaries(
    st.sampled_from(KEYS[:4]), st.sets(st.sampled_from(KEYS), max_size=3), max_size=4
).map(lambda found: StaticTable(tuple((key, tuple(sorted(ups))) for key, ups in found.items())))
alike: st.SearchStrategy[DimensionMapping] = st.sampled_from([All(), Last(), Specific(("a", "gone"))])


@given(asked=mappings(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=300)
def test_boxes_answer_as_each_cell_does(asked: tuple[PartitionsDef, PartitionsDef, Mapping], seed: int) -> None:
    down, up = space_of(asked[0], AS_OF), space_of(asked[1], AS_OF)
    edge = EdgeMap.compile(asked[2], down=down, up=up)
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 2**64, up.size, dtype=np.uint64)
    marked, chosen = draw.random(up.size) < 0.2, draw.random(down.size) < 0.3
    waves = draw.integers(-1, 9, up.size, dtype=np.int32)
    sums, hit, highest = edge.sums(values), edge.any(marked), edge.highest(waves)
    wanted: set[int] = set()
    for at in range(down.size):
        need = upstream_of(asked[2], down=down, up=up, cells=PartitionSet(((at, at + 1),)))
        found = list(need.existing)
        assert PartitionSet.from_ranges(edge.ranges_of(at)) == need.existing
        assert bool(edge.absent[at]) == (need.absent_count > 0)
        assert int(sums[at]) == sum(int(values[one]) for one in found) % 2**64
        assert bool(hit[at]) == bool(marked[found].any())
        assert int(highest[at]) == max((int(waves[one]) for one in found), default=-1)
        wanted |= set(found) if chosen[at] else set()
    assert set(set_of(edge.needed(chosen))) == wanted


def test_what_is_held_costs_by_the_dimensions_and_not_by_their_product() -> None:
    """Law 4: 400,000 cells downstream, 160,000 upstream; each holds 400 boxes of one element."""
    many = Static(*(f"s{at}" for at in range(400)))
    down, up = space_of(Multi(a=many, b=Static(*map(str, range(1000)))), AS_OF), space_of(Multi(x=many, y=many), AS_OF)
    same = Dimensions((DimensionPair("x", "a", Identity()), DimensionPair("y", "a", Identity())))
    edge = EdgeMap.compile(same, down=down, up=up)
    assert isinstance(edge, AxesEdge)
    assert edge.nbytes - edge.absent.nbytes < 400 * 100
    values = np.arange(up.size, dtype=np.uint64)
    assert edge.sums(values)[7 * 1000 + 3] == 7 * 400 + 7
    assert list(set_of(edge.needed(edge.any(values == 7 * 401)))) == [7 * 401]
