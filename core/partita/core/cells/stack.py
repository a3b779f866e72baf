"""The direct status of many assets at once: assets of one space as the rows of arrays.

What `AssetStatus` says of one asset costs some twenty calls on an array of its cells; for narrow spaces the calls cost more than
the arithmetic. Here a call is about all rows, and what is left for each asset is a few calls on its columns. The parts have the
names that they have in `AssetStatus` and the same meaning, row by row; a part that holds for no cell is `nothing(size)`, one row
that stands for all. Owns no rule of its own: tested equal to the status of each asset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from partita.core.catalog import CatalogAsset
from partita.core.catalog.edges import Bools, nothing
from partita.core.cells.held import Recorded
from partita.core.cells.lazy import Lazy

if TYPE_CHECKING:
    from partita.core.cells.status import Statuses

WIDEST = 4096
"""Assets with more partitions than this are looked at one by one: there the arithmetic is what costs."""
CELLS = 1 << 19
"""How many cells a stack holds at most, so that what is worked out on the way stays near the processor."""


class Stack:
    """Assets of one size, in order, with what is known of their cells by themselves. All arrays are for reading."""

    def __init__(self, statuses: Statuses, assets: Sequence[CatalogAsset]) -> None:
        self.assets = assets
        self.space = statuses.space(assets[0].key)
        self.shape = (len(assets), self.space.size)
        self._statuses = statuses
        self._held = [statuses.held(asset.key) for asset in assets]

    def __repr__(self) -> str:
        return f"<Stack {self.shape[0]} assets of {self.shape[1]} partitions>"

    @Lazy
    def published(self) -> Bools:
        """The cells that hold a data version."""
        found = np.zeros(self.shape, dtype=np.bool_)
        for row, held in zip(found, self._held, strict=True):
            held.lay_published(row)
        return found

    @property
    def missing(self) -> Bools:
        """Never published."""
        return ~self.published

    @Lazy
    def stale_code(self) -> Bools:
        """Made by other code than today's."""
        return self._made_by_another("fingerprint", [asset.spec.fingerprint for asset in self.assets])

    @Lazy
    def stale_dependencies(self) -> Bools:
        """Made from another set of dependencies than today's."""
        return self._made_by_another("dependency", [asset.dependency_hash for asset in self.assets])

    @Lazy
    def stale_data(self) -> Bools:
        """The inputs hold other versions than those consumed."""
        self.published  # noqa: B018 - every row is then known to `Held`, which asks for it below
        found = np.zeros(self.shape, dtype=np.bool_)
        expected, spare = (np.empty(self.shape[1], dtype=np.uint64) for _ in range(2))
        for row, asset, held in zip(found, self.assets, self._held, strict=True):
            if not asset.external:
                expected.fill(0)
                self._statuses.add_expected(asset, expected, spare)
                held.lay_consumed_another(expected, row)
        none = nothing(self.shape[1])
        for row, asset, moved in zip(found, self.assets, which_rows(found), strict=True):
            self._statuses.note_stale_data(asset.key, row if moved else none)
        return found

    @Lazy
    def stale(self) -> Bools:
        """Directly stale: code, data or dependencies."""
        none = nothing(self.shape[1])
        stale = self.stale_data
        for more in (self.stale_code, self.stale_dependencies):
            stale = stale if more is none else stale | more
        return stale

    @Lazy
    def failed(self) -> Bools:
        """The last attempt failed or was lost, whatever the cell held before."""
        return self._of_rows(
            None if held.ordinary else self._statuses.direct(asset.key).failed
            for asset, held in zip(self.assets, self._held, strict=True)
        )

    def _made_by_another(self, recorded: Recorded, today: Iterable[str]) -> Bools:
        return self._of_rows(
            None if not text or asset.external else held.made_by_another(recorded, self._statuses.id_of(text))
            for asset, held, text in zip(self.assets, self._held, today, strict=True)
        )

    def _of_rows(self, rows: Iterable[Bools | None]) -> Bools:
        """A part that is empty for nearly every asset; None stands for no cell."""
        found: Bools | None = None
        for at, row in enumerate(rows):
            if row is not None:
                if found is None:
                    found = np.zeros(self.shape, dtype=np.bool_)
                found[at] = row
        return nothing(self.shape[1]) if found is None else found


def in_chunks(statuses: Statuses, assets: Sequence[CatalogAsset]) -> Iterator[Stack]:
    """Stacks of these assets of one size, in order; the last may be shorter."""
    rows = rows_at_once(statuses.space(assets[0].key).size)
    return (Stack(statuses, assets[at : at + rows]) for at in range(0, len(assets), rows))


def rows_at_once(size: int) -> int:
    """How many assets of so many partitions one stack holds."""
    return max(1, CELLS // max(1, size))


def which_rows(masks: Bools) -> list[bool]:
    """Whether each row marks anything."""
    found: list[bool] = np.asarray(masks.any(axis=1)).tolist()
    return found


def together(rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Rows of one length (at least one row) as an array; copies them."""
    return np.concatenate(rows).reshape(len(rows), -1)
