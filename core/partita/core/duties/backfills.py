"""Backfills while they run: pausing, going on, another limit or priority, cancelling. Each is one transaction, audited.

A backfill has a pool of its own, and every task of it takes a slot there: the pool's slots are its limit, and a paused pool
admits nothing. So stopping a hundred thousand tasks is one row, under the lock that admission takes anyway. The order of locks:
the pool, runs, the backfill, tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from partita.core.decide import backfills as decide
from partita.core.decide.backfills import BackfillRefused
from partita.core.decide.caps import backfill_pool, pause_reason
from partita.core.decide.settle import Settlement
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Move, write
from partita.core.duties.give_back import give_back_above
from partita.core.duties.runs import cancel_run
from partita.core.duties.values import BATCH_CELLS, CancelledRun
from partita.core.store.port import Store, Tx
from partita.core.store.values import (
    Backfill,
    BackfillId,
    NewEvent,
    PausedBy,
    Pool,
    Run,
    RunId,
    RunState,
    TaskState,
    WaitReason,
)

_NOTHING_FOLLOWS = Settlement((), 0, 0, frozenset())


@dataclass(frozen=True, slots=True)
class Changed:
    """`changed` is false when it was so before; `requeued` tasks gave their slots back."""

    backfill: Backfill
    changed: bool
    requeued: int = 0
    channels: tuple[Channel, ...] = ()


@dataclass(frozen=True, slots=True)
class CancelledBackfill:
    runs: tuple[CancelledRun, ...]

    @property
    def channels(self) -> tuple[Channel, ...]:
        return tuple(sorted({channel for run in self.runs for channel in run.channels}))


def pause(store: Store, backfill_id: BackfillId, *, who: str, reason: str = "") -> Changed:
    """Nothing of it starts any more, and it holds no slot but those of the attempts that run: they end as ever. Pausing twice
    changes nothing. Raises BackfillRefused."""
    return store.run(lambda tx: _pause(tx, backfill_id, who, reason.strip()))


def resume(store: Store, backfill_id: BackfillId, *, who: str, reason: str = "") -> Changed:
    """It goes on. Raises BackfillRefused."""
    return store.run(lambda tx: _resume(tx, backfill_id, who, reason.strip()))


def change(
    store: Store, backfill_id: BackfillId, *, max_active: int | None, priority: int, who: str, reason: str = ""
) -> Changed:
    """Another limit (None: only the pools limit it) and priority. Fewer than are active: what is queued above it goes back in
    line, and nothing more starts until what runs fits. Raises BackfillRefused."""
    return store.run(lambda tx: _change(tx, backfill_id, max_active, priority, who, reason.strip()))


def cancel_backfill(
    store: Store, backfill_id: BackfillId, *, who: str, reason: str = "", limit: int = BATCH_CELLS
) -> CancelledBackfill:
    """Closes its pool, so that nothing more of it starts from now on, and cancels its runs. Raises BackfillRefused."""
    runs = store.run(lambda tx: _stop(tx, backfill_id, who))
    return CancelledBackfill(tuple(cancel_run(store, run_id, who, reason=reason, limit=limit) for run_id in runs))


def _pause(tx: Tx, backfill_id: BackfillId, who: str, reason: str) -> Changed:
    stopped = tx.pause_pool(backfill_pool(backfill_id), who)
    backfill, runs = _locked(tx, backfill_id)
    decide.check_pause(backfill, runs)
    if not stopped:
        return Changed(backfill, changed=False)
    requeued = _give_back(tx, backfill, runs, who)
    _tell(tx, backfill, runs, who, "pause_backfill", {"requeued": requeued}, reason)
    return Changed(backfill, changed=True, requeued=requeued, channels=(Channel.EVENT, Channel.SCHEDULED))


def _give_back(tx: Tx, backfill: Backfill, runs: Sequence[Run], who: str) -> int:
    """What was admitted and has not started goes back in line, so that a worker cannot claim it either."""
    why = pause_reason(Pool(backfill_pool(backfill.id), 0, PausedBy(who, tx.now())))
    assert why is not None
    queued = tx.lock_tasks_of_runs(_open(runs), TaskState.QUEUED)
    moves: list[Move] = [(task, decide.requeue(task, *why)) for task in queued]
    write(tx, moves, _NOTHING_FOLLOWS, quiet=True)
    return len(moves)


def _resume(tx: Tx, backfill_id: BackfillId, who: str, reason: str) -> Changed:
    resumed = tx.pause_pool(backfill_pool(backfill_id), None)
    backfill, runs = _locked(tx, backfill_id)
    decide.check_open(backfill, "resume")
    decide.check_not_cancelled(backfill, runs)
    if not resumed:
        return Changed(backfill, changed=False)
    waiting = tx.lock_tasks_of_runs(_open(runs), TaskState.SCHEDULED, reason=WaitReason.PAUSED)
    tx.write_tasks([decide.forget_pause(task) for task in waiting if not decide.asset_is_paused(task)])
    _tell(tx, backfill, runs, who, "resume_backfill", {}, reason)
    return Changed(backfill, changed=True, channels=(Channel.EVENT, Channel.SCHEDULED))


def _change(tx: Tx, backfill_id: BackfillId, max_active: int | None, priority: int, who: str, reason: str) -> Changed:
    if max_active is None or max_active > 0:
        tx.set_caps({backfill_pool(backfill_id): max_active})  # the pool's lock first; undone when this is refused
    before, runs = _locked(tx, backfill_id)
    after = decide.changed(before, max_active=max_active, priority=priority)
    if after == before:
        return Changed(before, changed=False)
    tx.write_backfill(after)
    requeued = 0
    if after.max_active is not None:
        requeued = give_back_above(tx, Pool(backfill_pool(backfill_id), after.max_active), _open(runs))
    detail = {"max_active": [before.max_active, after.max_active], "priority": [before.priority, after.priority]}
    _tell(tx, before, runs, who, "set_backfill", detail, reason)
    return Changed(after, changed=True, requeued=requeued, channels=(Channel.EVENT, Channel.SCHEDULED))


def _stop(tx: Tx, backfill_id: BackfillId, who: str) -> list[RunId]:
    closed = tx.pause_pool(backfill_pool(backfill_id), who)
    backfill, runs = _locked(tx, backfill_id)
    decide.check_open(backfill, "cancel")
    if closed:
        _give_back(tx, backfill, runs, who)
    return _open(runs)


def _locked(tx: Tx, backfill_id: BackfillId) -> tuple[Backfill, list[Run]]:
    found = tx.lock_backfills([backfill_id])
    if not found:
        raise BackfillRefused(f"there is no backfill {backfill_id}", fix="`partita backfill list` lists what there is")
    return found[0], tx.read_runs(tx.runs_of_backfill(backfill_id))


def _open(runs: Sequence[Run]) -> list[RunId]:
    return [run.id for run in runs if run.state is RunState.RUNNING]


def _tell(
    tx: Tx, backfill: Backfill, runs: Sequence[Run], who: str, action: str, detail: Mapping[str, Any], reason: str
) -> None:
    tx.audit(who, action, {"backfill": backfill.id, **detail}, reason=reason)
    body = {"backfill": backfill.id, "state": backfill.state.value, "by": who, "action": action}
    tx.append_events([NewEvent("backfill", run_id=runs[-1].id if runs else None, body=body)])
