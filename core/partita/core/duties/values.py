"""The values that go into the duties and come out of them.

`Launch` comes from the planner; `ResolvedInputs` from the catalog; `AttemptResult` from a worker. What comes out says what
changed and which channels are worth waking (`channels`); a duty itself never wakes anybody. Owns no decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from partita.core.store.values import (
    AssetId,
    AttemptId,
    AttemptOutcome,
    BackfillId,
    CellFact,
    CellRef,
    Fence,
    LocationId,
    PoolUse,
    RetryPolicy,
    RunId,
    RunState,
    SnapshotId,
    Task,
    TaskCell,
    TaskId,
    WaitReason,
    WorkerId,
)

BATCH_TASKS = 500  # tasks that one transaction takes on; what follows from them (dependents) comes on top
BATCH_CELLS = 1000  # cells that one transaction publishes (DESIGN section 6, "Publication")
LEASE_S = 30.0  # of a worker, unless its caller says otherwise
EXTERNAL_VERSION = "external"  # the data version of every partition of an external asset that is not observed
AUTOMATION = "automation"  # the consumer of materialized events of assets with eager consumers
KEYS = "keys"  # the consumer of keys added to dynamic schemes by which eager assets are sliced
REBUILD = "rebuild"  # the consumer of activations of assets that say on_code_change="rebuild"
REPLAN = "replan"  # the consumer of the ends of cells that were `in_progress` for another request


class Channel(StrEnum):
    """What listeners wait for; a poll of about a second is the floor under all of them."""

    SCHEDULED = "partita_scheduled"  # admission has something to do: a task became ready, or slots came free
    QUEUED = "partita_queued"  # workers have something to claim
    TODO = "partita_todo"  # an event_todo row waits for a consumer
    EVENT = "partita_event"  # the event stream moved
    CANCEL = "partita_cancel"  # a running task was asked to stop


# ------------------------------------------------------------------------------------------------- launch
@dataclass(frozen=True, slots=True)
class NewBackfill:
    name: str
    max_active: int | None  # tasks queued or running at once; None = only the pools limit it
    created_by: str


@dataclass(frozen=True, slots=True)
class LaunchCell:
    cell: CellRef
    reason: str  # missing failed stale_code stale_data stale_dependencies forced
    window: tuple[datetime, datetime] | None = None
    conditional: bool = False  # planned only because an input may change


@dataclass(frozen=True, slots=True)
class LaunchTask:
    """One task of a launch. `upstream` are indexes of earlier tasks of the same launch (never its own or a later one).

    A gate has no cells, no location and no pools: it counts its upstream down once and releases its members. A step that
    names no pool takes one slot of `default` (S-022); its location's cap and that of everything come on top.
    `rule` is one of `decide.rules.RULES`. `conditional`: all its cells are.
    """

    kind: str  # "step" or "gate"
    step: str
    location_id: LocationId | None
    snapshot_id: SnapshotId | None
    cells: tuple[LaunchCell, ...] = ()
    upstream: tuple[int, ...] = ()
    pools: tuple[PoolUse, ...] = ()
    caps: tuple[str, ...] = ()  # the pools that cap its assets; it takes a slot of each
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeout_s: float | None = None
    priority: int = 0
    wave: int = 0
    conditional: bool = False
    rule: str = "all_success"


@dataclass(frozen=True, slots=True)
class Launch:
    """A plan, ready to run. `tasks` stand in topological order."""

    tasks: tuple[LaunchTask, ...]
    request: Mapping[str, Any]
    plan_hash: str
    as_of: datetime
    cause: Mapping[str, Any]  # {"kind": "person|cli|api|backfill|eager|replan", "by": ..., "text": ...}
    pins: tuple[tuple[LocationId, SnapshotId], ...]
    backfill: NewBackfill | None = None
    lane: str = "interactive"
    priority: int = 0  # added to the priority of each task
    params: Mapping[str, Any] = field(default_factory=dict)
    keys_revision: int = 0  # which keys of dynamic schemes the run sees
    schemes: Mapping[AssetId, str] = field(default_factory=dict)  # the hash of the partition scheme its cells are of


@dataclass(frozen=True, slots=True)
class Launched:
    run_id: RunId
    backfill_id: BackfillId | None
    task_ids: tuple[TaskId, ...]  # of the tasks that were made, gates included
    joined: int  # cells that a task of another run will make for this run too
    waiting: int  # cells that are in progress elsewhere and are planned again when that ends
    channels: tuple[Channel, ...] = ()


# ------------------------------------------------------------------------------------------------- admit
@dataclass(frozen=True, slots=True)
class Blocked:
    """A pool set of which nothing more could be admitted, and the pool that binds."""

    pools: tuple[PoolUse, ...]
    reason: WaitReason  # POOL_FULL or a cap's
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Admitted:
    queued: int
    more: bool  # call again: the batch limit, not a pool, ended the visit
    blocked: tuple[Blocked, ...] = ()
    gates: int = 0  # gates that were opened on the way
    channels: tuple[Channel, ...] = ()


# ------------------------------------------------------------------------------------------------- claim
class CodeVersion(NamedTuple):
    fingerprint: str
    dependency_hash: str


@dataclass(frozen=True, slots=True)
class ResolvedInput:
    """One input of a task, per cell of the task, in the order in which user code gets the partitions.

    Share equal tuples between cells: their sums are computed once per tuple object. An `external` input is not observed: it
    is not read, and every partition of it counts with `EXTERNAL_VERSION`.
    """

    name: str
    kind: str  # "data" or "order"; both count in the digest
    upstream_asset_id: AssetId
    per_cell: Mapping[CellRef, tuple[CellRef, ...]]
    external: bool = False


@dataclass(frozen=True, slots=True)
class ResolvedInputs:
    """`inputs` of all cells of the task; an input of one asset of an atomic group has entries for that asset's cells only."""

    inputs: tuple[ResolvedInput, ...]
    versions: Mapping[AssetId, CodeVersion]  # of each asset that the task makes, in the task's snapshot


class Unresolvable(Exception):
    """The task's definitions cannot be resolved (ever, under its snapshot): the task fails with this text."""


class InputResolver(Protocol):
    def __call__(self, task: Task, as_of: datetime, cells: Sequence[TaskCell], /) -> ResolvedInputs:
        """Fast: it is called inside the claiming transaction. Raises `Unresolvable`; errors of the store or the system give the
        whole claim up, any other error fails the task as `Unresolvable` does."""


class LogPath(Protocol):
    def __call__(self, task: Task, cells: Sequence[TaskCell], attempt_id: AttemptId, /) -> str | None:
        """Where the log of an attempt at these cells goes; pure and fast, as the resolver."""


@dataclass(frozen=True, slots=True)
class ClaimedInput:
    """What the cells of an input held in the claiming transaction's one snapshot, per cell of the task.

    A cell that was never published has `data_version` None; for an external input the facts carry `EXTERNAL_VERSION` and
    no location.
    """

    name: str
    kind: str
    upstream_asset_id: AssetId
    external: bool
    facts: Mapping[CellRef, tuple[CellFact, ...]]


@dataclass(frozen=True, slots=True)
class Claimed:
    """One attempt that this worker has started; report it with `task.id`, `attempt_id` and `fence`."""

    task: Task  # as it was before the claim
    attempt_id: AttemptId
    number: int  # from 1
    fence: Fence
    cells: tuple[TaskCell, ...]  # only those still to be made
    inputs: tuple[ClaimedInput, ...]
    digests: Mapping[CellRef, int]  # unsigned 64 bit
    versions: Mapping[AssetId, CodeVersion]
    as_of: datetime
    params: Mapping[str, Any]
    log: str | None


@dataclass(frozen=True, slots=True)
class Claims:
    """`live` is false when the worker's lease was lost: it must stop what it runs and register again."""

    live: bool
    claimed: tuple[Claimed, ...] = ()
    unchanged: int = 0  # tasks that ended without an attempt: their inputs turned out unchanged
    failed: int = 0  # tasks whose definitions could not be resolved
    more: bool = False  # call again: the batch held tasks that needed no attempt
    channels: tuple[Channel, ...] = ()


# ------------------------------------------------------------------------------------------------- finish
class CellOutcome(StrEnum):
    WRITTEN = "written"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CellResult:
    cell: CellRef
    kind: CellOutcome
    data_version: str | None = None  # required when written
    location: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    cell: CellRef
    name: str
    passed: bool
    blocking: bool
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """What an attempt did. `digests` and `versions` are those of its `Claimed`, handed back.

    `groups` are atomic groups of assets: of one partition either all of a group's assets are published or none.
    `automation_assets` have eager consumers: their publications become work for the automation consumer.
    A cell without a `CellResult` was not reached; under SUCCESS that is a failure of the cell.
    """

    task_id: TaskId
    attempt_id: AttemptId
    fence: Fence
    outcome: AttemptOutcome
    cells: tuple[CellResult, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    digests: Mapping[CellRef, int] = field(default_factory=dict)
    versions: Mapping[AssetId, CodeVersion] = field(default_factory=dict)
    error: str | None = None
    traceback: str | None = None
    retry_in_s: float | None = None  # only with RETRY_LATER
    usage: Mapping[str, Any] | None = None
    groups: tuple[tuple[AssetId, ...], ...] = ()
    automation_assets: frozenset[AssetId] = frozenset()


@dataclass(frozen=True, slots=True)
class Refused:
    """A result of which nothing was written, and why: another attempt owns the task now, or it has ended."""

    task_id: TaskId
    attempt_id: AttemptId
    why: str


@dataclass(frozen=True, slots=True)
class Finished:
    applied: tuple[TaskId, ...] = ()
    refused: tuple[Refused, ...] = ()
    released: int = 0  # tasks that became ready
    todo: bool = False  # a consumer has work
    channels: tuple[Channel, ...] = ()


@dataclass(frozen=True, slots=True)
class PartPublished:
    cells: tuple[CellRef, ...] = ()
    refused: Refused | None = None
    channels: tuple[Channel, ...] = ()


# ------------------------------------------------------------------------------------------------- leases, retries, runs
@dataclass(frozen=True, slots=True)
class Renewed:
    """`live` false: the lease was lost, all attempts of this worker are lost with it, and it must register again."""

    live: bool
    cancelled: tuple[tuple[TaskId, AttemptId], ...] = ()  # running attempts that were asked to stop


@dataclass(frozen=True, slots=True)
class Swept:
    judged: bool  # false: the database was away, leases were extended instead
    workers: tuple[WorkerId, ...] = ()
    retried: int = 0
    ended: int = 0
    more: bool = False
    channels: tuple[Channel, ...] = ()


@dataclass(frozen=True, slots=True)
class Woken:
    tasks: int
    released: int = 0  # steps that became ready behind them
    more: bool = False
    channels: tuple[Channel, ...] = ()


@dataclass(frozen=True, slots=True)
class Folded:
    ended: tuple[tuple[RunId, RunState], ...] = ()
    more: bool = False
    channels: tuple[Channel, ...] = ()


@dataclass(frozen=True, slots=True)
class CancelledRun:
    known: bool
    cancelled: int = 0  # tasks that ended at once
    stopping: int = 0  # running tasks that were asked to stop
    channels: tuple[Channel, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    changed: int
    channels: tuple[Channel, ...] = ()
