"""Tasks in memory: selections in the order of the Postgres statements, and the compare-and-set."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from partita.core.store.encode import as_stored, optional_text, pool_set_text
from partita.core.store.memory.base import MemoryPart, distinct, last, task_of
from partita.core.store.memory.tables import Row
from partita.core.store.values import (
    CellRef,
    CellState,
    LocationId,
    PoolUse,
    RunId,
    SnapshotId,
    Task,
    TaskCell,
    TaskCellUpdate,
    TaskId,
    TaskState,
    TaskUpdate,
    WorkerId,
)


def _first(rows: Iterable[Row], order: Callable[[Row], Any], limit: int) -> list[Task]:
    return [task_of(row) for row in sorted(rows, key=order)[:limit]]


class TasksPart(MemoryPart):
    def lock_tasks(self, ids: Sequence[TaskId]) -> list[Task]:
        return [task_of(row) for task_id in sorted(set(ids)) if (row := self._db.task.get(task_id)) is not None]

    def lock_dependents(self, ids: Sequence[TaskId], *, closure: bool) -> list[Task]:
        below: set[TaskId] = set()
        frontier = set(ids)
        while frontier:
            found = {
                row["downstream_id"] for task_id in frontier for row in self._db.task_edge.find("upstream", task_id)
            }
            frontier = found - below if closure else set()
            below |= found
        return [task for task in self.lock_tasks(sorted(below)) if task.state is TaskState.NONE]

    def waiting_among(self, ids: Sequence[TaskId]) -> list[TaskId]:
        return [task.id for task in self.lock_tasks(ids) if task.state is TaskState.NONE]

    def edges_from(self, ids: Sequence[TaskId]) -> list[tuple[TaskId, TaskId]]:
        return [
            (row["upstream_id"], row["downstream_id"])
            for task_id in sorted(set(ids))
            for row in self._db.task_edge.find("upstream", task_id)
        ]

    def lock_scheduled_skip(self, pool_set: tuple[PoolUse, ...], limit: int) -> list[Task]:
        rows = self._db.task.find("scheduled", pool_set_text(pool_set))
        return _first(rows, lambda row: (-row["priority"], last(row["ready_at"]), row["id"]), limit)

    def lock_queued_skip(self, pins: Sequence[tuple[LocationId, SnapshotId]], limit: int) -> list[Task]:
        wanted = set(pins)
        rows = (
            row for row in self._db.task.find("state", "queued") if (row["location_id"], row["snapshot_id"]) in wanted
        )
        return _first(rows, lambda row: (-row["priority"], last(row["queued_at"]), row["id"]), limit)

    def lock_due_retries_skip(self, limit: int) -> list[Task]:
        rows = (
            row
            for row in self._db.task.find("state", "up_for_retry")
            if row["not_before"] is not None and row["not_before"] <= self._now
        )
        return _first(rows, lambda row: (row["not_before"], row["id"]), limit)

    def lock_tasks_of_workers(self, workers: Sequence[WorkerId]) -> list[Task]:
        rows = [row for worker in set(workers) for row in self._db.task.find("running", worker)]
        return _first(rows, lambda row: row["id"], len(rows))

    def lock_open_tasks_of_run(self, run_id: RunId) -> list[Task]:
        tasks = (task_of(row) for row in self._db.task.find("run", run_id))
        return [task for task in tasks if not task.state.terminal]

    def write_tasks(self, updates: Sequence[TaskUpdate]) -> None:
        distinct((update.id for update in updates), "write_tasks")
        matching = [update for update in updates if self._matches(update)]
        for update in matching:
            if update.waiting_on < 0:  # as the table's constraint does: before anybody counts what was written
                raise self._violation(f"task {update.id}: waiting_on would become {update.waiting_on}")
        if len(matching) < len(updates):
            other = next(update for update in updates if not self._matches(update))
            raise self._conflict(
                f"task {other.id} was expected {other.expect_state.value} at fence {other.expect_fence}"
            )
        for update in updates:
            row = self._db.task.rows[update.id]
            self._db.task.put(row | self._changes(update, row))

    def _matches(self, update: TaskUpdate) -> bool:
        row = self._db.task.get(update.id)
        if row is None or update.expect_state.terminal:
            return False
        return (row["state"], row["fence"]) == (update.expect_state.value, update.expect_fence)

    def _changes(self, update: TaskUpdate, row: Row) -> Row:
        return {
            "state": update.state.value,
            "outcome": update.outcome,
            "waiting_on": update.waiting_on,
            "good_upstream": update.good_upstream,
            "bad_upstream": update.bad_upstream,
            "skip_upstream": update.skip_upstream,
            "attempt_number": update.attempt_number,
            "user_failures": update.user_failures,
            "infra_losses": update.infra_losses,
            "not_before": update.not_before,
            "worker_id": update.worker_id,
            "attempt_id": update.attempt_id,
            "fence": update.fence,
            "cancel_requested": update.cancel_requested,
            "ready_at": update.ready_at,
            "queued_at": update.queued_at,
            "reason": None if update.reason is None else update.reason.value,
            "reason_detail": as_stored(update.reason_detail),
            "error": optional_text(update.error),
            "started_at": update.started_at or row["started_at"],
            "finished_at": update.finished_at or row["finished_at"],
        }

    def task_cells(self, task_ids: Sequence[TaskId]) -> list[TaskCell]:
        return [
            TaskCell(
                row["task_id"],
                CellRef(row["asset_id"], row["partition"]),
                CellState(row["state"]),
                row["reason"],
                row["conditional"],
            )
            for task_id in sorted(set(task_ids))
            for row in self._db.task_cell.find("task", task_id)
        ]

    def write_task_cells(self, updates: Sequence[TaskCellUpdate]) -> None:
        distinct(((update.task_id, update.cell) for update in updates), "write_task_cells")
        for update in updates:
            key = (update.task_id, update.cell.asset_id, update.cell.partition)
            if key not in self._db.task_cell:
                raise self._conflict(f"task {update.task_id} has no cell {update.cell}")
            self._db.task_cell.change(
                key,
                state=update.state.value,
                data_version=update.data_version,
                error=optional_text(update.error),
                attempt_id=update.attempt_id,
            )

    def close_cells(self, task_ids: Sequence[TaskId]) -> None:
        for task_id in set(task_ids):
            for row in self._db.open_cell.find("task", task_id):
                self._db.open_cell.delete((row["asset_id"], row["partition"]))

    def cancelled_tasks_of_worker(self, worker_id: WorkerId) -> list[Task]:
        tasks = (task_of(row) for row in self._db.task.find("running", worker_id))
        return [task for task in tasks if task.cancel_requested and task.state is TaskState.RUNNING]
