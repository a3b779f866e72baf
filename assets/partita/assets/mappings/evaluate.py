"""Evaluating mappings over sets of partitions, in both directions.

`upstream_of` answers what a set of downstream partitions needs: what exists, and what is needed but does not exist
(never dropped). `downstream_of` is its exact inverse: d is in it iff some given u is in `upstream_of(d)`. Costs go
by runs: a year of days is one interval, not 365 questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from partita.assets.mappings import dimensions, single, windows
from partita.assets.mappings.definitions import (
    All,
    DimensionPair,
    Dimensions,
    Identity,
    Last,
    Mapping,
    Rolling,
    Specific,
    StaticTable,
    TimeOverlap,
)
from partita.assets.mappings.single import Needed
from partita.assets.partitions.multi import ProductSpace
from partita.assets.partitions.sets import PartitionSet, Range
from partita.assets.partitions.space import PartitionSpace
from partita.assets.partitions.time import TimeSpace

ABSENT_SHOWN = 20
"""How many absent keys are listed; the count is always exact."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """What is needed upstream: the partitions that exist, and the keys (the first 20) of those that do not.

    >>> days = space_of(Daily("2026-03-01"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> upstream_of(TimeOverlap(-2, 0), down=days, up=days, cells=days.select("2026-03-01"))
    <Mapped <PartitionSet 1: 0>, absent 2: 2026-02-27, 2026-02-28>
    """

    existing: PartitionSet
    absent: tuple[str, ...] = ()
    absent_count: int = 0

    def __repr__(self) -> str:
        more = f", absent {self.absent_count}: {', '.join(self.absent[:3])}" if self.absent_count else ""
        return f"<Mapped {self.existing!r}{more}>"


def upstream_of(
    mapping: Mapping, *, down: PartitionSpace, up: PartitionSpace, cells: PartitionSet, shown: int = ABSENT_SHOWN
) -> Mapped:
    """What the downstream partitions `cells` need, with the first `shown` absent keys.

    Raises DefinitionError when the mapping does not fit the spaces.

    >>> now = datetime(2026, 4, 1, tzinfo=UTC)
    >>> days, hours = space_of(Daily("2026-03-01", tz="Europe/Berlin"), now), space_of(Hourly("2026-03-01"), now)
    >>> needed = upstream_of(TimeOverlap(), down=days, up=hours, cells=days.select("2026-03-29"))
    >>> len(needed.existing), hours.key_at(needed.existing.first)
    (23, '2026-03-28T23:00+00:00')
    """
    if not cells:
        return Mapped(PartitionSet.empty())
    mapping = by_position(mapping, down, up)
    if isinstance(mapping, Dimensions):
        existing, absent, count = dimensions.upstream(mapping, down, up, cells, shown)
        return Mapped(existing, absent, count)
    return _mapped(single.upstream(mapping, down, up, cells), up, shown)


def downstream_of(mapping: Mapping, *, down: PartitionSpace, up: PartitionSpace, cells: PartitionSet) -> PartitionSet:
    """The existing downstream partitions that need any of the upstream partitions `cells`.

    >>> days = space_of(Daily("2026-03-01"), datetime(2026, 4, 1, tzinfo=UTC))
    >>> days.keys(downstream_of(TimeOverlap(-2, 0), down=days, up=days, cells=days.select("2026-03-05")))
    ['2026-03-05', '2026-03-06', '2026-03-07']
    """
    cells = cells & up.all()
    if not cells:
        return cells
    mapping = by_position(mapping, down, up)
    if isinstance(mapping, Dimensions):
        return dimensions.downstream(mapping, down, up, cells)
    return single.downstream(mapping, down, up, cells)


def upstream_by_cell(
    mapping: Mapping, *, down: PartitionSpace, up: PartitionSpace, cells: PartitionSet
) -> Iterator[tuple[int, Mapped]]:
    """`upstream_of` for each partition of `cells` on its own, in order of ordinals.

    >>> now = datetime(2026, 4, 1, tzinfo=UTC)
    >>> months, days = space_of(Monthly("2026-01-01"), now), space_of(Daily("2026-01-01"), now)
    >>> [len(mapped.existing) for _, mapped in upstream_by_cell(TimeOverlap(), down=months, up=days, cells=months.all())]
    [31, 28, 31]
    """
    mapping = by_position(mapping, down, up)
    match mapping:
        case All() | Last() | Specific():
            same = upstream_of(mapping, down=down, up=up, cells=cells)
            for cell in cells:
                yield cell, same
        case Identity() | TimeOverlap() | Rolling() | StaticTable():
            for cell in cells:
                yield (
                    cell,
                    _mapped(single.upstream(mapping, down, up, PartitionSet(((cell, cell + 1),))), up, ABSENT_SHOWN),
                )
        case Dimensions():
            for cell, existing, absent, count in dimensions.upstream_by_cell(mapping, down, up, cells, ABSENT_SHOWN):
                yield cell, Mapped(existing, absent, count)
        case _:
            assert_never(mapping)


def needed_runs(mapping: Mapping, *, down: PartitionSpace, up: PartitionSpace) -> list[Range] | None:
    """By time, for each existing downstream partition the half-open run of upstream ordinals that it needs.

    Runs reach beyond what exists (ordinals below 0, or from `size` on) where something absent is needed; with edge="clip"
    those below 0 are not. None for mappings that may need several runs: ask `upstream_by_cell`.

    >>> days = space_of(Daily("2026-03-01"), datetime(2026, 3, 4, tzinfo=UTC))
    >>> needed_runs(TimeOverlap(-1, 0), down=days, up=days)  # the day before the first is needed and absent
    [(-1, 1), (0, 2), (1, 3)]
    >>> needed_runs(All(), down=days, up=days) is None
    True
    """
    if not isinstance(down, TimeSpace) or not isinstance(up, TimeSpace):
        return None
    if isinstance(mapping, TimeOverlap | Rolling):
        return windows.needed_by_each(mapping, down, up)
    if isinstance(mapping, Identity) and down.grid is up.grid and down.whole and up.whole:
        shift = down.base - up.base
        return [(shift + ordinal, shift + ordinal + 1) for ordinal in range(down.size)]
    return None


def check_mapping(mapping: Mapping, *, down: PartitionSpace, up: PartitionSpace) -> None:
    """Raise DefinitionError when a mapping can not be evaluated between two schemes.

    >>> now = datetime(2026, 3, 3, tzinfo=UTC)
    >>> days, origins = space_of(Daily("2026-03-01"), now), space_of(Static("EWR", "JFK"), now)
    >>> check_mapping(TimeOverlap(), down=days, up=origins)
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: a time overlap meets a scheme without time upstream: <KeySpace 2: 'EWR' ...
    """
    if isinstance(mapping, Dimensions):
        dimensions.plan_of(mapping, down, up)
    else:
        single.check(mapping, down, up)


def by_position(mapping: Mapping, down: PartitionSpace, up: PartitionSpace) -> Mapping:
    """Identity of two multi schemes is identity in each dimension: by boxes, not key by key."""
    if not isinstance(mapping, Identity) or not isinstance(down, ProductSpace) or not isinstance(up, ProductSpace):
        return mapping
    if len(down.dims) != len(up.dims) or down.same_partitions(up):
        return mapping
    return Dimensions(tuple(DimensionPair(u, d, mapping) for u, d in zip(up.dims, down.dims, strict=True)))


def _mapped(needed: Needed, up: PartitionSpace, shown: int) -> Mapped:
    count = len(needed.beyond) + len(needed.unknown)
    if not count:
        return Mapped(needed.existing)
    return Mapped(needed.existing, tuple(single.absent_keys(needed, up, shown)), count)
