"""The limit of a run while it runs: how many of its tasks are active at once. One transaction, audited.

A limit is the slots of a pool of the run's own. A run that was launched without one has no such pool: when it gets a limit, its
open tasks are put in line for the pool, and what is active holds a slot of it from then on. The order of locks: the pool, the
run, its tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from partita.core.decide import runs as decide
from partita.core.decide.caps import run_pool
from partita.core.decide.runs import RunRefused
from partita.core.decide.transitions import HOLDS_SLOTS
from partita.core.duties.channels import Channel
from partita.core.duties.give_back import give_back_above
from partita.core.store.port import Store, Tx
from partita.core.store.values import NewEvent, Pool, PoolUse, RunId, Task


@dataclass(frozen=True, slots=True)
class LimitedRun:
    """`changed` is false when it was so before; `requeued` tasks gave their slots back."""

    changed: bool
    requeued: int = 0
    channels: tuple[Channel, ...] = ()


def limit_run(store: Store, run_id: RunId, *, max_active: int | None, who: str, reason: str = "") -> LimitedRun:
    """Another limit of a run (None: only the pools limit it). Fewer than are active: what is queued above it goes back in line,
    and nothing more starts until what runs fits. Raises RunRefused."""
    return store.run(lambda tx: _limit(tx, run_id, max_active, who, reason.strip()))


def _limit(tx: Tx, run_id: RunId, max_active: int | None, who: str, reason: str) -> LimitedRun:
    decide.check_limit(run_id, max_active)
    name = run_pool(run_id)
    tx.set_caps({name: max_active})  # the pool's lock first; undone when this is refused
    runs = tx.lock_runs([run_id])
    if not runs:
        raise RunRefused(f"there is no run {run_id}", fix="`partita runs` lists what there is")
    decide.check_limitable(runs[0])
    if runs[0].max_active == max_active:
        return LimitedRun(changed=False)
    tx.limit_run(run_id, max_active)
    requeued = 0
    if max_active is not None:
        _put_in_line(tx, [task for task in tx.lock_open_tasks_of_run(run_id) if task.kind == "step"], PoolUse(name, 1))
        requeued = give_back_above(tx, Pool(name, max_active), [run_id])
    tx.audit(who, "limit_run", {"run": run_id, "max_active": [runs[0].max_active, max_active]}, reason=reason)
    tx.append_events([NewEvent("run", run_id=run_id, body={"state": "running", "max_active": max_active})])
    return LimitedRun(changed=True, requeued=requeued, channels=(Channel.EVENT, Channel.SCHEDULED))


def _put_in_line(tx: Tx, tasks: Sequence[Task], use: PoolUse) -> None:
    """Those that do not want a slot of this pool yet."""
    new = [task for task in tasks if all(own.name != use.name for own in task.pools)]
    tx.set_task_pools({task.id: tuple(sorted((*task.pools, use), key=_by_name)) for task in new}, {})
    tx.hold_slots((task.id, use) for task in new if task.state in HOLDS_SLOTS)


def _by_name(use: PoolUse) -> str:
    return use.name
