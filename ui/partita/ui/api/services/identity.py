"""Renaming, moving, retiring and deleting assets by hand: previewed, then done as shown.

Owns putting together what is known. What it means is the core's (`decide/identity_by_hand.py`).
"""

from __future__ import annotations

import json
from collections.abc import Collection
from hashlib import sha256

from partita.assets import AssetKey, asset_key, select_assets
from partita.core.catalog import Catalog
from partita.core.decide.identity_by_hand import IdentityChange, Known, delete, move, rename, retire
from partita.core.duties.identity import CHANNELS, change_identity
from partita.core.store.port import Tx
from partita.core.store.queries.api_read import rows
from partita.core.store.queries.identity_read import FORMER_CELLS, LOCATION_IDS
from partita.core.store.values import AssetId, LocationId
from partita.ui.api.models.identity import (
    DeleteRequest,
    FormerCellView,
    IdentityLine,
    IdentityPreview,
    IdentityRequest,
    MoveRequest,
    RenameRequest,
)
from partita.ui.api.problems import NotWhatWasShown
from partita.ui.api.services.base import Backend


class IdentityService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def preview(self, request: IdentityRequest) -> IdentityPreview:
        """What would happen now. Changes nothing. Raises UnknownAsset, SelectionError, IdentityRefused."""
        return _view(self._decide(request))

    def apply(self, request: IdentityRequest, shown: str, reason: str = "") -> IdentityPreview:
        """Does what was shown; raises NotWhatWasShown when it would be something else now."""
        change = self._decide(request)
        told = _view(change)
        if told.hash != shown:
            raise NotWhatWasShown(
                "something moved since this was shown", rule="what is done is what was shown", fix="look again"
            )
        change_identity(self._backend.store, change, who=self._backend.who, reason=reason.strip())
        self._backend.wake(CHANNELS)
        return told

    def former(self, key: str, *, offset: int = 0, limit: int = 100) -> list[FormerCellView]:
        """The cells of earlier partition schemes of an asset, newest first; retired assets have theirs, too."""
        with self._backend.store.read() as reader:
            found = rows(reader, FORMER_CELLS, key=key, offset=offset, limit=limit)
        return [FormerCellView.model_validate(dict(row)) for row in found]

    def _decide(self, request: IdentityRequest) -> IdentityChange:
        catalog = self._backend.catalogs.active()
        if isinstance(request, RenameRequest):
            new = asset_key(request.to)
            return rename(self._known(catalog, [request.key, new]), request.key, new)
        if isinstance(request, MoveRequest):
            return move(self._known(catalog, [request.key]), request.key, request.location, self._locations())
        if isinstance(request, DeleteRequest):
            return delete(self._known(catalog, request.keys), request.keys, _readers(catalog, request.keys))
        chosen = select_assets(catalog.graph, request.selection)
        readers = {key: [asset.key for asset, _ in catalog.consumers.get(key, ())] for key in chosen}
        return retire(self._known(catalog, chosen), chosen, readers)

    def _known(self, catalog: Catalog, keys: Collection[str]) -> Known:
        declared = {asset.key: asset.location for asset in catalog.assets.values()}

        def read(tx: Tx) -> Known:
            found = tx.read_assets()
            asked = [AssetId(row.id) for row in found if row.key in keys]
            return Known(found, declared, tx.published_counts(asked), tx.open_counts(asked), catalog.vector)

        return self._backend.store.run(read)

    def _locations(self) -> dict[str, LocationId]:
        with self._backend.store.read() as reader:
            return {row["name"]: LocationId(row["id"]) for row in rows(reader, LOCATION_IDS)}


def _readers(catalog: Catalog, keys: Collection[str]) -> dict[str, list[AssetKey]]:
    """The active assets that name each of these as an input."""
    wanted = set(keys)
    readers: dict[str, list[AssetKey]] = {}
    for asset in catalog.assets.values():
        for upstream in {one.upstream for one in asset.spec.inputs} & wanted:
            readers.setdefault(upstream, []).append(asset.key)
    return readers


def _view(change: IdentityChange) -> IdentityPreview:
    lines = [
        IdentityLine(asset_id=one.asset_id, was=one.was, became=one.became, cells=one.cells, note=one.note)
        for one in change.lines
    ]
    said = json.dumps(
        [change.kind, change.vector, [one.model_dump(exclude={"cells"}) for one in lines]], sort_keys=True
    )
    return IdentityPreview(kind=change.kind, assets=lines, hash=sha256(said.encode()).hexdigest()[:32])
