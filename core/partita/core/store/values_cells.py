"""What cells hold and how attempts change it: publications, last attempts, checks, causes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from partita.core.store.values_ids import AttemptId, CellRef, Fence, RunId, SnapshotId, TaskId, WorkerId


class AttemptOutcome(StrEnum):
    SUCCESS = "success"
    FAILED = "failed"
    FAILED_FOR_GOOD = "failed_for_good"
    RETRY_LATER = "retry_later"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    LOST = "lost"
    VERSION_GONE = "version_gone"
    DEFERRED = "deferred"  # it waits; the attempt goes on when what it waits for is there


class CellFact(NamedTuple):
    """What a cell holds: the last success (data_version is None before the first) and the last attempt."""

    cell: CellRef
    fence: Fence
    data_version: str | None
    fingerprint: str | None
    dependency_hash: str | None
    consumed_digest: int | None
    location: str | None
    last_outcome: str | None
    published_at: datetime | None = None
    """Of the last publication or confirmation."""
    version_at: datetime | None = None
    """When the data version last moved."""
    last_attempt_at: datetime | None = None
    """When the last attempt ended, whatever its outcome."""


class Publication(NamedTuple):
    """The pointer flip of one cell, by compare-and-set on the cell's fence.

    `confirms` is true when the data version did not move: freshness, fingerprint and digest move, version and location
    stay (DESIGN section 5, early cutoff).
    """

    cell: CellRef
    fence: Fence
    confirms: bool
    data_version: str
    fingerprint: str
    dependency_hash: str
    consumed_digest: int
    location: str | None
    metadata: Mapping[str, Any]
    attempt_id: AttemptId
    run_id: RunId


@dataclass(frozen=True, slots=True)
class CellAttempt:
    """The last-attempt half of a cell, for an attempt that did not publish it."""

    cell: CellRef
    fence: Fence
    outcome: str
    attempt_id: AttemptId
    error: str | None


class NewAttempt(NamedTuple):
    id: AttemptId
    task_id: TaskId
    run_id: RunId
    number: int
    worker_id: WorkerId
    snapshot_id: SnapshotId
    fence: Fence
    queued_at: datetime | None
    inputs: tuple[Mapping[str, Any], ...]
    log: str | None


class AttemptEnd(NamedTuple):
    id: AttemptId
    outcome: AttemptOutcome
    error: str | None = None
    traceback: str | None = None
    usage: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CheckRow:
    attempt_id: AttemptId
    cell: CellRef
    name: str
    passed: bool
    blocking: bool
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CellCause:
    cell: CellRef
    task_id: TaskId
    run_id: RunId
    waits: bool
