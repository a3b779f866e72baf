"""How far the data of an asset reaches, and the one cell above it that holds it back.

The data time of an asset along time is the end of its first unbroken run of fresh partitions; of one without time the earliest
among its inputs. What holds it back is found by climbing from the first partition that is not fresh to a cell with nothing
bad above. Reads through `Statuses`, decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from partita.assets import AssetKey, PartitionSpace
from partita.assets.partitions.boxes import row_major
from partita.assets.partitions.multi import ProductSpace
from partita.core.catalog import Catalog
from partita.core.catalog.edges import Bools
from partita.core.cells.status import AssetStatus, Statuses
from partita.core.cells.values import CellsReader
from partita.core.cells.why import Why, why

Cell = tuple[AssetKey, str]


@dataclass(frozen=True, slots=True)
class HeldBack:
    """`reaches` (UTC) is None when the asset has no data along time yet, or no time above it at all. `path` leads from the
    asset's first partition that is not fresh up to the cell that holds it back, which `because` explains; both are empty
    when nothing does."""

    key: AssetKey
    reaches: datetime | None
    path: tuple[Cell, ...]
    because: Why | None

    @property
    def holder(self) -> Cell | None:
        """The one cell that holds the data time back."""
        return self.path[-1] if self.path else None

    @property
    def sentence(self) -> str:
        """For people."""
        reaches = f"reaches {self.reaches:%Y-%m-%d %H:%M} UTC" if self.reaches is not None else "reaches nowhere yet"
        if self.because is None:
            return (
                f"{self.key} {reaches}; nothing holds it back" if self.reaches is not None else f"{self.key} is fresh"
            )
        return f"{self.key} {reaches}, held back by {self.because.sentence}"


def held_back(catalog: Catalog, reader: CellsReader, as_of: datetime, key: str) -> HeldBack:
    """Raises UnknownAsset."""
    statuses = Statuses(catalog, reader, as_of)
    asset = catalog.asset(key)
    reaches, path = _of(statuses, asset.key)
    because = why(catalog, reader, as_of, *path[-1]) if path else None
    return HeldBack(asset.key, reaches, path, because)


def _of(statuses: Statuses, key: AssetKey) -> tuple[datetime | None, tuple[Cell, ...]]:
    status = statuses.status(key)
    if status.asset.constant:
        return None, ()
    ordinal, reaches = _along_time(status) if _has_time(status.space) else (_first(_bad(status)), None)
    if ordinal is not None:
        path = _climb(statuses, status, ordinal)
        return (reaches if _has_time(status.space) else _earliest(statuses, key)[0]), path
    return (reaches, ()) if _has_time(status.space) else _earliest(statuses, key)


def _earliest(statuses: Statuses, key: AssetKey) -> tuple[datetime | None, tuple[Cell, ...]]:
    """Of an asset without time: the input whose data reaches least far, and what holds that back."""
    found = [_of(statuses, one.upstream) for one in statuses.catalog.asset(key).inputs if one.upstream != key]
    timed = [one for one in found if one[0] is not None or one[1]]
    if not timed:
        return None, ()
    return min(timed, key=lambda one: (one[0] is not None, one[0]))


def _bad(status: AssetStatus) -> Bools:
    return ~status.fresh


def _first(bad: Bools) -> int | None:
    return int(bad.argmax()) if bad.any() else None


def _has_time(space: PartitionSpace) -> bool:
    return _axis(space) is not None


def _axis(space: PartitionSpace) -> PartitionSpace | None:
    if isinstance(space, ProductSpace):
        return space.parts[space.time_dim] if space.time_dim is not None else None
    return space if space.size and space.window_at(0) is not None else None


def _along_time(status: AssetStatus) -> tuple[int | None, datetime | None]:
    """The first cell that is not fresh after the first unbroken run of fresh windows, and the end of that run."""
    space, axis = status.space, _axis(status.space)
    if axis is None or not space.size:
        return None, None
    fresh = status.fresh
    along: Bools = fresh
    if isinstance(space, ProductSpace):
        others = tuple(at for at in range(len(space.sizes)) if at != space.time_dim)
        along = np.asarray(fresh.reshape(space.sizes).all(axis=others))
    start = int(along.argmax()) if along.any() else 0
    rest = along[start:]
    run = len(rest) if rest.all() else int(rest.argmin())
    window = axis.window_at(start + run - 1) if run else None
    reaches = window.end if window is not None else None
    if run == len(rest):
        return None, reaches
    return _cell_at(space, fresh, start + run), reaches


def _cell_at(space: PartitionSpace, fresh: Bools, time: int) -> int:
    """The first cell of a window that is not fresh."""
    if not isinstance(space, ProductSpace) or space.time_dim is None:
        return time
    slab = np.take(fresh.reshape(space.sizes), time, axis=space.time_dim)
    place = [int(one) for one in np.unravel_index(int((~slab).argmax()), slab.shape)]
    place.insert(space.time_dim, time)
    return row_major(place, space.sizes)


def _climb(statuses: Statuses, status: AssetStatus, ordinal: int) -> tuple[Cell, ...]:
    """From a cell up through what is bad above it, the oldest window first, to one with nothing bad above."""
    path = [(status.asset.key, str(status.space.key_at(ordinal)))]
    while True:
        above = [
            found
            for one in status.asset.inputs
            if not one.external and (found := _first_bad_above(statuses, status, one.name, ordinal)) is not None
        ]
        if not above:
            return tuple(path)
        status, ordinal = min(above, key=_oldest)
        path.append((status.asset.key, str(status.space.key_at(ordinal))))


def _first_bad_above(
    statuses: Statuses, status: AssetStatus, name: str, ordinal: int
) -> tuple[AssetStatus, int] | None:
    one = next(found for found in status.asset.inputs if found.name == name)
    above = statuses.status(one.upstream)
    bad = _bad(above)
    for start, stop in statuses.edge(status.asset, one).ranges_of(ordinal):
        if one.upstream == status.asset.key:
            stop = min(stop, ordinal)  # of itself it needs earlier ones only, and so the climb ends  # noqa: PLW2901
        hits = bad[start:stop].nonzero()[0]
        if len(hits):
            return above, start + int(hits[0])
    return None


def _oldest(cell: tuple[AssetStatus, int]) -> tuple[bool, datetime | None]:
    window = cell[0].space.window_at(cell[1])
    return (window is None, window.start if window is not None else None)
