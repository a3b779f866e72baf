"""Runs with their tallies, and the workers that do the work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from partita.assets.queues import ALL_QUEUES, DEFAULT_QUEUE
from partita.core.store.values_ids import BackfillId, LocationId, PausedBy, RunId, SnapshotId, TaskId, WorkerId
from partita.core.store.values_tasks import TaskState


class RunState(StrEnum):
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"

    __hash__ = str.__hash__  # as of TaskState


@dataclass(frozen=True, slots=True)
class NewRun:
    backfill_id: BackfillId | None
    lane: str
    priority: int
    cause: Mapping[str, Any]
    request: Mapping[str, Any]
    plan_hash: str
    as_of: datetime
    params: Mapping[str, Any]
    task_count: int
    pins: tuple[tuple[LocationId, SnapshotId], ...]
    keys_revision: int = 0  # which keys of dynamic schemes it sees
    timeout_s: float | None = None  # from its launch, of all its tasks together
    max_active: int | None = None


class Run(NamedTuple):
    id: RunId
    backfill_id: BackfillId | None
    state: RunState
    as_of: datetime
    cancel_requested: bool
    tallies: Mapping[str, int]
    task_count: int
    request: Mapping[str, Any]
    cause: Mapping[str, Any]
    params: Mapping[str, Any]
    lane: str
    timed_out: bool
    cancelled_from: TaskId | None = None
    keys_revision: int = 0
    max_active: int | None = (
        None  # its tasks that are queued or running at once; of a run of a backfill that has the limit
    )


class RunUpdate(NamedTuple):
    """`cancelled_from`: it was cancelled, and its tasks below this one have not been reached."""

    id: RunId
    expect_state: RunState
    state: RunState
    tallies: Mapping[str, int]
    cancel_requested: bool
    finished_at: datetime | None = None
    timed_out: bool = False  # once true, it stays
    cancelled_from: TaskId | None = None


@dataclass(frozen=True, slots=True)
class Backfill:
    """A frozen target and its runs: the first, and one for each time that what was not made was tried again. `pausable`: its
    tasks take slots of a pool of its own (those of older versions do not)."""

    id: BackfillId
    name: str
    state: RunState
    max_active: int | None
    priority: int
    newest_first: bool
    pausable: bool
    paused: PausedBy | None


class Tally(NamedTuple):
    run_id: RunId
    state: TaskState
    n: int


@dataclass(frozen=True, slots=True)
class Worker:
    id: WorkerId
    host: str
    pid: int
    capacity: int
    lease_expires_at: datetime
    state: str
    queues: tuple[str, ...] = (DEFAULT_QUEUE,)

    def serves(self, queue: str) -> bool:
        """Whether it takes tasks of this queue."""
        return queue in self.queues or ALL_QUEUES in self.queues


class Taken(NamedTuple):
    """How many tasks of some queues are queued, and how many run on some workers; what has none may be left out."""

    queued: Mapping[str, int]
    running: Mapping[WorkerId, int]
