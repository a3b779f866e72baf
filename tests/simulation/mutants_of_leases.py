"""Mutants of leases, losses and retries."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests.simulation.mutant import Patch, mutant

from partita.core.decide import lapse as lapse_decider
from partita.core.decide import retry as retry_decider
from partita.core.decide.transitions import Actor
from partita.core.duties import runs as runs_duty
from partita.core.store.memory.base import task_of
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values import Task, TaskUpdate

# ---------------------------------------------------------------------------------------------- leases and retries


@mutant("lease off by one", theme="standstills")
def _(patch: Patch) -> None:
    """A worker is judged one second before its lease ends."""
    right = MemoryTx.lock_lapsed_workers_skip

    def early(tx: MemoryTx, limit: int) -> Any:
        now, tx._now = tx._now, tx._now + timedelta(seconds=1)
        try:
            return right(tx, limit)
        finally:
            tx._now = now

    patch.setattr(MemoryTx, "lock_lapsed_workers_skip", early)


@mutant("outage taken for the workers' death")
def _(patch: Patch) -> None:
    patch.setattr(lapse_decider, "pulse", lambda last_ok, now: lapse_decider.Pulse(0.0))


@mutant("renewed lease extended by the outage before it", theme="clocks")
def _(patch: Patch) -> None:
    right = MemoryTx.extend_leases
    patch.setattr(MemoryTx, "extend_leases", lambda tx, seconds, *, at_most_s: right(tx, seconds, at_most_s=1e9))


@mutant("lapsed lease not swept")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "lock_tasks_of_workers", lambda tx, workers: [])


@mutant("infrastructure loss consumes a retry")
def _(patch: Patch) -> None:
    right = retry_decider._again

    def dear(task: Task, now: Any, by: Actor, wait_s: float, **changes: Any) -> TaskUpdate:
        if "infra_losses" in changes and task.user_failures < task.retry.max_retries:
            changes["user_failures"] = task.user_failures + 1
        return right(task, now, by, wait_s, **changes)

    patch.setattr(retry_decider, "_again", dear)


@mutant("one retry too many")
def _(patch: Patch) -> None:
    right = retry_decider.after_failure

    def generous(task: Task, now: Any, **options: Any) -> Any:
        kinder = task._replace(retry=replace(task.retry, max_retries=task.retry.max_retries + 1))
        return right(kinder, now, **options)

    patch.setattr(retry_decider, "after_failure", generous)


@mutant("retry comes early")
def _(patch: Patch) -> None:
    def at_once(tx: MemoryTx, limit: int) -> list[Task]:
        return [task_of(row) for row in tx._db.task.find("state", "up_for_retry")][:limit]

    patch.setattr(MemoryTx, "lock_due_retries_skip", at_once)


@mutant("cancel leaves what has not started")
def _(patch: Patch) -> None:
    patch.setattr(runs_duty, "cancel", lambda task, now: None)
