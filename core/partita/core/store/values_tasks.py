"""Tasks and their cells as the deciders see them, and the writes that the deciders ask for.

Everything here is an immutable value; instants are aware UTC datetimes, always read from the database's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from operator import itemgetter
from typing import Any, NamedTuple

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.store.values_ids import (
    AttemptId,
    CellRef,
    Fence,
    LocationId,
    Needs,
    Party,
    PoolUse,
    RunId,
    SnapshotId,
    TaskId,
    WorkerId,
)


class TaskState(StrEnum):
    """The states of a task (DESIGN section 1); the last six are terminal."""

    NONE = "none"
    SCHEDULED = "scheduled"
    QUEUED = "queued"
    RUNNING = "running"
    DEFERRED = "deferred"
    UP_FOR_RETRY = "up_for_retry"
    AWAITING_INPUT = "awaiting_input"
    SUCCESS = "success"
    FAILED = "failed"
    UPSTREAM_FAILED = "upstream_failed"
    SKIPPED = "skipped"
    REMOVED = "removed"
    CANCELLED = "cancelled"

    __hash__ = str.__hash__  # that of an enum is a function in Python, and every look-up by state calls it

    @property
    def terminal(self) -> bool:
        return self in _TERMINAL


WAITING = frozenset({TaskState.DEFERRED, TaskState.AWAITING_INPUT})
"""The states in which a task waits outside of slots; exactly these have open waits."""

_TERMINAL = frozenset(
    {
        TaskState.SUCCESS,
        TaskState.FAILED,
        TaskState.UPSTREAM_FAILED,
        TaskState.SKIPPED,
        TaskState.REMOVED,
        TaskState.CANCELLED,
    }
)


class WaitStage(StrEnum):
    """How far a task is with what it waits for; a task that never waits has none."""

    FIRST = "first"  # it waits before it starts (`wait_for=`): once ready it is deferred and not scheduled
    ASK = "ask"  # as FIRST, and a person is asked who has not answered: once ready it is awaiting_input
    OPEN = "open"  # its attempt ended deferred (`context.defer`) and waits
    MET = "met"  # everything fired: its next attempt is handed the events
    RESUME = "resume"  # the wait of its attempt fired: the same attempt goes on, with the events


class WaitReason(StrEnum):
    """Why a task does not run: exactly one binds at a time (law 5). Evidence is in `reason_detail`."""

    UPSTREAM = "upstream"  # waits for upstream tasks: {"waiting_on": n, "past": of them earlier partitions of itself}
    BLOCKED_BY_PAST = "blocked_by_past"  # waits for earlier partitions of itself and for nothing else: as above
    POOL_FULL = "pool_full"  # {"pool": name, "slots": n, "held": n, "wants": n}
    RETRY_AT = "retry_at"  # {"at": iso, "error": text}
    NO_WORKER = "no_worker"  # of its queue: {"queue": name, "since": iso or None, "others": {queue: live workers}}
    NO_SERVER = "no_server"  # no code server serves the location: {"location": name}
    VERSION_GONE = "version_gone"  # {"location": name, "version": hash}
    WORKERS_BUSY = (
        "workers_busy"  # all places of its queue's live workers are taken: {"queue": name, "workers": n, "capacity": n}
    )
    BACKFILL_CAP = "backfill_cap"  # {"backfill": id, "max_active": n}
    RUN_CAP = "run_cap"  # {"run": id, "max_active": n}
    ASSET_CAP = "asset_cap"  # {"asset": key, "max_active": n}
    LOCATION_CAP = "location_cap"  # {"location": name, "max_running": n}
    RUNNING_CAP = "running_cap"  # {"max_running": n}
    LANE = "lane"  # {"lane": name, "pool": name, "slots": n, "held": n, "share": n, "wants": n}
    PAUSED = "paused"  # {"asset": id (0: everything), "by": who, "at": iso, "why": text}; {"backfill": id, "by": who, "at": iso}
    IN_PROGRESS = "in_progress"  # the cell runs in another run: {"run": id}
    WAITING_FOR = (
        "waiting_for"  # deferred: {"for": [labels]}; until when and who watches it is with the waits themselves
    )
    APPROVAL = "approval"  # awaiting_input: as above


def waits_for(waiting_on: int, past: int) -> tuple[WaitReason, Mapping[str, int]]:
    """Why a task waits that has so many open upstream tasks, `past` of which make earlier partitions of its own asset.

    >>> waits_for(3, 1)
    (<WaitReason.UPSTREAM: 'upstream'>, {'waiting_on': 3, 'past': 1})
    """
    if not past:
        return WaitReason.UPSTREAM, {"waiting_on": waiting_on}
    reason = WaitReason.BLOCKED_BY_PAST if past == waiting_on else WaitReason.UPSTREAM
    return reason, {"waiting_on": waiting_on, "past": past}


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`max_retries` user failures are retried; delays in seconds."""

    max_retries: int = 0
    delay_s: float = 0.0
    backoff: str = "fixed"  # or "exponential"
    max_delay_s: float | None = None
    jitter: float = 0.0


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task as it is launched. Ids are reserved first (`Tx.reserve_task_ids`) and rise along the graph."""

    id: TaskId
    kind: str  # "step" or "gate"
    step: str
    location_id: LocationId | None
    snapshot_id: SnapshotId | None
    state: TaskState  # NONE or SCHEDULED
    waiting_on: int
    pools: tuple[PoolUse, ...]
    lane: str
    priority: int
    wave: int
    retry: RetryPolicy
    timeout_s: float | None
    cell_count: int
    conditional: bool = False
    rule: str = "all_success"
    waits: WaitStage | None = None
    fair_key: str = ""
    critical_path: int = 0
    past: int = 0  # of `waiting_on` those that make earlier partitions of its own asset
    queue: str = DEFAULT_QUEUE  # its workers run it


class Task(NamedTuple):
    """A task row as the deciders see it."""

    id: TaskId
    run_id: RunId
    kind: str
    step: str
    location_id: LocationId | None
    snapshot_id: SnapshotId | None
    state: TaskState
    outcome: str | None
    rule: str
    waiting_on: int
    good_upstream: int
    bad_upstream: int
    skip_upstream: int
    pools: tuple[PoolUse, ...]
    lane: str
    fair_key: str
    priority: int
    critical_path: int  # tasks in the longest chain of its plan that begins with it
    conditional: bool
    attempt_number: int
    user_failures: int
    infra_losses: int
    retry: RetryPolicy
    timeout_s: float | None
    not_before: datetime | None
    worker_id: WorkerId | None
    attempt_id: AttemptId | None
    fence: Fence
    cell_count: int
    cancel_requested: bool
    ready_at: datetime | None
    queued_at: datetime | None
    reason: WaitReason | None
    reason_detail: Mapping[str, Any] | None = None
    waits: WaitStage | None = None
    queue: str = DEFAULT_QUEUE  # its workers run it

    @property
    def party(self) -> Party:
        return Party(self.lane, self.fair_key)

    @property
    def needs(self) -> Needs:
        return Needs(self.pools, self.queue)


PRIORITY_WORTH_S = 60
"""A step of priority is worth so much waiting: who has waited a minute longer goes before one of a priority higher by one."""


def turn(ready_at: datetime, priority: int) -> int:
    """A task's place among those of its party, the lowest first; ties go to the longer critical path, then the lower id.

    Everybody ages alike, so priority with age is one number that stays as it is while time goes on. In whole seconds, so that
    the critical path tells tasks apart that became ready together.

    >>> from datetime import UTC, timedelta
    >>> noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    >>> turn(noon, 0) < turn(noon + timedelta(seconds=61), 1)
    True
    """
    return int(ready_at.timestamp()) - PRIORITY_WORTH_S * priority


class TaskUpdate(NamedTuple):
    """The new values of a task, written by compare-and-set on (state, fence).

    The store writes every field except the `expect_` ones; build it with `TaskUpdate.of(task, ...)`, which carries the
    old values over, so that a decider names only what changes.
    """

    id: TaskId
    expect_state: TaskState
    expect_fence: Fence
    state: TaskState
    outcome: str | None
    waiting_on: int
    good_upstream: int
    bad_upstream: int
    skip_upstream: int
    attempt_number: int
    user_failures: int
    infra_losses: int
    not_before: datetime | None
    worker_id: WorkerId | None
    attempt_id: AttemptId | None
    fence: Fence
    cancel_requested: bool
    ready_at: datetime | None
    queued_at: datetime | None
    reason: WaitReason | None
    waits: WaitStage | None
    reason_detail: Mapping[str, Any] | None = None
    error: str | None = None
    started_at: datetime | None = None  # set when not None
    finished_at: datetime | None = None  # set when not None

    @classmethod
    def of(cls, task: Task, state: TaskState, **changes: Any) -> TaskUpdate:
        values = [*_CARRIED(task), None, None, None, None]
        values[_PLACE["state"]] = state
        values[_PLACE["reason"]] = None
        for name, value in changes.items():
            values[_PLACE[name]] = value
        return cls._make(values)


_PLACE = {name: place for place, name in enumerate(TaskUpdate._fields)}
# What an update begins with, by its fields: the columns of the task, and nothing for what only an update says.
_SAID = 4
_CARRIED = itemgetter(*(Task._fields.index(name.removeprefix("expect_")) for name in TaskUpdate._fields[:-_SAID]))
assert TaskUpdate._fields[-_SAID:] == ("reason_detail", "error", "started_at", "finished_at"), (
    "what only an update says"
)


class CellState(StrEnum):
    """The outcome of one cell of a task."""

    PENDING = "pending"
    PUBLISHED = "published"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    FAILED = "failed"
    UPSTREAM_FAILED = "upstream_failed"
    CANCELLED = "cancelled"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class NewTaskCell:
    """`conditional`: planned only because an input may change; it is `unchanged`, without an attempt, when none did."""

    task_id: TaskId
    cell: CellRef
    reason: str  # missing failed stale_code stale_data stale_dependencies forced
    window: tuple[datetime, datetime] | None = None
    conditional: bool = False


class TaskCell(NamedTuple):
    task_id: TaskId
    cell: CellRef
    state: CellState
    reason: str
    conditional: bool = False


class TaskCellUpdate(NamedTuple):
    """`attempt_id`: the attempt whose report ended the cell; None where it ended without one."""

    task_id: TaskId
    cell: CellRef
    state: CellState
    data_version: str | None = None
    error: str | None = None
    attempt_id: AttemptId | None = None
