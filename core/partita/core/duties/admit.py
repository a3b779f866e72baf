"""Admission: scheduled -> queued, as far as the pools have room.

One transaction for each group of pool sets that share pools. It locks the pool rows in one statement, passing over those
that another admitter holds, and counts the slots held in the NEXT statement: one that waits or skips still counts with its
old snapshot (measured: 160 admitted into 100 slots). Not durable: a lost admission is only done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from partita.core.collecting import collector_rests
from partita.core.decide.admit import Admission, Shortage, explain, paused_of, room
from partita.core.decide.admit import admit as decide
from partita.core.decide.pause import with_evidence
from partita.core.decide.shares import PoolSet, queues_of
from partita.core.duties.channels import Channel
from partita.core.duties.gates import NO_POOLS, open_gates
from partita.core.duties.values import BATCH_TASKS, Admitted, Blocked, Woken
from partita.core.store.port import Store, Tx
from partita.core.store.values import Lane, Pool, Task, TaskUpdate, WaitReason


def admit(store: Store, limit: int = BATCH_TASKS, *, explained: int = 20) -> Admitted:
    """Queues up to `limit` tasks for each group of pools; opens gates that somebody left behind.

    Of each pool set that is blocked, the first `explained` tasks get their reason when it changed; a slow tick may ask for
    more of them. `more` is true when the limit, or another admitter at some of the pools, ended the visit.
    """
    sets, lanes = store.run(_looked_at, durable=False)
    gates = open_gates(store) if NO_POOLS in sets else Woken(0)
    if gates.tasks:
        sets, lanes = store.run(_looked_at, durable=False)
    queued, more, passed_over, blocked = 0, False, False, []
    for group in _groups(pools for pools in sets if pools):
        visit = partial(_visit, group=group, lanes=lanes, limit=limit, explained=explained)
        with collector_rests():
            admission, busy = store.run(visit, durable=False)
        queued += len(admission.admitted)
        more, passed_over = more or admission.more, passed_over or busy
        blocked += [Blocked(pools, s.reason, s.detail) for pools, s in admission.blocked.items()]
    channels = [*gates.channels, *([Channel.QUEUED] if queued else [])]
    # News for admission was for this very visit.
    news = tuple(c for c in channels if c != Channel.SCHEDULED)
    held = passed_over and queued == 0  # the other admitter sees what is there: it is woken as we are
    return Admitted(queued, more or passed_over, tuple(blocked), gates.tasks, held, news)


def _looked_at(tx: Tx) -> tuple[list[PoolSet], dict[str, Lane]]:
    return tx.scheduled_pool_sets(), tx.lanes()


def _groups(sets: Iterable[PoolSet]) -> list[list[PoolSet]]:
    """Pool sets that share a pool, directly or through others, are decided together: priority is global across them."""
    groups: list[tuple[set[str], list[PoolSet]]] = []
    for pools in sets:
        names, members = {use.name for use in pools}, [pools]
        apart = []
        for other_names, other_members in groups:
            if names.isdisjoint(other_names):
                apart.append((other_names, other_members))
            else:
                names, members = names | other_names, other_members + members
        groups = [*apart, (names, members)]
    return [members for _, members in groups]


def _visit(
    tx: Tx, group: Sequence[PoolSet], lanes: Mapping[str, Lane], limit: int, explained: int
) -> tuple[Admission, bool]:
    names = sorted({use.name for pools in group for use in pools})
    slots = {pool.name: pool for pool in tx.lock_pools_skip(names)}
    visited = [pools for pools in group if all(use.name in slots for use in pools)]
    if not visited:  # another admitter is at these pools; what it does not see, the caller comes back for
        return Admission((), (), {}, more=False), True
    paused = {pools: short for pools in visited if (short := paused_of(pools, slots)) is not None}
    stopped = _tell_paused(tx, paused, explained)
    open_sets = [pools for pools in visited if pools not in paused]
    held = tx.held_slots(list(slots))
    total = {name: sum(parties.values()) for name, parties in held.items()}
    limits = {pools: _look_at(pools, slots, total, limit, explained) for pools in open_sets}
    queues = queues_of(tx.lock_scheduled_skip(limits), limits) if limits else []
    admission = decide(queues, slots, held, lanes, limit=limit, now=tx.now(), priorities=tx.backfill_priorities())
    tx.hold_slots((task.id, use) for task, _ in admission.admitted for use in task.pools)
    told = [*_told(tx, admission), *(update for _, update in stopped)]
    tx.write_tasks([*(update for _, update in admission.admitted), *told])
    admission = replace(admission, blocked={**admission.blocked, **paused})
    return admission, len(visited) < len(group)


def _told(tx: Tx, admission: Admission) -> list[TaskUpdate]:
    """The reasons that changed; a pause with who, when and why."""
    updates = [update for _, update in admission.explained]
    if not any(update.reason is WaitReason.PAUSED for update in updates):
        return updates
    pauses = tx.pauses()
    return [with_evidence(update, pauses) for update in updates]


def _look_at(pools: PoolSet, slots: Mapping[str, Pool], held: Mapping[str, int], limit: int, explained: int) -> int:
    # Never less than one: the head of a queue without room may still reserve a pool before the queues behind it.
    return min(limit + 1, max(room(pools, slots, held) + 1, explained, 1))


def _tell_paused(tx: Tx, paused: Mapping[PoolSet, Shortage], explained: int) -> list[tuple[Task, TaskUpdate]]:
    if not paused:
        return []
    found = tx.lock_scheduled_skip(dict.fromkeys(paused, explained))
    return [move for pools, short in paused.items() for move in explain([t for t in found if t.pools == pools], short)]
