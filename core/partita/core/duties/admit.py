"""Admission: scheduled -> queued, as far as the pools have room.

One transaction for each group of pool sets that share pools. It locks the pool rows in one statement, passing over those
that another admitter holds, and counts the slots held in the NEXT statement: one that waits or skips still counts with its
old snapshot (measured: 160 admitted into 100 slots). Not durable: a lost admission is only done again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from partita.core.collecting import collector_rests
from partita.core.decide.admit import Admission, Places, Shortage, explain, room, stopped
from partita.core.decide.admit import admit as decide
from partita.core.decide.pause import with_evidence
from partita.core.decide.queues import Served, places_left
from partita.core.decide.shares import lines_of
from partita.core.duties.channels import Channel
from partita.core.duties.gates import NO_POOLS, open_gates
from partita.core.duties.served import served_of
from partita.core.duties.values import BATCH_TASKS, Admitted, Blocked, Woken
from partita.core.store.port import Store, Tx
from partita.core.store.values import Lane, Needs, Pool, Task, TaskUpdate, WaitReason


def admit(store: Store, limit: int = BATCH_TASKS, *, explained: int = 20) -> Admitted:
    """Queues up to `limit` tasks for each group of pools; opens gates that somebody left behind.

    Of those that need the same and are blocked, the first `explained` tasks get their reason when it changed; a slow tick may
    ask for more of them. `more` is true when the limit, or another admitter at some of the pools, ended the visit.
    """
    looked = store.run(_look, durable=False)
    gates = open_gates(store) if any(needs.pools == NO_POOLS for needs in looked.needs) else Woken(0)
    if gates.tasks:
        looked = store.run(_look, durable=False)
    queued, more, passed_over, blocked = 0, False, False, []
    for group in _groups(needs for needs in looked.needs if needs.pools):
        visit = partial(_visit, group=group, looked=looked, limit=limit, explained=explained)
        with collector_rests():
            admission, busy = store.run(visit, durable=False)
        queued += len(admission.admitted)
        more, passed_over = more or admission.more, passed_over or busy
        blocked += [Blocked(needs.pools, s.reason, s.detail, needs.queue) for needs, s in admission.blocked.items()]
    channels = [*gates.channels, *([Channel.QUEUED] if queued else [])]
    # News for admission was for this very visit.
    news = tuple(c for c in channels if c != Channel.SCHEDULED)
    held = passed_over and queued == 0  # the other admitter sees what is there: it is woken as we are
    return Admitted(queued, more or passed_over, tuple(blocked), gates.tasks, held, news)


class _Look(NamedTuple):
    """What there is to admit, and what holds for all of it."""

    needs: list[Needs]
    lanes: dict[str, Lane]
    served: Served


def _look(tx: Tx) -> _Look:
    needs = tx.scheduled_needs()
    return _Look(needs, tx.lanes(), served_of(tx, [one.queue for one in needs if one.pools]))


def _groups(wanted: Iterable[Needs]) -> list[list[Needs]]:
    """Needs that share a pool, directly or through others, are decided together: priority is global across them."""
    groups: list[tuple[set[str], list[Needs]]] = []
    for needs in wanted:
        names, members = {use.name for use in needs.pools}, [needs]
        apart = []
        for other_names, other_members in groups:
            if names.isdisjoint(other_names):
                apart.append((other_names, other_members))
            else:
                names, members = names | other_names, other_members + members
        groups = [*apart, (names, members)]
    return [members for _, members in groups]


def _visit(tx: Tx, group: Sequence[Needs], looked: _Look, limit: int, explained: int) -> tuple[Admission, bool]:
    names = sorted({use.name for needs in group for use in needs.pools})
    slots = {pool.name: pool for pool in tx.lock_pools_skip(names)}
    visited = [needs for needs in group if all(use.name in slots for use in needs.pools)]
    if not visited:  # another admitter is at these pools; what it does not see, the caller comes back for
        return Admission((), (), {}, more=False), True
    still = {needs: short for needs in visited if (short := stopped(needs, slots, looked.served)) is not None}
    places = _places(tx, {needs.queue for needs in visited if needs not in still}, looked.served)
    still |= {needs: short for needs in visited if needs not in still and (short := places.shortage(needs.queue))}
    stays = _tell_stopped(tx, still, explained)
    held = tx.held_slots(list(slots))
    total = {name: sum(parties.values()) for name, parties in held.items()}
    limits = {one: _look_at(one, slots, total, places, limit, explained) for one in visited if one not in still}
    lines = lines_of(tx.lock_scheduled_skip(limits), limits) if limits else []
    now, priorities = tx.now(), tx.backfill_priorities()
    admission = decide(lines, slots, held, looked.lanes, limit=limit, now=now, priorities=priorities, places=places)
    tx.hold_slots((task.id, use) for task, _ in admission.admitted for use in task.pools)
    told = [*_told(tx, admission), *(update for _, update in stays)]
    tx.write_tasks([*(update for _, update in admission.admitted), *told])
    admission = replace(admission, blocked={**admission.blocked, **still})
    return admission, len(visited) < len(group)


def _places(tx: Tx, queues: Collection[str], served: Served) -> Places:
    """Asked only while workers of different queues are alive, and after the lock on the pools: what another scheduler admitted
    to them counts. (Not across pools that nobody wants together: there two schedulers may find the same place.)"""
    bounded = served.bounded(queues)
    if not bounded:
        return Places()
    taken = tx.places_taken(bounded, [worker.id for worker in served.workers])
    return Places(places_left(queues, served, taken), served)


def _told(tx: Tx, admission: Admission) -> list[TaskUpdate]:
    """The reasons that changed; a pause with who, when and why."""
    updates = [update for _, update in admission.explained]
    if not any(update.reason is WaitReason.PAUSED for update in updates):
        return updates
    pauses = tx.pauses()
    return [with_evidence(update, pauses) for update in updates]


def _look_at(
    needs: Needs, slots: Mapping[str, Pool], held: Mapping[str, int], places: Places, limit: int, explained: int
) -> int:
    # Never less than one: the head of a line without room may still reserve a pool before the lines behind it.
    most = places.most(needs.queue, room(needs.pools, slots, held))
    return min(limit + 1, max(most + 1, explained, 1))


def _tell_stopped(tx: Tx, still: Mapping[Needs, Shortage], explained: int) -> list[tuple[Task, TaskUpdate]]:
    if not still:
        return []
    found = tx.lock_scheduled_skip(dict.fromkeys(still, explained))
    return [move for needs, short in still.items() for move in explain([t for t in found if t.needs == needs], short)]
