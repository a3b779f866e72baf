"""Definitions for catalogs: the port `catalog.values.DefinitionsReader`, read from one snapshot of the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from partita.assets import AssetKey
from partita.core.catalog.body import StoredBody
from partita.core.catalog.identity import KnownIdentities
from partita.core.catalog.values import StoredSnapshot, Vector
from partita.core.store.queries.base import Queries
from partita.core.store.sql import text
from partita.core.store.values import LocationId, RunId, SnapshotId
from partita.core.store.values_identity import AssetRow, FormerKey

ACTIVE_VECTOR = text("SELECT id, active_snapshot_id FROM location WHERE active_snapshot_id IS NOT NULL ORDER BY id")

RUN_VECTORS = text("""
    SELECT r.id, p.location_id, p.snapshot_id, r.keys_revision FROM run r JOIN run_pin p ON p.run_id = r.id
    WHERE r.id = ANY(CAST(:runs AS bigint[])) ORDER BY r.id, p.location_id
""")

SNAPSHOTS = text("""
    SELECT s.id, s.location_id, l.name, s.hash, s.effective, s.kept, s.activated_at
    FROM snapshot s JOIN location l ON l.id = s.location_id
    WHERE s.id = ANY(CAST(:ids AS bigint[])) ORDER BY s.id
""")

# The versions that define the assets which a snapshot keeps; they are snapshots of the same location.
VERSIONS = text("""
    SELECT s.location_id, s.hash, s.id
    FROM snapshot s
    JOIN unnest(CAST(:locations AS bigint[]), CAST(:hashes AS text[])) AS u(location_id, hash)
        ON u.location_id = s.location_id AND u.hash = s.hash
""")

ASSETS = text("""
    SELECT a.id, a.key, a.location_id, a.home_id, a.retired_at, s.hash
    FROM asset a LEFT JOIN scheme s ON s.id = a.scheme_id
""")
FORMER_KEYS = text("SELECT id, asset_id, was, at FROM identity_change WHERE kind = 'rename' ORDER BY id")
IDENTITY_STAMP = text("SELECT coalesce(max(id), 0) FROM identity_change")


KEYS_REVISION = text("SELECT revision FROM dynamic_revision WHERE id = 1")

# A row is one life of a key: those that had begun at the revision and had not ended.
DYNAMIC_KEYS = text("""
    SELECT scheme, key FROM dynamic_key
    WHERE scheme = ANY(CAST(:schemes AS text[])) AND revision <= :revision AND (ended IS NULL OR ended > :revision)
    ORDER BY scheme, revision, place
""")


class DefinitionsQueries(Queries):
    """Implements `DefinitionsReader`; a part of `Reader`."""

    def active_vector(self) -> Vector:
        """The active snapshot of each location that has one."""
        return tuple((row[0], row[1]) for row in self._rows(ACTIVE_VECTOR))

    def run_vectors(self, run_ids: Iterable[RunId]) -> dict[RunId, tuple[Vector, int]]:
        """What each of these runs is pinned to, with the revision of dynamic keys that it sees."""
        pins: dict[RunId, tuple[list[tuple[LocationId, SnapshotId]], int]] = {}
        for run_id, location_id, snapshot_id, revision in self._rows(RUN_VECTORS, runs=list(run_ids)):
            pins.setdefault(run_id, ([], revision))[0].append((location_id, snapshot_id))
        return {run_id: (tuple(vector), revision) for run_id, (vector, revision) in pins.items()}

    def snapshots(self, ids: Iterable[SnapshotId]) -> list[StoredSnapshot]:
        """These snapshots, with the ids of the versions that define what they keep."""
        wanted = list(ids)
        if not wanted:
            return []
        rows = list(self._stream(SNAPSHOTS, ids=wanted))
        asked = sorted({(row[1], kept["version"]) for row in rows for kept in row[5]})
        versions: dict[tuple[int, str], SnapshotId] = {}
        if asked:
            parameters = {"locations": [location for location, _ in asked], "hashes": [version for _, version in asked]}
            versions = {(row[0], row[1]): row[2] for row in self._rows(VERSIONS, **parameters)}
        return [
            StoredSnapshot(
                location_id=row[1],
                location=row[2],
                snapshot_id=row[0],
                version=row[3],
                body=StoredBody(row[4]),
                kept={
                    AssetKey(kept["key"]): (versions[row[1], kept["version"]], kept["version"])
                    for kept in row[5]
                    if (row[1], kept["version"]) in versions
                },
                activated_at=row[6],
            )
            for row in rows
        ]

    def identities(self) -> KnownIdentities:
        """The id of every asset ever seen, former keys, homes and retirements."""
        rows = [AssetRow._make(row) for row in self._rows(ASSETS)]
        former = [FormerKey(*row) for row in self._rows(FORMER_KEYS)]
        return KnownIdentities.of(rows, former, self.identity_stamp())

    def identity_stamp(self) -> int:
        """The highest number of the journal of identities."""
        return self._number(IDENTITY_STAMP)

    def keys_revision(self) -> int:
        """The present revision of the keys of dynamic schemes."""
        return self._number(KEYS_REVISION)

    def dynamic_keys(self, schemes: Iterable[str], revision: int) -> Mapping[str, Sequence[str]]:
        """The keys of these schemes at a revision, in order of their addition."""
        found: dict[str, list[str]] = {name: [] for name in schemes}
        for scheme, key in self._rows(DYNAMIC_KEYS, schemes=list(found), revision=revision):
            found[scheme].append(key)
        return {name: tuple(keys) for name, keys in found.items()}
