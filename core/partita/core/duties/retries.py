"""Waking retries whose time has come: up_for_retry -> scheduled (deferred or
awaiting_input, where it still waits for something before it starts). Not durable: a lost wake is only done again."""

from __future__ import annotations

from partita.core.decide.retry import wake
from partita.core.duties.channels import Channel
from partita.core.duties.values import BATCH_TASKS, Woken
from partita.core.store.port import Store, Tx
from partita.core.store.values import WAITING


def wake_retries(store: Store, limit: int = BATCH_TASKS) -> Woken:
    """Schedules up to `limit` due retries, those due first first."""
    return store.run(lambda tx: _wake(tx, limit), durable=False)


def _wake(tx: Tx, limit: int) -> Woken:
    due = tx.lock_due_retries_skip(limit)
    if not due:
        return Woken(0)
    updates = [wake(task) for task in due]
    tx.write_tasks(updates)
    deferred = [update.id for update in updates if update.state in WAITING]
    if deferred:
        tx.open_waits(deferred)
    channels = (Channel.SCHEDULED, Channel.WAIT) if deferred else (Channel.SCHEDULED,)
    return Woken(len(due), more=len(due) == limit, channels=channels)
