"""What catalogs are built from: which snapshots are meant, their definitions, the ids of assets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import text

from partita.assets import AssetKey, Snapshot
from partita.core.catalog.values import StoredSnapshot, Vector
from partita.core.store.queries.base import ReaderPart
from partita.core.store.values import AssetId, LocationId, RunId, SnapshotId

ACTIVE_VECTOR = text("SELECT id, active_snapshot_id FROM location WHERE active_snapshot_id IS NOT NULL ORDER BY id")

RUN_VECTOR = text("SELECT location_id, snapshot_id FROM run_pin WHERE run_id = :run ORDER BY location_id")

SNAPSHOTS = text("""
    SELECT s.location_id, l.name, s.id, s.hash, s.effective, s.kept
    FROM snapshot s JOIN location l ON l.id = s.location_id WHERE s.id = ANY(CAST(:ids AS bigint[])) ORDER BY s.id
""")

SNAPSHOTS_BY_HASH = text("""
    SELECT s.location_id, s.hash, s.id
    FROM unnest(CAST(:locations AS bigint[]), CAST(:hashes AS text[])) AS u(location_id, hash)
    JOIN snapshot s ON s.location_id = u.location_id AND s.hash = u.hash
""")

ASSET_IDS = text("SELECT key, id FROM asset")


class DefinitionsQueries(ReaderPart):
    """Implements `partita.core.catalog.values.DefinitionsReader`."""

    def active_vector(self) -> Vector:
        return tuple((LocationId(row[0]), SnapshotId(row[1])) for row in self._rows(ACTIVE_VECTOR))

    def run_vector(self, run_id: RunId) -> Vector:
        return tuple((LocationId(row[0]), SnapshotId(row[1])) for row in self._rows(RUN_VECTOR, run=run_id))

    def snapshots(self, ids: Iterable[SnapshotId]) -> list[StoredSnapshot]:
        wanted = sorted(set(ids))
        rows = self._rows(SNAPSHOTS, ids=wanted) if wanted else []
        keepers = self._keepers(rows)
        return [
            StoredSnapshot(
                location_id=location_id,
                location=location,
                snapshot_id=snapshot_id,
                version=version,
                snapshot=Snapshot.model_validate_json(bytes(effective)),
                kept={
                    AssetKey(entry["key"]): (keepers[location_id, entry["version"]], entry["version"])
                    for entry in kept
                    if (location_id, entry["version"]) in keepers
                },
            )
            for location_id, location, snapshot_id, version, effective, kept in rows
        ]

    def _keepers(self, rows: Sequence[Any]) -> dict[tuple[LocationId, str], SnapshotId]:
        """The older snapshots that still define assets whose module does not load."""
        wanted = sorted({(row[0], entry["version"]) for row in rows for entry in row[5]})
        if not wanted:
            return {}
        found = self._rows(
            SNAPSHOTS_BY_HASH,
            locations=[location_id for location_id, _ in wanted],
            hashes=[version for _, version in wanted],
        )
        return {(LocationId(row[0]), row[1]): SnapshotId(row[2]) for row in found}

    def asset_ids(self) -> Mapping[AssetKey, AssetId]:
        return {AssetKey(row[0]): AssetId(row[1]) for row in self._rows(ASSET_IDS)}
