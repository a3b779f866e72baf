"""Cancelling: what has not started ends at once, what runs is asked to stop. Pure."""

from __future__ import annotations

from datetime import datetime

from partita.core.decide.transitions import Actor, move
from partita.core.store.values import Task, TaskState, TaskUpdate


def cancel(task: Task, now: datetime, *, error: str | None = None) -> TaskUpdate | None:
    """The update of an open task of a cancelled run; None when it was asked already. `error` says why, where nobody asked.

    A running task keeps its fence and its slots until its attempt ends: whatever it published by then is recorded.
    """
    if task.state is not TaskState.RUNNING:
        return move(
            task, TaskState.CANCELLED, Actor.CANCEL, not_before=None, worker_id=None, error=error, finished_at=now
        )
    if task.cancel_requested:
        return None
    return move(task, TaskState.RUNNING, Actor.CANCEL, cancel_requested=True, error=error)
