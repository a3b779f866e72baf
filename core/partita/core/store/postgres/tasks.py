"""Tasks: the selections that lock, the compare-and-set, the cells of a task."""

# ruff: noqa: S608 - statements are put together from constants of this package only

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.store.encode import in_line, optional_json, optional_text, pool_set_text
from partita.core.store.postgres.base import TASK_COLUMNS, TASK_ORDER, TERMINAL, PostgresPart, cell_arrays, ordered
from partita.core.store.sql import text
from partita.core.store.values import (
    READ_OF_A_PARTY,
    CellRef,
    CellState,
    LocationId,
    Needs,
    Party,
    RunId,
    SnapshotId,
    Task,
    TaskCell,
    TaskCellUpdate,
    TaskId,
    TaskUpdate,
    WorkerId,
)
from partita.core.store.values_moves import refused_move

# FOR NO KEY UPDATE everywhere: no statement changes a key, and the weaker lock does not meet those of foreign keys.
RUNS_OF_TASKS = text("SELECT id, run_id FROM task WHERE id = ANY(CAST(:ids AS bigint[]))")

LOCK_TASKS = text(f"""
    SELECT {TASK_COLUMNS} FROM task t WHERE t.id = ANY(CAST(:ids AS bigint[])) ORDER BY t.id FOR NO KEY UPDATE
""")

# ANY(ARRAY(...)): the ids are found first, whatever the planner believes of how many tasks are in `none`.
LOCK_DOWNSTREAM = text(f"""
    SELECT {TASK_COLUMNS} FROM task t
    WHERE t.id = ANY(ARRAY(SELECT downstream_id FROM task_edge WHERE upstream_id = ANY(CAST(:ids AS bigint[]))))
      AND t.state = 'none'
    ORDER BY t.id FOR NO KEY UPDATE OF t
""")

LOCK_ALL_BELOW = text(f"""
    WITH RECURSIVE below(id) AS (
        SELECT downstream_id FROM task_edge WHERE upstream_id = ANY(CAST(:ids AS bigint[]))
        UNION
        SELECT e.downstream_id FROM below b JOIN task_edge e ON e.upstream_id = b.id
    )
    SELECT {TASK_COLUMNS} FROM task t
    WHERE t.id = ANY(ARRAY(SELECT id FROM below)) AND t.state = 'none'
    ORDER BY t.id FOR NO KEY UPDATE OF t
""")

WAITING_AMONG = text("SELECT id FROM task WHERE id = ANY(CAST(:ids AS bigint[])) AND state = 'none' ORDER BY id")

EDGES_FROM = text("""
    SELECT upstream_id, downstream_id FROM task_edge WHERE upstream_id = ANY(CAST(:ids AS bigint[])) ORDER BY 1, 2
""")

# `values.read_of_each`, of n tasks for all parties that want the same (`apart`, `queue`).
_READ_OF_EACH = (
    f"least(n, greatest(ceil(2.0 * n / count(*) OVER (PARTITION BY apart, queue)), {READ_OF_A_PARTY}))::integer"
)

# A skip scan of the partial index task_scheduled finds the parties of each pool set and queue; then the first tasks of each.
LOCK_SCHEDULED = text(f"""
    WITH RECURSIVE party(apart, queue, n, lane, fair_key) AS (
        SELECT u.pool_set, u.queue, u.n, f.lane, f.fair_key
        FROM unnest(CAST(:pool_sets AS text[]), CAST(:queues AS text[]), CAST(:limits AS integer[])) AS u(pool_set, queue, n)
        CROSS JOIN LATERAL (
            SELECT t.lane, t.fair_key FROM task t
            WHERE t.state = 'scheduled' AND t.pool_set = u.pool_set AND t.queue = u.queue
            ORDER BY t.lane, t.fair_key LIMIT 1
        ) f
        UNION ALL
        SELECT p.apart, p.queue, p.n, f.lane, f.fair_key FROM party p
        CROSS JOIN LATERAL (
            SELECT t.lane, t.fair_key FROM task t
            WHERE t.state = 'scheduled' AND t.pool_set = p.apart AND t.queue = p.queue
              AND (t.lane, t.fair_key) > (p.lane, p.fair_key)
            ORDER BY t.lane, t.fair_key LIMIT 1
        ) f
    ), parts AS (SELECT apart, queue, lane, fair_key, {_READ_OF_EACH} AS n FROM party)
    SELECT q.* FROM parts p
    CROSS JOIN LATERAL (
        SELECT {TASK_COLUMNS} FROM task t
        WHERE t.state = 'scheduled' AND t.pool_set = p.apart AND t.queue = p.queue AND t.lane = p.lane
          AND t.fair_key = p.fair_key
        ORDER BY {TASK_ORDER} LIMIT p.n FOR NO KEY UPDATE SKIP LOCKED
    ) q
""")

LOCK_OPEN_GATES = text(f"""
    SELECT {TASK_COLUMNS} FROM task t WHERE t.state = 'scheduled' AND t.pool_set = '[]' AND t.kind = 'gate'
    ORDER BY t.id LIMIT :n FOR NO KEY UPDATE SKIP LOCKED
""")

# As LOCK_SCHEDULED, by the index task_queued. It locks up to n of every version and queue for the moment of the claim; that is
# the price of never walking past the tasks of other versions and queues.
LOCK_QUEUED = text(f"""
    WITH RECURSIVE party(location_id, snapshot_id, queue, lane, fair_key) AS (
        SELECT pin.location_id, pin.snapshot_id, own.queue, f.lane, f.fair_key
        FROM unnest(CAST(:locations AS bigint[]), CAST(:snapshots AS bigint[])) AS pin(location_id, snapshot_id)
        CROSS JOIN unnest(CAST(:queues AS text[])) AS own(queue)
        CROSS JOIN LATERAL (
            SELECT t.lane, t.fair_key FROM task t
            WHERE t.state = 'queued' AND t.location_id = pin.location_id AND t.snapshot_id = pin.snapshot_id
              AND t.queue = own.queue
            ORDER BY t.lane, t.fair_key LIMIT 1
        ) f
        UNION ALL
        SELECT p.location_id, p.snapshot_id, p.queue, f.lane, f.fair_key FROM party p
        CROSS JOIN LATERAL (
            SELECT t.lane, t.fair_key FROM task t
            WHERE t.state = 'queued' AND t.location_id = p.location_id AND t.snapshot_id = p.snapshot_id
              AND t.queue = p.queue AND (t.lane, t.fair_key) > (p.lane, p.fair_key)
            ORDER BY t.lane, t.fair_key LIMIT 1
        ) f
    ), given AS (SELECT *, snapshot_id AS apart, CAST(:n AS integer) AS n FROM party),
    parts AS (SELECT location_id, snapshot_id, queue, lane, fair_key, {_READ_OF_EACH} AS n FROM given)
    SELECT q.* FROM parts p
    CROSS JOIN LATERAL (
        SELECT {TASK_COLUMNS} FROM task t
        WHERE t.state = 'queued' AND t.location_id = p.location_id AND t.snapshot_id = p.snapshot_id
          AND t.queue = p.queue AND t.lane = p.lane AND t.fair_key = p.fair_key
        ORDER BY {TASK_ORDER} LIMIT p.n FOR NO KEY UPDATE SKIP LOCKED
    ) q
""")

RUNNING_PARTIES = text("""
    SELECT lane, fair_key, count(*) FROM task WHERE state = 'running' AND worker_id = :worker GROUP BY lane, fair_key
""")

LOCK_DUE_RETRIES = text(f"""
    SELECT {TASK_COLUMNS} FROM task t WHERE t.state = 'up_for_retry' AND t.not_before <= now()
    ORDER BY t.not_before, t.id LIMIT :n FOR NO KEY UPDATE SKIP LOCKED
""")

LOCK_TASKS_OF_WORKERS = text(f"""
    SELECT {TASK_COLUMNS} FROM task t WHERE t.state = 'running' AND t.worker_id = ANY(CAST(:workers AS text[]))
    ORDER BY t.id FOR NO KEY UPDATE
""")

CANCELLED_TASKS_OF_WORKER = text(f"""
    SELECT {TASK_COLUMNS} FROM task t WHERE t.state = 'running' AND t.worker_id = :worker AND t.cancel_requested ORDER BY t.id
""")

LOCK_OPEN_TASKS_OF_RUN = text(f"""
    SELECT {TASK_COLUMNS} FROM task t
    WHERE t.id = ANY(ARRAY(SELECT id FROM task
                           WHERE run_id = :run AND id < :below AND state NOT IN {TERMINAL} AND NOT cancel_requested
                           ORDER BY id DESC LIMIT CAST(:n AS bigint)))
      AND t.state NOT IN {TERMINAL}
    ORDER BY t.id FOR NO KEY UPDATE
""")

# The compare-and-set of every transition. A terminal row is never written: it is in no expected state.
WRITE_TASKS = text(f"""
    UPDATE task t
    SET state = u.state, outcome = u.outcome, waiting_on = u.waiting_on, good_upstream = u.good_upstream,
        bad_upstream = u.bad_upstream, skip_upstream = u.skip_upstream, attempt_number = u.attempt_number,
        user_failures = u.user_failures, infra_losses = u.infra_losses, not_before = u.not_before,
        worker_id = u.worker_id, attempt_id = u.attempt_id, fence = u.fence, cancel_requested = u.cancel_requested,
        ready_at = u.ready_at, queued_at = u.queued_at,
        reason = u.reason, reason_detail = u.reason_detail, waits = u.waits, error = u.error,
        started_at = coalesce(u.started_at, t.started_at), finished_at = coalesce(u.finished_at, t.finished_at)
    FROM unnest(CAST(:ids AS bigint[]), CAST(:expect_states AS text[]), CAST(:expect_fences AS bigint[]),
                CAST(:states AS text[]), CAST(:outcomes AS text[]), CAST(:waiting AS integer[]), CAST(:good AS integer[]),
                CAST(:bad AS integer[]), CAST(:skip AS integer[]), CAST(:numbers AS integer[]),
                CAST(:failures AS integer[]), CAST(:losses AS integer[]),
                CAST(:not_before AS timestamptz[]), CAST(:workers AS text[]), CAST(:attempts AS bigint[]),
                CAST(:fences AS bigint[]), CAST(:cancels AS boolean[]), CAST(:ready_at AS timestamptz[]),
                CAST(:queued_at AS timestamptz[]), CAST(:reasons AS text[]), CAST(:details AS jsonb[]),
                CAST(:waits AS text[]), CAST(:errors AS text[]),
                CAST(:started_at AS timestamptz[]), CAST(:finished_at AS timestamptz[]))
         AS u(id, expect_state, expect_fence, state, outcome, waiting_on, good_upstream, bad_upstream, skip_upstream,
              attempt_number, user_failures, infra_losses, not_before, worker_id, attempt_id, fence, cancel_requested,
              ready_at, queued_at, reason, reason_detail, waits, error, started_at, finished_at)
    WHERE t.id = u.id AND t.state = u.expect_state AND t.fence = u.expect_fence AND t.state NOT IN {TERMINAL}
""")

TASK_CELLS = text("""
    SELECT task_id, asset_id, partition, state, reason, conditional FROM task_cell WHERE task_id = ANY(CAST(:ids AS bigint[]))
    ORDER BY task_id, asset_id, partition
""")

WRITE_TASK_CELLS = text("""
    UPDATE task_cell c SET state = u.state, data_version = u.data_version, error = u.error, attempt_id = u.attempt_id
    FROM unnest(CAST(:tasks AS bigint[]), CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:states AS text[]),
                CAST(:versions AS text[]), CAST(:errors AS text[]), CAST(:attempts AS bigint[]))
         AS u(task_id, asset_id, partition, state, data_version, error, attempt_id)
    WHERE c.task_id = u.task_id AND c.asset_id = u.asset_id AND c.partition = u.partition
""")

CLOSE_CELLS = text("DELETE FROM open_cell WHERE task_id = ANY(CAST(:ids AS bigint[]))")


_ABOVE_ALL = 2**63 - 1
_CELL_STATES = {state.value: state for state in CellState}


class TasksPart(PostgresPart):
    def lock_tasks(self, ids: Sequence[TaskId]) -> list[Task]:
        return self._tasks(LOCK_TASKS, ids=sorted(set(ids)))

    def runs_of_tasks(self, ids: Sequence[TaskId]) -> dict[TaskId, RunId]:
        return {row[0]: row[1] for row in self._rows(RUNS_OF_TASKS, ids=sorted(set(ids)))}

    def lock_dependents(self, ids: Sequence[TaskId], *, closure: bool) -> list[Task]:
        return self._tasks(LOCK_ALL_BELOW if closure else LOCK_DOWNSTREAM, ids=sorted(set(ids)))

    def waiting_among(self, ids: Sequence[TaskId]) -> list[TaskId]:
        return [row[0] for row in self._rows(WAITING_AMONG, ids=sorted(set(ids)))]

    def edges_from(self, ids: Sequence[TaskId]) -> list[tuple[TaskId, TaskId]]:
        return [(row[0], row[1]) for row in self._rows(EDGES_FROM, ids=sorted(set(ids)))]

    def lock_scheduled_skip(self, limits: Mapping[Needs, int]) -> list[Task]:
        wanted = sorted((pool_set_text(needs.pools), needs.queue, limit) for needs, limit in limits.items())
        tasks = self._tasks(
            LOCK_SCHEDULED,
            pool_sets=[pool_set for pool_set, _, _ in wanted],
            queues=[queue for _, queue, _ in wanted],
            limits=[limit for _, _, limit in wanted],
        )
        return sorted(tasks, key=lambda task: (pool_set_text(task.pools), task.queue, in_line(task)))

    def lock_open_gates_skip(self, limit: int) -> list[Task]:
        return self._tasks(LOCK_OPEN_GATES, n=limit)

    def lock_queued_skip(
        self, pins: Sequence[tuple[LocationId, SnapshotId]], limit: int, queues: Collection[str] = (DEFAULT_QUEUE,)
    ) -> list[Task]:
        wanted = sorted(set(pins))
        tasks = self._tasks(
            LOCK_QUEUED,
            locations=[location_id for location_id, _ in wanted],
            snapshots=[snapshot_id for _, snapshot_id in wanted],
            queues=sorted(set(queues)),
            n=limit,
        )
        return sorted(tasks, key=lambda task: (task.location_id, task.snapshot_id, task.queue, in_line(task)))

    def running_parties(self, worker_id: WorkerId) -> dict[Party, int]:
        return {Party(row[0], row[1]): row[2] for row in self._rows(RUNNING_PARTIES, worker=worker_id)}

    def lock_due_retries_skip(self, limit: int) -> list[Task]:
        return self._tasks(LOCK_DUE_RETRIES, n=limit)

    def lock_tasks_of_workers(self, workers: Sequence[WorkerId]) -> list[Task]:
        return self._tasks(LOCK_TASKS_OF_WORKERS, workers=sorted(set(workers)))

    def cancelled_tasks_of_worker(self, worker_id: WorkerId) -> list[Task]:
        return self._tasks(CANCELLED_TASKS_OF_WORKER, worker=worker_id)

    def lock_open_tasks_of_run(
        self, run_id: RunId, *, below: TaskId | None = None, limit: int | None = None
    ) -> list[Task]:
        return self._tasks(LOCK_OPEN_TASKS_OF_RUN, run=run_id, below=_ABOVE_ALL if below is None else below, n=limit)

    def write_tasks(self, updates: Sequence[TaskUpdate]) -> None:
        rows: list[TaskUpdate] = ordered(updates, lambda update: update.id, "write_tasks")
        if not rows:
            return
        refused = refused_move(rows)
        if refused is not None:
            raise self._violation(refused)
        written = self._set_rows(WRITE_TASKS, **_columns(rows))
        self._expect(written, len(rows), f"tasks {[update.id for update in rows[:20]]}")

    def task_cells(self, task_ids: Sequence[TaskId]) -> list[TaskCell]:
        rows = self._rows(TASK_CELLS, ids=sorted(set(task_ids)))
        return [
            TaskCell(task_id, CellRef(asset_id, partition), _CELL_STATES[state], reason, conditional)
            for task_id, asset_id, partition, state, reason, conditional in rows
        ]

    def write_task_cells(self, updates: Sequence[TaskCellUpdate]) -> None:
        rows: list[TaskCellUpdate] = ordered(updates, lambda update: (update.task_id, update.cell), "write_task_cells")
        if not rows:
            return
        written = self._set_rows(
            WRITE_TASK_CELLS,
            **cell_arrays([update.cell for update in rows]),
            tasks=[update.task_id for update in rows],
            states=[update.state.value for update in rows],
            versions=[update.data_version for update in rows],
            errors=[optional_text(update.error) for update in rows],
            attempts=[update.attempt_id for update in rows],
        )
        self._expect(written, len(rows), "cells of tasks")

    def close_cells(self, task_ids: Sequence[TaskId]) -> None:
        self._execute(CLOSE_CELLS, ids=sorted(set(task_ids)))


_COLUMNS = (
    "ids", "expect_states", "expect_fences", "states", "outcomes", "waiting", "good", "bad", "skip", "numbers", "failures",
    "losses", "not_before", "workers", "attempts", "fences", "cancels", "ready_at", "queued_at", "reasons", "waits", "details",
    "errors", "started_at", "finished_at",
)  # fmt: skip


def _columns(rows: Sequence[TaskUpdate]) -> dict[str, list[Any]]:
    """By the fields of an update, in their order."""
    columns: dict[str, list[Any]] = dict(zip(_COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    for name in ("expect_states", "states"):
        columns[name] = list(map(str.__str__, columns[name]))
    for name in ("reasons", "waits"):
        columns[name] = [None if one is None else one.value for one in columns[name]]
    columns["details"] = [optional_json(one) for one in columns["details"]]
    columns["errors"] = [optional_text(one) for one in columns["errors"]]
    return columns
