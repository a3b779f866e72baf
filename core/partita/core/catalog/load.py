"""Catalogs from the store: the active one, and those of pinned runs, each built once per vector of snapshots.

Owns the cache. The dearest part of a catalog is reading and validating snapshots; a vector that is known costs one small
statement.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from threading import Lock

from partita.core.catalog.catalog import Catalog
from partita.core.catalog.identity import KnownIdentities, active_definitions
from partita.core.catalog.values import DefinitionsReader, StoredSnapshot, Vector
from partita.core.store.values import RunId, SnapshotId

_CATALOGS_KEPT = 16
_RUNS_KEPT = 10_000


def load_catalog(reader: DefinitionsReader, vector: Vector | None = None) -> Catalog:
    """The catalog of a vector, or of the active snapshots."""
    chosen = reader.active_vector() if vector is None else vector
    return _made(reader.snapshots([snapshot for _, snapshot in chosen]), reader.identities())


def _made(snapshots: Sequence[StoredSnapshot], known: KnownIdentities) -> Catalog:
    return Catalog(active_definitions(snapshots, known), known.ids_of(snapshots), origins=known.origins())


class CatalogCache:
    """Catalogs by vector. `readers` opens a reader on one snapshot of the database; it is used for misses only."""

    def __init__(self, readers: Callable[[], AbstractContextManager[DefinitionsReader]]) -> None:
        self._readers = readers
        self._catalogs: OrderedDict[Vector, tuple[int, Catalog]] = OrderedDict()  # with the stamp of its identities
        self._snapshots: dict[SnapshotId, StoredSnapshot] = {}
        self._runs: OrderedDict[RunId, Vector] = OrderedDict()
        self._lock = Lock()

    def active(self) -> Catalog:
        """The catalog of the active snapshots; one small statement when nothing changed."""
        with self._readers() as reader:
            return self._of(reader, reader.active_vector(), reader.identity_stamp())

    def of_run(self, run_id: RunId) -> Catalog:
        """The catalog of the snapshots that a run is pinned to; no statement when the run is known."""
        with self._lock:
            vector = self._runs.get(run_id)
            known = self._catalogs.get(vector) if vector is not None else None
        if known is not None:
            return known[1]
        with self._readers() as reader:
            vector = reader.run_vector(run_id)
            catalog = self._of(reader, vector)
        with self._lock:
            self._runs[run_id] = vector
            while len(self._runs) > _RUNS_KEPT:
                self._runs.popitem(last=False)
        return catalog

    def _of(self, reader: DefinitionsReader, vector: Vector, stamp: int | None = None) -> Catalog:
        """The catalog of a vector; with `stamp` not one that was made before the identities moved."""
        with self._lock:
            known = self._catalogs.get(vector)
            if known is not None and stamp in (None, known[0]):
                self._catalogs.move_to_end(vector)
                return known[1]
            wanted = [snapshot for _, snapshot in vector]
            fresh = [one for one in wanted if one not in self._snapshots]
            # Parsing an unchanged location again because its neighbour reloaded would cost seconds at 10,000 assets.
            for stored in reader.snapshots(fresh):
                self._snapshots[stored.snapshot_id] = stored
            chosen = [self._snapshots[one] for one in wanted if one in self._snapshots]
            identities = reader.identities()
            catalog = _made(chosen, identities)
            self._catalogs[vector] = (identities.stamp, catalog)
            self._catalogs.move_to_end(vector)
            while len(self._catalogs) > _CATALOGS_KEPT:
                self._catalogs.popitem(last=False)
            used = {snapshot for pairs in self._catalogs for _, snapshot in pairs}
            self._snapshots = {key: value for key, value in self._snapshots.items() if key in used}
            return catalog
