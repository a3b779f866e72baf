"""Definitions for catalogs: the port `catalog.values.DefinitionsReader`, read from one snapshot of the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, text

from partita.assets import AssetKey
from partita.core.catalog.body import StoredBody
from partita.core.catalog.identity import KnownIdentities
from partita.core.catalog.values import StoredSnapshot, Vector
from partita.core.store.queries.wide import stream
from partita.core.store.values import RunId, SnapshotId
from partita.core.store.values_identity import AssetRow, FormerKey

ACTIVE_VECTOR = text("SELECT id, active_snapshot_id FROM location WHERE active_snapshot_id IS NOT NULL ORDER BY id")

RUN_VECTOR = text("SELECT location_id, snapshot_id FROM run_pin WHERE run_id = :run ORDER BY location_id")

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

RUN_KEYS_REVISION = text("SELECT keys_revision FROM run WHERE id = :run")

# A row is one life of a key: those that had begun at the revision and had not ended.
DYNAMIC_KEYS = text("""
    SELECT scheme, key FROM dynamic_key
    WHERE scheme = ANY(CAST(:schemes AS text[])) AND revision <= :revision AND (ended IS NULL OR ended > :revision)
    ORDER BY scheme, revision, place
""")


class DefinitionsQueries:
    """Implements `DefinitionsReader`; a part of `Reader`."""

    _connection: Connection

    def active_vector(self) -> Vector:
        """The active snapshot of each location that has one."""
        return tuple((row[0], row[1]) for row in self._connection.execute(ACTIVE_VECTOR))

    def run_vector(self, run_id: RunId) -> Vector:
        """The snapshots that a run is pinned to."""
        return tuple((row[0], row[1]) for row in self._connection.execute(RUN_VECTOR, {"run": run_id}))

    def snapshots(self, ids: Iterable[SnapshotId]) -> list[StoredSnapshot]:
        """These snapshots, with the ids of the versions that define what they keep."""
        wanted = list(ids)
        if not wanted:
            return []
        rows = list(stream(self._connection, SNAPSHOTS, ids=wanted))
        asked = sorted({(row[1], kept["version"]) for row in rows for kept in row[5]})
        versions: dict[tuple[int, str], SnapshotId] = {}
        if asked:
            parameters = {"locations": [location for location, _ in asked], "hashes": [version for _, version in asked]}
            versions = {(row[0], row[1]): row[2] for row in self._connection.execute(VERSIONS, parameters)}
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
        rows = [AssetRow(*row) for row in stream(self._connection, ASSETS)]
        former = [FormerKey(*row) for row in self._connection.execute(FORMER_KEYS)]
        return KnownIdentities.of(rows, former, self.identity_stamp())

    def identity_stamp(self) -> int:
        """The highest number of the journal of identities."""
        return int(self._connection.execute(IDENTITY_STAMP).scalar_one())

    def keys_revision(self) -> int:
        """The present revision of the keys of dynamic schemes."""
        return int(self._connection.execute(KEYS_REVISION).scalar_one())

    def run_keys_revision(self, run_id: RunId) -> int:
        """The revision of keys that a run sees."""
        return int(self._connection.execute(RUN_KEYS_REVISION, {"run": run_id}).scalar_one())

    def dynamic_keys(self, schemes: Iterable[str], revision: int) -> Mapping[str, Sequence[str]]:
        """The keys of these schemes at a revision, in order of their addition."""
        found: dict[str, list[str]] = {name: [] for name in schemes}
        for scheme, key in self._connection.execute(DYNAMIC_KEYS, {"schemes": list(found), "revision": revision}):
            found[scheme].append(key)
        return {name: tuple(keys) for name, keys in found.items()}
