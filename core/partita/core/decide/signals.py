"""What of a move people may want to hear of. Pure; whether anybody does is the rules' matter (`alerts`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from partita.core.decide.spent import said
from partita.core.store.values import CellRef, Run, RunState, RunUpdate, Task, TaskState, TaskUpdate
from partita.core.store.values_alerts import AlertKind, NewSignal
from partita.core.store.values_deadlines import DueDeadline

_LONGEST = 300


def failure_signals(task: Task, update: TaskUpdate) -> Iterator[NewSignal]:
    """An attempt failed; no further one will be made (S-154). The machine's losses are no failure until they are too many."""
    failed = update.user_failures > task.user_failures or update.state is TaskState.FAILED
    if not failed or task.kind != "step":
        return
    detail = {"error": first_line(update.error), "attempt": task.attempt_number}
    if update.user_failures > task.user_failures:
        yield NewSignal(AlertKind.FAILED, run_id=task.run_id, task_id=task.id, detail=detail)
    if update.state is TaskState.FAILED:
        yield NewSignal(AlertKind.RETRIES_EXHAUSTED, run_id=task.run_id, task_id=task.id, detail=detail)


def check_signal(cell: CellRef, name: str, blocking: bool, task: Task) -> NewSignal:
    return NewSignal(AlertKind.CHECK_FAILED, cell, task.run_id, task.id, {"check": name, "blocking": blocking})


def late_signal(missed: DueDeadline, spent: Mapping[str, float]) -> NewSignal:
    """`spent` is who took the time from when it was asked for until it was due, in seconds."""
    detail = {
        "due_at": missed.due_at.isoformat(timespec="seconds"),
        "asked_at": missed.set_at.isoformat(),
        "state": missed.task_state.value,
        "spent": said(spent),
    }
    return NewSignal(AlertKind.LATE, missed.cell, missed.run_id, missed.task_id, detail)


def run_signals(run: Run, update: RunUpdate) -> Iterator[NewSignal]:
    if update.state is RunState.FAILED and run.state is not RunState.FAILED:
        yield NewSignal(AlertKind.RUN_FAILED, run_id=run.id, detail={"tallies": dict(update.tallies)})


def first_line(text: str | None) -> str:
    """What of an error stands in a list."""
    line = (text or "").strip().partition("\n")[0]
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
