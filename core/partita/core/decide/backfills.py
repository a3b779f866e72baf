"""What people may do with a backfill, what that makes of it, and how it ends. Pure.

A backfill is open while a run of it is. Retrying opens it again: a new run makes what its runs so far have not made.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from partita.assets import PartitaError
from partita.core.decide.pause import is_pause
from partita.core.decide.transitions import Actor, move
from partita.core.store.values import Backfill, CellState, Run, RunState, Task, TaskState, TaskUpdate, WaitReason

MAX_PRIORITY = 1_000


class BackfillRefused(PartitaError):
    """What was asked of a backfill makes no sense as it stands; nothing was written."""


def check_open(backfill: Backfill, to: str) -> None:
    """Raises for one that has ended. `to` is what was asked, as a verb."""
    if backfill.state is RunState.RUNNING:
        return
    again = f"make what is missing of it with `partita backfill retry {backfill.id}`"
    raise BackfillRefused(
        f"backfill {backfill.id} is finished ({backfill.state.value}): there is nothing left to {to}",
        rule="only a backfill that is running can be changed",
        fix="" if backfill.state is RunState.SUCCESS else again,
    )


def check_pause(backfill: Backfill, runs: Sequence[Run]) -> None:
    """Raises for one that cannot be paused now."""
    check_open(backfill, "pause")
    if not backfill.pausable:
        raise BackfillRefused(
            f"backfill {backfill.id} was made by an older version, without a pool of its own",
            rule="pausing closes the pool that the tasks of a backfill take slots of",
            fix=f"cancel it with `partita backfill cancel {backfill.id}` and create it again: what is made stays",
        )
    check_not_cancelled(backfill, runs)


def check_not_cancelled(backfill: Backfill, runs: Sequence[Run]) -> None:
    """Raises for one that is being cancelled: it neither waits nor goes on."""
    if all(run.cancel_requested for run in runs if run.state is RunState.RUNNING):
        raise BackfillRefused(
            f"backfill {backfill.id} is being cancelled",
            rule="what was cancelled does not go on",
            fix=f"wait for its end; `partita backfill retry {backfill.id}` makes what is missing of it",
        )


def check_retry(backfill: Backfill, cells: int) -> None:
    """Raises for one of which nothing is left to try again."""
    if not cells:
        raise BackfillRefused(
            f"backfill {backfill.id} has nothing to retry: none of its cells failed",
            rule="retrying makes the cells that failed, could not start for what is above them, or were cancelled",
            fix=f"look at it with `partita backfill show {backfill.id}`",
        )


def changed(backfill: Backfill, *, max_active: int | None, priority: int) -> Backfill:
    """With another limit (None: none) and priority. Raises for values that mean nothing."""
    check_open(backfill, "set")
    if max_active is not None and max_active < 1:
        raise BackfillRefused(
            f"max_active {max_active} would never let a task of backfill {backfill.id} start",
            rule="it is at least 1",
            fix=f"to stop it for a while: `partita backfill pause {backfill.id}`",
        )
    if max_active is not None and not backfill.pausable:
        raise BackfillRefused(
            f"backfill {backfill.id} was made by an older version, without a pool of its own",
            rule="its limit are the slots of that pool",
            fix=f"cancel it with `partita backfill cancel {backfill.id}` and create it again: what is made stays",
        )
    if abs(priority) > MAX_PRIORITY:
        raise BackfillRefused(
            f"priority {priority} of backfill {backfill.id} is out of bounds",
            rule=f"it lies within {MAX_PRIORITY} of 0",
        )
    return replace(backfill, max_active=max_active, priority=priority)


def requeue(task: Task, why: WaitReason, detail: Mapping[str, Any]) -> TaskUpdate:
    """A queued task of a backfill that is paused, or has a smaller limit now, gives its slots back and waits in its place."""
    return move(
        task, TaskState.SCHEDULED, Actor.PAUSE, queued_at=None, worker_id=None, reason=why, reason_detail=detail
    )


def forget_pause(task: Task) -> TaskUpdate:
    """A scheduled task of a backfill that goes on: what binds it now is for the next admission to say."""
    return move(task, TaskState.SCHEDULED, Actor.PAUSE, reason=None, reason_detail=None)


def asset_is_paused(task: Task) -> bool:
    """Whether somebody paused what the task makes: that holds it whatever its backfill does."""
    return any(is_pause(use.name) for use in task.pools)


def opened(backfill: Backfill) -> Backfill:
    """A backfill to which a run was added."""
    return replace(backfill, state=RunState.RUNNING)


def ended(backfill: Backfill, runs: Sequence[Run], unmade: Collection[CellState]) -> Backfill:
    """The backfill as its runs leave it. `unmade` are the outcomes of the cells that its last try did not make; looked at where
    there were several tries."""
    if not runs or any(run.state is RunState.RUNNING for run in runs):
        return backfill
    if len(runs) == 1:
        return replace(backfill, state=runs[0].state)
    if not unmade:
        return replace(backfill, state=RunState.SUCCESS)
    cancelled = all(state is CellState.CANCELLED for state in unmade)
    return replace(backfill, state=RunState.CANCELLED if cancelled else RunState.FAILED)
