"""Read-only statements about backfills, for people: rows, progress, rate, pages of cells. They take no locks and decide nothing.

A cell that was tried again is in several runs of a backfill; its last task counts.
"""

# ruff: noqa: S608 - the fragments are constants of this module; values are always parameters
from __future__ import annotations

from partita.core.store.sql import text

_BACKFILL = """b.id, b.name, b.state, b.request, b.max_active, b.created_by, b.created_at, b.finished_at,
    b.priority, b.newest_first, p.name IS NOT NULL AS pausable, p.paused_by, p.paused_at,
    ARRAY(SELECT r.id FROM run r WHERE r.backfill_id = b.id ORDER BY r.id) AS run_ids,
    EXISTS (SELECT 1 FROM run r WHERE r.backfill_id = b.id AND r.state = 'running' AND r.cancel_requested_at IS NOT NULL)
        AS cancelling"""
_FROM = "FROM backfill b LEFT JOIN pool p ON p.name = 'backfill:' || b.id"
LIST_BACKFILLS = text(f"SELECT {_BACKFILL} {_FROM} ORDER BY b.id DESC OFFSET :offset LIMIT :limit")
COUNT_BACKFILLS = text("SELECT count(*) FROM backfill")
BACKFILL = text(f"SELECT {_BACKFILL} {_FROM} WHERE b.id = :backfill_id")

CELLS_OF_BACKFILL = text("""
    SELECT a.key AS asset, l.cell_state, l.task_state, count(*) AS n
    FROM (SELECT DISTINCT ON (c.asset_id, c.partition) c.asset_id, c.state AS cell_state, t.state AS task_state
          FROM task t JOIN task_cell c ON c.task_id = t.id WHERE t.run_id = ANY(CAST(:ids AS bigint[]))
          ORDER BY c.asset_id, c.partition, c.task_id DESC) AS l
    JOIN asset a ON a.id = l.asset_id GROUP BY a.key, l.cell_state, l.task_state ORDER BY a.key
""")

# By the last ten minutes, or since it started: what a pause of yesterday did to the mean says nothing about today.
RATE_OF_RUNS = text("""
    WITH done AS (
        SELECT t.cell_count, t.finished_at FROM task t
        WHERE t.run_id = ANY(CAST(:ids AS bigint[])) AND t.kind = 'step' AND t.started_at IS NOT NULL
          AND t.finished_at > now() - interval '10 minutes'
    ), first AS (
        SELECT min(t.started_at) AS at FROM task t WHERE t.run_id = ANY(CAST(:ids AS bigint[])) AND t.started_at IS NOT NULL
    )
    SELECT coalesce(sum(done.cell_count), 0) AS cells, count(*) AS tasks,
           extract(epoch FROM now() - greatest((SELECT at FROM first), now() - interval '10 minutes'))::float8 AS seconds
    FROM done
""")

# A gate has no cells; what is pending shows the state of its task.
_SHOWN = "CASE WHEN c.state = 'pending' THEN t.state ELSE c.state END"
_LATEST = f"""SELECT DISTINCT ON (c.asset_id, c.partition) c.asset_id, c.partition, c.task_id, {_SHOWN} AS shown
    FROM task t JOIN task_cell c ON c.task_id = t.id WHERE t.run_id = ANY(CAST(:ids AS bigint[]))"""
_PARTITIONS = f"""
    SELECT l.partition, min(k.window_start) AS starts
    FROM ({_LATEST} ORDER BY c.asset_id, c.partition, c.task_id DESC) AS l
    JOIN cell k ON k.asset_id = l.asset_id AND k.partition = l.partition
    WHERE CAST(:states AS text[]) IS NULL OR l.shown = ANY(CAST(:states AS text[]))
    GROUP BY l.partition"""
PARTITIONS_OF_BACKFILL = text(f"""
    SELECT partition FROM ({_PARTITIONS}) AS p ORDER BY starts NULLS LAST, partition OFFSET :offset LIMIT :limit
""")
COUNT_PARTITIONS = text(f"SELECT count(*) FROM ({_PARTITIONS}) AS p")
CELLS_OF_PARTITIONS = text(f"""
    SELECT a.key AS asset, l.partition, l.shown, l.task_id
    FROM ({_LATEST} AND c.partition = ANY(CAST(:partitions AS text[]))
          ORDER BY c.asset_id, c.partition, c.task_id DESC) AS l
    JOIN asset a ON a.id = l.asset_id ORDER BY a.key
""")
