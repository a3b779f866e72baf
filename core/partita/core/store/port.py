"""The store port: the few mechanical operations that every duty of the control plane is made of.

A duty is one transaction: read and lock a bounded candidate set, call a pure decider, write what it says. The operations
here select by state and lock; they never decide (DESIGN section 2, "SQL never decides"). Two implementations exist: Postgres
(`store.postgres`) and memory (`store.memory`); a differential test holds them equal.

Locks: rows are locked in the order pool (name), run (id), task (id), cell (asset_id, partition). `lock_*` operations named
`_skip` pass over rows that another transaction holds; the others wait (bounded by the lock timeout).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.store.port_actions import ActionsTx
from partita.core.store.port_alerts import AlertsTx
from partita.core.store.port_backfills import BackfillsTx
from partita.core.store.port_clocks import ClocksTx
from partita.core.store.port_deadlines import DeadlinesTx
from partita.core.store.port_definitions import DefinitionsTx
from partita.core.store.port_doomed import DoomedTx
from partita.core.store.port_evaluators import EvaluatorsTx
from partita.core.store.port_fan_out import FanOutTx
from partita.core.store.port_freshness import FreshnessTx
from partita.core.store.port_jobs import JobsTx
from partita.core.store.port_limits import LimitsTx
from partita.core.store.port_reports import ReportsTx
from partita.core.store.port_requests import RequestsTx
from partita.core.store.port_retention import RetentionTx
from partita.core.store.port_waits import WaitsTx

if TYPE_CHECKING:
    from partita.core.store.values import (
        AttemptEnd,
        AttemptId,
        AutomationRequest,
        CellAttempt,
        CellCause,
        CellFact,
        CellRef,
        CheckRow,
        Exclusive,
        Fence,
        Lane,
        LocationId,
        Needs,
        NewAttempt,
        NewEvent,
        NewRun,
        NewTask,
        NewTaskCell,
        Party,
        Pool,
        PoolUse,
        Publication,
        Run,
        RunId,
        RunUpdate,
        SnapshotId,
        Tally,
        Task,
        TaskCell,
        TaskCellUpdate,
        TaskId,
        TaskUpdate,
        TodoEvent,
        Worker,
        WorkerId,
    )
    from partita.core.store.values_tables import CellTable, EdgeTable, TaskTable

T = TypeVar("T")


class StoreError(Exception):
    """The base of what the store raises by itself."""


class Conflict(StoreError):
    """A compare-and-set met another state or fence than expected; the transaction must be rolled back: it cannot commit."""


class Violation(StoreError):
    """A constraint of the tables refused a write (a slot held twice, an unknown pool, a counter below zero)."""


class Busy(StoreError):
    """A lock or a statement took longer than its time limit; nothing was written."""


class Unavailable(StoreError):
    """The database does not answer. What was being committed may or may not have been."""


class Tx(
    DefinitionsTx,
    RequestsTx,
    DeadlinesTx,
    ClocksTx,
    ActionsTx,
    DoomedTx,
    FanOutTx,
    JobsTx,
    LimitsTx,
    BackfillsTx,
    AlertsTx,
    WaitsTx,
    ReportsTx,
    FreshnessTx,
    EvaluatorsTx,
    RetentionTx,
    Protocol,
):
    """One transaction. Every write is a set operation; sequences are accepted in any order and sorted by the store; a row
    named twice in one write is a ValueError."""

    def now(self) -> datetime:
        """The transaction's instant (UTC) on the database's clock; constant within the transaction."""

    # -- launch
    def reserve_task_ids(self, n: int) -> list[TaskId]:
        """`n` rising ids."""

    def open_cells(self, owners: Iterable[tuple[CellRef, TaskId]]) -> dict[CellRef, TaskId]:
        """Claims ownership of the cells that nobody owns; returns the present owner of each of the others. Waits for launches
        that are claiming the same cells."""

    def insert_runs(self, runs: Sequence[NewRun]) -> list[RunId]:
        """Rising ids, in the order given."""

    def insert_tasks(self, tasks: Sequence[tuple[RunId, NewTask]]) -> None:
        """`ready_at` is set to now for the tasks that start as SCHEDULED; those that start as NONE wait with the reason
        UPSTREAM."""

    def insert_edges(self, edges: Iterable[tuple[TaskId, TaskId]]) -> None:
        """(upstream, downstream) pairs; ids rise along each."""

    def insert_task_cells(self, cells: Iterable[NewTaskCell]) -> None:
        """Also makes the `cell` rows (unpublished, fence 0) that do not exist yet, with their windows."""

    def open_whole(self, cells: CellTable) -> bool:
        """As `open_cells`, of all or nothing: false when somebody owns one of them: roll back then."""

    def insert_tables(self, run_id: RunId, tasks: TaskTable, edges: EdgeTable, cells: CellTable) -> None:
        """As `insert_tasks`, `insert_edges` and `insert_task_cells`, from columns; an edge that exists is refused."""

    def insert_causes(self, causes: Iterable[CellCause]) -> None:
        """Idempotent."""

    def take_waiting_causes(self, task_ids: Sequence[TaskId]) -> list[CellCause]:
        """Deletes and returns the causes with `waits` of these owners (to be re-planned at their end)."""

    # -- tasks
    def runs_of_tasks(self, ids: Sequence[TaskId]) -> dict[TaskId, RunId]:
        """The run of each; unknown ids are left out. No lock."""

    def lock_tasks(self, ids: Sequence[TaskId]) -> list[Task]:
        """Waits; in id order; unknown ids are left out."""

    def lock_dependents(self, ids: Sequence[TaskId], *, closure: bool) -> list[Task]:
        """The tasks in NONE directly downstream of `ids` (with `closure`: all below), locked in id order. Waits. Those that
        have started, or ended, heed no upstream any more."""

    def waiting_among(self, ids: Sequence[TaskId]) -> list[TaskId]:
        """Of these, the tasks in NONE, in id order. No lock."""

    def edges_from(self, ids: Sequence[TaskId]) -> list[tuple[TaskId, TaskId]]: ...

    def lock_scheduled_skip(self, limits: Mapping[Needs, int]) -> list[Task]:
        """SCHEDULED tasks that need these, up to so many of each: `read_of_each` party the first by `turn`. By pool set, queue,
        party, turn, critical path (long first), id."""

    def lock_open_gates_skip(self, limit: int) -> list[Task]:
        """Gates that have counted down (SCHEDULED), by id."""

    def lock_queued_skip(
        self, pins: Sequence[tuple[LocationId, SnapshotId]], limit: int, queues: Collection[str] = (DEFAULT_QUEUE,)
    ) -> list[Task]:
        """QUEUED tasks of each of these versions and queues: `read_of_each` party of it the first by `turn`. By version, queue,
        party, turn, critical path (long first), id."""

    def running_parties(self, worker_id: WorkerId) -> dict[Party, int]:
        """How many tasks of each party run on the worker. No lock."""

    def lock_due_retries_skip(self, limit: int) -> list[Task]:
        """UP_FOR_RETRY tasks whose not_before has come, by not_before."""

    def lock_tasks_of_workers(self, workers: Sequence[WorkerId]) -> list[Task]:
        """RUNNING tasks of these workers. Waits."""

    def lock_open_tasks_of_run(
        self, run_id: RunId, *, below: TaskId | None = None, limit: int | None = None
    ) -> list[Task]:
        """The non-terminal tasks of the run that have not been asked to stop, in id order. Waits. With `limit` the last so many
        of those with an id under `below`: what depends on them in the run comes with them, or was taken before."""

    def write_tasks(self, updates: Sequence[TaskUpdate]) -> None:
        """Compare-and-set on (state, fence); raises Conflict when any row differs. Terminal rows are never written. A move that
        no task makes (`values_moves`) is a Violation."""

    def task_cells(self, task_ids: Sequence[TaskId]) -> list[TaskCell]:
        """In (task, asset, partition) order."""

    def write_task_cells(self, updates: Sequence[TaskCellUpdate]) -> None: ...

    def close_cells(self, task_ids: Sequence[TaskId]) -> None:
        """Ends the ownership of all cells of these tasks."""

    # -- pools
    def scheduled_needs(self) -> list[Needs]:
        """The distinct needs of SCHEDULED tasks."""

    def lock_pools_skip(self, names: Sequence[str]) -> list[Pool]:
        """Locks the pool rows in name order, leaving out what another transaction holds. Callers count in the NEXT
        operation: a statement that waited or skipped still has its old snapshot."""

    def held_slots(self, names: Sequence[str]) -> dict[str, dict[Party, int]]:
        """The slots that each party holds of each of these pools (nothing where none does)."""

    def hold_slots(self, uses: Iterable[tuple[TaskId, PoolUse]]) -> None:
        """In the name of the task's party. Violation when a task holds slots of the pool already, or there is no such pool."""

    def release_slots(self, task_ids: Sequence[TaskId]) -> None: ...

    def ensure_pools(self, pools: Iterable[Pool], *, automatic: bool) -> None:
        """Creates the pools that do not exist; never changes an existing one."""

    def set_pool(self, pool: Pool) -> bool:
        """Makes or resizes a pool by hand. Smaller than what is held: nothing more is admitted until it fits. False when it had
        so many slots before."""

    def configure_pools(self, pools: Iterable[Pool]) -> None:
        """What the configuration says: makes pools, and resizes those of which the configuration says another number than the
        last time. What a person set in between holds until then."""

    def set_caps(self, caps: Mapping[str, int | None]) -> None:
        """Automatic pools with so many slots; None: an existing one has no limit any more."""

    # -- lanes
    def lanes(self) -> dict[str, Lane]:
        """All of them: there are few."""

    def set_lane(self, lane: Lane) -> bool:
        """Makes or changes a lane by hand. False when it was so before."""

    def configure_lanes(self, lanes: Iterable[Lane]) -> None:
        """What the configuration says, as `configure_pools` does."""

    def running_caps(self) -> dict[LocationId | None, str]:
        """The pools that cap what runs at once, of everything (None) and of locations, where there is a limit."""

    def limit_of_new_runs(self) -> int | None:
        """How many tasks of a run may be active that is given no limit; None: any number."""

    # -- claim
    def next_fence(self) -> Fence: ...

    def reserve_attempt_ids(self, n: int) -> list[AttemptId]: ...

    def raise_fences(self, cells: Sequence[CellRef], fences: Sequence[Fence]) -> None:
        """Locks the cell rows in order and sets fence = greatest(fence, given)."""

    def read_cells(self, cells: Sequence[CellRef]) -> dict[CellRef, CellFact]:
        """One statement, one snapshot: digests and locations of inputs are read together. Unknown cells are left out."""

    def start_attempts(self, attempts: Sequence[NewAttempt]) -> None: ...

    # -- finish
    def lock_cells(self, cells: Sequence[CellRef]) -> dict[CellRef, CellFact]:
        """FOR UPDATE in order."""

    def publish_cells(self, publications: Sequence[Publication]) -> None:
        """Compare-and-set on the fence, and on the version where it only `confirms` (raises Conflict); appends cell_change.
        A confirmation is the last success, too: freshness, fingerprints, digest, attempt and run move; version, location,
        metadata and `version_at` stay."""

    def note_attempts(self, notes: Sequence[CellAttempt]) -> None:
        """Writes the last-attempt half where the fence still is the attempt's; others are passed over. Appends cell_change."""

    def end_attempts(self, ends: Sequence[AttemptEnd]) -> None:
        """Attempts that have ended stay as they are."""

    def insert_checks(self, checks: Sequence[CheckRow]) -> None:
        """Idempotent: the first result of a check of an attempt stands."""

    def append_tallies(self, tallies: Sequence[Tally]) -> None: ...

    def append_events(self, events: Sequence[NewEvent]) -> None: ...

    # -- workers
    def put_worker(
        self,
        worker_id: WorkerId,
        host: str,
        pid: int,
        capacity: int,
        lease_s: float,
        queues: Collection[str] = (DEFAULT_QUEUE,),
        *,
        version: str = "",
    ) -> None:
        """Registers, or registers again; `version` of partita that it is."""

    def renew_lease(self, worker_id: WorkerId, lease_s: float) -> bool:
        """False when the worker is gone: it must register again and drop what it runs."""

    def retire_worker(self, worker_id: WorkerId) -> None:
        """A worker that stops: it counts as lapsed from now on, so that the next sweep takes what it may still hold."""

    def lock_lapsed_workers_skip(self, limit: int) -> list[Worker]:
        """Workers not `gone` whose lease has expired."""

    def mark_workers_gone(self, ids: Sequence[WorkerId]) -> None: ...

    def live_workers(self) -> list[Worker]: ...

    def last_served(self, queues: Collection[str]) -> dict[str, datetime]:
        """Until when workers of these queues were alive; none of a queue that never had any."""

    def cancelled_tasks_of_worker(self, worker_id: WorkerId) -> list[Task]:
        """RUNNING tasks of the worker with cancel_requested. No lock."""

    def read_pulse(self) -> datetime:
        """FOR UPDATE."""

    def set_pulse(self) -> None: ...

    def extend_leases(self, seconds: float, *, at_most_s: float) -> None:
        """All that are not over, by so much, but none to beyond `at_most_s` from now; none is shortened."""

    # -- runs
    def take_tallies(self, limit: int) -> list[Tally]:
        """Deletes and returns up to `limit` tally rows, skipping locked ones."""

    def lock_runs(self, ids: Sequence[RunId]) -> list[Run]: ...

    def read_runs(self, ids: Sequence[RunId]) -> list[Run]: ...

    def write_runs(self, updates: Sequence[RunUpdate]) -> None:
        """Compare-and-set on state."""

    def limit_run(self, run_id: RunId, max_active: int | None) -> None:
        """How many of its tasks may be active at once, for people; what counts are the slots of its pool. Call it with the run
        locked."""

    # -- events
    def peek_todo(self, consumer: str, limit: int) -> list[TodoEvent]:
        """Those that wait, due or put back until later, oldest first. No lock."""

    def take_todo_skip(self, consumer: str, limit: int) -> list[TodoEvent]:
        """Deletes and returns those that are due, skipping locked ones, oldest first (by the instant they were put, then event
        id)."""

    def put_back_todo(self, consumer: str, events: Sequence[TodoEvent], *, until: datetime | None = None) -> None:
        """For events that cannot be decided yet: they go to the end of the line, so that they starve no other; with `until`
        they are not taken before that instant."""

    def traceparents(self, events: Collection[int]) -> set[str]:
        """Those that these events came with from outside. No lock."""

    def insert_automation_requests(self, requests: Sequence[AutomationRequest]) -> set[CellRef]:
        """Inserts those whose (cell, state digest) is new; returns their cells: once per cause."""

    def known_requests(self, states: Mapping[CellRef, int]) -> set[CellRef]:
        """Of these cells with the state of their inputs: those that were requested (or rejected) for it before."""

    def withdraw_requests(self, run_id: RunId, cells: Collection[CellRef]) -> None:
        """As if this run had not been requested for these cells: it made none of them, and their states may ask again."""

    def open_owners(self, cells: Sequence[CellRef]) -> dict[CellRef, TaskId]:
        """Of the cells that a non-terminal task owns: the owner. No lock."""

    def intern(self, texts: Iterable[str]) -> dict[str, int]:
        """Ids of fingerprints (used by publish_cells itself; offered for readers)."""

    def try_duty(self, duty: Exclusive) -> bool:
        """Whether nobody else is at it; if so it is ours to the end of the transaction. For work that two would only share to
        do it twice over."""

    def note_duty(
        self, name: str, holder: str, ms: float | None, *, failures: int = 0, error: str | None = None
    ) -> None:
        """For people: how long it took last, or that it has failed so many times in a row."""


class Store(Protocol):
    def begin(self, *, durable: bool = True) -> AbstractContextManager[Tx]:
        """A transaction: commits at the end of the block, rolls back on an exception. `durable=False` sets
        synchronous_commit=off for this transaction: for admissions and leases, which are only done again when lost."""

    def run(self, work: Callable[[Tx], T], *, durable: bool = True) -> T:
        """Runs `work` in one transaction and returns its result; runs it again (from its start, in a new transaction) when
        Postgres chose it as the victim of a deadlock. `work` must have no effect outside the transaction."""

    def notify(self, channels: Iterable[str]) -> None:
        """Wakes listeners, after a commit and outside any transaction. Coalescing is the caller's."""
