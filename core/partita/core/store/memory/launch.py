"""Launching in memory: runs, tasks, edges, cells and their owners."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import timedelta

from partita.core.store.encode import as_stored, clean_text, pool_set_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
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

CELL_FACTS = (
    "data_version",
    "fingerprint_id",
    "dependency_hash_id",
    "consumed_digest",
    "location",
    "metadata",
    "published_at",
    "version_at",
    "published_attempt",
    "published_run",
    "last_outcome",
    "last_attempt",
    "last_attempt_at",
    "last_error",
)


_REASON_AT_LAUNCH = {TaskState.DEFERRED: "waiting_for", TaskState.AWAITING_INPUT: "approval"}


class LaunchPart(MemoryPart):
    def reserve_task_ids(self, n: int) -> list[TaskId]:
        return [TaskId(self._db.next("task")) for _ in range(n)]

    def open_cells(self, owners: Iterable[tuple[CellRef, TaskId]]) -> dict[CellRef, TaskId]:
        wanted = sorted(owners)
        distinct((cell for cell, _ in wanted), "open_cells")
        taken: dict[CellRef, TaskId] = {}
        for cell, task_id in wanted:
            row = self._db.open_cell.get((cell.asset_id, cell.partition))
            if row is None:
                self._db.open_cell.put({"asset_id": cell.asset_id, "partition": cell.partition, "task_id": task_id})
            else:
                taken[cell] = row["task_id"]
        return taken

    def insert_runs(self, runs: Sequence[NewRun]) -> list[RunId]:
        return [self._insert_run(run) for run in runs]

    def _insert_run(self, run: NewRun) -> RunId:
        if run.max_active is not None and run.max_active < 1:
            raise self._violation(f"a run with the limit {run.max_active}: at least 1")
        run_id = RunId(self._db.next("run"))
        self._db.run.put(
            {
                "id": run_id,
                "backfill_id": run.backfill_id,
                "state": "running",
                "lane": run.lane,
                "priority": run.priority,
                "cause": as_stored(run.cause),
                "request": as_stored(run.request),
                "plan_hash": run.plan_hash,
                "as_of": run.as_of,
                "params": as_stored(run.params),
                "created_at": self._now,
                "finished_at": None,
                "cancel_requested_at": None,
                "cancelled_from": None,
                "tallies": {},
                "task_count": run.task_count,
                "keys_revision": run.keys_revision,
                "times_out_at": None if run.timeout_s is None else self._now + timedelta(seconds=run.timeout_s),
                "timed_out_at": None,
                "max_active": run.max_active,
            }
        )
        for location_id, snapshot_id in run.pins:
            self._db.run_pin.put({"run_id": run_id, "location_id": location_id, "snapshot_id": snapshot_id})
        return run_id

    def insert_tasks(self, tasks: Sequence[tuple[RunId, NewTask]]) -> None:
        distinct((task.id for _, task in tasks), "insert_tasks")
        for run_id, task in tasks:
            if task.id in self._db.task:
                raise self._violation(f"task {task.id} exists already")
            self._db.task.put(self._task_row(run_id, task))

    def _task_row(self, run_id: RunId, task: NewTask) -> Row:
        waits = waits_for(task.waiting_on, task.past) if task.state is TaskState.NONE else None
        return {
            "id": task.id,
            "run_id": run_id,
            "kind": task.kind,
            "step": task.step,
            "location_id": task.location_id,
            "snapshot_id": task.snapshot_id,
            "state": task.state.value,
            "outcome": None,
            "rule": task.rule,
            "waiting_on": task.waiting_on,
            "good_upstream": 0,
            "bad_upstream": 0,
            "skip_upstream": 0,
            "pool_set": pool_set_text(task.pools),
            "lane": task.lane,
            "fair_key": clean_text(task.fair_key),
            "priority": task.priority,
            "critical_path": task.critical_path,
            "wave": task.wave,
            "conditional": task.conditional,
            "attempt_number": 0,
            "user_failures": 0,
            "infra_losses": 0,
            "retry": as_stored(asdict(task.retry)),
            "timeout_s": task.timeout_s,
            "not_before": None,
            "worker_id": None,
            "attempt_id": None,
            "fence": 0,
            "reason": waits[0].value if waits is not None else _REASON_AT_LAUNCH.get(task.state),
            "reason_detail": dict(waits[1]) if waits is not None else None,
            "error": None,
            "cell_count": task.cell_count,
            "cancel_requested": False,
            "waits": None if task.waits is None else task.waits.value,
            "queue": task.queue,
            "created_at": self._now,
            "ready_at": self._now if task.state in ("scheduled", "deferred", "awaiting_input") else None,
            "queued_at": None,
            "started_at": None,
            "finished_at": None,
        }

    def insert_edges(self, edges: Iterable[tuple[TaskId, TaskId]]) -> None:
        for upstream_id, downstream_id in sorted(set(edges)):
            if downstream_id <= upstream_id:
                raise self._violation(f"edge {upstream_id} -> {downstream_id}: task ids rise along the graph")
            self._db.task_edge.put({"upstream_id": upstream_id, "downstream_id": downstream_id})

    def insert_task_cells(self, cells: Iterable[NewTaskCell]) -> None:
        rows = sorted(cells, key=lambda new: (new.cell, new.task_id))
        distinct(((new.task_id, new.cell) for new in rows), "insert_task_cells")
        for new in rows:
            self._make_cell(new)
            key = (new.task_id, new.cell.asset_id, new.cell.partition)
            if key in self._db.task_cell:
                raise self._violation(f"task {new.task_id} has the cell {new.cell} already")
            self._db.task_cell.put(
                {
                    "task_id": new.task_id,
                    "asset_id": new.cell.asset_id,
                    "partition": new.cell.partition,
                    "state": "pending",
                    "reason": new.reason,
                    "conditional": new.conditional,
                    "data_version": None,
                    "error": None,
                    "attempt_id": None,
                }
            )

    def _make_cell(self, new: NewTaskCell) -> None:
        if (new.cell.asset_id, new.cell.partition) in self._db.cell:
            return
        start, end = new.window or (None, None)
        row: Row = {
            "asset_id": new.cell.asset_id,
            "partition": new.cell.partition,
            "window_start": start,
            "window_end": end,
            "fence": 0,
        }
        self._db.cell.put(row | dict.fromkeys(CELL_FACTS))

    def insert_causes(self, causes: Iterable[CellCause]) -> None:
        for cause in causes:
            row = {
                "asset_id": cause.cell.asset_id,
                "partition": cause.cell.partition,
                "task_id": cause.task_id,
                "run_id": cause.run_id,
                "waits": cause.waits,
                "created_at": self._now,
            }
            if self._db.cell_cause.key_of(row) not in self._db.cell_cause:
                self._db.cell_cause.put(row)

    def take_waiting_causes(self, task_ids: Sequence[TaskId]) -> list[CellCause]:
        taken = []
        for task_id in sorted(set(task_ids)):
            for row in self._db.cell_cause.find("task", task_id):
                if row["waits"]:
                    self._db.cell_cause.delete(self._db.cell_cause.key_of(row))
                    cell = CellRef(row["asset_id"], row["partition"])
                    taken.append(CellCause(cell, row["task_id"], row["run_id"], True))
        return taken
