"""Definitions, code servers, plans, cell pages and components in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Any

from partita.core.store.encode import as_stored, optional_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.values import AssetId, AttemptId, CellRef, LocationId, SnapshotId
from partita.core.store.values_definitions import (
    CellPage,
    CodeServer,
    LocationState,
    PageRef,
    PlanId,
    QueuedPin,
    StoredPlan,
    StoredSnapshot,
)


class DefinitionsPart(MemoryPart):
    # -- locations and snapshots
    def put_location(self, name: str) -> LocationId:
        for row in self._db.location:
            if row["name"] == name:
                return LocationId(row["id"])
        location_id = LocationId(self._db.next("location"))
        self._db.location.put(
            {
                "id": location_id,
                "name": name,
                "active_snapshot_id": None,
                "state": "down",
                "error": None,
                "modules": [],
                "state_since": self._now,
                "loaded_at": None,
            }
        )
        return location_id

    def set_location_state(
        self, location_id: LocationId, state: LocationState, *, error: str | None, modules: Sequence[Mapping[str, Any]]
    ) -> None:
        row = self._db.location.get(location_id)
        if row is None:
            raise self._violation(f"there is no location {location_id}")
        self._db.location.change(
            location_id,
            state=state.value,
            error=optional_text(error),
            modules=as_stored(list(modules)),
            state_since=row["state_since"] if row["state"] == state.value else self._now,
            loaded_at=self._now if state is LocationState.SERVING else row["loaded_at"],
        )

    def lock_locations(self) -> dict[LocationId, SnapshotId | None]:
        return {row["id"]: row["active_snapshot_id"] for row in self._db.location.sorted_rows()}

    def put_snapshot(
        self, location_id: LocationId, hash: str, *, body: bytes, effective: bytes, kept: Sequence[Mapping[str, Any]]
    ) -> tuple[SnapshotId, bool]:
        for row in self._db.snapshot:
            if (row["location_id"], row["hash"]) == (location_id, hash):
                return SnapshotId(row["id"]), False
        snapshot_id = SnapshotId(self._db.next("snapshot"))
        self._db.snapshot.put(
            {
                "id": snapshot_id,
                "location_id": location_id,
                "hash": hash,
                "body": body,
                "effective": effective,
                "kept": as_stored(list(kept)),
                "created_at": self._now,
                "activated_at": None,
            }
        )
        return snapshot_id, True

    def read_snapshots(self, ids: Sequence[SnapshotId]) -> list[StoredSnapshot]:
        rows = (self._db.snapshot.get(snapshot_id) for snapshot_id in sorted(set(ids)))
        return [StoredSnapshot(**{**row, "kept": tuple(row["kept"])}) for row in rows if row is not None]

    def activate_snapshot(self, location_id: LocationId, snapshot_id: SnapshotId) -> None:
        row = self._db.snapshot.get(snapshot_id)
        if row is None or row["location_id"] != location_id:
            raise self._violation(f"the snapshot {snapshot_id} is not one of the location {location_id}")
        self._db.location.change(location_id, active_snapshot_id=snapshot_id)
        self._db.snapshot.change(snapshot_id, activated_at=self._now)

    # -- assets
    def intern_assets(self, keys: Iterable[str]) -> dict[str, AssetId]:
        known = {row["key"]: row["id"] for row in self._db.asset}
        ids: dict[str, AssetId] = {}
        for key in sorted(set(keys)):
            if key not in known:
                known[key] = self._db.next("asset")
                self._db.asset.put(
                    {
                        "id": known[key],
                        "key": key,
                        "location_id": None,
                        "snapshot_id": None,
                        "first_seen_at": self._now,
                        "retired_at": None,
                        "home_id": None,
                        "scheme_id": None,
                    }
                )
            ids[key] = known[key]
        return ids

    def define_assets(
        self, location_id: LocationId, snapshot_id: SnapshotId, keys: Iterable[str]
    ) -> dict[str, AssetId]:
        ids = self.intern_assets(keys)
        for asset_id in ids.values():
            self._db.asset.change(asset_id, location_id=location_id, snapshot_id=snapshot_id, retired_at=None)
        return ids

    def retire_assets(self, location_id: LocationId, keep: AbstractSet[str]) -> list[AssetId]:
        retired = [
            row["id"]
            for row in self._db.asset.sorted_rows()
            if row["location_id"] == location_id and row["retired_at"] is None and row["key"] not in keep
        ]
        for asset_id in retired:
            self._db.asset.change(asset_id, retired_at=self._now)
        return retired

    # -- code servers
    def put_code_server(
        self, server_id: str, location_id: LocationId, address: str, versions: Sequence[str], lease_s: float
    ) -> None:
        self._db.code_server.put(
            {
                "server_id": server_id,
                "location_id": location_id,
                "address": address,
                "versions": as_stored(list(versions)),
                "lease_expires_at": self._now + timedelta(seconds=lease_s),
            }
        )
        self._serve(server_id)

    def renew_code_server(self, server_id: str, lease_s: float) -> bool:
        if server_id not in self._db.code_server:
            return False
        self._db.code_server.change(server_id, lease_expires_at=self._now + timedelta(seconds=lease_s))
        self._serve(server_id)
        return True

    def _serve(self, server_id: str) -> None:
        """What it has is not gone."""
        server = self._db.code_server.rows[server_id]
        for row in self._db.version_gone:
            snapshot = self._db.snapshot.get(row["snapshot_id"])
            if snapshot is None or snapshot["location_id"] != server["location_id"]:
                continue
            if snapshot["hash"] in server["versions"]:
                self._db.version_gone.delete(row["snapshot_id"])

    def remove_code_server(self, server_id: str) -> None:
        if server_id in self._db.code_server:
            self._db.code_server.delete(server_id)

    def live_code_servers(self) -> list[CodeServer]:
        return [
            CodeServer(**{**row, "versions": tuple(row["versions"])})
            for row in self._db.code_server.sorted_rows()
            if row["lease_expires_at"] > self._now
        ]

    def queued_pins(self) -> list[QueuedPin]:
        queued = self._db.task.find("state", "queued")
        pins = {
            (row["location_id"], row["snapshot_id"], row["queue"])
            for row in queued
            if row["location_id"] is not None and row["snapshot_id"] is not None
        }
        return [
            QueuedPin(location, self._location_name(location), snapshot, self._version(snapshot), queue)
            for location, snapshot, queue in sorted(pins)
        ]

    def _location_name(self, location_id: LocationId) -> str:
        row = self._db.location.get(location_id)
        return "" if row is None else str(row["name"])

    def _version(self, snapshot_id: SnapshotId) -> str:
        row = self._db.snapshot.get(snapshot_id)
        return "" if row is None else str(row["hash"])

    # -- plans
    def save_plan(
        self, hash: str, *, request: Mapping[str, Any], as_of: datetime, body: bytes, keep_s: float
    ) -> PlanId:
        plan_id = PlanId(self._db.next("plan"))
        self._db.plan.put(
            {
                "id": plan_id,
                "hash": hash,
                "request": as_stored(request),
                "as_of": as_of,
                "body": body,
                "created_at": self._now,
                "expires_at": self._now + timedelta(seconds=keep_s),
            }
        )
        return plan_id

    def load_plan(self, plan_id: PlanId) -> StoredPlan | None:
        row = self._db.plan.get(plan_id)
        return None if row is None or row["expires_at"] <= self._now else StoredPlan(**row)

    def find_plan(self, hash_prefix: str) -> StoredPlan | None:
        live = [row for row in self._db.plan if row["hash"].startswith(hash_prefix) and row["expires_at"] > self._now]
        return StoredPlan(**max(live, key=lambda row: int(row["id"]))) if live else None

    def expire_plans(self) -> int:
        expired = [row["id"] for row in self._db.plan if row["expires_at"] <= self._now]
        for plan_id in expired:
            self._db.plan.delete(plan_id)
        return len(expired)

    # -- cell pages
    def take_cell_changes(self, limit: int) -> set[CellRef]:
        rows = self._db.cell_change.sorted_rows()[:limit]
        for row in rows:
            self._db.cell_change.delete(row["seq"])
        return {CellRef(row["asset_id"], row["partition"]) for row in rows}

    def lock_pages(self, assets: Iterable[AssetId]) -> dict[AssetId, list[str]]:
        found: dict[AssetId, list[str]] = {asset_id: [] for asset_id in sorted(set(assets))}
        for row in self._db.cell_page.sorted_rows():
            if row["asset_id"] in found:
                found[row["asset_id"]].append(row["first_key"])
        return found

    def read_pages(self, pages: Iterable[PageRef]) -> dict[PageRef, CellPage]:
        rows = {page: self._db.cell_page.get(tuple(page)) for page in set(pages)}
        return {page: CellPage(**row) for page, row in rows.items() if row is not None}

    def replace_pages(self, removed: Iterable[PageRef], pages: Iterable[CellPage]) -> None:
        rows = list(pages)
        distinct((page.ref for page in rows), "replace_pages")
        for page in set(removed):
            if tuple(page) in self._db.cell_page:
                self._db.cell_page.delete(tuple(page))
        for one in rows:
            self._db.cell_page.put(
                {
                    "asset_id": one.asset_id,
                    "first_key": one.first_key,
                    "n": one.n,
                    "packed": one.packed,
                    "sum_hash": one.sum_hash,
                }
            )

    # -- processes
    def note_attempt_process(self, attempt_id: AttemptId, pid: int) -> None:
        row = self._db.attempt.get(attempt_id)
        if row is not None and row["finished_at"] is None:
            self._db.attempt.put(row | {"pid": pid})

    def put_component(
        self, component_id: str, kind: str, name: str, pid: int, counts: Mapping[str, Any] | None = None
    ) -> None:
        self._db.component.put(
            {
                "id": component_id,
                "kind": kind,
                "name": name,
                "pid": pid,
                "last_seen_at": self._now,
                "counts": as_stored(counts or {}),
            }
        )

    def remove_component(self, component_id: str) -> None:
        if component_id in self._db.component:
            self._db.component.delete(component_id)
