"""Admission: which ready tasks get the slots of their pools. Pure.

Tasks come in lines, one per pool set, queue and party; all tasks of a line want the same slots, so a line is blocked as a whole.
The lines are merged in one order (`shares.turns`: first who holds less than it is due, then priority with age), which is
therefore global and not per pool. A task that finds too little room in a pool reserves it: nothing behind it may take from
that pool, of whichever lane, so that a stream of small tasks cannot starve a big one; only what is kept for a lane stays open
to that lane, for the big task may not have it anyway. It reserves nothing else, so that a full pool never hides an empty one,
and a task that wants more than its pool will ever have for it reserves nothing at all. What waits for no slot takes no part in
that order: tasks that are paused, tasks of a queue that no worker serves (`stopped`), and tasks whose queue has workers without
a place for them (`places`), for slots that wait for a worker are kept from those whose workers are idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from partita.core.decide.caps import cap_of, cap_reason, pause_reason
from partita.core.decide.queues import Served
from partita.core.decide.reasons import same_constraint
from partita.core.decide.shares import Held, Line, Shares, turns
from partita.core.decide.transitions import Actor, move
from partita.core.store.values import Lane, Needs, Pool, PoolUse, Task, TaskState, TaskUpdate, WaitReason


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why nothing more of a pool set is admitted: the first of its pools (by name) that lacks room."""

    reason: WaitReason
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Admission:
    """`more`: the limit ended it, and there may be room for others."""

    admitted: tuple[tuple[Task, TaskUpdate], ...]
    explained: tuple[tuple[Task, TaskUpdate], ...]  # tasks whose reason changed
    blocked: Mapping[Needs, Shortage]
    more: bool


def room(pools: Iterable[PoolUse], slots: Mapping[str, Pool], held: Mapping[str, int]) -> int:
    """How many tasks with these uses fit now. A pool that was shrunk below what it holds has no room, not a negative one.

    >>> room([PoolUse("warehouse", 2)], {"warehouse": Pool("warehouse", 5)}, {"warehouse": 1})
    2
    """
    return min((max(slots[use.name].slots - held[use.name], 0) // use.slots for use in pools), default=0)


def admit(
    lines: Sequence[Line],
    slots: Mapping[str, Pool],
    held: Held,
    lanes: Mapping[str, Lane],
    *,
    limit: int,
    now: datetime,
    priorities: Mapping[str, int] | None = None,
    places: Places | None = None,
) -> Admission:
    """`slots` and `held` cover all pools of the lines. Ends early where the rest of a line is not known."""
    visit = _Visit(lines, slots, held, lanes, priorities or {})
    room = places or Places()
    admitted: list[tuple[Task, TaskUpdate]] = []
    explained: list[tuple[Task, TaskUpdate]] = []
    blocked: dict[Needs, Shortage] = {}
    for line, task in turns(lines, visit.shares):
        if len(admitted) == limit:
            return Admission(tuple(admitted), tuple(explained), blocked, more=True)
        shortage = room.shortage(line.queue) or visit.shortage(line)
        if shortage is None:
            room.take(line.queue)
            visit.take(line)
            admitted.append((task, move(task, TaskState.QUEUED, Actor.ADMIT, queued_at=now)))
            if not line.whole and task is line.tasks[-1]:
                return Admission(tuple(admitted), tuple(explained), blocked, more=True)
            continue
        blocked.setdefault(task.needs, shortage)
        if shortage.reason is not WaitReason.WORKERS_BUSY:
            visit.reserve(line, task)  # each time: those before it may have taken what the first of its line left
        if not same_constraint(task, shortage.reason, shortage.detail):
            explained.append((task, _explain(task, shortage)))
    return Admission(tuple(admitted), tuple(explained), blocked, more=False)


class Places:
    """How many more tasks of some queues may take slots while one visit goes on (`queues.places_left`)."""

    def __init__(self, left: Mapping[str, int] | None = None, served: Served | None = None) -> None:
        self._left = dict(left or {})
        self._served = served or Served(())

    def most(self, queue: str, otherwise: int) -> int:
        return min(self._left.get(queue, otherwise), otherwise)

    def shortage(self, queue: str) -> Shortage | None:
        return Shortage(*self._served.busy(queue)) if self._left.get(queue, 1) <= 0 else None

    def take(self, queue: str) -> None:
        if queue in self._left:
            self._left[queue] -= 1


class _Visit:
    """What is free, reserved and blocked while one visit goes on."""

    def __init__(
        self,
        lines: Sequence[Line],
        slots: Mapping[str, Pool],
        held: Held,
        lanes: Mapping[str, Lane],
        priorities: Mapping[str, int],
    ) -> None:
        sizes = {name: pool.slots for name, pool in slots.items()}
        self.shares = Shares(lanes, sizes, held, [(line.pools, line.party) for line in lines], priorities)
        self._slots = slots
        self._free = {name: pool.slots - sum(held[name].values()) for name, pool in slots.items()}
        self._reserved: dict[str, Task] = {}
        self._blocked: dict[int, Shortage] = {}

    def shortage(self, line: Line) -> Shortage | None:
        """The first pool that has no room for the line; once it is blocked, it stays so."""
        found = self._blocked.get(id(line))
        if found is None:
            found = next((short for use in line.pools if (short := self._short(line, use)) is not None), None)
            if found is not None:
                self._blocked[id(line)] = found
        return found

    def take(self, line: Line) -> None:
        for use in line.pools:
            self._free[use.name] -= use.slots
        self.shares.take(line.pools, line.party)

    def reserve(self, line: Line, task: Task) -> None:
        lane = line.party.lane
        if any(use.slots > self.shares.most(use.name, lane) for use in line.pools):
            return  # it can never run as things stand: it must not hold up those that can
        for use in line.pools:
            if self._free[use.name] - self.shares.kept_from(use.name, lane) < use.slots:
                self._reserved.setdefault(use.name, task)

    def _short(self, line: Line, use: PoolUse) -> Shortage | None:
        free, lane = self._free[use.name], line.party.lane
        if free < use.slots:
            return self._shortage_of(line, use, None)
        behind = self._reserved.get(use.name)
        if behind is not None and self.shares.own(use.name, lane) < use.slots:
            return self._shortage_of(line, use, behind)
        if free - self.shares.kept_from(use.name, lane) < use.slots:
            return Shortage(WaitReason.LANE, self.shares.evidence(use, lane))
        return None

    def _shortage_of(self, line: Line, use: PoolUse, behind: Task | None) -> Shortage:
        pool, cap = self._slots[use.name], cap_of(use.name)
        if cap is not None:
            return Shortage(*cap_reason(cap, pool))
        if self.shares.has_its_share(use.name, line.party.lane) and use.slots <= pool.slots:
            return Shortage(WaitReason.LANE, self.shares.evidence(use, line.party.lane))
        held = pool.slots - self._free[use.name]
        detail: dict[str, Any] = {"pool": use.name, "slots": pool.slots, "held": held, "wants": use.slots}
        if behind is not None:
            detail["behind_task"] = behind.id
        return Shortage(WaitReason.POOL_FULL, detail)


def stopped(needs: Needs, slots: Mapping[str, Pool], served: Served) -> Shortage | None:
    """Why nothing that needs this is admitted whatever is free: somebody paused one of its pools, else no worker of its queue is
    alive, and it would keep its slots from those that have workers."""
    found = next((reason for use in needs.pools if (reason := pause_reason(slots[use.name])) is not None), None)
    if found is None:
        found = served.nobody_takes(needs.queue)
    return None if found is None else Shortage(*found)


def explain(tasks: Iterable[Task], shortage: Shortage) -> list[tuple[Task, TaskUpdate]]:
    """Those that do not say so yet, with what they say from now on."""
    return [(task, _explain(task, shortage)) for task in tasks if task.reason is not shortage.reason]


def _explain(task: Task, shortage: Shortage) -> TaskUpdate:
    return move(task, TaskState.SCHEDULED, Actor.EXPLAIN, reason=shortage.reason, reason_detail=shortage.detail)
