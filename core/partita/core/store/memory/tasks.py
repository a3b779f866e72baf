"""Tasks in memory: selections in the order of the Postgres statements, and the compare-and-set."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Any

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.store.encode import as_stored, optional_text, pool_set_text
from partita.core.store.memory.base import MemoryPart, distinct, task_of
from partita.core.store.memory.tables import Row
from partita.core.store.values import (
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
    TaskState,
    TaskUpdate,
    WorkerId,
    read_of_each,
    turn,
)
from partita.core.store.values_moves import refused_move


def _first(rows: Iterable[Row], order: Callable[[Row], Any], limit: int) -> list[Task]:
    return [task_of(row) for row in sorted(rows, key=order)[:limit]]


def _first_of_each(rows: Iterable[Row], limit: int) -> list[Task]:
    by_party: dict[Party, list[Row]] = defaultdict(list)
    for row in rows:
        by_party[Party(row["lane"], row["fair_key"])].append(row)
    each = read_of_each(limit, len(by_party))
    return [task_of(row) for party in sorted(by_party) for row in nsmallest(each, by_party[party], key=_place)]


def _place(row: Row) -> tuple[Any, ...]:
    """As `encode.in_line`, within a party; of a row, because most that are looked at are not taken."""
    if row["ready_at"] is None:
        return (1, 0, -row["critical_path"], row["id"])
    return (0, turn(row["ready_at"], row["priority"]), -row["critical_path"], row["id"])


class TasksPart(MemoryPart):
    def runs_of_tasks(self, ids: Sequence[TaskId]) -> dict[TaskId, RunId]:
        return {
            task_id: row["run_id"] for task_id in sorted(set(ids)) if (row := self._db.task.get(task_id)) is not None
        }

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

    def lock_scheduled_skip(self, limits: Mapping[Needs, int]) -> list[Task]:
        wanted = sorted(((pool_set_text(needs.pools), needs.queue), limit) for needs, limit in limits.items())
        return [
            task for needs, limit in wanted for task in _first_of_each(self._db.task.find("scheduled", needs), limit)
        ]

    def lock_open_gates_skip(self, limit: int) -> list[Task]:
        rows = (row for row in self._db.task.find("scheduled", ("[]", DEFAULT_QUEUE)) if row["kind"] == "gate")
        return _first(rows, lambda row: row["id"], limit)

    def lock_queued_skip(
        self, pins: Sequence[tuple[LocationId, SnapshotId]], limit: int, queues: Collection[str] = (DEFAULT_QUEUE,)
    ) -> list[Task]:
        queued = self._db.task.find("state", "queued")
        wanted = [(*pin, queue) for pin in sorted(set(pins)) for queue in sorted(set(queues))]
        return [
            task
            for own in wanted
            for task in _first_of_each(
                [one for one in queued if (one["location_id"], one["snapshot_id"], one["queue"]) == own], limit
            )
        ]

    def running_parties(self, worker_id: WorkerId) -> dict[Party, int]:
        return dict(Counter(task_of(row).party for row in self._db.task.find("running", worker_id)))

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

    def lock_open_tasks_of_run(
        self, run_id: RunId, *, below: TaskId | None = None, limit: int | None = None
    ) -> list[Task]:
        tasks = (task_of(row) for row in self._db.task.find("run", run_id) if below is None or row["id"] < below)
        found = [task for task in tasks if not task.state.terminal and not task.cancel_requested]
        return found if limit is None else found[-limit:]

    def write_tasks(self, updates: Sequence[TaskUpdate]) -> None:
        distinct((update.id for update in updates), "write_tasks")
        refused = refused_move(sorted(updates, key=lambda update: update.id))
        if refused is not None:
            raise self._violation(refused)
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
            "waits": None if update.waits is None else update.waits.value,
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
