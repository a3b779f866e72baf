"""Statements of identities for people: locations by name, cells that were set aside."""

from __future__ import annotations

from partita.core.store.sql import text

FORMER_CELLS = text("""
    SELECT f.partition, f.window_start, f.window_end, f.data_version, f.location, f.published_at, f.moved_at, s.spec AS scheme
    FROM asset a JOIN former_cell f ON f.asset_id = a.id JOIN scheme s ON s.id = f.scheme_id
    WHERE a.key = :key ORDER BY f.id DESC LIMIT :limit OFFSET :offset
""")

# Of one asset at a time: it costs what the asset has set aside.
SET_ASIDE = text("""
    SELECT s.spec AS scheme, s.id IS NOT DISTINCT FROM a.scheme_id AS present, count(*) AS cells, max(f.moved_at) AS moved_at
    FROM asset a JOIN former_cell f ON f.asset_id = a.id JOIN scheme s ON s.id = f.scheme_id
    WHERE a.id = :asset_id GROUP BY s.id, s.spec, a.scheme_id ORDER BY max(f.id) DESC
""")

LOCATION_IDS = text("SELECT id, name FROM location ORDER BY name")
