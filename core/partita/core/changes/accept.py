"""What accepting would do, before it is done: the cells of a selection whose code or dependencies changed.

Owns the preview as a value; `duties/accept.py` acts on the same one (law 6). Reads through `Statuses`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from partita.assets import AssetKey, PartitionSet, PartitionSpace
from partita.core.catalog import Catalog, set_of
from partita.core.catalog.names import names_of
from partita.core.cells import Statuses
from partita.core.cells.values import CellsReader, Hashes
from partita.core.decide.accept import AcceptTarget
from partita.core.planner import PlanRequest
from partita.core.planner.targets import find_targets
from partita.core.store.values import AssetId, CellRef


@dataclass(frozen=True, eq=False)
class AssetAcceptance:
    """The cells of one asset. `code` and `dependencies` count why they are stale (a cell may count in both);
    `still_stale` are those that stay stale because their inputs hold other data."""

    key: AssetKey
    asset_id: AssetId
    space: PartitionSpace
    cells: PartitionSet
    code: int
    dependencies: int
    still_stale: int
    fingerprint: str
    dependency_hash: str
    digests: Hashes

    def targets(self) -> Iterator[AcceptTarget]:
        """One a cell."""
        names = names_of(self.space)
        for start, stop in self.cells.ranges:
            for ordinal in range(start, stop):
                cell = CellRef(self.asset_id, names.key(ordinal))
                yield AcceptTarget(cell, self.fingerprint, self.dependency_hash, int(self.digests[ordinal]))


@dataclass(frozen=True, eq=False)
class AcceptPreview:
    """The whole; assets without a cell to accept are left out."""

    selection: str
    partitions: str | None
    as_of: datetime
    assets: tuple[AssetAcceptance, ...]

    @property
    def cell_count(self) -> int:
        """How many cells would be recorded anew."""
        return sum(len(one.cells) for one in self.assets)

    def targets(self) -> list[AcceptTarget]:
        """What the duty takes."""
        return [target for one in self.assets for target in one.targets()]


def preview_acceptance(
    catalog: Catalog, reader: CellsReader, *, selection: str, partitions: str | None, as_of: datetime
) -> AcceptPreview:
    """Raises SelectionError, UnknownAsset or UnknownPartition."""
    statuses = Statuses(catalog, reader, as_of)
    found = find_targets(catalog, statuses, PlanRequest(selection=selection, as_of=as_of, partitions=partitions))
    statuses.prefetch(found.cells, ancestors=False)
    assets = []
    for key in sorted(found.cells):
        status = statuses.direct(key)
        code, dependencies = status.stale_code & found.cells[key], status.stale_dependencies & found.cells[key]
        chosen = code | dependencies
        if not chosen.any():
            continue
        assets.append(
            AssetAcceptance(
                key=key,
                asset_id=status.asset.id,
                space=status.space,
                cells=set_of(chosen),
                code=int(code.sum()),
                dependencies=int(dependencies.sum()),
                still_stale=int((chosen & status.stale_data & ~dependencies).sum()),
                fingerprint=status.asset.spec.fingerprint,
                dependency_hash=status.asset.dependency_hash,
                digests=statuses.expected_digest(status.asset),
            )
        )
    return AcceptPreview(selection, partitions, as_of, tuple(assets))
