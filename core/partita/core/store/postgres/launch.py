"""Launching: runs with their pins, tasks, edges, cells and their owners, causes, backfills."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from partita.core.store.encode import clean_text, pool_set_text, retry_text, to_json
from partita.core.store.postgres.base import PostgresPart, cell_arrays, ordered
from partita.core.store.sql import text
from partita.core.store.values import (
    CellCause,
    CellRef,
    NewRun,
    NewTask,
    NewTaskCell,
    RunId,
    TaskId,
    TaskState,
    waits_for,
)

_OPEN_TRIES = 20

RESERVE_TASK_IDS = text("SELECT nextval('task_id_seq') FROM generate_series(1, :n)")

# Waits for a transaction that is claiming one of the same cells (the unique key does it), in cell order, so that two
# launches cannot wait for each other.
OPEN_CELLS = text("""
    INSERT INTO open_cell (asset_id, partition, task_id)
    SELECT u.asset_id, u.partition, u.task_id
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:tasks AS bigint[]))
         AS u(asset_id, partition, task_id)
    ON CONFLICT DO NOTHING
""")

# A statement of its own: the owner that OPEN_CELLS waited for is not in that statement's snapshot.
READ_OWNERS = text("""
    SELECT o.asset_id, o.partition, o.task_id
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[])) AS u(asset_id, partition)
    JOIN open_cell o ON o.asset_id = u.asset_id AND o.partition = u.partition
""")

# The ids are drawn in the order of the runs given, once: a volatile CTE is materialized.
INSERT_RUNS = text("""
    WITH given AS (
        SELECT nextval(pg_get_serial_sequence('run', 'id')) AS id, u.*
        FROM unnest(CAST(:backfills AS bigint[]), CAST(:lanes AS text[]), CAST(:priorities AS integer[]),
                    CAST(:causes AS jsonb[]), CAST(:requests AS jsonb[]), CAST(:plan_hashes AS text[]),
                    CAST(:as_of AS timestamptz[]), CAST(:params AS jsonb[]), CAST(:task_counts AS integer[]),
                    CAST(:keys_revisions AS bigint[]), CAST(:timeouts AS float8[]), CAST(:max_active AS integer[]))
             WITH ORDINALITY
             AS u(backfill_id, lane, priority, cause, request, plan_hash, as_of, params, task_count, keys_revision, timeout_s,
                  max_active, place)
    ), runs AS (
        INSERT INTO run (id, backfill_id, state, lane, priority, cause, request, plan_hash, as_of, params, task_count,
                         keys_revision, times_out_at, max_active)
        OVERRIDING SYSTEM VALUE
        SELECT id, backfill_id, 'running', lane, priority, cause, request, plan_hash, as_of, params, task_count, keys_revision,
               now() + make_interval(secs => timeout_s), max_active
        FROM given
    ), pins AS (
        INSERT INTO run_pin (run_id, location_id, snapshot_id)
        SELECT given.id, u.location_id, u.snapshot_id
        FROM unnest(CAST(:pin_places AS bigint[]), CAST(:locations AS bigint[]), CAST(:snapshots AS bigint[]))
             AS u(place, location_id, snapshot_id)
        JOIN given ON given.place = u.place
    )
    SELECT id FROM given ORDER BY place
""")

INSERT_TASKS = text("""
    INSERT INTO task (id, run_id, kind, step, location_id, snapshot_id, state, rule, waiting_on, pool_set, lane, fair_key,
                      priority, critical_path, wave, conditional, retry, timeout_s, cell_count, waits, queue, ready_at,
                      reason, reason_detail)
    SELECT u.id, u.run_id, u.kind, u.step, u.location_id, u.snapshot_id, u.state, u.rule, u.waiting_on, u.pool_set, u.lane,
           u.fair_key, u.priority, u.critical_path, u.wave, u.conditional, u.retry, u.timeout_s, u.cell_count, u.waits, u.queue,
           CASE WHEN u.state IN ('scheduled', 'deferred', 'awaiting_input') THEN now() END,
           u.reason, u.reason_detail
    FROM unnest(CAST(:ids AS bigint[]), CAST(:runs AS bigint[]), CAST(:kinds AS text[]), CAST(:steps AS text[]),
                CAST(:locations AS bigint[]), CAST(:snapshots AS bigint[]), CAST(:states AS text[]), CAST(:rules AS text[]),
                CAST(:waiting AS integer[]), CAST(:pool_sets AS text[]), CAST(:lanes AS text[]), CAST(:fair_keys AS text[]),
                CAST(:priorities AS integer[]), CAST(:critical_paths AS integer[]), CAST(:waves AS integer[]),
                CAST(:conditionals AS boolean[]), CAST(:retries AS jsonb[]), CAST(:timeouts AS float8[]),
                CAST(:cell_counts AS integer[]), CAST(:reasons AS text[]), CAST(:details AS jsonb[]),
                CAST(:stages AS text[]), CAST(:queues AS text[]))
         AS u(id, run_id, kind, step, location_id, snapshot_id, state, rule, waiting_on, pool_set, lane, fair_key, priority,
              critical_path, wave, conditional, retry, timeout_s, cell_count, reason, reason_detail, waits, queue)
""")

INSERT_EDGES = text("""
    INSERT INTO task_edge (upstream_id, downstream_id)
    SELECT * FROM unnest(CAST(:upstream AS bigint[]), CAST(:downstream AS bigint[]))
    ON CONFLICT DO NOTHING
""")

# The cell rows first (in cell order), then the task's cells.
INSERT_TASK_CELLS = text("""
    WITH new AS (
        SELECT * FROM unnest(CAST(:tasks AS bigint[]), CAST(:assets AS bigint[]), CAST(:partitions AS text[]),
                             CAST(:reasons AS text[]), CAST(:conditionals AS boolean[]), CAST(:starts AS timestamptz[]),
                             CAST(:ends AS timestamptz[]))
             AS u(task_id, asset_id, partition, reason, conditional, window_start, window_end)
    ), cells AS (
        INSERT INTO cell (asset_id, partition, window_start, window_end)
        SELECT new.asset_id, new.partition, new.window_start, new.window_end FROM new
        ON CONFLICT DO NOTHING
    )
    INSERT INTO task_cell (task_id, asset_id, partition, reason, conditional)
    SELECT new.task_id, new.asset_id, new.partition, new.reason, new.conditional FROM new
""")

INSERT_CAUSES = text("""
    INSERT INTO cell_cause (asset_id, partition, task_id, run_id, waits)
    SELECT * FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:tasks AS bigint[]),
                         CAST(:runs AS bigint[]), CAST(:waits AS boolean[]))
    ON CONFLICT DO NOTHING
""")

TAKE_WAITING_CAUSES = text("""
    DELETE FROM cell_cause WHERE task_id = ANY(CAST(:tasks AS bigint[])) AND waits
    RETURNING asset_id, partition, task_id, run_id
""")


class LaunchPart(PostgresPart):
    def reserve_task_ids(self, n: int) -> list[TaskId]:
        return sorted(row[0] for row in self._rows(RESERVE_TASK_IDS, n=n))

    def open_cells(self, owners: Iterable[tuple[CellRef, TaskId]]) -> dict[CellRef, TaskId]:
        left = dict(ordered(owners, lambda owner: owner[0], "open_cells"))
        taken: dict[CellRef, TaskId] = {}
        for _ in range(_OPEN_TRIES):
            if not left:
                return taken
            if self._execute(OPEN_CELLS, **cell_arrays(list(left)), tasks=list(left.values())) == len(left):
                return taken
            found = self.open_owners(list(left))
            taken |= {cell: owner for cell, owner in found.items() if owner != left[cell]}
            # What is neither ours nor anybody's was closed between the two statements.
            left = {cell: task_id for cell, task_id in left.items() if cell not in found}
        raise self._conflict(
            f"{len(left)} cells were opened and closed by others {_OPEN_TRIES} times while they were claimed"
        )

    def open_owners(self, cells: Sequence[CellRef]) -> dict[CellRef, TaskId]:
        rows = self._rows(READ_OWNERS, **cell_arrays(sorted(set(cells))))
        return {CellRef(row[0], row[1]): row[2] for row in rows}

    def insert_runs(self, runs: Sequence[NewRun]) -> list[RunId]:
        if not runs:
            return []
        pins = [(place, pin) for place, run in enumerate(runs, start=1) for pin in run.pins]
        rows = self._rows(
            INSERT_RUNS,
            backfills=[run.backfill_id for run in runs],
            lanes=[run.lane for run in runs],
            priorities=[run.priority for run in runs],
            causes=[to_json(run.cause) for run in runs],
            requests=[to_json(run.request) for run in runs],
            plan_hashes=[run.plan_hash for run in runs],
            as_of=[run.as_of for run in runs],
            params=[to_json(run.params) for run in runs],
            task_counts=[run.task_count for run in runs],
            keys_revisions=[run.keys_revision for run in runs],
            timeouts=[run.timeout_s for run in runs],
            max_active=[run.max_active for run in runs],
            pin_places=[place for place, _ in pins],
            locations=[location_id for _, (location_id, _) in pins],
            snapshots=[snapshot_id for _, (_, snapshot_id) in pins],
        )
        return [RunId(row[0]) for row in rows]

    def insert_tasks(self, tasks: Sequence[tuple[RunId, NewTask]]) -> None:
        pairs: list[tuple[RunId, NewTask]] = ordered(tasks, lambda pair: pair[1].id, "insert_tasks")
        if not pairs:
            return
        rows = [task for _, task in pairs]
        waits = [_first_reason(task) for task in rows]
        self._execute(
            INSERT_TASKS,
            ids=[task.id for task in rows],
            runs=[run_id for run_id, _ in pairs],
            kinds=[task.kind for task in rows],
            steps=[task.step for task in rows],
            locations=[task.location_id for task in rows],
            snapshots=[task.snapshot_id for task in rows],
            states=[task.state.value for task in rows],
            rules=[task.rule for task in rows],
            waiting=[task.waiting_on for task in rows],
            pool_sets=[pool_set_text(task.pools) for task in rows],
            lanes=[task.lane for task in rows],
            fair_keys=[clean_text(task.fair_key) for task in rows],
            priorities=[task.priority for task in rows],
            critical_paths=[task.critical_path for task in rows],
            waves=[task.wave for task in rows],
            conditionals=[task.conditional for task in rows],
            retries=[retry_text(task.retry) for task in rows],
            timeouts=[task.timeout_s for task in rows],
            cell_counts=[task.cell_count for task in rows],
            reasons=[reason for reason, _ in waits],
            details=[detail for _, detail in waits],
            stages=[None if task.waits is None else task.waits.value for task in rows],
            queues=[task.queue for task in rows],
        )

    def insert_edges(self, edges: Iterable[tuple[TaskId, TaskId]]) -> None:
        rows = sorted(set(edges))
        if rows:
            upstream, downstream = zip(*rows, strict=True)
            self._execute(INSERT_EDGES, upstream=list(upstream), downstream=list(downstream))

    def insert_task_cells(self, cells: Iterable[NewTaskCell]) -> None:
        rows: list[NewTaskCell] = ordered(cells, lambda new: (new.cell, new.task_id), "insert_task_cells")
        if not rows:
            return
        self._execute(
            INSERT_TASK_CELLS,
            **cell_arrays([new.cell for new in rows]),
            tasks=[new.task_id for new in rows],
            reasons=[new.reason for new in rows],
            conditionals=[new.conditional for new in rows],
            starts=[new.window[0] if new.window else None for new in rows],
            ends=[new.window[1] if new.window else None for new in rows],
        )

    def insert_causes(self, causes: Iterable[CellCause]) -> None:
        rows = sorted(causes, key=lambda cause: (cause.task_id, cause.cell, cause.run_id))
        if not rows:
            return
        self._execute(
            INSERT_CAUSES,
            **cell_arrays([cause.cell for cause in rows]),
            tasks=[cause.task_id for cause in rows],
            runs=[cause.run_id for cause in rows],
            waits=[cause.waits for cause in rows],
        )

    def take_waiting_causes(self, task_ids: Sequence[TaskId]) -> list[CellCause]:
        rows = self._rows(TAKE_WAITING_CAUSES, tasks=sorted(set(task_ids)))
        causes = [CellCause(CellRef(row[0], row[1]), row[2], row[3], True) for row in rows]
        return sorted(causes, key=lambda cause: (cause.task_id, cause.cell, cause.run_id))


_READY: tuple[str | None, str | None] = (None, None)
_REASON_AT_LAUNCH: dict[TaskState, tuple[str | None, str | None]] = {
    TaskState.DEFERRED: ("waiting_for", None),
    TaskState.AWAITING_INPUT: ("approval", None),
}


def _first_reason(task: NewTask) -> tuple[str | None, str | None]:
    if task.state is TaskState.NONE:
        return _waits_text(task.waiting_on, task.past)
    return _REASON_AT_LAUNCH.get(task.state, _READY)


@lru_cache(maxsize=4096)
def _waits_text(waiting_on: int, past: int) -> tuple[str | None, str | None]:
    """What is stored of the first reason of a task: most of a launch share a few."""
    reason, detail = waits_for(waiting_on, past)
    return reason.value, to_json(detail)
