"""Runs with their tallies, and the workers that do the work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from partita.core.store.values_ids import BackfillId, LocationId, RunId, SnapshotId, WorkerId
from partita.core.store.values_tasks import TaskState


class RunState(StrEnum):
    RUNNING = "running"
    SUCCESS = "success"
    FAILED = "failed"
    CANCELLED = "cancelled"


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


@dataclass(frozen=True, slots=True)
class Run:
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


@dataclass(frozen=True, slots=True)
class RunUpdate:
    id: RunId
    expect_state: RunState
    state: RunState
    tallies: Mapping[str, int]
    cancel_requested: bool
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Tally:
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
