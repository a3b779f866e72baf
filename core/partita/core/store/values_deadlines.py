"""Deadlines of cells: set at the launch, looked at when they are due, kept when they were missed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from partita.core.store.values_ids import CellRef, RunId, TaskId
from partita.core.store.values_tasks import CellState, TaskState, WaitReason


@dataclass(frozen=True, slots=True)
class NewDeadline:
    """By `due_at` the task is to have made the cell."""

    task_id: TaskId
    run_id: RunId
    cell: CellRef
    due_at: datetime


@dataclass(frozen=True, slots=True)
class DueDeadline:
    """A deadline whose instant has come, with what its decider looks at.

    `cell_state` is the cell's outcome in its task, `made_at` when the cell was last published or confirmed, by whomever.
    """

    task_id: TaskId
    run_id: RunId
    cell: CellRef
    due_at: datetime
    set_at: datetime
    task_state: TaskState
    reason: WaitReason | None
    finished_at: datetime | None
    cell_state: CellState
    made_at: datetime | None
    timed_out: bool  # the run took too long: what of it was cancelled was not taken back by anybody

    @property
    def key(self) -> tuple[CellRef, TaskId]:
        return self.cell, self.task_id
