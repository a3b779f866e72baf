"""A large launch, written from columns: its tasks, edges, cells and their owners, each in one statement."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from partita.core.store.encode import clean_text, pool_set_text, retry_text, to_json
from partita.core.store.postgres.base import PostgresPart
from partita.core.store.sql import text
from partita.core.store.values import RunId, waits_for
from partita.core.store.values_tables import NO_WINDOW, CellTable, EdgeTable, TaskTable

# As OPEN_CELLS, in the order of its rows.
OPEN_WHOLE = text("""
    INSERT INTO open_cell (asset_id, partition, task_id)
    SELECT * FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:tasks AS bigint[]))
    ON CONFLICT DO NOTHING
""")

# What tasks have in common crosses once a shape: the columns come sorted by shape, and each shape takes its piece of them.
INSERT_TASK_TABLE = text("""
    INSERT INTO task (id, run_id, kind, step, location_id, snapshot_id, state, rule, waiting_on, pool_set, lane, fair_key,
                      priority, critical_path, wave, conditional, retry, timeout_s, queue, cell_count, ready_at, reason,
                      reason_detail)
    SELECT u.id, :run, s.kind, s.step, s.location_id, s.snapshot_id,
           CASE WHEN u.waiting_on = 0 THEN 'scheduled' ELSE 'none' END, s.rule, u.waiting_on, s.pool_set, s.lane, s.fair_key,
           s.priority, u.critical_path, u.wave, u.conditional, s.retry, s.timeout_s, s.queue, u.cell_count,
           CASE WHEN u.waiting_on = 0 THEN now() END, u.reason, u.reason_detail
    FROM unnest(CAST(:firsts AS integer[]), CAST(:lasts AS integer[]), CAST(:kinds AS text[]), CAST(:steps AS text[]),
                CAST(:locations AS bigint[]), CAST(:snapshots AS bigint[]), CAST(:rules AS text[]), CAST(:pool_sets AS text[]),
                CAST(:lanes AS text[]), CAST(:fair_keys AS text[]), CAST(:priorities AS integer[]), CAST(:retries AS jsonb[]),
                CAST(:timeouts AS float8[]), CAST(:queues AS text[]))
         AS s(first, last, kind, step, location_id, snapshot_id, rule, pool_set, lane, fair_key, priority, retry, timeout_s,
              queue)
    CROSS JOIN LATERAL
         unnest((CAST(:ids AS bigint[]))[s.first:s.last], (CAST(:waiting AS integer[]))[s.first:s.last],
                (CAST(:critical_paths AS integer[]))[s.first:s.last], (CAST(:waves AS integer[]))[s.first:s.last],
                (CAST(:cell_counts AS integer[]))[s.first:s.last], (CAST(:conditionals AS boolean[]))[s.first:s.last],
                (CAST(:reasons AS text[]))[s.first:s.last], (CAST(:details AS jsonb[]))[s.first:s.last])
         AS u(id, waiting_on, critical_path, wave, cell_count, conditional, reason, reason_detail)
""")

INSERT_EDGE_TABLE = text("""
    INSERT INTO task_edge (upstream_id, downstream_id)
    SELECT * FROM unnest(CAST(:upstream AS bigint[]), CAST(:downstream AS bigint[]))
""")

# The cell rows first (in cell order), then the task's cells.
INSERT_CELL_TABLE = text("""
    WITH new AS (
        SELECT * FROM unnest(CAST(:tasks AS bigint[]), CAST(:assets AS bigint[]), CAST(:partitions AS text[]),
                             CAST(:places AS integer[]), CAST(:conditionals AS boolean[]), CAST(:starts AS bigint[]),
                             CAST(:ends AS bigint[]))
             AS u(task_id, asset_id, partition, place, conditional, window_start, window_end)
    ), cells AS (
        INSERT INTO cell (asset_id, partition, window_start, window_end)
        SELECT new.asset_id, new.partition,
               CASE WHEN new.window_start > :no_window THEN to_timestamp(new.window_start) END,
               CASE WHEN new.window_start > :no_window THEN to_timestamp(new.window_end) END
        FROM new
        ON CONFLICT DO NOTHING
    )
    INSERT INTO task_cell (task_id, asset_id, partition, reason, conditional)
    SELECT new.task_id, new.asset_id, new.partition, (CAST(:reasons AS text[]))[new.place], new.conditional FROM new
""")


class LaunchTablesPart(PostgresPart):
    def open_whole(self, cells: CellTable) -> bool:
        rows = cells.in_lock_order()
        parameters = {"assets": rows.asset, "partitions": rows.partition, "tasks": rows.task}
        return self._execute(OPEN_WHOLE, **parameters) == len(rows)

    def insert_tables(self, run_id: RunId, tasks: TaskTable, edges: EdgeTable, cells: CellTable) -> None:
        if len(tasks):
            self._execute(INSERT_TASK_TABLE, run=run_id, **_task_columns(tasks))
        if len(edges.upstream):
            order = np.lexsort((edges.downstream, edges.upstream))
            self._execute(INSERT_EDGE_TABLE, upstream=edges.upstream[order], downstream=edges.downstream[order])
        if len(cells):
            self._execute(INSERT_CELL_TABLE, **_cell_columns(cells.in_lock_order()))


def _task_columns(tasks: TaskTable) -> dict[str, Any]:
    order = np.argsort(tasks.shape, kind="stable")
    counts = np.bincount(tasks.shape, minlength=len(tasks.shapes))
    lasts = np.cumsum(counts)
    reasons, details = _first_reasons(tasks, order)
    shapes = tasks.shapes
    return {
        "firsts": (lasts - counts + 1).astype(np.int32),
        "lasts": lasts.astype(np.int32),
        "kinds": [shape.kind for shape in shapes],
        "steps": [shape.step for shape in shapes],
        "locations": [shape.location_id for shape in shapes],
        "snapshots": [shape.snapshot_id for shape in shapes],
        "rules": [shape.rule for shape in shapes],
        "pool_sets": [pool_set_text(shape.pools) for shape in shapes],
        "lanes": [shape.lane for shape in shapes],
        "fair_keys": [clean_text(shape.fair_key) for shape in shapes],
        "priorities": [shape.priority for shape in shapes],
        "retries": [retry_text(shape.retry) for shape in shapes],
        "timeouts": [shape.timeout_s for shape in shapes],
        "queues": [shape.queue for shape in shapes],
        "ids": tasks.ids[order],
        "waiting": tasks.waiting_on[order].astype(np.int32),
        "critical_paths": tasks.critical_path[order].astype(np.int32),
        "waves": tasks.wave[order].astype(np.int32),
        "cell_counts": tasks.cell_count[order].astype(np.int32),
        "conditionals": tasks.conditional[order],
        "reasons": reasons,
        "details": details,
    }


def _first_reasons(tasks: TaskTable, order: np.ndarray[Any, Any]) -> tuple[list[str | None], list[str | None]]:
    waits = [
        _first_reason(*pair) for pair in zip(tasks.waiting_on[order].tolist(), tasks.past[order].tolist(), strict=True)
    ]
    return [reason for reason, _ in waits], [detail for _, detail in waits]


@lru_cache(maxsize=4096)
def _first_reason(waiting_on: int, past: int) -> tuple[str | None, str | None]:
    if not waiting_on:
        return None, None
    reason, detail = waits_for(waiting_on, past)
    return reason.value, to_json(detail)


def _cell_columns(cells: CellTable) -> dict[str, Any]:
    return {
        "tasks": cells.task,
        "assets": cells.asset,
        "partitions": cells.partition,
        "places": (cells.reason + 1).astype(np.int32),
        "reasons": list(cells.reasons),
        "conditionals": cells.conditional,
        "starts": cells.start,
        "ends": cells.end,
        "no_window": NO_WINDOW,
    }
