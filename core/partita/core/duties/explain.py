"""Reasons of queued tasks: no server, version gone, no worker, workers busy. Written only when they change.

A task that no server or no worker can run for a while gives its slots back here, and since when its version is gone is noted:
that of queued tasks, and that of waits which nobody watches.
"""

from __future__ import annotations

from partita.core.decide.reasons import cause_of
from partita.core.decide.reasons import explain as decide
from partita.core.duties.channels import Channel
from partita.core.duties.served import served_of
from partita.core.duties.values import BATCH_TASKS, Explained
from partita.core.store.port import Store, Tx
from partita.core.store.values import Exclusive, TaskState, WaitReason


def explain(store: Store, limit: int = BATCH_TASKS) -> Explained:
    """Looks at up to `limit` queued tasks of each version and queue that tasks are queued for. Not durable."""
    return store.run(lambda tx: _explain(tx, limit), durable=False)


def _explain(tx: Tx, limit: int) -> Explained:
    if not tx.try_duty(Exclusive.EXPLAIN):
        return Explained(0)
    pins, unwatched = tx.queued_pins(), tx.waiting_pins()
    if not pins and not unwatched:
        return Explained(0)
    servers, served, now = tx.live_code_servers(), served_of(tx, [pin.queue for pin in pins]), tx.now()
    updates = []
    causes = [(pin, cause_of(pin, servers, served)) for pin in pins]
    for pin, cause in causes:
        queued = tx.lock_queued_skip([(pin.location_id, pin.snapshot_id)], limit, [pin.queue])
        updates += [update for task in queued if (update := decide(task, cause, now)) is not None]
    causes += [(pin, cause_of(pin, servers, served)) for pin in unwatched]
    tx.note_gone_versions([pin.snapshot_id for pin, cause in causes if cause.reason is WaitReason.VERSION_GONE])
    tx.write_tasks(updates)
    aside = [update.id for update in updates if update.state is not TaskState.QUEUED]
    if aside:
        tx.release_slots(aside)
    return Explained(len(updates), channels=(Channel.SCHEDULED,) if aside else ())
