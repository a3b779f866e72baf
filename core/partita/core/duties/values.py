"""The values that go into the duties and come out of them; those of attempts are in `values_attempts`.

`Launch` comes from the planner. What comes out says what changed and which channels are worth waking (`channels`); a duty
itself never wakes anybody. Owns no decision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.duties.channels import Channel
from partita.core.store.values import (
    AssetId,
    AttemptId,
    BackfillId,
    CellRef,
    LocationId,
    PoolUse,
    RetryPolicy,
    RunId,
    RunState,
    SnapshotId,
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


# ------------------------------------------------------------------------------------------------- launch
@dataclass(frozen=True, slots=True)
class NewBackfill:
    name: str
    max_active: int | None  # tasks queued or running at once; None = only the pools limit it
    created_by: str
    priority: int = 0  # beside that of its tasks; can be changed while it runs
    newest_first: bool = False


@dataclass(frozen=True, slots=True)
class LaunchCell:
    cell: CellRef
    reason: str  # missing failed stale_code stale_data stale_dependencies forced
    window: tuple[datetime, datetime] | None = None
    conditional: bool = False  # planned only because an input may change


@dataclass(frozen=True, slots=True)
class LaunchWait:
    """One trigger of `wait_for=`, with its texts filled in for the partition that it stands for."""

    trigger: str
    args: Mapping[str, Any]
    label: str
    deadline_s: float
    poll_s: float | None = None
    cell: CellRef | None = None  # it waits for this cell to be published
    newer: bool = False


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
    deadline_s: float | None = None  # of each of its cells: from the close of its window, else from the launch
    priority: int = 0
    wave: int = 0
    conditional: bool = False
    rule: str = "all_success"
    owner: str = ""  # of its assets: by owners the lane of what nobody asked for is shared on
    critical_path: int = 0  # tasks in the longest chain of the plan that begins with it
    waits: tuple[LaunchWait, ...] = ()  # they must all fire before it starts
    queue: str = DEFAULT_QUEUE  # workers of it run the task


@dataclass(frozen=True, slots=True)
class Into:
    """The run that a launch adds tasks to. What others make of its cells is waited for; it is not asked for again."""

    run_id: RunId
    backfill_id: BackfillId | None
    limited: bool = False  # its tasks take slots of the run's own pool


@dataclass(frozen=True, slots=True)
class Launch:
    """A plan, ready to run. `tasks` stand in topological order; those of a large one are columns (`LaunchTasks`)."""

    tasks: Sequence[LaunchTask]
    request: Mapping[str, Any]
    plan_hash: str
    as_of: datetime
    cause: Mapping[str, Any]  # {"kind": "person|cli|api|backfill|eager|replan|fan_out", "by": ..., "text": ...}
    pins: tuple[tuple[LocationId, SnapshotId], ...]
    backfill: NewBackfill | None = None
    retry_of: BackfillId | None = None  # a further run of this backfill
    lane: str = "interactive"
    priority: int = 0  # added to the priority of each task
    params: Mapping[str, Any] = field(default_factory=dict)
    keys_revision: int = 0  # which keys of dynamic schemes the run sees
    tags: Mapping[str, str] = field(default_factory=dict)  # what people say it is for
    timeout_s: float | None = None  # of the whole run
    schemes: Mapping[AssetId, str] = field(default_factory=dict)  # the hash of the partition scheme its cells are of
    max_active: int | None = None  # tasks of the run queued or running at once; None = only the pools limit it
    into: Into | None = None  # a run that is under way, in the place of a new one


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
    """What nothing more could be admitted of, and what binds it."""

    pools: tuple[PoolUse, ...]
    reason: WaitReason  # POOL_FULL, LANE, PAUSED, NO_WORKER, WORKERS_BUSY or a cap's
    detail: Mapping[str, Any]
    queue: str = DEFAULT_QUEUE


@dataclass(frozen=True, slots=True)
class Admitted:
    queued: int
    more: bool  # call again: the batch limit, not a pool, ended the visit
    blocked: tuple[Blocked, ...] = ()
    gates: int = 0  # gates that were opened on the way
    held: bool = False  # nothing was done, because another admitter holds the pools
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.queued + self.gates


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

    @property
    def rows(self) -> int:
        return self.retried + self.ended


@dataclass(frozen=True, slots=True)
class Woken:
    tasks: int
    released: int = 0  # steps that became ready behind them
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.tasks


@dataclass(frozen=True, slots=True)
class Folded:
    ended: tuple[tuple[RunId, RunState], ...] = ()
    more: bool = False
    held: bool = False  # another folds
    tallies: int = 0
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.tallies


@dataclass(frozen=True, slots=True)
class CancelledRun:
    known: bool
    cancelled: int = 0  # tasks that ended at once
    stopping: int = 0  # running tasks that were asked to stop
    more: bool = False  # there are tasks left to be reached
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        """How many tasks it reached."""
        return self.cancelled + self.stopping

    def plus(self, other: CancelledRun) -> CancelledRun:
        """Both, one after the other."""
        return CancelledRun(
            self.known or other.known,
            self.cancelled + other.cancelled,
            self.stopping + other.stopping,
            other.more,
            tuple(sorted({*self.channels, *other.channels})),
        )


@dataclass(frozen=True, slots=True)
class CancelledTasks:
    """`below`: tasks that ended because of it. Those that had ended before, or were asked to stop before, are in none."""

    cancelled: int = 0
    stopping: int = 0
    below: int = 0
    channels: tuple[Channel, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    changed: int
    channels: tuple[Channel, ...] = ()
