"""What marking or wiping would meet, before it is done: the cells of a selection and what they hold.

Owns the preview as a value; `duties/by_hand.py` acts on the same one (law 6). Reads through `Statuses`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from partita.assets import AssetKey, PartitionSet, PartitionSpace
from partita.core.catalog import Catalog, CatalogAsset, set_of
from partita.core.catalog.names import names_of
from partita.core.cells import Statuses
from partita.core.cells.values import CellsReader, Hashes
from partita.core.decide.by_hand import MarkTarget
from partita.core.planner import PlanRequest
from partita.core.planner.targets import find_targets
from partita.core.store.values import CellRef

Verb = Literal["materialized", "failed", "wipe"]


@dataclass(frozen=True, eq=False)
class AssetCells:
    """The cells of one asset; `published` and `failed` count what they are now."""

    asset: CatalogAsset
    space: PartitionSpace
    cells: PartitionSet
    published: int
    failed: int
    digests: Hashes | None

    @property
    def key(self) -> AssetKey:
        """The asset's key."""
        return self.asset.key

    def targets(self) -> Iterator[MarkTarget]:
        """One a cell."""
        names = names_of(self.space)
        spec = self.asset.spec
        for ordinal, (key, window) in zip(self.cells, names.named(self.cells), strict=True):
            digest = 0 if self.digests is None else int(self.digests[ordinal])
            cell = CellRef(self.asset.id, key)
            yield MarkTarget(cell, window, spec.fingerprint, self.asset.dependency_hash, digest)


@dataclass(frozen=True, eq=False)
class ByHandPreview:
    """The whole; assets without a cell are left out."""

    verb: Verb
    selection: str
    partitions: str
    assets: tuple[AssetCells, ...]

    @property
    def cell_count(self) -> int:
        """How many cells would change."""
        return sum(len(one.cells) for one in self.assets)

    def targets(self) -> list[MarkTarget]:
        """What the duty takes."""
        return [target for one in self.assets for target in one.targets()]


def preview_by_hand(
    catalog: Catalog, reader: CellsReader, verb: Verb, *, selection: str, partitions: str, as_of: datetime
) -> ByHandPreview:
    """Raises SelectionError, UnknownAsset or UnknownPartition. Externals are left out: partita does not make them. A wipe takes
    only cells that hold something, or of which an attempt failed."""
    statuses = Statuses(catalog, reader, as_of)
    found = find_targets(catalog, statuses, PlanRequest(selection=selection, as_of=as_of, partitions=partitions))
    statuses.prefetch(found.cells, ancestors=False)
    assets = []
    for key in sorted(found.cells):
        status = statuses.direct(key)
        published, failed = ~status.missing & found.cells[key], status.failed & found.cells[key]
        chosen = published | failed if verb == "wipe" else found.cells[key]
        if not chosen.any():
            continue
        digests = statuses.expected_digest(status.asset) if verb == "materialized" else None
        cells = AssetCells(status.asset, status.space, set_of(chosen), int(published.sum()), int(failed.sum()), digests)
        assets.append(cells)
    return ByHandPreview(verb, selection, partitions, tuple(assets))
