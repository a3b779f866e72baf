"""The status of all assets as people last saw it: recomputed only where something changed.

Owns which assets changed since the last look, told by tokens; what follows from it is worked out by `Kept` (law 4: cost follows
what changed). A few bytes a cell are kept, never a list of keys. Other definitions start anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from threading import Lock

from partita.assets import AssetKey
from partita.core.catalog import Catalog
from partita.core.cells import Kept, Shown, Statuses
from partita.core.store.queries import api_assets as sql
from partita.core.store.queries.api_read import now, rows
from partita.core.store.queries.reader import Reader
from partita.ui.api.services.base import Backend

Tokens = Mapping[AssetKey, tuple[object, ...]]


class Board:
    """Thread-safe. `view` is one consistent look at some assets."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._lock = Lock()
        self._catalog: Catalog | None = None
        self._tokens: Tokens = {}
        self._kept = Kept()

    def view(
        self, catalog: Catalog, keys: Iterable[AssetKey] | None = None
    ) -> tuple[datetime, Mapping[AssetKey, Shown]]:
        """The instant, and what these assets of the catalog (default: all) show. The catalog is the one in which the caller found
        them: the active one may have become another meanwhile."""
        wanted = list(catalog.assets if keys is None else keys)
        with self._lock, self._backend.store.read() as reader:
            # Windows open and close at whole minutes: within one, all readers share the same spaces.
            at = now(reader).replace(second=0, microsecond=0)
            tokens = _tokens(catalog, reader)
            # Other keys of dynamic schemes are other spaces of the same graph: only what reads them is judged anew.
            if self._catalog is None or catalog.graph is not self._catalog.graph:
                self._kept, self._tokens = Kept(), tokens
            self._kept.follow(Statuses(catalog, reader, at), moved(self._tokens, tokens), wanted)
            self._catalog, self._tokens = catalog, tokens
            return at, {key: self._kept.shown(key) for key in wanted}


def moved(before: Tokens, after: Tokens) -> set[AssetKey]:
    """The assets whose tokens differ; one that has none (any more) differs from one that has."""
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _tokens(catalog: Catalog, reader: Reader) -> Tokens:
    tokens: dict[AssetKey, tuple[object, ...]] = {}
    for name, statement in (("changed", sql.CHANGE_TOKENS), ("pages", sql.PAGE_TOKENS), ("open", sql.OPEN_TOKENS)):
        for row in rows(reader, statement):
            asset_id, *rest = row.values()
            asset = catalog.by_id.get(asset_id)
            if asset is not None:
                tokens[asset.key] = (*tokens.get(asset.key, ()), name, *rest)
    return tokens
