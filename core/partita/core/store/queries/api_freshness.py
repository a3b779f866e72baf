"""Read-only statements about freshness, for people."""

from __future__ import annotations

from partita.core.store.sql import text

POLICIES = text("""
    SELECT a.key AS asset, f.asset_id, f.state, f.state_since, f.due_at, f.fresh_to, f.awaited, f.burn, f.burn_since
    FROM freshness f JOIN asset a ON a.id = f.asset_id
    WHERE CAST(:asset_id AS bigint) IS NULL OR f.asset_id = :asset_id
    ORDER BY f.state <> 'late', f.burn IS NULL, a.key
""")

LATE = text("""
    SELECT a.key AS asset, f.state_since, f.due_at, f.awaited, s.spent
    FROM freshness f JOIN asset a ON a.id = f.asset_id
    LEFT JOIN late_span s ON s.asset_id = f.asset_id AND s.until_at IS NULL
    WHERE f.state = 'late' ORDER BY f.state_since, a.key LIMIT :limit
""")

SPANS = text("""
    SELECT a.key AS asset, s.asset_id, s.partition, s.counted_from, s.from_at, s.until_at, s.spent
    FROM late_span s JOIN asset a ON a.id = s.asset_id
    WHERE s.asset_id = ANY(CAST(:assets AS bigint[])) AND (s.until_at IS NULL OR s.until_at > :after)
    ORDER BY s.from_at DESC, a.key
""")
