"""Workers and their leases: one row per worker, and a lapsed one loses all its attempts at once.

The pulse comes first: a sweep that finds that the database was away extends all leases and judges nobody (S-156). A sweep
locks the worker rows that it judges; a claim of the same worker renews that row, so the two never overlap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.decide import lapse
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Beyond, Move, Written, follow, write
from partita.core.duties.gates import open_gates
from partita.core.duties.values import LEASE_S, Renewed, Swept
from partita.core.store.port import Store, Tx
from partita.core.store.values import (
    AttemptEnd,
    AttemptId,
    AttemptOutcome,
    CellAttempt,
    CellState,
    Task,
    TaskCell,
    TaskId,
    TaskState,
    WorkerId,
)


def register(
    store: Store,
    worker_id: WorkerId,
    *,
    host: str,
    pid: int,
    capacity: int,
    lease_s: float = LEASE_S,
    queues: Collection[str] = (DEFAULT_QUEUE,),
    version: str = "",
) -> Swept:
    """Registers a worker of these queues, of this version of partita. What an earlier life under this id still runs is lost:
    nobody else would ever look for it. It may be the first of its queues: admission has to look."""

    def enter(tx: Tx, *, whole: bool) -> tuple[Swept, Written]:
        tx.put_worker(worker_id, host, pid, capacity, lease_s, queues, version=version)
        return _lose(tx, [worker_id], whole=whole)

    try:
        swept, written = store.run(partial(enter, whole=False))
    except Beyond:
        swept, written = store.run(partial(enter, whole=True))
    opened = _opened(store, swept, written)
    return replace(opened, channels=tuple(sorted({*opened.channels, Channel.SCHEDULED})))


def renew(store: Store, worker_id: WorkerId, *, lease_s: float = LEASE_S) -> Renewed:
    """Renews the lease (not durably: a lost renewal is followed by the next) and reads what the worker has to stop."""
    return store.run(partial(_renew, worker_id=worker_id, lease_s=lease_s), durable=False)


def _renew(tx: Tx, *, worker_id: WorkerId, lease_s: float) -> Renewed:
    if not tx.renew_lease(worker_id, lease_s):
        return Renewed(live=False)
    asked = tx.cancelled_tasks_of_worker(worker_id)
    return Renewed(True, tuple((task.id, task.attempt_id) for task in asked if task.attempt_id is not None))


def retire(store: Store, worker_id: WorkerId) -> None:
    """A worker that stops. What it may still hold is taken by the next sweep."""
    store.run(lambda tx: tx.retire_worker(worker_id))


def disown(store: Store, worker_id: WorkerId, keep: Collection[AttemptId], *, lease_s: float = LEASE_S) -> Swept:
    """Gives back what this worker holds and does not know of: attempts of a claim whose commit it never heard of.

    `keep` are the attempts that it knows. It must not claim meanwhile. Without a live lease nothing is done: the sweep does it.
    """
    give_back = partial(_disown, worker_id=worker_id, keep=keep, lease_s=lease_s)
    try:
        swept, written = store.run(partial(give_back, whole=False))
    except Beyond:
        swept, written = store.run(partial(give_back, whole=True))
    return _opened(store, swept, written)


def _disown(
    tx: Tx, *, worker_id: WorkerId, keep: Collection[AttemptId], lease_s: float, whole: bool
) -> tuple[Swept, Written]:
    if not tx.renew_lease(worker_id, lease_s):
        return Swept(judged=False), Written()
    return _lose(tx, [worker_id], whole=whole, keep=keep, why="never heard that its claim had been committed")


def pulse(store: Store, *, longest_lease_s: float = LEASE_S) -> float:
    """Says that the database answers. Returns the seconds by which leases were extended because it did not (0: it did)."""
    return store.run(partial(pulse_in, longest_lease_s=longest_lease_s), durable=False)


def pulse_in(tx: Tx, *, longest_lease_s: float = LEASE_S) -> float:
    """`pulse` inside a transaction that goes on to judge leases: an outage in between would be taken for their holders' death.

    None is extended to beyond `longest_lease_s` from now. Whoever renews before the outage is noticed has its whole lease
    already, and its death would go unnoticed for as long as the outage lasted.
    """
    verdict = lapse.pulse(tx.read_pulse(), tx.now())
    if not verdict.may_judge:
        tx.extend_leases(verdict.extend_s, at_most_s=longest_lease_s)
    tx.set_pulse()
    return verdict.extend_s


def sweep(store: Store, limit: int = 20, *, longest_lease_s: float = LEASE_S) -> Swept:
    """Judges up to `limit` workers whose lease has lapsed: each of their attempts is lost and goes through its limits."""
    judge = partial(_sweep, limit=limit, longest_lease_s=longest_lease_s)
    try:
        swept, written = store.run(partial(judge, whole=False))
    except Beyond:
        swept, written = store.run(partial(judge, whole=True))
    return _opened(store, swept, written)


def _sweep(tx: Tx, *, limit: int, longest_lease_s: float, whole: bool) -> tuple[Swept, Written]:
    if pulse_in(tx, longest_lease_s=longest_lease_s) > 0:
        return Swept(judged=False), Written()
    lapsed = [worker.id for worker in tx.lock_lapsed_workers_skip(limit)]
    if not lapsed:
        return Swept(judged=True), Written()
    tx.mark_workers_gone(lapsed)
    swept, written = _lose(tx, lapsed, whole=whole)
    return Swept(True, tuple(lapsed), swept.retried, swept.ended, len(lapsed) == limit, swept.channels), written


def _lose(
    tx: Tx,
    workers: Sequence[WorkerId],
    *,
    whole: bool,
    keep: Collection[AttemptId] = (),
    why: str = "is gone: its lease lapsed",
) -> tuple[Swept, Written]:
    tasks = [task for task in tx.lock_tasks_of_workers(workers) if task.attempt_id not in keep]
    if not tasks:
        return Swept(judged=True, workers=tuple(workers)), Written()
    now = tx.now()
    cells: dict[TaskId, list[TaskCell]] = defaultdict(list)
    for own in tx.task_cells([task.id for task in tasks]):
        cells[own.task_id].append(own)
    moves: list[Move] = [(task, lapse.lost(task, cells[task.id], now, why)) for task in tasks]
    settlement = follow(tx, moves, whole=whole, now=now)
    tx.note_attempts([note for task in tasks for note in _notes(task, cells[task.id], why)])
    tx.end_attempts(
        [AttemptEnd(t.attempt_id, AttemptOutcome.LOST, error=u.error) for t, u in moves if t.attempt_id is not None]
    )
    written = write(tx, moves, settlement)
    retried = sum(update.state is TaskState.UP_FOR_RETRY for _, update in moves)
    return Swept(True, tuple(workers), retried, len(moves) - retried, channels=written.channels()), written


def _notes(task: Task, cells: Sequence[TaskCell], why: str) -> list[CellAttempt]:
    if task.attempt_id is None:
        return []
    text = f"worker {task.worker_id} {why}"
    pending = (own.cell for own in cells if own.state is CellState.PENDING)
    return [CellAttempt(cell, task.fence, "lost", task.attempt_id, text) for cell in pending]


def _opened(store: Store, swept: Swept, written: Written) -> Swept:
    if not written.gates:
        return swept
    channels = {*swept.channels, *open_gates(store).channels, Channel.SCHEDULED}
    return Swept(swept.judged, swept.workers, swept.retried, swept.ended, swept.more, tuple(sorted(channels)))
