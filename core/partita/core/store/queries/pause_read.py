"""Read-only statements about pauses, for people."""

from __future__ import annotations

from partita.core.store.sql import text

PAUSES = text("""
    SELECT p.asset_id, a.key, p.paused_by, p.paused_at, p.reason
    FROM pause p LEFT JOIN asset a ON a.id = p.asset_id ORDER BY a.key NULLS FIRST
""")

# Open steps that own cells of these assets (null: of all), by state.
OPEN_STEPS_OF_ASSETS = text("""
    SELECT t.state, count(*) AS n
    FROM (SELECT DISTINCT o.task_id FROM open_cell o
          WHERE CAST(:assets AS bigint[]) IS NULL OR o.asset_id = ANY(CAST(:assets AS bigint[]))) AS own
    JOIN task t ON t.id = own.task_id WHERE t.kind = 'step' GROUP BY t.state
""")
