"""Tasks whose version no server has any more: how long they wait, and how they leave their run. Pure.

They never run on other code (DESIGN section 6, "Snapshots"). For a grace they wait, for a version may come back: a server that
restarts, a deployment that is taken back. Then those that have not started, or wait for something outside that nobody can look
for any more, are `removed`, and the run's request is planned again on the code of now, as a run of its own that says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from partita.core.decide.transitions import Actor, move
from partita.core.store.values import Task, TaskState, TaskUpdate
from partita.core.store.values_definitions import CodeServer, Stranded

# Those that have not started and wait for no task: what waits for upstream tasks follows their end by its trigger rule. And those
# that are deferred: only their own version could look for what they wait for, or go on with it. A person's answer is waited for.
_WAITING = frozenset({TaskState.SCHEDULED, TaskState.QUEUED, TaskState.UP_FOR_RETRY, TaskState.DEFERRED})


def is_given_up(one: Stranded, servers: Sequence[CodeServer], now: datetime, grace_s: float) -> bool:
    """`servers` are the live ones. A location without any is down, which says nothing about its versions."""
    there = [server for server in servers if server.location_id == one.location_id]
    if not there or any(one.version in server.versions for server in there):
        return False
    return one.gone_since <= now - timedelta(seconds=grace_s)


def remove(task: Task, one: Stranded, now: datetime) -> TaskUpdate | None:
    """The end of an open task of the run; None when it is pinned to another version, runs, or still waits for others."""
    if (task.location_id, task.snapshot_id) != (one.location_id, one.snapshot_id) or task.state not in _WAITING:
        return None
    why = (
        f"no server of location {one.location} has had version {one.version[:12]} since "
        f"{one.gone_since:%Y-%m-%d %H:%M:%S} UTC; planned again on the code of now"
    )
    return move(task, TaskState.REMOVED, Actor.GIVE_UP, not_before=None, worker_id=None, error=why, finished_at=now)
