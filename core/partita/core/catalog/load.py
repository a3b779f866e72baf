"""Catalogs from the store: the active one, and those of pinned runs, each built once per vector of snapshots.

Owns the cache. The dearest part of a catalog is reading the snapshots and building the graph; a vector that is known costs one
small statement.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import Lock

from partita.core.catalog.catalog import Catalog
from partita.core.catalog.dynamic import KeysAt
from partita.core.catalog.identity import KnownIdentities, active_definitions
from partita.core.catalog.loading import uncollected
from partita.core.catalog.values import DefinitionsReader, StoredSnapshot, Vector
from partita.core.store.values import RunId, SnapshotId

_CATALOGS_KEPT = 16
_VIEWS_KEPT = 16
_RUNS_KEPT = 10_000


def load_catalog(reader: DefinitionsReader, vector: Vector | None = None) -> Catalog:
    """The catalog of a vector, or of the active snapshots."""
    chosen = reader.active_vector() if vector is None else vector
    with uncollected():
        catalog = _made(reader.snapshots([snapshot for _, snapshot in chosen]), reader.identities())
    return _with_keys(reader, catalog, reader.keys_revision()) if catalog.dynamic_schemes else catalog


def _made(snapshots: Sequence[StoredSnapshot], known: KnownIdentities) -> Catalog:
    return Catalog(active_definitions(snapshots, known), known.ids_of(snapshots), origins=known.origins())


def _with_keys(reader: DefinitionsReader, catalog: Catalog, revision: int) -> Catalog:
    return catalog.with_keys(KeysAt(revision, reader.dynamic_keys(sorted(catalog.dynamic_schemes), revision)))


class CatalogCache:
    """Catalogs by vector. `readers` opens a reader on one snapshot of the database; it is used for misses only."""

    def __init__(self, readers: Callable[[], AbstractContextManager[DefinitionsReader]]) -> None:
        self._readers = readers
        self._catalogs: OrderedDict[Vector, tuple[int, Catalog]] = OrderedDict()  # with the stamp of its identities
        self._snapshots: dict[SnapshotId, StoredSnapshot] = {}
        self._stamp = 0
        self._views: OrderedDict[tuple[Vector, int], Catalog] = OrderedDict()
        self._runs: OrderedDict[RunId, tuple[Vector, int]] = OrderedDict()
        self._lock = Lock()

    def active(self, keys_revision: int | None = None) -> Catalog:
        """The catalog of the active snapshots; one small statement when nothing changed, two when there are dynamic schemes.

        Their keys are the present ones, or those of an earlier revision.
        """
        with self._readers() as reader:
            catalog = self._of(reader, reader.active_vector(), reader.identity_stamp())
            if not catalog.dynamic_schemes:
                return catalog
            return self._view(reader, catalog, reader.keys_revision() if keys_revision is None else keys_revision)

    def prepare(self, runs: Mapping[RunId, int]) -> None:
        """Learns in one statement what these runs, which see these revisions of keys, are pinned to, where that is not known
        yet: a run that grew by keys that it found sees another revision than before."""
        with self._lock:
            unknown = sorted(run_id for run_id, revision in runs.items() if not self._knows(run_id, revision))
        if unknown:
            self._learn(unknown)

    def _knows(self, run_id: RunId, revision: int) -> bool:
        """Called under the lock."""
        pinned = self._runs.get(run_id)
        if pinned is None or pinned[1] == revision:
            return pinned is not None
        catalog = self._catalogs.get(pinned[0])
        return catalog is not None and not catalog[1].dynamic_schemes

    def of_run_at(self, run_id: RunId, keys_revision: int) -> Catalog:
        """The catalog of the snapshots that a run is pinned to, with the keys of a revision of its own."""
        with self._readers() as reader:
            vector, _ = reader.run_vectors([run_id]).get(run_id, ((), 0))
            catalog = self._of(reader, vector)
            return self._view(reader, catalog, keys_revision) if catalog.dynamic_schemes else catalog

    def _learn(self, run_ids: Sequence[RunId]) -> dict[RunId, Catalog]:
        with self._readers() as reader:
            known = reader.run_vectors(run_ids)
            found: dict[RunId, tuple[Vector, int]] = {run_id: known.get(run_id, ((), 0)) for run_id in run_ids}
            catalogs = {vector: self._of(reader, vector) for vector in {vector for vector, _ in found.values()}}
            pinned = {
                run_id: (vector, revision if catalogs[vector].dynamic_schemes else 0)
                for run_id, (vector, revision) in found.items()
            }
            views = {pin: self._view(reader, catalogs[pin[0]], pin[1]) for pin in set(pinned.values())}
        self._keep(pinned)
        return {run_id: views[pin] for run_id, pin in pinned.items()}

    def _keep(self, pinned: Mapping[RunId, tuple[Vector, int]]) -> None:
        with self._lock:
            self._runs.update(pinned)
            while len(self._runs) > _RUNS_KEPT:
                self._runs.popitem(last=False)

    def of_run(self, run_id: RunId) -> Catalog:
        """The catalog of the snapshots and keys that a run is pinned to; no statement when the run is known."""
        with self._lock:
            pinned = self._runs.get(run_id)
            known = None if pinned is None else self._known(pinned)
            if known is not None:
                return known
        return self._learn([run_id])[run_id]

    def _view(self, reader: DefinitionsReader, catalog: Catalog, revision: int) -> Catalog:
        """A catalog with the keys of a revision, read once."""
        if revision == 0:
            return catalog
        asked = (catalog.vector, revision)
        with self._lock:
            known = self._views.get(asked)
            if known is not None and known.graph is catalog.graph:  # else it was made before the identities moved
                self._views.move_to_end(asked)
                return known
        fresh = _with_keys(reader, catalog, revision)
        with self._lock:
            self._views[asked] = fresh
            while len(self._views) > _VIEWS_KEPT:
                self._views.popitem(last=False)
            return fresh

    def _known(self, pinned: tuple[Vector, int]) -> Catalog | None:
        """The catalog of a vector and a revision of keys, when it is kept. Called under the lock."""
        if pinned[1]:
            return self._views.get(pinned)
        found = self._catalogs.get(pinned[0])
        return None if found is None else found[1]

    def _forget_names(self, stamp: int) -> None:
        """A rename by hand moves the instant that the keys of the active snapshots are of: they are read again."""
        if stamp != self._stamp:
            self._snapshots.clear()
            self._stamp = stamp

    def _of(self, reader: DefinitionsReader, vector: Vector, stamp: int | None = None) -> Catalog:
        """The catalog of a vector; with `stamp` not one that was made before the identities moved."""
        with self._lock:
            known = self._catalogs.get(vector)
            if known is not None and stamp in (None, known[0]):
                self._catalogs.move_to_end(vector)
                return known[1]
            self._forget_names(reader.identity_stamp() if stamp is None else stamp)
            wanted = [snapshot for _, snapshot in vector]
            fresh = [one for one in wanted if one not in self._snapshots]
            with uncollected():
                # An unchanged location is not read again because its neighbour reloaded.
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
