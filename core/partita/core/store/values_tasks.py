"""Tasks and their cells as the deciders see them, and the writes that the deciders ask for.

Everything here is an immutable value; instants are aware UTC datetimes, always read from the database's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from partita.core.store.values_ids import (
    AttemptId,
    CellRef,
    Fence,
    LocationId,
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

    @property
    def terminal(self) -> bool:
        return self in _TERMINAL


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


class WaitReason(StrEnum):
    """Why a task does not run: exactly one binds at a time (law 5). Evidence is in `reason_detail`."""

    UPSTREAM = "upstream"  # waits for upstream tasks: {"waiting_on": n}
    POOL_FULL = "pool_full"  # {"pool": name, "slots": n, "held": n, "wants": n}
    RETRY_AT = "retry_at"  # {"at": iso, "error": text}
    NO_WORKER = "no_worker"  # no live worker
    NO_SERVER = "no_server"  # no code server serves the location: {"location": name}
    VERSION_GONE = "version_gone"  # {"location": name, "version": hash}
    WORKERS_BUSY = "workers_busy"  # all slots of the live workers are taken: {"capacity": n}
    BACKFILL_CAP = "backfill_cap"  # {"backfill": id, "max_active": n}
    ASSET_CAP = "asset_cap"  # {"asset": key, "max_active": n}
    LOCATION_CAP = "location_cap"  # {"location": name, "max_running": n}
    RUNNING_CAP = "running_cap"  # {"max_running": n}
    IN_PROGRESS = "in_progress"  # the cell runs in another run: {"run": id}


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


@dataclass(frozen=True, slots=True)
class Task:
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
    priority: int
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


@dataclass(frozen=True, slots=True)
class TaskUpdate:
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
    reason_detail: Mapping[str, Any] | None = None
    error: str | None = None
    started_at: datetime | None = None  # set when not None
    finished_at: datetime | None = None  # set when not None

    @classmethod
    def of(cls, task: Task, state: TaskState, **changes: Any) -> TaskUpdate:
        values: dict[str, Any] = {
            "id": task.id,
            "expect_state": task.state,
            "expect_fence": task.fence,
            "outcome": task.outcome,
            "waiting_on": task.waiting_on,
            "good_upstream": task.good_upstream,
            "bad_upstream": task.bad_upstream,
            "skip_upstream": task.skip_upstream,
            "attempt_number": task.attempt_number,
            "user_failures": task.user_failures,
            "infra_losses": task.infra_losses,
            "not_before": task.not_before,
            "worker_id": task.worker_id,
            "attempt_id": task.attempt_id,
            "fence": task.fence,
            "cancel_requested": task.cancel_requested,
            "ready_at": task.ready_at,
            "queued_at": task.queued_at,
            "reason": None,
        }
        values.update(changes)
        return cls(state=state, **values)


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


@dataclass(frozen=True, slots=True)
class TaskCell:
    task_id: TaskId
    cell: CellRef
    state: CellState
    reason: str
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class TaskCellUpdate:
    """`attempt_id`: the attempt whose report ended the cell; None where it ended without one."""

    task_id: TaskId
    cell: CellRef
    state: CellState
    data_version: str | None = None
    error: str | None = None
    attempt_id: AttemptId | None = None
