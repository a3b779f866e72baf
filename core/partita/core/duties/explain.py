"""Reasons of queued tasks: no server, version gone, no worker, workers busy. Written only when they change.

A task that no server can run for a while gives its slots back here.
"""

from __future__ import annotations

from partita.core.decide.reasons import cause_of
from partita.core.decide.reasons import explain as decide
from partita.core.duties.values import BATCH_TASKS, Channel, Explained
from partita.core.store.port import Store, Tx
from partita.core.store.values import TaskState


def explain(store: Store, limit: int = BATCH_TASKS) -> Explained:
    """Looks at up to `limit` queued tasks of each version that tasks are queued for. Not durable."""
    return store.run(lambda tx: _explain(tx, limit), durable=False)


def _explain(tx: Tx, limit: int) -> Explained:
    pins = tx.queued_pins()
    if not pins:
        return Explained(0)
    servers, workers, now = tx.live_code_servers(), tx.live_workers(), tx.now()
    updates = []
    for pin in pins:
        cause = cause_of(pin, servers, workers)
        queued = tx.lock_queued_skip([(pin.location_id, pin.snapshot_id)], limit)
        updates += [update for task in queued if (update := decide(task, cause, now)) is not None]
    tx.write_tasks(updates)
    aside = [update.id for update in updates if update.state is TaskState.UP_FOR_RETRY]
    if aside:
        tx.release_slots(aside)
    return Explained(len(updates), channels=(Channel.SCHEDULED,) if aside else ())
