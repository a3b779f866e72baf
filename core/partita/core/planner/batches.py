"""Batches: how the planned partitions of a step become tasks, by the asset's `batch=`. Pure arithmetic on sets.

A slice of time such as "1d" is cut at local wall time in the zone of the dimension, so that the autumn day of 25 hours
is one task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from partita.assets import (
    AnyBatchSpec,
    BatchSpec,
    DefinitionError,
    PartitionSet,
    PartitionSpace,
    PerBatchSpec,
    SingleBatchSpec,
    UpToBatchSpec,
)
from partita.assets.partitions.multi import ProductSpace
from partita.assets.partitions.time import TimeSpace
from partita.core.catalog.edges import Ints
from partita.core.catalog.names import names_of
from partita.core.planner.sequences import OneEach

_DURATION = re.compile(r"(\d+)(min|h|d|w|mo|y)")
_MONDAY = datetime(1970, 1, 5)  # noqa: DTZ001 - a local wall time
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a local wall time


def batches_of(batch: BatchSpec, space: PartitionSpace, cells: PartitionSet) -> Sequence[PartitionSet]:
    """The tasks of the planned `cells`, each as its partitions, in order of their first ones."""
    if not cells:
        return ()
    match batch:
        case SingleBatchSpec():
            return OneEach(cells)
        case UpToBatchSpec():
            return tuple(_up_to(batch.n, cells))
        case AnyBatchSpec():
            return (cells,)
        case PerBatchSpec():
            return _per(batch, space, cells)


def one_level_each(batches: Sequence[PartitionSet], levels: Ints) -> Sequence[PartitionSet]:
    """The batches of a step that reads earlier partitions of itself: no task holds a partition and one that it needs.

    Of a time scheme each partition is a task; of a product those of one window stay together.
    """
    if isinstance(batches, OneEach):
        return batches
    found: list[PartitionSet] = []
    for batch in batches:
        ordinals = np.fromiter(batch, dtype=np.int64, count=len(batch))
        mine = levels[ordinals]
        found += [PartitionSet.from_ordinals(ordinals[mine == level].tolist()) for level in np.unique(mine)]
    return tuple(sorted(found, key=lambda one: one.first))


def _up_to(n: int, cells: PartitionSet) -> Iterator[PartitionSet]:
    part: list[tuple[int, int]] = []
    room = n
    for start, stop in cells.ranges:
        at = start
        while at < stop:
            taken = min(room, stop - at)
            part.append((at, at + taken))
            at, room = at + taken, room - taken
            if not room:
                yield PartitionSet(tuple(part))
                part, room = [], n
    if part:
        yield PartitionSet(tuple(part))


def _per(batch: PerBatchSpec, space: PartitionSpace, cells: PartitionSet) -> tuple[PartitionSet, ...]:
    ordinals = np.fromiter(cells, dtype=np.int64, count=len(cells))
    groups = np.zeros(len(ordinals), dtype=np.int64)
    for name, part, position in _dimensions(space, ordinals):
        rule = batch.dims.get(name, None) if name else next(iter(batch.dims.values()), None)
        if rule == "all":
            continue
        used, where = np.unique(position, return_inverse=True)
        slices = used if rule is None else _slices(part, used, rule)
        _, label = np.unique(slices, return_inverse=True)
        groups = groups * (int(label.max()) + 1) + label[where]
    order = np.argsort(groups, kind="stable")
    cuts = np.flatnonzero(np.diff(groups[order])) + 1
    found = [PartitionSet.from_ordinals(part.tolist()) for part in np.split(ordinals[order], cuts)]
    return tuple(sorted(found, key=lambda one: one.first))


def _dimensions(space: PartitionSpace, ordinals: Ints) -> list[tuple[str, PartitionSpace, Ints]]:
    """(name, space, position of each ordinal) of every dimension; a single scheme has one without a name."""
    if not isinstance(space, ProductSpace):
        return [("", space, ordinals)]
    positions = np.unravel_index(ordinals, space.sizes)
    return [
        (name, part, np.asarray(position, dtype=np.int64))
        for name, part, position in zip(space.dims, space.parts, positions, strict=True)
    ]


def _slices(space: PartitionSpace, ordinals: Ints, rule: str) -> Ints:
    """The number of the slice of time that each window starts in."""
    found = _DURATION.fullmatch(rule)
    if found is None or int(found[1]) < 1:
        raise DefinitionError(
            f"batch slice {rule!r} is not known", rule="a slice is 'all' or a number with min, h, d, w, mo or y"
        )
    if not isinstance(space, TimeSpace):
        raise DefinitionError(
            f"a batch slice of {rule!r} meets partitions without time: {space!r}", fix="use 'all', or leave it out"
        )
    zone, n, unit = ZoneInfo(space.definition.tz), int(found[1]), found[2]
    names = names_of(space)
    starts = (span[0] for one in ordinals.tolist() if (span := names.window(one)) is not None)
    walls = (start.astimezone(zone).replace(tzinfo=None) for start in starts)
    return np.array([_slice(wall, n, unit) for wall in walls], dtype=np.int64)


def _slice(wall: datetime, n: int, unit: str) -> int:
    if unit == "y":
        return wall.year // n
    if unit == "mo":
        return (wall.year * 12 + wall.month - 1) // n
    if unit == "w":
        return (wall - _MONDAY) // timedelta(weeks=n)
    step = {"d": timedelta(days=n), "h": timedelta(hours=n), "min": timedelta(minutes=n)}[unit]
    return (wall - _EPOCH) // step
