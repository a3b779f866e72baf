"""Admission: scheduled -> queued, as far as the pools have room.

One transaction for each group of pool sets that share pools. It locks the pool rows in one statement, passing over those
that another admitter holds, and counts the slots held in the NEXT statement: one that waits or skips still counts with its
old snapshot (measured: 160 admitted into 100 slots). Not durable: a lost admission is only done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from partita.core.decide.admit import Admission, room
from partita.core.decide.admit import admit as decide
from partita.core.duties.gates import NO_POOLS, open_gates
from partita.core.duties.values import BATCH_TASKS, Admitted, Blocked, Channel, Woken
from partita.core.store.port import Store, Tx
from partita.core.store.values import Pool, PoolUse

PoolSet = tuple[PoolUse, ...]


def admit(store: Store, limit: int = BATCH_TASKS, *, explained: int = 20) -> Admitted:
    """Queues up to `limit` tasks for each group of pools; opens gates that somebody left behind.

    Of each pool set that is blocked, the first `explained` tasks get their reason when it changed; a slow tick may ask for
    more of them. `more` is true when the limit, or another admitter at the same pools, ended the visit.
    """
    sets = store.run(lambda tx: tx.scheduled_pool_sets(), durable=False)
    gates = open_gates(store) if NO_POOLS in sets else Woken(0)
    if gates.tasks:
        sets = store.run(lambda tx: tx.scheduled_pool_sets(), durable=False)
    queued, more, blocked = 0, False, []
    for group in _groups(pools for pools in sets if pools):
        visit = partial(_visit, group=group, limit=limit, explained=explained)
        admission, passed_over = store.run(visit, durable=False)
        queued += len(admission.admitted)
        more = more or admission.more or passed_over
        blocked += [Blocked(pools, s.reason, s.detail) for pools, s in admission.blocked.items()]
    channels = [*gates.channels, *([Channel.QUEUED] if queued else [])]
    # News for admission was for this very visit.
    return Admitted(queued, more, tuple(blocked), gates.tasks, tuple(c for c in channels if c != Channel.SCHEDULED))


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


def _visit(tx: Tx, group: Sequence[PoolSet], limit: int, explained: int) -> tuple[Admission, bool]:
    names = sorted({use.name for pools in group for use in pools})
    slots = {pool.name: pool for pool in tx.lock_pools_skip(names)}
    visited = [pools for pools in group if all(use.name in slots for use in pools)]
    if not visited:  # another admitter is at these pools; what it does not see, the caller comes back for
        return Admission((), (), {}, more=False), True
    held = tx.held_slots(list(slots))
    queues = [tx.lock_scheduled_skip(pools, _look_at(pools, slots, held, limit, explained)) for pools in visited]
    admission = decide(queues, slots, held, limit=limit, now=tx.now())
    tx.hold_slots((task.id, use) for task, _ in admission.admitted for use in task.pools)
    tx.write_tasks([update for _, update in (*admission.admitted, *admission.explained)])
    return admission, len(visited) < len(group)


def _look_at(pools: PoolSet, slots: Mapping[str, Pool], held: Mapping[str, int], limit: int, explained: int) -> int:
    # Never less than one: the head of a queue without room may still reserve a pool before the queues behind it.
    return min(limit + 1, max(room(pools, slots, held) + 1, explained, 1))
