"""Definitions and what is published under them, for commands that work on code: `partita run`, `partita diff`.

Owns no decision: the comparison is the core's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from partita.assets import AssetKey, Snapshot
from partita.core.catalog import StoredSnapshot
from partita.core.changes import DeployDiff, compare, deploy_diff
from partita.core.store.queries.api_read import one
from partita.core.store.queries.api_system import PREVIOUS_SNAPSHOT
from partita.core.store.values import CellRef, SnapshotId
from partita.ui.api.models import LocationDiff
from partita.ui.api.problems import NotFound
from partita.ui.api.services.base import Backend
from partita.ui.api.services.change_views import activated_view, candidate_view


class DefinitionService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def location_of(self, key: str) -> str:
        """The location that defines an asset; raises UnknownAsset."""
        return self._backend.catalogs.active().asset(key).location

    def scheme(self, key: str) -> dict[str, Any] | None:
        """The partitions of an asset as its snapshot has them, None for an unpartitioned one; raises UnknownAsset."""
        spec = self._backend.catalogs.active().asset(key).spec.partitions
        return None if spec is None else spec.model_dump(mode="json")

    def dynamic_keys(self, scheme: str) -> list[str]:
        """The present keys of a dynamic scheme; none of one that nobody slices by yet."""
        return list(self._backend.catalogs.active().keys.keys.get(scheme, ()))

    def published(self, key: str, partitions: Sequence[str]) -> list[dict[str, str]]:
        """Of these partitions, in this order, the published ones; an asset that nobody knows has none."""
        catalog = self._backend.catalogs.active()
        asset = catalog.assets.get(AssetKey(key))
        if asset is None:
            return []
        refs = [CellRef(asset.id, partition) for partition in partitions]
        with self._backend.store.read() as reader:
            details = reader.details(refs)
        return [
            {"partition": ref.partition, "data_version": found.data_version, "location": found.location or ""}
            for ref in refs
            if (found := details.get(ref)) is not None and found.data_version is not None
        ]

    async def location_diff(self, name: str, addresses: Sequence[str]) -> LocationDiff:
        """A candidate that the location serves and that is not active, against what is; else what the last activation changed."""
        active, before = await asyncio.to_thread(self._versions, name)
        version = active.version if active is not None else None
        candidate = await _candidate(addresses, version)
        if candidate is not None:
            found = await asyncio.to_thread(self.deploy_diff, [candidate[1]])
            return candidate_view(found, version=candidate[0], against=version)
        if active is None:
            raise NotFound(f"location {name!r} has no active version", rule="a difference is between two versions")
        difference = compare(before.snapshot if before is not None else None, active.snapshot, datetime.now(UTC))
        return activated_view(difference, version=version, against=before.version if before is not None else None)

    def _versions(self, name: str) -> tuple[StoredSnapshot | None, StoredSnapshot | None]:
        """The active snapshot of a location, and the other one that was active last: what was active before it."""
        active = next((one for one in self._backend.catalogs.active().snapshots if one.location == name), None)
        if active is None:
            return None, None
        with self._backend.store.read() as reader:
            row = one(reader, PREVIOUS_SNAPSHOT, location=active.location_id, active=active.snapshot_id)
            before = reader.snapshots([SnapshotId(row["id"])]) if row is not None else []
        return active, before[0] if before else None

    def deploy_diff(self, candidates: Sequence[Snapshot]) -> DeployDiff:
        """What activating these candidates, one per location, would change now."""
        catalog = self._backend.catalogs.active()
        with self._backend.store.read() as reader:
            return deploy_diff(catalog, candidates, reader.identities(), reader, reader.now())


async def _candidate(addresses: Sequence[str], active: str | None) -> tuple[str, Snapshot] | None:
    """The version that a live server would have new runs use, when that is not the active one."""
    from partita.grpc.client import CodeLocationClient, CodeServerError

    for address in addresses:
        try:
            async with CodeLocationClient(address) as client:
                version, body = await client.definitions(known_hash=active or "")
        except CodeServerError:
            continue  # another server may answer; the location's page says which do not
        if body is not None and version != active:
            return version, Snapshot.model_validate_json(body)
    return None
