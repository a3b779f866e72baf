"""Pausing and resuming: one transaction each, with the record of who, what and why.

From its commit nothing of a paused asset is admitted: the asset rows are locked, so that a launch either commits before and has
its tasks held here, or begins after and sees the pause. Automation sets paused consumers aside (`automation/faults.py`), and
what they missed is theirs again when they are resumed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from partita.core.decide.caps import paused_pool
from partita.core.decide.pause import binding, hold, let_go, with_pauses
from partita.core.duties.channels import Channel
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, NewEvent, Pool, Task, TaskId, TaskState, TaskUpdate
from partita.core.store.values_actions import EVERYTHING, Pause
from partita.core.store.values_clocks import ClockUpdate


@dataclass(frozen=True, slots=True)
class Paused:
    """`assets` were paused (or resumed) by this; `tasks` wait because of it (or no longer do), `running` end as they will."""

    assets: tuple[AssetId, ...] = ()
    tasks: int = 0
    running: int = 0
    channels: tuple[Channel, ...] = ()


def pause(store: Store, assets: Collection[AssetId], *, who: str, reason: str, said: Mapping[str, Any]) -> Paused:
    """Holds what has not started of these assets (`EVERYTHING`: of all, also of later ones). Those that are paused stay as they
    are: the first pause counts. `said` is what was asked for, for the audit."""
    return store.run(lambda tx: _pause(tx, assets, who, reason.strip(), said))


def resume(store: Store, assets: Collection[AssetId], *, who: str, reason: str, said: Mapping[str, Any]) -> Paused:
    """Lets go what these pauses held; what another one holds stays held."""
    return store.run(lambda tx: _resume(tx, assets, who, reason.strip(), said))


def _pause(tx: Tx, assets: Collection[AssetId], who: str, reason: str, said: Mapping[str, Any]) -> Paused:
    tx.lock_assets(_rows_of(tx, assets))
    new = tx.put_pauses(assets, who, reason)
    if not new:
        return Paused()
    tx.ensure_pools([Pool(paused_pool(one), 0) for one in new], automatic=True)
    tasks = tx.lock_open_tasks_of(None if EVERYTHING in new else new)
    held = _holding(tx, tasks)
    _write(tx, tasks, held, [hold(task, held[task.id][0]) for task in tasks if held[task.id]])
    back = [task.id for task in tasks if task.state is TaskState.QUEUED]
    if back:
        tx.release_slots(back)
    running = sum(task.state is TaskState.RUNNING for task in tasks)
    waiting = len(tasks) - running
    tx.audit(who, "pause", {**said, "assets": len(new), "waiting": waiting, "running": running}, reason=reason)
    tx.append_events([NewEvent("pause", body={"paused": len(new)})])
    return Paused(tuple(new), waiting, running, (Channel.EVENT, *((Channel.SCHEDULED,) if back else ())))


def _resume(tx: Tx, assets: Collection[AssetId], who: str, reason: str, said: Mapping[str, Any]) -> Paused:
    tx.lock_assets(_rows_of(tx, assets))
    ended = tx.end_pauses(assets)
    if not ended:
        return Paused()
    tasks = tx.lock_open_tasks_of(None if EVERYTHING in ended else ended)
    held = _holding(tx, tasks)
    _write(tx, tasks, held, [let_go(task, next(iter(held[task.id]), None)) for task in tasks])
    _look_again(tx, ended)
    free = sum(not held[task.id] and task.state is not TaskState.RUNNING for task in tasks)
    tx.audit(who, "resume", {**said, "assets": len(ended), "waiting": free}, reason=reason)
    tx.append_events([NewEvent("pause", body={"resumed": len(ended)})])
    return Paused(tuple(ended), free, channels=(Channel.EVENT, Channel.SCHEDULED, Channel.TODO))


def _rows_of(tx: Tx, assets: Collection[AssetId]) -> list[AssetId]:
    return [row.id for row in tx.read_assets()] if EVERYTHING in assets else sorted(assets)


def _holding(tx: Tx, tasks: Collection[Task]) -> dict[TaskId, list[Pause]]:
    """Per task the pauses that hold it."""
    pauses = tx.pauses()
    made = tx.assets_of_open_tasks([task.id for task in tasks]) if pauses.keys() - {EVERYTHING} else {}
    return {task.id: binding(pauses, made.get(task.id, ())) for task in tasks}


def _write(
    tx: Tx, tasks: Collection[Task], held: Mapping[TaskId, list[Pause]], moves: Iterable[TaskUpdate | None]
) -> None:
    """A task that stays where it is, as nearly all do, is written once: its pools with its reason."""
    updates = [update for update in moves if update is not None]
    told = {one.id: (one.reason, one.reason_detail) for one in updates if one.state is one.expect_state}
    pools = {task.id: with_pauses(task.pools, [one.asset_id for one in held[task.id]]) for task in tasks}
    moved = {task.id for task in tasks if pools[task.id] != task.pools}
    tx.set_task_pools({id: uses for id, uses in pools.items() if id in moved or id in told}, told)
    tx.write_tasks([update for update in updates if update.id not in told])


def _look_again(tx: Tx, assets: Collection[AssetId]) -> None:
    """What automation set aside while they were paused is due at once, events and clocks."""
    tx.release_faults()
    now = tx.now()
    clocks = tx.clocks_of(_rows_of(tx, assets))
    tx.write_clocks(
        [ClockUpdate(one.asset_id, one.looked_at, now, keep=True) for one in clocks.values() if one.next_at is not None]
    )
