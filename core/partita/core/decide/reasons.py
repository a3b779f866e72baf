"""Why a queued task does not run: servers first, then workers (S-151: stuck in queued means workers). Pure.

Reasons of scheduled tasks are decided by `admit`, those of waiting ones by `settle`, those of retries by `retry`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from partita.core.decide.queues import Served
from partita.core.decide.transitions import Actor, move
from partita.core.store.values import Task, TaskState, TaskUpdate, WaitReason
from partita.core.store.values_definitions import CodeServer, QueuedPin

# A task that is claimed within this time was not waiting for anybody.
CLAIM_GRACE = timedelta(seconds=2)
# A server that restarts is back within this time. After it the task gives its slots back (law 7) and is queued again later,
# behind those that became ready meanwhile: a location that is down must not fill the pools of all others.
SERVER_GRACE = timedelta(seconds=15)
ASIDE = timedelta(seconds=15)
# A worker that restarts is back within this time. After it the task gives its slots back to those whose workers are alive.
WORKER_GRACE = timedelta(seconds=15)


_NOBODY_CAN_RUN_IT = frozenset({WaitReason.NO_SERVER, WaitReason.VERSION_GONE})


# What a constraint is told apart by: what it is of, and its limit. How much of it is taken is not stored anew each time.
_NAMES = (
    "pool", "lane", "backfill", "run", "asset", "location", "version", "behind_task", "queue", "slots", "max_active",
    "max_running", "capacity",
)  # fmt: skip


def same_constraint(task: Task, reason: WaitReason, detail: Mapping[str, Any]) -> bool:
    """Whether a task says already that just this keeps it: the reason, and the pool, lane, cap or version by name, with
    its limit."""
    told = task.reason_detail or {}
    return task.reason is reason and all(told.get(name) == detail.get(name) for name in _NAMES)


@dataclass(frozen=True, slots=True)
class Cause:
    """The reason that binds all queued tasks of one version and queue, and whether it binds from the first moment. `in_the_way`:
    workers that cannot take them are alive, and tasks of theirs may want the same slots; `until` when one was that could."""

    reason: WaitReason
    detail: Mapping[str, Any]
    at_once: bool
    in_the_way: bool = False
    until: datetime | None = None


def cause_of(pin: QueuedPin, servers: Sequence[CodeServer], served: Served) -> Cause:
    """`servers` are the live ones."""
    of_location = [server for server in servers if server.location_id == pin.location_id]
    if not of_location:
        return Cause(WaitReason.NO_SERVER, {"location": pin.location}, at_once=True)
    if not any(pin.version in server.versions for server in of_location):
        return Cause(WaitReason.VERSION_GONE, {"location": pin.location, "version": pin.version}, at_once=True)
    if not served.by(pin.queue):
        until = served.until.get(pin.queue) if served.workers else None
        return Cause(*served.no_worker(pin.queue), at_once=True, in_the_way=bool(served.workers), until=until)
    return Cause(*served.busy(pin.queue), at_once=False)


def explain(task: Task, cause: Cause, now: datetime) -> TaskUpdate | None:
    """The new reason of a queued task, or its step aside; None when it stays."""
    if cause.reason in _NOBODY_CAN_RUN_IT and task.queued_at is not None and task.queued_at <= now - SERVER_GRACE:
        at = now + ASIDE
        return move(
            task, TaskState.UP_FOR_RETRY, Actor.EXPLAIN, reason=cause.reason, reason_detail=cause.detail,
            not_before=at, ready_at=at, queued_at=None,
        )  # fmt: skip
    if cause.in_the_way and _waited_out(task, cause, now):
        return step_back(task, cause)
    binds = cause.at_once or (task.queued_at is not None and task.queued_at <= now - CLAIM_GRACE)
    reason = cause.reason if binds else None
    if reason is task.reason:
        return None
    detail = cause.detail if binds else None
    return move(task, TaskState.QUEUED, Actor.EXPLAIN, reason=reason, reason_detail=detail)


def step_back(task: Task, cause: Cause) -> TaskUpdate:
    """It gives its slots to those whose workers are idle, and keeps its age."""
    return move(
        task, TaskState.SCHEDULED, Actor.EXPLAIN, reason=cause.reason, reason_detail=cause.detail, queued_at=None
    )


def surplus_of(queued: Sequence[Task], surplus: int, now: datetime) -> list[Task]:
    """Of queued tasks in line as many as are more than their workers have places for, the last first, and none that has been
    queued for less than the grace: a worker that restarts is back by then."""
    late = [task for task in queued if task.queued_at is not None and task.queued_at <= now - WORKER_GRACE]
    return late[max(0, len(late) - surplus) :] if surplus > 0 else []


def _waited_out(task: Task, cause: Cause, now: datetime) -> bool:
    """Whether nobody has been there to take it for the time in which a worker that restarts is back."""
    since = max((at for at in (task.queued_at, cause.until) if at is not None), default=now)
    return since <= now - WORKER_GRACE
