"""Waking retries whose time has come: up_for_retry -> scheduled. Not durable: a lost wake is only done again."""

from __future__ import annotations

from partita.core.decide.retry import wake
from partita.core.duties.values import BATCH_TASKS, Channel, Woken
from partita.core.store.port import Store, Tx


def wake_retries(store: Store, limit: int = BATCH_TASKS) -> Woken:
    """Schedules up to `limit` due retries, those due first first."""
    return store.run(lambda tx: _wake(tx, limit), durable=False)


def _wake(tx: Tx, limit: int) -> Woken:
    due = tx.lock_due_retries_skip(limit)
    if not due:
        return Woken(0)
    tx.write_tasks([wake(task) for task in due])
    return Woken(len(due), more=len(due) == limit, channels=(Channel.SCHEDULED,))
