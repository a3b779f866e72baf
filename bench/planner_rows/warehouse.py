"""A layered warehouse in memory: definitions, and the pages of its cells as a reader holds them once they are unpacked.

Ten layers; every asset below the first reads three of the layer above and is read by three of the layer below. All share one
time scheme. A cell that was never made has no row, as in the store; digests and fingerprints are those that attempts record.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from partita.assets import (
    AssetKey,
    AssetSpec,
    Hourly,
    Identity,
    InputSpec,
    Snapshot,
    StepSpec,
    asset_key,
    input_factor,
    to_spec,
)
from partita.core.catalog import Catalog, StepKey, StoredSnapshot
from partita.core.cells import CellBlock, CellDetail, OpenCell, Outcome
from partita.core.cells.pages import PAGE_CELLS, block_of
from partita.core.cells.values import OUTCOME_SHIFT, PUBLISHED, CellRow
from partita.core.planner import Durations, PoolLoad
from partita.core.store.values import AssetId, CellRef, LocationId, SnapshotId

LAYERS = 10
FIRST = datetime(2020, 1, 1, tzinfo=UTC)
_SEED = 20260705
_INTERNED = {"code": 1, "dependencies": 2}

Masks = npt.NDArray[np.bool_]
Hashes = npt.NDArray[np.uint64]


@dataclass(slots=True)
class Pages:
    """Implements `PlanReader`: pages in memory, nothing under way, no history."""

    held: dict[AssetId, list[CellBlock]] = field(default_factory=dict)

    def unmade_of_backfill(self, backfill_id: int) -> Sequence[CellRef]:
        """No backfill here."""
        return ()

    def blocks(self, assets: Collection[AssetId]) -> Mapping[AssetId, Sequence[CellBlock]]:
        return {one: self.held[one] for one in assets if one in self.held}

    def open_cells(self, assets: Collection[AssetId]) -> Mapping[AssetId, Mapping[str, OpenCell]]:
        return {}

    def fingerprint_ids(self, texts: Collection[str]) -> Mapping[str, int]:
        return {text: _INTERNED[text] for text in texts}

    def details(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellDetail]:
        return {}

    def pools(self, names: Collection[str]) -> Mapping[str, PoolLoad]:
        return {}

    def served_queues(self) -> Collection[str]:
        return ()

    def capacity(self) -> int:
        return 0

    def durations(self, steps: Collection[StepKey]) -> Mapping[StepKey, Durations]:
        return {}


@dataclass(slots=True)
class Warehouse:
    """Definitions and pages; `names[i]` reads `inputs[i]` (positions in `names`)."""

    names: list[AssetKey]
    inputs: list[list[int]]
    catalog: Catalog
    pages: Pages
    as_of: datetime

    def touch(self, asset: int, ordinals: Sequence[int], by: int = 1) -> None:
        """Other versions in these cells, as if others had been published; what reads them stays as it was made."""
        asset_id = self.catalog.assets[self.names[asset]].id
        for at, block in enumerate(self.pages.held[asset_id]):
            mine = [one - at * PAGE_CELLS for one in ordinals if 0 <= one - at * PAGE_CELLS < len(block.keys)]
            hashes = block.hash.copy()
            hashes[mine] += np.uint64(by % 2**64)
            self.pages.held[asset_id][at] = replace(block, hash=hashes)


def build(assets: int, partitions: int, holes: Masks | None = None) -> Warehouse:
    """So many assets (a multiple of ten) of so many hours; `holes[i]` are the cells of an asset that were never made."""
    width = assets // LAYERS
    names = [asset_key(f"layer{one // width}/asset{one % width:05}") for one in range(assets)]
    inputs = [_reads(one, width) for one in range(assets)]
    ids = {name: AssetId(at + 1) for at, name in enumerate(names)}
    catalog = _catalog(names, inputs, ids)
    as_of = FIRST + timedelta(hours=partitions)
    space = catalog.space(names[0], as_of)
    keys = tuple(str(key) for key in space.keys(space.all()))
    hashes = np.random.default_rng(_SEED).integers(1, 1 << 63, size=(assets, partitions), dtype=np.uint64)
    if holes is not None:
        hashes[holes] = 0
    made = Warehouse(names, inputs, catalog, Pages(), as_of)
    starts = range(0, partitions, PAGE_CELLS)
    named: dict[bytes, CellBlock] = {}
    for one, name in enumerate(names):
        digest = np.zeros(partitions, dtype=np.uint64)
        for above in inputs[one]:
            digest += hashes[above] * np.uint64(input_factor(ids[names[above]], names[above]))
        here = np.ones(partitions, dtype=np.bool_) if holes is None else ~holes[one]
        made.pages.held[ids[name]] = [
            _block(named, keys, at, hashes[one], digest, here) for at in starts if here[at : at + PAGE_CELLS].any()
        ]
    return made


def _reads(one: int, width: int) -> list[int]:
    """Three of the layer above, each read by three."""
    layer, at = divmod(one, width)
    if layer == 0:
        return []
    return [(layer - 1) * width + (at + step) % width for step in (0, 1, 2 + layer * 7 % (width - 2))]


def _catalog(names: Sequence[AssetKey], inputs: Sequence[Sequence[int]], ids: Mapping[AssetKey, AssetId]) -> Catalog:
    scheme, same = to_spec(Hourly(f"{FIRST:%Y-%m-%d}")), to_spec(Identity())
    assets = tuple(
        AssetSpec(
            key=name,
            step=name,
            partitions=scheme,
            inputs=tuple(InputSpec(name=names[up], upstream=names[up], mapping=same) for up in above),
            fingerprint="code",
            dependency_hash="dependencies",
        )
        for name, above in zip(names, inputs, strict=True)
    )
    steps = tuple(StepSpec(id=name, assets=(name,), function="warehouse:make") for name in names)
    snapshot = Snapshot(location="warehouse", assets=assets, steps=steps)
    return Catalog([StoredSnapshot(LocationId(1), "warehouse", SnapshotId(1), "v1", snapshot)], ids)


def _block(
    named: dict[bytes, CellBlock], keys: Sequence[str], at: int, hashes: Hashes, digest: Hashes, here: Masks
) -> CellBlock:
    """The page that begins at an ordinal, with the cells that are there; `named` remembers pages by their keys."""
    page = slice(at, at + PAGE_CELLS)
    chosen = np.flatnonzero(here[page]) + at
    asked = chosen.tobytes()
    if asked not in named:
        named[asked] = block_of([CellRow(keys[one], None, None, None, None, None) for one in chosen.tolist()])
    n = len(chosen)
    return replace(
        named[asked],
        hash=hashes[chosen],
        digest=digest[chosen],
        fingerprint=np.full(n, _INTERNED["code"], dtype=np.uint32),
        dependency=np.full(n, _INTERNED["dependencies"], dtype=np.uint32),
        flags=np.full(n, PUBLISHED | Outcome.PUBLISHED << OUTCOME_SHIFT, dtype=np.uint8),
    )
