"""Claiming: queued -> running, under a new fence, with the inputs as they are in this one transaction.

The worker's own lease is renewed first: that locks its row against the sweep, so that no task starts on a worker which is
being declared gone, where nobody would ever look for it again. Digests and locations of all inputs come from ONE read, so
that what the attempt reads is what its digest says it read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.collecting import collector_rests
from partita.core.decide import claim as decide
from partita.core.decide.shares import choose
from partita.core.decide.traces import trace_of
from partita.core.decide.transitions import next_number
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Beyond, Move, follow, write
from partita.core.duties.gates import open_gates
from partita.core.duties.values import BATCH_TASKS, EXTERNAL_VERSION, LEASE_S
from partita.core.duties.values_attempts import (
    Claimed,
    ClaimedInput,
    Claims,
    InputResolver,
    LogPath,
    ResolvedInputs,
    Unresolvable,
    WaitEvent,
)
from partita.core.store.port import Store, StoreError, Tx
from partita.core.store.values import (
    AttemptId,
    CellFact,
    CellRef,
    CellState,
    Fence,
    LocationId,
    NewAttempt,
    Run,
    RunId,
    SnapshotId,
    Task,
    TaskCell,
    TaskCellUpdate,
    TaskId,
    WaitStage,
    WorkerId,
)
from partita.core.store.values_waits import WaitState

Facts = Mapping[CellRef, CellFact]
_Events = Mapping[TaskId, Sequence[WaitEvent]]
Prepare = Callable[[Mapping[RunId, int]], None]


def _nothing(_: Mapping[RunId, int]) -> None: ...


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a claim was asked for."""

    worker_id: WorkerId
    pins: tuple[tuple[LocationId, SnapshotId], ...]
    limit: int
    resolve: InputResolver
    log_path: LogPath
    lease_s: float
    prepare: Prepare
    queues: tuple[str, ...]


class _Candidate(NamedTuple):
    task: Task
    run: Run
    cells: tuple[TaskCell, ...]
    pending: tuple[TaskCell, ...]
    resolved: ResolvedInputs | None  # None: could not be resolved
    why: str = ""


class _Judged(NamedTuple):
    """A candidate with the digests of its pending cells, and which of them need no attempt and which are due for one."""

    candidate: _Candidate
    inputs: tuple[decide.InputSums, ...]
    digests: Mapping[CellRef, int]
    unchanged: frozenset[CellRef]
    due: tuple[TaskCell, ...]


def claim(
    store: Store,
    worker_id: WorkerId,
    pins: Sequence[tuple[LocationId, SnapshotId]],
    limit: int,
    resolve: InputResolver,
    log_path: LogPath,
    *,
    lease_s: float = LEASE_S,
    prepare: Prepare = _nothing,
    queues: Sequence[str] = (DEFAULT_QUEUE,),
) -> Claims:
    """Starts up to `limit` attempts of tasks of these `queues`, pinned to `pins` (the versions that live code servers execute).

    `prepare` is told of all runs, with the revision of keys that they see, before `resolve` and `log_path` are asked for their
    tasks, so that it can read them together.

    Tasks that need no attempt end here and do not count; `more` then says that it is worth calling again.
    """
    asked = _Asked(worker_id, tuple(pins), min(limit, BATCH_TASKS), resolve, log_path, lease_s, prepare, tuple(queues))
    with collector_rests():
        try:
            claims, gates = store.run(partial(_claim, asked=asked, whole=False))
        except Beyond:
            claims, gates = store.run(partial(_claim, asked=asked, whole=True))
    if gates:
        with suppress(StoreError):  # what was claimed is committed and must be told; the next admission opens the gates
            open_gates(store)
    return claims


def _claim(tx: Tx, *, asked: _Asked, whole: bool) -> tuple[Claims, int]:
    """The claims, and how many gates they made ready."""
    if not tx.renew_lease(asked.worker_id, asked.lease_s):
        return Claims(live=False), 0
    if asked.limit < 1 or not asked.pins:
        return Claims(live=True), 0
    now = tx.now()
    tasks = _chosen(tx, asked)
    runs = {run.id: run for run in tx.read_runs(sorted({task.run_id for task in tasks}))} if tasks else {}
    asked.prepare({run.id: run.keys_revision for run in runs.values()})
    candidates = _candidates(tx, tasks, runs, asked.resolve)
    wanted = sorted(_cells_to_read(candidates))
    facts = tx.read_cells(wanted) if wanted else {}
    failed = [(c.task, decide.fail_unresolved(c.task, c.why, now)) for c in candidates if c.resolved is None]
    judged = [_judge(c, c.resolved, facts) for c in candidates if c.resolved is not None]
    done = [
        (j.candidate.task, decide.end_without_attempt(j.candidate.task, j.candidate.cells, now))
        for j in judged
        if not j.due
    ]
    settlement = follow(tx, [*failed, *done], whole=whole, now=now)

    starting = [j for j in judged if j.due]
    claimed = _start(tx, starting, facts, asked) if starting else []
    moves: list[Move] = [
        (c.task, decide.start(c.task, worker_id=asked.worker_id, attempt_id=c.attempt_id, fence=c.fence, now=now))
        for c in claimed
    ]
    unchanged = [
        TaskCellUpdate(j.candidate.task.id, cell, CellState.UNCHANGED, data_version=facts[cell].data_version)
        for j in judged
        for cell in sorted(j.unchanged)
    ]
    written = write(tx, [*failed, *done, *moves], settlement, cells=unchanged)
    ended = len(failed) + len(done)
    channels = tuple(sorted({*written.channels(), Channel.EVENT})) if candidates else ()
    claims = Claims(True, tuple(claimed), len(done), len(failed), more=ended > 0, channels=channels)
    return claims, written.gates


def _chosen(tx: Tx, asked: _Asked) -> list[Task]:
    tasks = tx.lock_queued_skip(asked.pins, asked.limit, asked.queues)
    if len(tasks) <= asked.limit:
        return tasks
    # Lanes and the worker's other work matter only where somebody has to be left behind.
    several = len({task.party for task in tasks}) > 1
    if not several:
        return choose(tasks, {}, {}, asked.limit)
    running = tx.running_parties(asked.worker_id)
    return choose(tasks, running, tx.lanes(), asked.limit, tx.backfill_priorities())


def _candidates(tx: Tx, tasks: Sequence[Task], runs: Mapping[RunId, Run], resolve: InputResolver) -> list[_Candidate]:
    if not tasks:
        return []
    cells: dict[TaskId, list[TaskCell]] = defaultdict(list)
    for own in tx.task_cells([task.id for task in tasks]):
        cells[own.task_id].append(own)
    return [_candidate(task, runs[task.run_id], cells[task.id], resolve) for task in tasks]


def _candidate(task: Task, run: Run, cells: Sequence[TaskCell], resolve: InputResolver) -> _Candidate:
    pending = tuple(own for own in cells if own.state is CellState.PENDING)
    try:
        resolved: ResolvedInputs | None = resolve(task, run.as_of, pending)
        why = ""
    except Unresolvable as error:
        resolved, why = None, str(error)
    except (StoreError, OSError, MemoryError):
        raise  # says nothing about the task: the claim is given up and made again
    except Exception as error:  # one task whose definitions break the resolver must not hold up all the others
        resolved, why = None, f"{type(error).__name__}: {error}"
    return _Candidate(task, run, tuple(cells), pending, resolved, why)


def _cells_to_read(candidates: Sequence[_Candidate]) -> set[CellRef]:
    wanted: set[CellRef] = set()
    for candidate in candidates:
        if candidate.resolved is None:
            continue
        wanted.update(own.cell for own in candidate.pending if decide.conditional(candidate.task, own))
        for part in candidate.resolved.inputs:
            if not part.external:
                for cells in {id(cells): cells for cells in part.per_cell.values()}.values():
                    wanted.update(cells)
    return wanted


def _judge(candidate: _Candidate, resolved: ResolvedInputs, facts: Facts) -> _Judged:
    inputs = tuple(decide.sums_of(part, facts) for part in resolved.inputs)
    digests = decide.digests_of(candidate.pending, inputs)
    unchanged = decide.unchanged(candidate.task, candidate.pending, facts, digests, resolved.versions)
    due = tuple(own for own in candidate.pending if own.cell not in unchanged) if unchanged else candidate.pending
    return _Judged(candidate, inputs, digests, unchanged, due)


def _start(tx: Tx, starting: Sequence[_Judged], facts: Facts, asked: _Asked) -> list[Claimed]:
    ids = tx.reserve_attempt_ids(len(starting))
    # One fence for all of them: a fence tells the attempts at one cell apart, and a cell is in one of these tasks only.
    fence = tx.next_fence()
    events = _events(tx, [judged.candidate.task for judged in starting])
    claimed = [
        _claimed(judged, facts, attempt_id, fence, asked.log_path, events)
        for judged, attempt_id in zip(starting, ids, strict=True)
    ]
    # Raised here and not at publication: from now on no earlier attempt at these cells can publish, whatever it holds.
    raised = [(own.cell, c.fence) for c in claimed for own in c.cells]
    tx.raise_fences([cell for cell, _ in raised], [fence for _, fence in raised])
    tx.start_attempts(
        [_new_attempt(c, judged, facts, asked.worker_id) for c, judged in zip(claimed, starting, strict=True)]
    )
    return claimed


def _events(tx: Tx, tasks: Sequence[Task]) -> _Events:
    """What the waits of these tasks brought; nearly no task has waited, and that costs no statement."""
    waited = [task.id for task in tasks if task.waits in (WaitStage.MET, WaitStage.RESUME)]
    found: dict[TaskId, list[WaitEvent]] = defaultdict(list)
    for wait in tx.waits_of(waited) if waited else ():
        if wait.state is WaitState.FIRED:
            found[wait.task_id].append(WaitEvent(wait.place, wait.trigger, wait.args, wait.payload))
    return found


def _claimed(
    judged: _Judged, facts: Facts, attempt_id: AttemptId, fence: Fence, log_path: LogPath, events: _Events
) -> Claimed:
    candidate, task = judged.candidate, judged.candidate.task
    assert candidate.resolved is not None
    number = next_number(task)
    return Claimed(
        task=task,
        attempt_id=attempt_id,
        number=number,
        fence=fence,
        cells=judged.due,
        inputs=tuple(_claimed_input(part, judged.due, facts) for part in judged.inputs),
        digests={own.cell: judged.digests[own.cell] for own in judged.due},
        versions=candidate.resolved.versions,
        as_of=candidate.run.as_of,
        params=candidate.run.params,
        log=log_path(task, judged.due, attempt_id),
        events=tuple(events.get(task.id, ())),
        trace_id=trace_of(candidate.run.id, candidate.run.as_of, candidate.run.cause),
    )


def _claimed_input(part: decide.InputSums, due: Sequence[TaskCell], facts: Facts) -> ClaimedInput:
    source = part.source
    shared: dict[int, tuple[CellFact, ...]] = {}
    per_cell: dict[CellRef, tuple[CellFact, ...]] = {}
    for own in due:
        upstream = source.per_cell.get(own.cell)
        if upstream is None:
            continue
        if id(upstream) not in shared:
            held = EXTERNAL_VERSION if source.external else None
            shared[id(upstream)] = tuple(facts.get(cell) or _never_published(cell, held) for cell in upstream)
        per_cell[own.cell] = shared[id(upstream)]
    return ClaimedInput(source.name, source.kind, source.upstream_asset_id, source.external, per_cell)


def _never_published(cell: CellRef, data_version: str | None) -> CellFact:
    return CellFact(
        cell=cell,
        fence=Fence(0),
        data_version=data_version,
        fingerprint=None,
        dependency_hash=None,
        consumed_digest=None,
        location=None,
        last_outcome=None,
    )


def _new_attempt(claimed: Claimed, judged: _Judged, facts: Facts, worker_id: WorkerId) -> NewAttempt:
    task = claimed.task
    assert task.snapshot_id is not None  # a launch gives every step a snapshot
    return NewAttempt(
        id=claimed.attempt_id,
        task_id=task.id,
        run_id=task.run_id,
        number=claimed.number,
        worker_id=worker_id,
        snapshot_id=task.snapshot_id,
        fence=claimed.fence,
        queued_at=task.queued_at,
        inputs=decide.manifest(judged.inputs, facts),
        log=claimed.log,
    )
