"""Read-only statements about deadlines, for people."""

# ruff: noqa: S608 - the fragments are constants of this module; values are always parameters
from __future__ import annotations

from partita.core.store.queries.waits_read import REASON_DETAIL
from partita.core.store.sql import text

# `made_at`: when the cell was made after it was asked for, by whomever; of one that needed no attempt, when its task ended.
_DEADLINE = f"""a.key AS asset, d.asset_id, d.partition, d.due_at, d.set_at, d.missed_at, d.run_id, d.task_id,
    t.state AS task_state, t.reason, {REASON_DETAIL}, o.state AS cell_state,
    o.state IN ('cancelled', 'removed') AND r.timed_out_at IS NULL AS withdrawn,
    CASE WHEN c.published_at >= d.set_at THEN c.published_at
         WHEN o.state IN ('unchanged', 'skipped') THEN t.finished_at END AS made_at
    FROM deadline d
    JOIN asset a ON a.id = d.asset_id
    JOIN task t ON t.id = d.task_id
    JOIN run r ON r.id = d.run_id
    JOIN task_cell o ON o.task_id = d.task_id AND o.asset_id = d.asset_id AND o.partition = d.partition
    LEFT JOIN cell c ON c.asset_id = d.asset_id AND c.partition = d.partition"""

# Missed ones, newest first: a read along the index deadline_missed. `open`: only those that are still not there.
_MISSED = f"""(SELECT {_DEADLINE} WHERE d.missed_at IS NOT NULL) AS late
    WHERE NOT CAST(:open AS boolean) OR (late.made_at IS NULL AND NOT late.withdrawn)"""
MISSED = text(f"""
    SELECT * FROM {_MISSED} ORDER BY late.missed_at DESC, late.asset, late.partition OFFSET :offset LIMIT :limit
""")
COUNT_MISSED = text(f"SELECT count(*) AS n FROM {_MISSED}")

# The deadline of the newest request of a cell.
OF_CELL = text(f"""
    SELECT {_DEADLINE} WHERE d.asset_id = :asset_id AND d.partition = :partition ORDER BY d.set_at DESC, d.task_id DESC LIMIT 1
""")
