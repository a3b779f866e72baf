"""Schemes: which one the cells of an asset belong to, and the cells that belong to an earlier one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from partita.core.store.encode import to_json
from partita.core.store.postgres.base import PostgresPart, ordered, to_signed, to_unsigned
from partita.core.store.sql import text
from partita.core.store.values import AssetId, Fence
from partita.core.store.values_identity import CellWindow, DerivedCell, FormerCell

KNOWN_SCHEMES = text("SELECT hash FROM scheme WHERE hash = ANY(CAST(:hashes AS text[]))")
INSERT_SCHEMES = text("""
    INSERT INTO scheme (hash, spec) SELECT * FROM unnest(CAST(:hashes AS text[]), CAST(:specs AS jsonb[])) AS u(hash, spec)
    ON CONFLICT DO NOTHING
""")
SET_SCHEMES = text("""
    UPDATE asset a SET scheme_id = s.id
    FROM unnest(CAST(:ids AS bigint[]), CAST(:hashes AS text[])) AS u(id, hash) JOIN scheme s ON s.hash = u.hash
    WHERE a.id = u.id
""")

# Two statements: the second one sees what an activation committed that the first one waited for.
LOCK_ASSETS = text("SELECT id FROM asset WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR SHARE")
SCHEMES_OF = text("""
    SELECT a.id, s.hash FROM asset a JOIN scheme s ON s.id = a.scheme_id WHERE a.id = ANY(CAST(:ids AS bigint[])) ORDER BY a.id
""")

WINDOWED_CELLS = text("""
    SELECT c.partition, c.window_start, c.window_end, c.data_version IS NOT NULL FROM cell c
    WHERE c.asset_id = :asset ORDER BY c.partition
""")
FORMER_CELLS = text("""
    SELECT f.id, s.hash, f.partition, f.window_start, f.window_end, f.data_version, f.location, f.published_at, p.text,
           f.consumed_digest, f.metadata -> 'rows'
    FROM former_cell f JOIN scheme s ON s.id = f.scheme_id LEFT JOIN fingerprint p ON p.id = f.fingerprint_id
    WHERE f.asset_id = :asset ORDER BY f.id
""")

# The row stays, empty and under a fence of its own: an attempt that holds an earlier one finds itself superseded.
SET_ASIDE = text("""
    WITH wanted AS (
        SELECT * FROM unnest(CAST(:partitions AS text[]), CAST(:starts AS timestamptz[]), CAST(:ends AS timestamptz[]),
                             CAST(:known AS boolean[])) AS u(partition, window_start, window_end, known)
    ), held AS (
        SELECT c.*, CASE WHEN wanted.known THEN wanted.window_start ELSE c.window_start END AS new_start,
               CASE WHEN wanted.known THEN wanted.window_end ELSE c.window_end END AS new_end
        FROM wanted JOIN cell c ON c.asset_id = :asset AND c.partition = wanted.partition
        ORDER BY c.partition FOR NO KEY UPDATE OF c
    ), kept AS (
        INSERT INTO former_cell (asset_id, scheme_id, partition, window_start, window_end, data_version, fingerprint_id,
                                 dependency_hash_id, consumed_digest, location, metadata, published_at, version_at,
                                 published_attempt, published_run)
        SELECT h.asset_id, a.scheme_id, h.partition, h.window_start, h.window_end, h.data_version, h.fingerprint_id,
               h.dependency_hash_id, h.consumed_digest, h.location, h.metadata, h.published_at, h.version_at,
               h.published_attempt, h.published_run
        FROM held h JOIN asset a ON a.id = h.asset_id WHERE h.data_version IS NOT NULL ORDER BY h.partition
        RETURNING partition
    ), emptied AS (
        UPDATE cell c SET window_start = h.new_start, window_end = h.new_end, fence = greatest(c.fence, :fence),
            data_version = NULL, fingerprint_id = NULL, dependency_hash_id = NULL, consumed_digest = NULL, location = NULL,
            metadata = NULL, published_at = NULL, version_at = NULL, published_attempt = NULL, published_run = NULL,
            last_outcome = NULL, last_attempt = NULL, last_attempt_at = NULL, last_error = NULL
        FROM held h WHERE c.asset_id = h.asset_id AND c.partition = h.partition RETURNING c.partition
    ), changes AS (
        INSERT INTO cell_change (asset_id, partition) SELECT :asset, partition FROM emptied ORDER BY partition
    )
    SELECT count(*) FROM kept
""")

BRING_BACK = text("""
    WITH wanted AS (
        SELECT f.* FROM former_cell f WHERE f.asset_id = :asset AND f.id = ANY(CAST(:ids AS bigint[]))
    ), back AS (
        UPDATE cell c SET window_start = w.window_start, window_end = w.window_end, fence = greatest(c.fence, :fence),
            data_version = w.data_version, fingerprint_id = w.fingerprint_id, dependency_hash_id = w.dependency_hash_id,
            consumed_digest = w.consumed_digest, location = w.location, metadata = w.metadata, published_at = w.published_at,
            version_at = w.version_at, published_attempt = w.published_attempt, published_run = w.published_run
        FROM wanted w WHERE c.asset_id = w.asset_id AND c.partition = w.partition AND c.data_version IS NULL
        RETURNING w.id, c.partition
    ), gone AS (
        DELETE FROM former_cell f USING back WHERE f.id = back.id
    ), changes AS (
        INSERT INTO cell_change (asset_id, partition) SELECT :asset, partition FROM back ORDER BY partition
    )
    SELECT count(*) FROM back
""")

SCHEME_SPEC = text("SELECT spec FROM scheme WHERE hash = :hash")

# As a publication, but of no attempt. A row that never was is made; one that holds something is left.
DERIVE_CELLS = text("""
    WITH derived AS (
        INSERT INTO cell AS c (asset_id, partition, window_start, window_end, fence, data_version, fingerprint_id,
                               dependency_hash_id, consumed_digest, location, metadata, published_at, version_at, last_outcome)
        SELECT :asset, u.partition, u.window_start, u.window_end, :fence, u.data_version, u.fingerprint_id, u.dependency_id,
               u.digest, u.location, u.metadata, now(), now(), 'published'
        FROM unnest(CAST(:partitions AS text[]), CAST(:starts AS timestamptz[]), CAST(:ends AS timestamptz[]),
                    CAST(:versions AS text[]), CAST(:fingerprints AS bigint[]), CAST(:dependencies AS bigint[]),
                    CAST(:digests AS bigint[]), CAST(:locations AS text[]), CAST(:metadata AS jsonb[]))
             AS u(partition, window_start, window_end, data_version, fingerprint_id, dependency_id, digest, location, metadata)
        ORDER BY u.partition COLLATE "C"
        ON CONFLICT (asset_id, partition) DO UPDATE SET
            window_start = excluded.window_start, window_end = excluded.window_end, fence = greatest(c.fence, excluded.fence),
            data_version = excluded.data_version, fingerprint_id = excluded.fingerprint_id,
            dependency_hash_id = excluded.dependency_hash_id, consumed_digest = excluded.consumed_digest,
            location = excluded.location, metadata = excluded.metadata, published_at = excluded.published_at,
            version_at = excluded.version_at, published_attempt = NULL, published_run = NULL,
            last_outcome = excluded.last_outcome, last_attempt = NULL, last_attempt_at = NULL, last_error = NULL
        WHERE c.data_version IS NULL
        RETURNING c.partition
    ), changes AS (
        INSERT INTO cell_change (asset_id, partition) SELECT :asset, partition FROM derived ORDER BY partition
    )
    SELECT count(*) FROM derived
""")


class SchemesPart(PostgresPart):
    def set_schemes(self, schemes: Mapping[AssetId, tuple[str, Any]]) -> None:
        if not schemes:
            return
        specs = dict(schemes.values())
        known = {row[0] for row in self._rows(KNOWN_SCHEMES, hashes=sorted(specs))}
        fresh = sorted(specs.keys() - known)
        if fresh:
            self._execute(INSERT_SCHEMES, hashes=fresh, specs=[to_json(specs[one]) for one in fresh])
        ids = sorted(schemes)
        self._execute(SET_SCHEMES, ids=ids, hashes=[schemes[one][0] for one in ids])

    def lock_schemes(self, ids: Iterable[AssetId]) -> dict[AssetId, str]:
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        self._rows(LOCK_ASSETS, ids=wanted)
        return {row[0]: row[1] for row in self._rows(SCHEMES_OF, ids=wanted)}

    def windowed_cells(self, asset_id: AssetId) -> list[CellWindow]:
        return [
            CellWindow(row[0], _window(row[1], row[2]), row[3]) for row in self._rows(WINDOWED_CELLS, asset=asset_id)
        ]

    def former_cells(self, asset_id: AssetId) -> list[FormerCell]:
        return [
            FormerCell(
                row[0], row[1], row[2], _window(row[3], row[4]), row[5], row[6], row[7], row[8], to_unsigned(row[9]),
                row[10] if type(row[10]) is int else None,
            )
            for row in self._rows(FORMER_CELLS, asset=asset_id)
        ]  # fmt: skip

    def set_aside(self, asset_id: AssetId, cells: Sequence[CellWindow], fence: Fence) -> int:
        rows = sorted(cells, key=lambda one: one.partition)
        found = self._rows(
            SET_ASIDE,
            asset=asset_id,
            fence=fence,
            partitions=[one.partition for one in rows],
            starts=[None if one.window is None else one.window[0] for one in rows],
            known=[one.known for one in rows],
            ends=[None if one.window is None else one.window[1] for one in rows],
        )
        return int(found[0][0])

    def bring_back(self, asset_id: AssetId, cells: Sequence[FormerCell], fence: Fence) -> int:
        ids = [one.id for one in cells]
        return int(self._rows(BRING_BACK, asset=asset_id, fence=fence, ids=ids)[0][0])

    def scheme_spec(self, hash: str) -> Any:
        found = self._rows(SCHEME_SPEC, hash=hash)
        return found[0][0] if found else None

    def derive_cells(self, asset_id: AssetId, cells: Sequence[DerivedCell], fence: Fence) -> int:
        rows: list[DerivedCell] = ordered(cells, lambda one: one.partition, "derive_cells")
        if not rows:
            return 0
        ids = self.intern(hash for one in rows for hash in (one.fingerprint, one.dependency_hash))
        found = self._rows(
            DERIVE_CELLS,
            asset=asset_id,
            fence=fence,
            partitions=[one.partition for one in rows],
            starts=[one.window[0] for one in rows],
            ends=[one.window[1] for one in rows],
            versions=[one.data_version for one in rows],
            fingerprints=[ids[one.fingerprint] for one in rows],
            dependencies=[ids[one.dependency_hash] for one in rows],
            digests=[to_signed(one.consumed_digest) for one in rows],
            locations=[one.location for one in rows],
            metadata=[to_json(one.metadata) for one in rows],
        )
        return int(found[0][0])


def _window(start: datetime | None, end: datetime | None) -> tuple[datetime, datetime] | None:
    return None if start is None or end is None else (start, end)
