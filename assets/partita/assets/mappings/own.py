"""Self-dependencies: mappings of an asset onto its own earlier partitions, and the order that they give.

Along one dimension such a mapping reaches back in time, so no partition is on its own path, whatever its other dimensions
do. A table of keys may serve too, when it has no cycle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from partita.assets.errors import DefinitionError
from partita.assets.mappings.definitions import (
    DimensionMapping,
    DimensionPair,
    Dimensions,
    Mapping,
    Rolling,
    StaticTable,
    TimeOverlap,
)
from partita.assets.partitions.boxes import coordinates
from partita.assets.partitions.multi import ProductSpace
from partita.assets.partitions.space import PartitionSpace


def self_mapping(mapping: Mapping) -> Mapping:
    """The mapping of an asset onto itself: earlier partitions only, and none before the start.

    The current partition, which windows include, is left out. Raises DefinitionError when the mapping does not reach back in
    time, or reaches later partitions.

    >>> self_mapping(TimeOverlap(-7, 0))
    TimeOverlap(offset_start=-7, offset_end=-1, unit='downstream', edge='clip')
    """
    if isinstance(mapping, StaticTable):
        if _acyclic(mapping):
            return mapping
    elif not isinstance(mapping, Dimensions):
        back = _earlier(mapping)
        if back is not None:
            return back
    else:
        reaching = [pair for pair in mapping.pairs if _reaches_back(pair)]
        if not reaching:
            reaching = [pair for pair in mapping.pairs if pair.up == pair.down and _earlier(pair.mapping)][:1]
        if reaching:
            return Dimensions(tuple(_clipped(pair, reaching) for pair in mapping.pairs))
    raise DefinitionError(
        f"{type(mapping).__name__} maps an asset onto partitions of itself that are not earlier",
        rule="a self-dependency reaches earlier partitions only",
        fix="map it by time with an end offset of -1 or less, such as overlap(-1, -1)",
    )


def _earlier(mapping: DimensionMapping) -> TimeOverlap | Rolling | None:
    if isinstance(mapping, Rolling):
        return replace(mapping, edge="clip", current=False)
    if isinstance(mapping, TimeOverlap) and mapping.offset_start < 0 and mapping.offset_end <= 0:
        return replace(mapping, offset_end=min(mapping.offset_end, -1), edge="clip")
    return None


def _reaches_back(pair: DimensionPair) -> bool:
    """One dimension that reaches back is enough: whatever the others do, no partition is on its own path."""
    if pair.up != pair.down:
        return False
    if isinstance(pair.mapping, Rolling):
        return not pair.mapping.current
    return isinstance(pair.mapping, TimeOverlap) and pair.mapping.offset_end < 0


def _clipped(pair: DimensionPair, reaching: Sequence[DimensionPair]) -> DimensionPair:
    mapping = pair.mapping
    if pair in reaching:
        mapping = _earlier(mapping) or mapping
    elif isinstance(mapping, TimeOverlap | Rolling):
        mapping = replace(mapping, edge="clip")
    return DimensionPair(pair.up, pair.down, mapping)


def self_levels(mapping: Mapping, space: PartitionSpace) -> Callable[[int], int]:
    """How far along each partition is: what it needs of its own asset by a `self_mapping` lies on lower levels only.

    >>> days = space_of(Daily("2026-03-01"), datetime(2026, 3, 4, tzinfo=UTC))
    >>> level = self_levels(self_mapping(Rolling(7, "days")), days)
    >>> [level(day) for day in days.all()]
    [0, 1, 2]
    """
    if isinstance(mapping, StaticTable):
        depth = _depths(mapping)
        return lambda ordinal: depth.get(space.key_at(ordinal), 0)
    if isinstance(space, ProductSpace) and isinstance(mapping, Dimensions):
        names = [pair.up for pair in mapping.pairs if _reaches_back(pair)]
        at, sizes = space.dims.index(names[0]), space.sizes
        return lambda ordinal: coordinates(ordinal, sizes)[at]
    return lambda ordinal: ordinal


def _depths(table: StaticTable) -> dict[str, int]:
    depth: dict[str, int] = {}
    for key in TopologicalSorter(table.needs).static_order():
        depth[key] = 1 + max((depth[up] for up in table.needs.get(key, ())), default=-1)
    return depth


def _acyclic(table: StaticTable) -> bool:
    try:
        TopologicalSorter(table.needs).prepare()
    except CycleError:
        return False
    return True
