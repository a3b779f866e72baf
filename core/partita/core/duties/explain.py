"""Reasons of queued tasks: no server, version gone, no worker, workers busy. Written only when they change.

A task that no server or no worker can run for a while gives its slots back here, as do tasks that are more than the workers of
their queue have places for while others could use the slots. Since when a version is gone is noted: that of queued tasks, and
that of waits which nobody watches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from partita.core.decide.queues import Served, too_many
from partita.core.decide.reasons import cause_of, step_back, surplus_of
from partita.core.decide.reasons import explain as decide
from partita.core.duties.channels import Channel
from partita.core.duties.served import served_of
from partita.core.duties.values import BATCH_TASKS, Explained
from partita.core.store.port import Store, Tx
from partita.core.store.values import Exclusive, TaskState, TaskUpdate, WaitReason


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
    surplus = Counter(_surplus(tx, [pin.queue for pin in pins], served))
    updates: list[TaskUpdate] = []
    causes = [(pin, cause_of(pin, servers, served)) for pin in pins]
    for pin, cause in causes:
        queued = tx.lock_queued_skip([(pin.location_id, pin.snapshot_id)], limit, [pin.queue])
        found = [update for task in queued if (update := decide(task, cause, now)) is not None]
        if cause.reason is WaitReason.WORKERS_BUSY and surplus[pin.queue]:
            back = [step_back(task, cause) for task in surplus_of(queued, surplus[pin.queue], now)]
            surplus[pin.queue] -= len(back)
            found = [*back, *(one for one in found if one.id not in {each.id for each in back})]
        updates += found
    causes += [(pin, cause_of(pin, servers, served)) for pin in unwatched]
    tx.note_gone_versions([pin.snapshot_id for pin, cause in causes if cause.reason is WaitReason.VERSION_GONE])
    tx.write_tasks(updates)
    aside = [update.id for update in updates if update.state is not TaskState.QUEUED]
    if aside:
        tx.release_slots(aside)
    return Explained(len(updates), channels=(Channel.SCHEDULED,) if aside else ())


def _surplus(tx: Tx, queues: Collection[str], served: Served) -> dict[str, int]:
    """By queue, how many of its queued tasks are too many for its workers."""
    bounded = served.bounded(queues)
    if not bounded:
        return {}
    taken = tx.places_taken(bounded, [worker.id for worker in served.workers])
    return {queue: too_many(queue, served, taken) for queue in bounded}
