"""Which upstream cells each cell of a task reads: the `InputResolver` of the claim.

Answers by the definitions that the run is pinned to, over the partitions that exist at the run's `as_of`, so that a plan
and its claims see the same upstreams. Equal upstream sets are one tuple, whatever the number of cells that share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from partita.assets import PartitaError, PartitionSpace
from partita.core.catalog.catalog import Catalog
from partita.core.catalog.names import names_of
from partita.core.catalog.upstreams import Ranges, refs_of
from partita.core.catalog.values import CatalogAsset, CatalogInput
from partita.core.duties.values_attempts import CodeVersion, ResolvedInput, ResolvedInputs, Unresolvable
from partita.core.store.values import AssetId, CellRef, RunId, Task, TaskCell


class CatalogInputs:
    """`catalog_of` gives the catalog of a run (`CatalogCache.of_run`, whose hits read nothing)."""

    def __init__(self, catalog_of: Callable[[RunId], Catalog]) -> None:
        self._catalog_of = catalog_of

    def __call__(self, task: Task, as_of: datetime, cells: Sequence[TaskCell], /) -> ResolvedInputs:
        """Raises Unresolvable when the pinned definitions do not know an asset or a partition of the task."""
        try:
            return resolve_inputs(self._catalog_of(task.run_id), as_of, [one.cell for one in cells])
        except PartitaError as refused:
            raise Unresolvable(f"step {task.step!r} of run {task.run_id} cannot be resolved: {refused}") from refused


def resolve_inputs(catalog: Catalog, as_of: datetime, cells: Sequence[CellRef]) -> ResolvedInputs:
    """The upstream cells of every input of the assets that `cells` belong to, and the assets' code versions."""
    partitions: dict[AssetId, list[CellRef]] = {}
    for cell in cells:
        partitions.setdefault(cell.asset_id, []).append(cell)
    inputs: list[ResolvedInput] = []
    versions: dict[AssetId, CodeVersion] = {}
    for asset_id, own in partitions.items():
        asset = catalog.by_id.get(asset_id)
        if asset is None:
            raise PartitaError(f"asset {asset_id} is not defined in {catalog!r}")
        versions[asset_id] = CodeVersion(asset.spec.fingerprint, asset.dependency_hash)
        ordinals = [_ordinal(catalog.space(asset.key, as_of), cell.partition) for cell in own]
        inputs += [_resolved(catalog, asset, one, as_of, own, ordinals) for one in asset.inputs]
    return ResolvedInputs(tuple(inputs), versions)


def _ordinal(space: PartitionSpace, key: str) -> int:
    found = names_of(space).find(key)
    return found if found >= 0 else space.ordinal_of(key)  # which says what is wrong


def _resolved(
    catalog: Catalog,
    asset: CatalogAsset,
    one: CatalogInput,
    as_of: datetime,
    cells: Sequence[CellRef],
    ordinals: Sequence[int],
) -> ResolvedInput:
    edge = catalog.edge(asset.key, one, as_of)
    known: dict[Ranges, tuple[CellRef, ...]] = {}
    per_cell: dict[CellRef, tuple[CellRef, ...]] = {}
    for cell, ordinal in zip(cells, ordinals, strict=True):
        ranges = tuple(edge.ranges_of(ordinal))
        refs = known.get(ranges)
        if refs is None:
            refs = known[ranges] = refs_of(one.upstream_id, edge.up, ranges)
        per_cell[cell] = refs
    return ResolvedInput(one.name, one.kind, one.upstream_id, per_cell, one.external)
