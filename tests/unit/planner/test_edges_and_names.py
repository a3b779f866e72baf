"""Compiled mappings and remembered names answer as the model does."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
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
    TimePartitions,
    Weekly,
    default_mapping,
    space_of,
    upstream_of,
)
from partita.assets.mappings.definitions import DimensionMapping, dims_of
from partita.core.catalog import EdgeMap, mask_of, set_of
from partita.core.catalog import names as remembered
from partita.core.catalog.names import names_of

AS_OF = datetime(2024, 1, 12, tzinfo=UTC)
DAYS = Daily("2024-01-01", end="2024-01-10")
ODD = Daily("2024-01-03", tz="Asia/Tokyo")
WEEKS = Weekly("2024-01-01")
LETTERS = Static("a", "b", 'ä, "c"')
GRID = Multi(day=DAYS, letter=LETTERS)
TURNED = Multi(letter=LETTERS, hour=Hourly("2024-01-01", end="2024-01-03"))
PAIRS = Multi(letter=LETTERS, other=LETTERS)
HOLED = Daily("2024-01-01", end="2024-01-10", exclude=["2024-01-04"])
SCHEMES: list[PartitionsDef | None] = [None, DAYS, HOLED, ODD, WEEKS, LETTERS, GRID, TURNED, PAIRS]


def _by_dimension(draw: st.DrawFn, down: PartitionsDef, up: PartitionsDef) -> list[Mapping]:
    """Each upstream dimension after any downstream dimension of its kind, or after none; two may follow one."""
    times = {"day", "hour"} | ({""} if down == DAYS else set())
    downs = [name for name, _ in dims_of(down)]
    pairs: list[DimensionPair] = []
    for name, _ in dims_of(up):
        alike = [one for one in downs if (one in times) == (name in times)]
        inner: list[DimensionMapping] = [Identity()] if name not in times else [TimeOverlap(-1, 0), TimeOverlap(-1, -1)]
        inner += (
            [StaticTable((("a", ("b", "gone")),))] if name not in times else [Rolling(2, "days", "clip", current=False)]
        )
        follows = draw(st.booleans())
        if alike and follows:
            pairs.append(DimensionPair(name, draw(st.sampled_from(alike)), draw(st.sampled_from(inner))))
            continue
        whole: list[DimensionMapping] = [All(), Last(), Specific(("a", "gone"))]
        pairs.append(DimensionPair(name, None, draw(st.sampled_from(whole))))
    return [Dimensions(tuple(pairs))]


@st.composite
def edges(draw: st.DrawFn) -> EdgeMap:
    down, up = draw(st.sampled_from(SCHEMES)), draw(st.sampled_from(SCHEMES))
    choices: list[Mapping] = [default_mapping(down, up), All(), Last()]
    if down in (DAYS, HOLED, ODD, WEEKS) and up in (DAYS, HOLED, ODD, WEEKS):
        choices += [
            TimeOverlap(-2, 0),
            TimeOverlap(-1, 1),
            TimeOverlap(-1, -1, "upstream"),
            TimeOverlap(-2, 0, edge="clip"),
            Rolling(3, "days"),
            Rolling(2, "weeks", "clip"),
            Rolling(3, "days", "clip", current=False),
        ]
    if down == up == LETTERS:
        choices += [StaticTable((("a", ("b", "gone")),)), Specific(("a", "gone"))]
    if down in (GRID, TURNED, PAIRS, DAYS, LETTERS) and up in (GRID, TURNED, PAIRS):
        choices += _by_dimension(draw, down, up)
    spaces = (space_of(down, AS_OF), space_of(up, AS_OF))
    return EdgeMap.compile(draw(st.sampled_from(choices)), down=spaces[0], up=spaces[0] if down == up else spaces[1])


@given(edge=edges(), data=st.data())
@settings(max_examples=100)
def test_a_compiled_mapping_answers_as_the_mapping_does(edge: EdgeMap, data: st.DataObject) -> None:
    """Every answer over whole assets equals the answer cell by cell."""
    needs = [
        upstream_of(edge.mapping, down=edge.down, up=edge.up, cells=PartitionSet(((at, at + 1),)))
        for at in range(edge.down.size)
    ]
    values = np.array(
        [data.draw(st.sampled_from([0, 1, 2**63, 2**64 - 1])) for _ in range(min(edge.up.size, 8))]
        + [7] * max(edge.up.size - 8, 0),
        dtype=np.uint64,
    )
    marked = np.array(
        [data.draw(st.booleans()) for _ in range(min(edge.up.size, 8))] + [False] * max(edge.up.size - 8, 0)
    )
    chosen = np.array([at % 3 == 0 for at in range(edge.down.size)])
    waves = np.arange(edge.up.size, dtype=np.int32) % 5 - 1
    for at, found in enumerate(needs):
        assert PartitionSet.from_ranges(edge.ranges_of(at)) == found.existing
        assert bool(edge.absent[at]) == (found.absent_count > 0)
        assert int(edge.sums(values)[at]) == sum(int(values[up]) for up in found.existing) % 2**64
        assert bool(edge.any(marked)[at]) == any(marked[up] for up in found.existing)
        assert int(edge.highest(waves)[at]) == max((int(waves[up]) for up in found.existing), default=-1)
        if at > 12:
            break
    needed = {up for at, found in enumerate(needs) if chosen[at] for up in found.existing}
    assert set(set_of(edge.needed(chosen))) == needed


@given(cells=st.sets(st.integers(0, 99)))
def test_masks_and_sets_are_two_forms_of_one_thing(cells: set[int]) -> None:
    chosen = PartitionSet.from_ordinals(cells)
    assert set_of(mask_of(chosen, 100)) == chosen


@given(scheme=st.sampled_from(SCHEMES), strange=st.text(max_size=5))
def test_names_answer_as_the_space_does(scheme: PartitionsDef | None, strange: str) -> None:
    space = space_of(scheme, AS_OF)
    names = names_of(space)
    for _ in range(2):  # the second time from memory
        for at in range(min(space.size, 20)):
            key = space.key_at(at)
            window = space.window_at(at)
            assert names.key(at) == key
            assert names.find(key) == at
            assert names.window(at) == (None if window is None else (window.start, window.end))
        found = space.find(strange)
        assert names.find(strange) == (-1 if found is None else found)


@given(
    scheme=st.sampled_from(
        [
            DAYS,
            HOLED,
            WEEKS,
            Hourly("2026-10-31", end="2026-11-03", tz="America/New_York"),
            Hourly("2026-03-07", end="2026-03-10", tz="America/New_York", exclude=["2026-03-08T05:00"]),
        ]
    ),
    closed=st.integers(0, 5),
    draw=st.data(),
)
def test_keys_looked_for_together_are_found_as_one_by_one(
    scheme: TimePartitions, closed: int, draw: st.DataObject
) -> None:
    """Also around clock changes, with holes, with keys of windows that do not exist yet or never will."""
    whole = space_of(scheme, datetime(2027, 1, 1, tzinfo=UTC))
    last = whole.window_at(whole.size - 1 - closed)
    assert last is not None
    space = space_of(scheme, last.end)
    keys = [whole.key_at(at) for at in range(whole.size)]
    asked = draw.draw(st.lists(st.sampled_from([*keys, "2024-01-04", "2024-W02", "nothing"]), max_size=60))
    asked = draw.draw(st.sampled_from([asked, sorted(asked), keys]))
    remembered._memories.clear()
    remembered._met.clear()
    found = names_of(space).ordinals(asked).tolist()
    assert found == [-1 if (at := space.find(key)) is None else at for key in asked]


def test_what_is_remembered_of_a_scheme_exists_only_where_it_exists() -> None:
    """One memory serves every instant: a window that closes later is not there before."""
    open_ended = Daily("2024-01-01")
    late, early = (space_of(open_ended, datetime(2024, 1, day, tzinfo=UTC)) for day in (9, 5))
    assert names_of(late).find("2024-01-07") == 6
    assert names_of(early).find("2024-01-07") == -1
    assert names_of(late).key(6) == "2024-01-07"
    assert names_of(late).window(6) is not None
    with pytest.raises(IndexError):
        names_of(early).key(6)
    with pytest.raises(IndexError):
        names_of(early).window(6)
    assert names_of(early).find("2024-01-05") == -1
    assert names_of(late).find("2024-01-05") == 4
