"""Deadlines in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values import CellRef, CellState, TaskId, TaskState, WaitReason
from partita.core.store.values_deadlines import DueDeadline, NewDeadline


class DeadlinesPart(MemoryPart):
    def insert_deadlines(self, deadlines: Iterable[NewDeadline]) -> None:
        rows = sorted(deadlines, key=lambda one: (one.cell, one.task_id))
        distinct(((one.cell, one.task_id) for one in rows), "insert_deadlines")
        for one in rows:
            self._db.deadline.put(
                {
                    "asset_id": one.cell.asset_id,
                    "partition": one.cell.partition,
                    "task_id": one.task_id,
                    "run_id": one.run_id,
                    "due_at": one.due_at,
                    "set_at": self._now,
                    "missed_at": None,
                }
            )

    def lock_due_deadlines_skip(self, limit: int) -> list[DueDeadline]:
        rows = [row for row in self._db.deadline if row["missed_at"] is None and row["due_at"] <= self._now]
        rows.sort(key=lambda row: (row["due_at"], row["asset_id"], row["partition"], row["task_id"]))
        return [self._due_deadline(row) for row in rows[:limit]]

    def _due_deadline(self, row: Row) -> DueDeadline:
        task = self._db.task.rows[row["task_id"]]
        own = self._db.task_cell.rows[row["task_id"], row["asset_id"], row["partition"]]
        made = self._db.cell.get((row["asset_id"], row["partition"]))
        return DueDeadline(
            task_id=row["task_id"],
            run_id=row["run_id"],
            cell=CellRef(row["asset_id"], row["partition"]),
            due_at=row["due_at"],
            set_at=row["set_at"],
            task_state=TaskState(task["state"]),
            reason=None if task["reason"] is None else WaitReason(task["reason"]),
            finished_at=task["finished_at"],
            cell_state=CellState(own["state"]),
            made_at=None if made is None else made["published_at"],
            timed_out=self._db.run.rows[row["run_id"]]["timed_out_at"] is not None,
        )

    def end_deadlines(
        self, met: Collection[tuple[CellRef, TaskId]], missed: Collection[tuple[CellRef, TaskId]]
    ) -> None:
        for cell, task_id in met:
            if (cell.asset_id, cell.partition, task_id) in self._db.deadline:
                self._db.deadline.delete((cell.asset_id, cell.partition, task_id))
        for cell, task_id in missed:
            row = self._db.deadline.get((cell.asset_id, cell.partition, task_id))
            if row is not None and row["missed_at"] is None:
                self._db.deadline.put(row | {"missed_at": self._now})
