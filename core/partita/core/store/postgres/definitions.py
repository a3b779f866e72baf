"""Definitions: locations, snapshots, the stable ids of assets, code servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from partita.core.store.encode import optional_text, to_json
from partita.core.store.postgres.base import PostgresPart
from partita.core.store.sql import text
from partita.core.store.values import AssetId, LocationId, SnapshotId
from partita.core.store.values_definitions import CodeServer, LocationState, QueuedPin, StoredSnapshot

FIND_LOCATION = text("SELECT id FROM location WHERE name = :name")
INSERT_LOCATION = text("INSERT INTO location (name) VALUES (:name) ON CONFLICT DO NOTHING")

SET_LOCATION_STATE = text("""
    UPDATE location
    SET state = :state, error = :error, modules = CAST(:modules AS jsonb),
        state_since = CASE WHEN state = :state THEN state_since ELSE now() END,
        loaded_at = CASE WHEN :state = 'serving' THEN now() ELSE loaded_at END
    WHERE id = :id
""")

LOCK_LOCATIONS = text("SELECT id, active_snapshot_id FROM location ORDER BY id FOR NO KEY UPDATE")

FIND_SNAPSHOT = text("SELECT id FROM snapshot WHERE location_id = :location AND hash = :hash")
INSERT_SNAPSHOT = text("""
    INSERT INTO snapshot (location_id, hash, body, effective, kept)
    VALUES (:location, :hash, :body, :effective, CAST(:kept AS jsonb)) ON CONFLICT DO NOTHING RETURNING id
""")
READ_SNAPSHOTS = text("""
    SELECT id, location_id, hash, body, effective, kept, created_at, activated_at FROM snapshot
    WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id
""")
ACTIVATE_SNAPSHOT = text("""
    WITH active AS (
        UPDATE location l SET active_snapshot_id = s.id FROM snapshot s
        WHERE l.id = :location AND s.id = :snapshot AND s.location_id = l.id RETURNING s.id
    )
    UPDATE snapshot s SET activated_at = now() FROM active WHERE s.id = active.id
""")

FIND_ASSETS = text("SELECT key, id FROM asset WHERE key = ANY(CAST(:keys AS text[]))")
INSERT_ASSETS = text("""
    INSERT INTO asset (key) SELECT u.key FROM unnest(CAST(:keys AS text[])) AS u(key) ORDER BY u.key COLLATE "C"
    ON CONFLICT DO NOTHING
""")
DEFINE_ASSETS = text("""
    UPDATE asset SET location_id = :location, snapshot_id = :snapshot, retired_at = NULL WHERE id = ANY(CAST(:ids AS bigint[]))
""")
RETIRE_ASSETS = text("""
    UPDATE asset SET retired_at = now()
    WHERE location_id = :location AND retired_at IS NULL AND key <> ALL(CAST(:keep AS text[])) RETURNING id
""")

PUT_CODE_SERVER = text("""
    INSERT INTO code_server (server_id, location_id, address, versions, lease_expires_at)
    VALUES (:id, :location, :address, CAST(:versions AS jsonb), now() + make_interval(secs => :lease_s))
    ON CONFLICT (server_id) DO UPDATE
    SET location_id = excluded.location_id, address = excluded.address, versions = excluded.versions,
        lease_expires_at = excluded.lease_expires_at
""")
RENEW_CODE_SERVER = text("""
    UPDATE code_server SET lease_expires_at = now() + make_interval(secs => :lease_s) WHERE server_id = :id
""")
# What it has is not gone. (As a rule the table is empty.)
SERVE_VERSIONS = text("""
    DELETE FROM version_gone g USING snapshot s, code_server c
    WHERE c.server_id = :id AND s.id = g.snapshot_id AND s.location_id = c.location_id AND jsonb_exists(c.versions, s.hash)
""")
REMOVE_CODE_SERVER = text("DELETE FROM code_server WHERE server_id = :id")
LIVE_CODE_SERVERS = text("""
    SELECT server_id, location_id, address, versions, lease_expires_at FROM code_server
    WHERE lease_expires_at > now() ORDER BY server_id
""")

# A skip scan of the partial index task_queued: its cost is the number of versions and queues, not of queued tasks.
QUEUED_PINS = text("""
    WITH RECURSIVE pin(location_id, snapshot_id, queue) AS (
        (SELECT location_id, snapshot_id, queue FROM task
         WHERE state = 'queued' AND location_id IS NOT NULL AND snapshot_id IS NOT NULL
         ORDER BY location_id, snapshot_id, queue LIMIT 1)
        UNION ALL
        SELECT f.location_id, f.snapshot_id, f.queue FROM pin p
        CROSS JOIN LATERAL (
            SELECT t.location_id, t.snapshot_id, t.queue FROM task t
            WHERE t.state = 'queued' AND (t.location_id, t.snapshot_id, t.queue) > (p.location_id, p.snapshot_id, p.queue)
              AND t.location_id IS NOT NULL AND t.snapshot_id IS NOT NULL
            ORDER BY t.location_id, t.snapshot_id, t.queue LIMIT 1
        ) f
    )
    SELECT p.location_id, coalesce(l.name, ''), p.snapshot_id, coalesce(s.hash, ''), p.queue
    FROM pin p
    LEFT JOIN location l ON l.id = p.location_id
    LEFT JOIN snapshot s ON s.id = p.snapshot_id
    ORDER BY p.location_id, p.snapshot_id, p.queue
""")


class DefinitionsPart(PostgresPart):
    # -- locations and snapshots
    def put_location(self, name: str) -> LocationId:
        rows = self._rows(FIND_LOCATION, name=name)
        if not rows:
            self._execute(INSERT_LOCATION, name=name)
            rows = self._rows(FIND_LOCATION, name=name)
        return LocationId(rows[0][0])

    def set_location_state(
        self, location_id: LocationId, state: LocationState, *, error: str | None, modules: Sequence[Mapping[str, Any]]
    ) -> None:
        written = self._execute(
            SET_LOCATION_STATE,
            id=location_id,
            state=state.value,
            error=optional_text(error),
            modules=to_json(list(modules)),
        )
        if written != 1:
            raise self._violation(f"there is no location {location_id}")

    def lock_locations(self) -> dict[LocationId, SnapshotId | None]:
        return {row[0]: row[1] for row in self._rows(LOCK_LOCATIONS)}

    def put_snapshot(
        self, location_id: LocationId, hash: str, *, body: bytes, effective: bytes, kept: Sequence[Mapping[str, Any]]
    ) -> tuple[SnapshotId, bool]:
        found = self._rows(FIND_SNAPSHOT, location=location_id, hash=hash)
        if found:
            return SnapshotId(found[0][0]), False
        new = self._rows(
            INSERT_SNAPSHOT, location=location_id, hash=hash, body=body, effective=effective, kept=to_json(list(kept))
        )
        if new:
            return SnapshotId(new[0][0]), True
        return SnapshotId(self._rows(FIND_SNAPSHOT, location=location_id, hash=hash)[0][0]), False

    def read_snapshots(self, ids: Sequence[SnapshotId]) -> list[StoredSnapshot]:
        return [snapshot_of(row) for row in self._rows(READ_SNAPSHOTS, ids=sorted(set(ids)))]

    def activate_snapshot(self, location_id: LocationId, snapshot_id: SnapshotId) -> None:
        if self._execute(ACTIVATE_SNAPSHOT, location=location_id, snapshot=snapshot_id) != 1:
            raise self._violation(f"the snapshot {snapshot_id} is not one of the location {location_id}")

    # -- assets
    def intern_assets(self, keys: Iterable[str]) -> dict[str, AssetId]:
        wanted = sorted(set(keys))
        ids = self._asset_ids(wanted)
        new = [key for key in wanted if key not in ids]
        if new:
            self._execute(INSERT_ASSETS, keys=new)
            ids |= self._asset_ids(new)
        return {key: ids[key] for key in wanted}

    def _asset_ids(self, keys: Sequence[str]) -> dict[str, AssetId]:
        return {row[0]: AssetId(row[1]) for row in self._rows(FIND_ASSETS, keys=list(keys))}

    def define_assets(
        self, location_id: LocationId, snapshot_id: SnapshotId, keys: Iterable[str]
    ) -> dict[str, AssetId]:
        ids = self.intern_assets(keys)
        self._execute(DEFINE_ASSETS, location=location_id, snapshot=snapshot_id, ids=sorted(ids.values()))
        return ids

    def retire_assets(self, location_id: LocationId, keep: AbstractSet[str]) -> list[AssetId]:
        return sorted(row[0] for row in self._rows(RETIRE_ASSETS, location=location_id, keep=sorted(keep)))

    # -- code servers
    def put_code_server(
        self, server_id: str, location_id: LocationId, address: str, versions: Sequence[str], lease_s: float
    ) -> None:
        self._execute(
            PUT_CODE_SERVER,
            id=server_id,
            location=location_id,
            address=address,
            versions=to_json(list(versions)),
            lease_s=lease_s,
        )
        self._execute(SERVE_VERSIONS, id=server_id)

    def renew_code_server(self, server_id: str, lease_s: float) -> bool:
        known = self._execute(RENEW_CODE_SERVER, id=server_id, lease_s=lease_s) == 1
        self._execute(SERVE_VERSIONS, id=server_id)
        return known

    def remove_code_server(self, server_id: str) -> None:
        self._execute(REMOVE_CODE_SERVER, id=server_id)

    def live_code_servers(self) -> list[CodeServer]:
        return [CodeServer(row[0], row[1], row[2], tuple(row[3]), row[4]) for row in self._rows(LIVE_CODE_SERVERS)]

    def queued_pins(self) -> list[QueuedPin]:
        return [QueuedPin(*row) for row in self._rows(QUEUED_PINS)]


def snapshot_of(row: Any) -> StoredSnapshot:
    snapshot_id, location_id, hash, body, effective, kept, created_at, activated_at = row
    return StoredSnapshot(
        snapshot_id, location_id, hash, bytes(body), bytes(effective), tuple(kept), created_at, activated_at
    )
