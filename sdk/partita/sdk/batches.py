"""Cuts the cells of a step into tasks by its batch policy, for runs in process.

Owns nothing but the cut; for deployed runs the planner makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import assert_never
from zoneinfo import ZoneInfo

from partita.assets import (
    AnyBatchSpec,
    BatchSpec,
    Mapping,
    MultiPartitions,
    PartitionSet,
    PartitionSpace,
    PerBatchSpec,
    SingleBatchSpec,
    TimePartitions,
    UpToBatchSpec,
    self_levels,
)

# Slices are counted in wall time of the dimension's zone, weeks from a Monday.
_MONDAY = datetime(1970, 1, 5)  # noqa: DTZ001
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001
_UNITS = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def tasks_of(batch: BatchSpec, space: PartitionSpace, cells: PartitionSet) -> list[list[int]]:
    """The ordinals of each task, in order of the first."""
    ordinals = list(cells)
    if isinstance(batch, SingleBatchSpec):
        return [[one] for one in ordinals]
    if isinstance(batch, AnyBatchSpec):
        return [ordinals] if ordinals else []
    if isinstance(batch, UpToBatchSpec):
        return [ordinals[first : first + batch.n] for first in range(0, len(ordinals), batch.n)]
    if isinstance(batch, PerBatchSpec):
        return _per(batch, space, ordinals)
    assert_never(batch)


def earlier_first(
    tasks: Sequence[Sequence[int]], space: PartitionSpace, mappings: Sequence[Mapping]
) -> list[list[int]]:
    """The tasks of a step that reads its own earlier partitions by these mappings, in order.

    No task holds a partition and one that it needs.
    """
    levels = [self_levels(one, space) for one in mappings]
    agree = all(level(one) == levels[0](one) for level in levels[1:] for task in tasks for one in task)
    at: Callable[[int], int] = levels[0] if agree else int
    parts = [list(group) for task in tasks for _, group in groupby(sorted(task, key=at), key=at)]
    return sorted(parts, key=lambda part: at(part[0]))


def _per(batch: PerBatchSpec, space: PartitionSpace, ordinals: Sequence[int]) -> list[list[int]]:
    definition = space.definition
    assert isinstance(definition, MultiPartitions)
    found: dict[tuple[object, ...], list[int]] = {}
    for ordinal in ordinals:
        keys = space.dimension_keys_at(ordinal)
        slice_of = tuple(
            _slice(
                batch.dims.get(name),
                scheme.tz if isinstance(scheme, TimePartitions) else "",
                keys[name],
                space,
                ordinal,
            )
            for name, scheme in definition.dims
        )
        found.setdefault(slice_of, []).append(ordinal)
    return list(found.values())


def _slice(size: str | None, tz: str, key: str, space: PartitionSpace, ordinal: int) -> object:
    if size is None:
        return key
    window = space.window_at(ordinal)
    if size == "all" or window is None:
        return None
    wall = window.start.astimezone(ZoneInfo(tz)).replace(tzinfo=None)
    unit = size.lstrip("0123456789")
    count = int(size.removesuffix(unit))
    if unit == "y":
        return wall.year // count
    if unit == "mo":
        return (wall.year * 12 + wall.month - 1) // count
    return (wall - (_MONDAY if unit == "w" else _EPOCH)) // (_UNITS[unit] * count)
