"""Definitions and what is published under them, for commands that work on code: `partita run`, `partita diff`.

Owns no decision: the comparison is the core's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partita.assets import AssetKey, Snapshot
from partita.core.changes import DeployDiff, deploy_diff
from partita.core.store.values import CellRef
from partita.ui.api.services.base import Backend


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

    def deploy_diff(self, candidates: Sequence[Snapshot]) -> DeployDiff:
        """What activating these candidates, one per location, would change now."""
        catalog = self._backend.catalogs.active()
        with self._backend.store.read() as reader:
            return deploy_diff(catalog, candidates, reader.identities(), reader, reader.now())
