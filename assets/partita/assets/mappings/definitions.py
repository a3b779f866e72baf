"""Mappings: which upstream partitions a downstream partition needs, as data.

A closed union of frozen values, so that every mapping can be sent, hashed, shown and inverted without user code.
How they are evaluated over sets of partitions is `evaluate.py`'s matter.
"""

from __future__ import annotations

from dataclasses import dataclass

from partita.assets.errors import DefinitionError
from partita.assets.partitions.definitions import (
    MultiPartitions,
    PartitionsDef,
    SinglePartitions,
    TimePartitions,
)


@dataclass(frozen=True, slots=True)
class Identity:
    """The upstream partition of the same key."""


@dataclass(frozen=True, slots=True)
class TimeOverlap:
    """The upstream windows that overlap the downstream window, widened by offsets in downstream partitions."""

    offset_start: int = 0
    offset_end: int = 0

    def __post_init__(self) -> None:
        if self.offset_start > self.offset_end:
            raise DefinitionError(
                f"offset_start {self.offset_start} is after offset_end {self.offset_end}",
                rule="the window begins at the partition offset_start away and ends with the one offset_end away",
            )


@dataclass(frozen=True, slots=True)
class All:
    """Every upstream partition that exists."""


@dataclass(frozen=True, slots=True)
class Last:
    """The newest upstream partition; of a multi scheme the newest window with all its other keys."""


@dataclass(frozen=True, slots=True)
class Specific:
    """These upstream keys, whatever the downstream partition."""

    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.keys:
            raise DefinitionError("Specific names no upstream keys", fix="give at least one key")


@dataclass(frozen=True, slots=True)
class StaticTable:
    """Downstream key to upstream keys; a downstream key without an entry needs nothing."""

    table: tuple[tuple[str, tuple[str, ...]], ...]

    def __post_init__(self) -> None:
        downstream = [key for key, _ in self.table]
        if len(set(downstream)) != len(downstream):
            raise DefinitionError("a downstream key stands twice in the table", fix="join its upstream keys")


DimensionMapping = Identity | TimeOverlap | All | Last | Specific | StaticTable
_INDEPENDENT = (All, Last, Specific)


@dataclass(frozen=True, slots=True)
class DimensionPair:
    """How one upstream dimension follows: from the downstream dimension `down` by `mapping`, or from none.

    A scheme with one dimension has the dimension name "".
    """

    up: str
    down: str | None
    mapping: DimensionMapping

    def __post_init__(self) -> None:
        if self.down is None and not isinstance(self.mapping, _INDEPENDENT):
            raise DefinitionError(
                f"upstream dimension {self.up!r} follows no downstream dimension",
                rule=f"{type(self.mapping).__name__} needs one; only All, Last and Specific do not",
            )


@dataclass(frozen=True, slots=True)
class Dimensions:
    """A mapping per upstream dimension; an upstream dimension not named means all of it."""

    pairs: tuple[DimensionPair, ...]

    def __post_init__(self) -> None:
        names = [pair.up for pair in self.pairs]
        if len(set(names)) != len(names):
            raise DefinitionError("an upstream dimension is mapped twice", rule="one mapping per upstream dimension")


Mapping = Identity | TimeOverlap | All | Last | Specific | StaticTable | Dimensions


def default_mapping(down: PartitionsDef | None, up: PartitionsDef | None) -> Mapping:
    """The mapping meant when none is written: the same key, the overlapping time, else all."""
    if down is None or up is None:
        return All()
    if down == up:
        return Identity()
    if isinstance(down, MultiPartitions) or isinstance(up, MultiPartitions):
        return _by_dimension(dims_of(down), dims_of(up))
    return _single(down, up)


def dims_of(definition: PartitionsDef | None) -> tuple[tuple[str, SinglePartitions], ...]:
    """The dimensions of a scheme: none when unpartitioned, one called "" when it is single."""
    if definition is None:
        return ()
    if isinstance(definition, MultiPartitions):
        return definition.dims
    return (("", definition),)


def _single(down: SinglePartitions, up: SinglePartitions) -> Identity | TimeOverlap | All:
    times = isinstance(down, TimePartitions) + isinstance(up, TimePartitions)
    if times == 2:
        return Identity() if down == up else TimeOverlap()
    return All() if times else Identity()


def _by_dimension(
    down: tuple[tuple[str, SinglePartitions], ...], up: tuple[tuple[str, SinglePartitions], ...]
) -> Dimensions:
    free = dict(down)
    chosen: dict[str, DimensionPair] = {}
    for same_name in (True, False):
        for name, scheme in up:
            if name in chosen:
                continue
            partner = _partner(name, scheme, free) if same_name else _like(scheme, free)
            if partner is not None:
                chosen[name] = DimensionPair(name, partner, _single(free.pop(partner), scheme))
    return Dimensions(tuple(chosen.get(name) or DimensionPair(name, None, All()) for name, _ in up))


def _partner(name: str, scheme: SinglePartitions, free: dict[str, SinglePartitions]) -> str | None:
    other = free.get(name)
    if other is None or isinstance(other, TimePartitions) != isinstance(scheme, TimePartitions):
        return None
    return name


def _like(scheme: SinglePartitions, free: dict[str, SinglePartitions]) -> str | None:
    if isinstance(scheme, TimePartitions):
        alike = [name for name, other in free.items() if isinstance(other, TimePartitions)]
    else:
        alike = [name for name, other in free.items() if other == scheme]
    return alike[0] if len(alike) == 1 else None
