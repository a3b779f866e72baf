"""The status of all assets as people last saw it: recomputed only where something changed.

Owns the cache and its rule. One byte a cell is kept, never a list of keys. An entry is dropped when a cell of its asset or of
anything above it changed, when a window opened or closed, or when the definitions changed (law 4: cost follows what changed).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

import numpy as np
import numpy.typing as npt

from partita.assets import AssetKey, PartitionSpace
from partita.core.catalog import Catalog
from partita.core.cells import STATES, Statuses
from partita.core.store.queries import api_assets as sql
from partita.core.store.queries.api_read import now, rows
from partita.core.store.queries.reader import Reader
from partita.ui.api.services.base import Backend

Codes = npt.NDArray[np.uint8]
Tokens = Mapping[AssetKey, tuple[object, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What the cells of one asset show: `codes[ordinal]` is an index into STATES."""

    space: PartitionSpace
    codes: Codes

    def counts(self) -> dict[str, int]:
        return counts_of(self.codes)


def counts_of(codes: Codes) -> dict[str, int]:
    """How many cells show each state; only states that occur."""
    tally = np.bincount(codes.ravel(), minlength=len(STATES))
    return {state: int(n) for state, n in zip(STATES, tally, strict=True) if n}


class Board:
    """Thread-safe. `view` is one consistent look at some assets."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._lock = Lock()
        self._catalog: Catalog | None = None
        self._tokens: Tokens = {}
        self._shown: dict[AssetKey, Shown] = {}

    def view(self, keys: Iterable[AssetKey] | None = None) -> tuple[Catalog, datetime, Mapping[AssetKey, Shown]]:
        """The active catalog, the instant, and what these assets (default: all) show."""
        catalog = self._backend.catalogs.active()
        wanted = list(catalog.assets if keys is None else keys)
        with self._lock, self._backend.store.read() as reader:
            # Windows open and close at whole minutes: within one, all readers share the same spaces.
            at = now(reader).replace(second=0, microsecond=0)
            self._refresh(catalog, reader, at)
            missing = [key for key in wanted if key not in self._shown]
            if missing:
                self._compute(catalog, reader, at, missing)
            return catalog, at, {key: self._shown[key] for key in wanted}

    def _refresh(self, catalog: Catalog, reader: Reader, at: datetime) -> None:
        tokens = _tokens(catalog, reader)
        # Other keys of dynamic schemes are other spaces of the same graph: only what reads them is computed anew.
        if self._catalog is None or catalog.graph is not self._catalog.graph:
            self._shown = {}
        else:
            dirty = moved(self._tokens, tokens)
            dirty |= {key for key, one in self._shown.items() if catalog.space(key, at) is not one.space}
            if dirty:
                dirty |= catalog.graph.descendants(*dirty)
                self._shown = {key: one for key, one in self._shown.items() if key not in dirty}
        self._catalog, self._tokens = catalog, tokens

    def _compute(self, catalog: Catalog, reader: Reader, at: datetime, keys: list[AssetKey]) -> None:
        statuses = Statuses(catalog, reader, at)
        needed = sorted({*keys, *catalog.graph.ancestors(*keys)}, key=catalog.order.__getitem__)
        statuses.prefetch(needed, ancestors=False)
        for key in needed:
            status = statuses.status(key)
            self._shown[key] = Shown(status.space, status.shown)


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
