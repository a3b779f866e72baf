"""Mappings that see a scheme as one list of partitions: identity, time, all, last, specific, table.

Works on ordinals. What is needed but does not exist is kept apart: windows of a time scheme outside its existing
range as ordinals beyond it, any other key as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import assert_never

from partita.assets.errors import DefinitionError
from partita.assets.mappings import windows
from partita.assets.mappings.definitions import (
    All,
    DimensionMapping,
    Identity,
    Last,
    Rolling,
    Specific,
    StaticTable,
    TimeOverlap,
)
from partita.assets.partitions.sets import PartitionSet
from partita.assets.partitions.space import PartitionSpace
from partita.assets.partitions.time import TimeSpace

_NONE = PartitionSet.empty()


@dataclass(frozen=True, slots=True)
class Needed:
    """Upstream partitions that are needed: `beyond` are ordinals of windows that do not exist (they may be negative)."""

    existing: PartitionSet
    beyond: PartitionSet = _NONE
    unknown: tuple[str, ...] = ()


def upstream(mapping: DimensionMapping, down: PartitionSpace, up: PartitionSpace, cells: PartitionSet) -> Needed:
    """What a non-empty set of downstream partitions needs."""
    match mapping:
        case Identity():
            return _same_keys(down, up, cells)
        case TimeOverlap() | Rolling():
            found = windows.needed(mapping, *_times(down, up), cells.ranges)
            if mapping.edge == "clip" and found and found.first < 0:
                found -= PartitionSet(((found.first, 0),))
            return _split(found, up)
        case All():
            return Needed(up.all())
        case Last():
            return Needed(up.latest(1))
        case Specific(keys):
            return _named(up, keys)
        case StaticTable():
            needs = (mapping.needs.get(down.key_at(cell), ()) for cell in cells)
            return _named(up, dict.fromkeys(chain.from_iterable(needs)))
    assert_never(mapping)


def downstream(
    mapping: DimensionMapping, down: PartitionSpace, up: PartitionSpace, cells: PartitionSet
) -> PartitionSet:
    """The existing downstream partitions that need any of a non-empty set of existing upstream partitions."""
    match mapping:
        case Identity():
            return _same_keys(up, down, cells).existing
        case TimeOverlap() | Rolling():
            return windows.needing(mapping, *_times(down, up), cells.ranges) & down.all()
        case All() | Last() | Specific():
            return down.all() if upstream(mapping, down, up, cells).existing & cells else PartitionSet.empty()
        case StaticTable():
            touched = (mapping.touches.get(key, ()) for key in up.keys_of(cells))
            return _named(down, dict.fromkeys(chain.from_iterable(touched))).existing
    assert_never(mapping)


def absent_keys(needed: Needed, up: PartitionSpace, limit: int) -> Iterator[str]:
    """The first keys that are needed but do not exist, as people would write them."""
    return islice(chain(map(up.label_at, needed.beyond), needed.unknown), limit)


def check(mapping: DimensionMapping, down: PartitionSpace, up: PartitionSpace) -> None:
    """Raise DefinitionError when the mapping does not fit the spaces."""
    if isinstance(mapping, TimeOverlap | Rolling):
        _times(down, up)


def _times(down: PartitionSpace, up: PartitionSpace) -> tuple[TimeSpace, TimeSpace]:
    if isinstance(down, TimeSpace) and isinstance(up, TimeSpace):
        return down, up
    side, wrong = ("upstream", up) if isinstance(down, TimeSpace) else ("downstream", down)
    raise DefinitionError(
        f"a time overlap meets a scheme without time {side}: {wrong!r}",
        rule="TimeOverlap and Rolling relate two time schemes",
        fix="map by dimension, or use All",
    )


def _same_keys(down: PartitionSpace, up: PartitionSpace, cells: PartitionSet) -> Needed:
    if isinstance(down, TimeSpace) and isinstance(up, TimeSpace) and down.grid is up.grid and down.whole and up.whole:
        return _split(cells.shift(down.base - up.base), up)
    if down.same_partitions(up):
        return Needed(cells)
    return _named(up, down.keys_of(cells))


def _split(needed: PartitionSet, up: PartitionSpace) -> Needed:
    existing = needed & up.all()
    return Needed(existing, needed - existing) if existing != needed else Needed(needed)


def _named(up: PartitionSpace, keys: Iterable[str]) -> Needed:
    found: list[int] = []
    unknown: list[str] = []
    for key in keys:
        ordinal = up.find(key)
        if ordinal is None:
            unknown.append(key)
        else:
            found.append(ordinal)
    return Needed(PartitionSet.from_ordinals(found), unknown=tuple(unknown))
