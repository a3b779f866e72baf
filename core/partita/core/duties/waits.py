"""Waits of deferred tasks: watched by triggerers under a lease, fired once, failed at their deadline.

One row per triggerer is the lease of all that it watches (S-169): when it lapses, its waits are free at once and whoever
claims next has them (S-172). A check may then run twice, which is harmless for a read; an event counts once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from partita.core.decide.waits import Broken, Fired, Waited, expire, report
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Beyond, Move, Written, follow, write
from partita.core.duties.gates import open_gates
from partita.core.duties.leases import pulse_in
from partita.core.duties.values import BATCH_TASKS, LEASE_S
from partita.core.store.port import Store, Tx
from partita.core.store.values import LocationId, SnapshotId, Task, TaskId, TaskState
from partita.core.store.values_waits import TriggererId, Wait, WaitKey

Report = Fired | Broken


@dataclass(frozen=True, slots=True)
class Reported:
    """`refused` spoke for nothing: the wait had fired or ended, or its task did."""

    moved: int = 0
    refused: tuple[WaitKey, ...] = ()
    channels: tuple[Channel, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """Tasks that a duty moved."""

    tasks: int = 0
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.tasks


@dataclass(frozen=True, slots=True)
class Watched:
    """`live` is false when the lease was lost: everything that it watches is somebody else's."""

    live: bool
    claimed: tuple[Wait, ...] = ()
    dropped: tuple[WaitKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Freed:
    triggerers: tuple[TriggererId, ...] = ()
    waits: int = 0
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.waits


# ------------------------------------------------------------------------------------------------- what a triggerer does
def register_triggerer(
    store: Store, triggerer_id: TriggererId, *, host: str, pid: int, lease_s: float = LEASE_S
) -> None:
    """Enters under a lease; what an earlier life under this id watched stays with it."""
    store.run(lambda tx: tx.put_triggerer(triggerer_id, host, pid, lease_s))


def retire_triggerer(store: Store, triggerer_id: TriggererId) -> None:
    """One that stops: the next sweep frees what it watches."""
    store.run(lambda tx: tx.retire_triggerer(triggerer_id))


def watch(
    store: Store,
    triggerer_id: TriggererId,
    pins: Sequence[tuple[LocationId, SnapshotId]],
    limit: int,
    *,
    lease_s: float = LEASE_S,
) -> Watched:
    """Renews the lease, lets go of what is not open any more, and takes up to `limit` waits of these versions."""
    visit = partial(_watch, triggerer_id=triggerer_id, pins=pins, limit=limit, lease_s=lease_s)
    return store.run(visit, durable=False)


def _watch(
    tx: Tx,
    *,
    triggerer_id: TriggererId,
    pins: Sequence[tuple[LocationId, SnapshotId]],
    limit: int,
    lease_s: float,
) -> Watched:
    # The lease first: its row is locked, so that no sweep frees these waits while they are being taken.
    if not tx.renew_triggerer(triggerer_id, lease_s):
        return Watched(live=False)
    dropped = tx.drop_waits(triggerer_id)
    claimed = tx.claim_waits_skip(triggerer_id, pins, limit) if pins and limit > 0 else []
    return Watched(True, tuple(claimed), tuple(dropped))


def disown_waits(store: Store, triggerer_id: TriggererId, keep: Sequence[WaitKey]) -> int:
    """After an answer that was lost: what this triggerer took by it, and does not know of, is free for the next to claim."""
    return store.run(lambda tx: tx.disown_waits(triggerer_id, keep), durable=False)


def report_waits(store: Store, reports: Sequence[Report]) -> Reported:
    """Applies events and errors of triggers, durably; whoever reports is not asked whether it still watches: a true event
    is true, and the first one counts."""
    total = Reported()
    for start in range(0, len(reports), BATCH_TASKS):
        total = _plus(total, _report_batch(store, reports[start : start + BATCH_TASKS]))
    return total


def _report_batch(store: Store, reports: Sequence[Report]) -> Reported:
    apply = partial(_report, reports=reports)
    try:
        reported, written = store.run(partial(apply, whole=False))
    except Beyond:
        reported, written = store.run(partial(apply, whole=True))
    return Reported(reported.moved, reported.refused, _channels(store, written))


def _plus(one: Reported, other: Reported) -> Reported:
    return Reported(
        one.moved + other.moved, one.refused + other.refused, tuple(sorted({*one.channels, *other.channels}))
    )


def _report(tx: Tx, *, reports: Sequence[Report], whole: bool) -> tuple[Reported, Written]:
    by_task: dict[TaskId, list[Report]] = defaultdict(list)
    for one in reports:
        by_task[one.key.task_id].append(one)
    tasks = tx.lock_tasks(list(by_task))
    waits = _waits(tx, [task.id for task in tasks])
    now = tx.now()
    decided = [(task, report(task, waits[task.id], by_task[task.id], now)) for task in tasks]
    unknown = [one.key for one in reports if one.key.task_id not in {task.id for task in tasks}]
    refused = tuple(key for _, one in decided for key in one.refused) + tuple(unknown)
    written = _apply(tx, decided, whole=whole)
    moved = sum(one.task is not None for _, one in decided)
    return Reported(moved, refused), written


def _apply(tx: Tx, decided: Sequence[tuple[Task, Waited]], *, whole: bool) -> Written:
    moves: list[Move] = [(task, one.task) for task, one in decided if one.task is not None]
    settlement = follow(tx, moves, whole=whole, now=tx.now())
    tx.write_waits([update for _, one in decided for update in one.waits])
    written = write(tx, moves, settlement)
    resumed = sum(update.state is TaskState.SCHEDULED for _, update in moves)
    return written.plus(Written(ready=resumed))


# ------------------------------------------------------------------------------------------------- what schedulers do
def meet_waits(store: Store, limit: int = BATCH_TASKS) -> Ended:
    """Fires the waits for cells that are there now: nobody watches these, a publication is enough (S-170)."""
    try:
        ended, written = store.run(partial(_meet, limit=limit, whole=False))
    except Beyond:
        ended, written = store.run(partial(_meet, limit=limit, whole=True))
    return Ended(ended.tasks, ended.more, _channels(store, written))


def _meet(tx: Tx, *, limit: int, whole: bool) -> tuple[Ended, Written]:
    tasks = tx.lock_met_skip(limit)
    if not tasks:
        return Ended(), Written()
    ids = [task.id for task in tasks]
    met = tx.met_cells(ids)
    waits = _waits(tx, ids)
    now = tx.now()
    decided = [
        (task, report(task, waits[task.id], [Fired(key, {"data_version": v}) for key, v in _of(met, task.id)], now))
        for task in tasks
    ]
    written = _apply(tx, decided, whole=whole)
    return Ended(len(tasks), more=len(tasks) == limit), written


def _of(met: dict[WaitKey, str], task_id: TaskId) -> list[tuple[WaitKey, str]]:
    return [(key, version) for key, version in met.items() if key.task_id == task_id]


def expire_waits(store: Store, limit: int = BATCH_TASKS) -> Ended:
    """Fails the tasks whose deadline has passed, with what they waited for (S-173)."""
    try:
        ended, written = store.run(partial(_expire, limit=limit, whole=False))
    except Beyond:
        ended, written = store.run(partial(_expire, limit=limit, whole=True))
    return Ended(ended.tasks, ended.more, _channels(store, written))


def _expire(tx: Tx, *, limit: int, whole: bool) -> tuple[Ended, Written]:
    tasks = tx.lock_overdue_skip(limit)
    if not tasks:
        return Ended(), Written()
    waits = _waits(tx, [task.id for task in tasks])
    now = tx.now()
    moves: list[Move] = [(task, update) for task in tasks if (update := expire(task, waits[task.id], now)) is not None]
    settlement = follow(tx, moves, whole=whole, now=now)
    written = write(tx, moves, settlement)
    return Ended(len(moves), more=len(tasks) == limit), written


def sweep_triggerers(store: Store, limit: int = 20, *, longest_lease_s: float = LEASE_S) -> Freed:
    """Frees what triggerers watched whose lease has lapsed; judges nobody when the database was away (S-156)."""
    return store.run(partial(_sweep, limit=limit, longest_lease_s=longest_lease_s))


def _sweep(tx: Tx, *, limit: int, longest_lease_s: float) -> Freed:
    if pulse_in(tx, longest_lease_s=longest_lease_s) > 0:
        return Freed()
    lapsed = [triggerer.id for triggerer in tx.lock_lapsed_triggerers_skip(limit)]
    if not lapsed:
        return Freed()
    freed = tx.release_waits(lapsed)
    evaluators = tx.release_evaluators(lapsed)
    return Freed(tuple(lapsed), freed, len(lapsed) == limit, (Channel.WAIT,) if freed or evaluators else ())


def _waits(tx: Tx, task_ids: Sequence[TaskId]) -> dict[TaskId, list[Wait]]:
    found: dict[TaskId, list[Wait]] = {task_id: [] for task_id in task_ids}
    for wait in tx.waits_of(task_ids):
        found[wait.task_id].append(wait)
    return found


def _channels(store: Store, written: Written) -> tuple[Channel, ...]:
    if not written.gates:
        return written.channels()
    return tuple(sorted({*written.channels(), *open_gates(store).channels}))
