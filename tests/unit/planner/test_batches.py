"""Batches share the planned cells of a step out: each cell is in exactly one, cut as `batch=` says. By property."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from partita.assets import (
    AnyBatchSpec,
    Daily,
    Hourly,
    Monthly,
    Multi,
    PartitionsDef,
    PartitionSet,
    PartitionSpace,
    PerBatchSpec,
    ProductSpace,
    SingleBatchSpec,
    Static,
    UpToBatchSpec,
    Weekly,
    space_of,
)
from partita.core.planner.batches import batches_of

AS_OF = datetime(2025, 1, 1, tzinfo=UTC)
ZONE = "America/New_York"
HOURS = Hourly("2024-11-01", end="2024-11-06", tz=ZONE)  # clocks go back on the 3rd
DAYS = Daily("2024-02-20", end="2024-03-20", tz=ZONE)  # and forward on 10 March
SHOPS = Static("north", "south", "east/west", "a,b")
SCHEMES: list[PartitionsDef | None] = [
    HOURS,
    DAYS,
    Weekly("2024-01-01", end="2024-06-01", tz=ZONE),
    Monthly("2023-01-01", end="2025-01-01", tz=ZONE),
    SHOPS,
    None,
    Multi(hour=HOURS, shop=SHOPS),
    Multi(shop=SHOPS, day=DAYS),
    Multi(shop=Static("x", "y"), size=Static("s", "m", "l")),
]
SLICES = ["all", "6h", "1d", "3d", "1w", "1mo", "1y"]


@st.composite
def planned(draw: st.DrawFn) -> tuple[PartitionSpace, PartitionSet]:
    space = space_of(draw(st.sampled_from(SCHEMES)), AS_OF)
    cells = draw(st.sets(st.integers(0, space.size - 1), max_size=60))
    ranges = draw(st.lists(st.tuples(st.integers(0, space.size - 1), st.integers(1, 80)), max_size=3))
    chosen = PartitionSet.from_ordinals(cells) | PartitionSet.from_ranges((lo, lo + n) for lo, n in ranges)
    return space, chosen & space.all()


def shares_out(batches: tuple[PartitionSet, ...], cells: PartitionSet) -> bool:
    """Every cell in exactly one batch, none empty, in order of their first cells."""
    united = PartitionSet.from_ranges(one for batch in batches for one in batch.ranges)
    return (
        united == cells
        and sum(map(len, batches)) == len(cells)
        and all(batches)
        and all(one.first < two.first for one, two in pairwise(batches))
    )


@given(given_=planned(), n=st.integers(1, 50))
def test_single_up_to_and_any(given_: tuple[PartitionSpace, PartitionSet], n: int) -> None:
    space, cells = given_
    single = tuple(batches_of(SingleBatchSpec(), space, cells))
    assert shares_out(single, cells)
    assert all(len(one) == 1 for one in single)
    some = tuple(batches_of(UpToBatchSpec(n=n), space, cells))
    assert shares_out(some, cells)
    assert all(len(one) == n for one in some[:-1])
    assert all(len(one) <= n for one in some)
    assert all(max(one) < two.first for one, two in pairwise(some)), "whole stretches, in order"
    assert tuple(batches_of(AnyBatchSpec(), space, cells)) == ((cells,) if cells else ())


@given(given_=planned(), data=st.data())
def test_per_dimension(given_: tuple[PartitionSpace, PartitionSet], data: st.DataObject) -> None:
    """Two cells share a task exactly when they share the slice of every dimension; a dimension left out is cut one by one."""
    space, cells = given_
    parts = _parts(space)
    dims = {
        name: data.draw(st.sampled_from(SLICES if _timed(part) else ["all"]))
        for name, part in parts.items()
        if data.draw(st.booleans())
    }
    batches = tuple(batches_of(PerBatchSpec(dims=dims), space, cells))
    assert shares_out(batches, cells)
    slices = [{_slices(space, parts, dims, ordinal) for ordinal in batch} for batch in batches]
    assert all(len(found) == 1 for found in slices)
    assert len({next(iter(found)) for found in slices}) == len(batches)


def _parts(space: PartitionSpace) -> dict[str, PartitionSpace]:
    return dict(zip(space.dims, space.parts, strict=True)) if isinstance(space, ProductSpace) else {"": space}


def _timed(part: PartitionSpace) -> bool:
    return part.definition is not None and not isinstance(part.definition, type(SHOPS))


def _slices(
    space: PartitionSpace, parts: dict[str, PartitionSpace], dims: dict[str, str], ordinal: int
) -> tuple[Any, ...]:
    """The slice that a partition is in, by dimension, from the local wall time of its start."""
    found: list[Any] = []
    sizes = [part.size for part in parts.values()]
    for at, (name, part) in enumerate(parts.items()):
        below = 1
        for size in sizes[at + 1 :]:
            below *= size
        position = ordinal // below % part.size
        rule = dims.get(name)
        if rule == "all":
            continue
        window = None if rule is None else part.window_at(position)
        found.append(position if window is None else _slice(window.start, str(rule)))
    return tuple(found)


def _slice(start: datetime, rule: str) -> Any:
    wall = start.astimezone(ZoneInfo(ZONE)).replace(tzinfo=None)
    day = wall.date()
    return {
        "6h": (day, wall.hour // 6),
        "1d": day,
        "3d": (day - date(1970, 1, 1)).days // 3,
        "1w": day - timedelta(days=day.weekday()),
        "1mo": (day.year, day.month),
        "1y": day.year,
    }[rule]
