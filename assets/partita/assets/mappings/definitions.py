"""Mappings: which upstream partitions a downstream partition needs, as data.

A closed union of frozen values, so that every mapping can be sent, hashed, shown and inverted without user code.
How they are evaluated over sets of partitions is `evaluate.py`'s matter.
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from dataclasses import dataclass, field
from typing import Literal

from partita.assets.errors import DefinitionError, suggest
from partita.assets.partitions.definitions import (
    MultiPartitions,
    PartitionsDef,
    SinglePartitions,
    TimePartitions,
)


@dataclass(frozen=True, slots=True)
class Identity:
    """The upstream partition of the same key.

    >>> days = space_of(Daily("2026-03-01"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> days.keys(upstream_of(Identity(), down=days, up=days, cells=days.select("2026-03-05")).existing)
    ['2026-03-05']
    """


Edge = Literal["require", "clip"]
"""What is needed before the start of the upstream: required (and absent), or not needed."""
Side = Literal["downstream", "upstream"]
Unit = Literal["hours", "days", "weeks", "months", "years"]


@dataclass(frozen=True, slots=True)
class TimeOverlap:
    """The upstream windows that overlap the downstream window, widened by offsets.

    Offsets count downstream partitions: the window begins at the start of the one `offset_start` away and ends with the
    one `offset_end` away. With `unit="upstream"` they count upstream windows: from `offset_start` away of the first
    that overlaps to `offset_end` away of the last, so that (-1, -1) from days to months is the month before.

    >>> now = datetime(2026, 4, 1, tzinfo=UTC)
    >>> days, months = space_of(Daily("2026-01-01"), now), space_of(Monthly("2026-01-01"), now)
    >>> before = TimeOverlap(-1, -1, unit="upstream")
    >>> months.keys(upstream_of(before, down=days, up=months, cells=days.select("2026-03-15")).existing)
    ['2026-02']
    """

    offset_start: int = 0
    offset_end: int = 0
    unit: Side = "downstream"
    edge: Edge = "require"

    def __post_init__(self) -> None:
        if self.offset_start > self.offset_end:
            raise DefinitionError(
                f"offset_start {self.offset_start} is after offset_end {self.offset_end}",
                rule="the window begins at the partition offset_start away and ends with the one offset_end away",
            )
        _one_of("unit", self.unit, ("downstream", "upstream"))
        _one_of("edge", self.edge, ("require", "clip"))


@dataclass(frozen=True, slots=True)
class Rolling:
    """The upstream windows that overlap the last `n` hours, days, weeks, months or years before the end of the own window.

    Hours are real time, the others local calendar time of the downstream zone. The own window is always included, be it
    longer; with `current=False` it is left out, and the window ends where the own one starts.

    >>> days = space_of(Daily("2026-03-01"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> week = upstream_of(Rolling(7, "days"), down=days, up=days, cells=days.select("2026-03-03"))
    >>> days.keys(week.existing), week.absent
    (['2026-03-01', '2026-03-02', '2026-03-03'], ('2026-02-25', '2026-02-26', '2026-02-27', '2026-02-28'))
    """

    n: int
    unit: Unit
    edge: Edge = "require"
    current: bool = True

    def __post_init__(self) -> None:
        if self.n < 1:
            raise DefinitionError(f"a rolling window of {self.n} {self.unit}", rule="it is one or more long")
        _one_of("unit", self.unit, ("hours", "days", "weeks", "months", "years"))
        _one_of("edge", self.edge, ("require", "clip"))


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise DefinitionError(
            f"{name}={value!r}", rule=f"{name} is one of {', '.join(known)}", fix=suggest(value, known)
        )


@dataclass(frozen=True, slots=True)
class All:
    """Every upstream partition that exists.

    >>> now = datetime(2026, 4, 1, tzinfo=UTC)
    >>> days, report = space_of(Daily("2026-03-01"), now), space_of(None, now)
    >>> upstream_of(All(), down=report, up=days, cells=report.all())
    <Mapped <PartitionSet 31: 0..30>>
    """


@dataclass(frozen=True, slots=True)
class Last:
    """The newest upstream partition; of a multi scheme the newest window with all its other keys.

    >>> days = space_of(Daily("2026-03-01"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> days.keys(upstream_of(Last(), down=days, up=days, cells=days.select("2026-03-05")).existing)
    ['2026-03-31']
    """


@dataclass(frozen=True, slots=True)
class Specific:
    """These upstream keys, whatever the downstream partition.

    >>> days = space_of(Daily("2026-03-01"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> holidays = space_of(Static("de", "fr", "us"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> holidays.keys(upstream_of(Specific(("de",)), down=days, up=holidays, cells=days.all()).existing)
    ['de']
    """

    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.keys:
            raise DefinitionError("Specific names no upstream keys", fix="give at least one key")


@dataclass(frozen=True, slots=True)
class StaticTable:
    """Downstream key to upstream keys; a downstream key without an entry needs nothing.

    >>> regions = space_of(Static("east", "west"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> airports = space_of(Static("EWR", "JFK", "SFO"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> rows = StaticTable((("east", ("EWR", "JFK")), ("west", ("SFO",))))
    >>> airports.keys(upstream_of(rows, down=regions, up=airports, cells=regions.select("east")).existing)
    ['EWR', 'JFK']
    """

    table: tuple[tuple[str, tuple[str, ...]], ...]
    needs: Table[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    """The table by downstream key."""
    touches: Table[str, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    """The table by upstream key."""

    def __post_init__(self) -> None:
        needs = dict(self.table)
        if len(needs) != len(self.table):
            raise DefinitionError("a downstream key stands twice in the table", fix="join its upstream keys")
        touches: dict[str, list[str]] = {}
        for down, ups in self.table:
            for up in dict.fromkeys(ups):
                touches.setdefault(up, []).append(down)
        object.__setattr__(self, "needs", needs)
        object.__setattr__(self, "touches", {up: tuple(downs) for up, downs in touches.items()})


DimensionMapping = Identity | TimeOverlap | Rolling | All | Last | Specific | StaticTable
_INDEPENDENT = (All, Last, Specific)


@dataclass(frozen=True, slots=True)
class DimensionPair:
    """How one upstream dimension follows: from the downstream dimension `down` by `mapping`, or from none.

    A scheme with one dimension has the dimension name "".

    >>> DimensionPair("hour", "day", TimeOverlap()).down
    'day'
    >>> DimensionPair("origin", None, Identity())
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: upstream dimension 'origin' follows no downstream dimension; ...
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
    """A mapping per upstream dimension; an upstream dimension not named means all of it.

    >>> now = datetime(2026, 3, 3, tzinfo=UTC)
    >>> days = space_of(Daily("2026-03-01"), now)
    >>> weather = space_of(Multi(day=Daily("2026-03-01"), origin=Static("EWR", "JFK")), now)
    >>> every_origin = Dimensions((DimensionPair("day", "", Identity()),))
    >>> weather.keys(upstream_of(every_origin, down=days, up=weather, cells=days.select("2026-03-02")).existing)
    ['["2026-03-02","EWR"]', '["2026-03-02","JFK"]']
    """

    pairs: tuple[DimensionPair, ...]

    def __post_init__(self) -> None:
        names = [pair.up for pair in self.pairs]
        if len(set(names)) != len(names):
            raise DefinitionError("an upstream dimension is mapped twice", rule="one mapping per upstream dimension")


Mapping = DimensionMapping | Dimensions
"""Every mapping: a closed union of frozen values.

>>> isinstance(Rolling(7, "days"), Mapping)
True
"""


def default_mapping(down: PartitionsDef | None, up: PartitionsDef | None) -> Mapping:
    """The mapping meant when none is written: the same key, the overlapping time, else all.

    >>> days, hours = Daily("2026-03-01"), Hourly("2026-03-01")
    >>> default_mapping(days, days), default_mapping(days, hours), default_mapping(days, None)
    (Identity(), TimeOverlap(offset_start=0, offset_end=0, unit='downstream', edge='require'), All())
    """
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
