"""Admission: which ready tasks get the slots of their pools. Pure.

Tasks come in queues, one per pool set; all tasks of a queue want the same slots, so a queue is blocked as a whole. The
queues are merged in one order (priority, ready time, id), which is therefore global and not per pool. A task that finds
too little room in a pool reserves it: nothing behind it may take from that pool, so that a stream of small tasks cannot
starve a big one. It reserves nothing else, so that a full pool never hides an empty one, and a task that wants more than
its pool will ever have reserves nothing at all.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from partita.core.decide.caps import cap_of, cap_reason
from partita.core.decide.transitions import Actor, move
from partita.core.store.values import Pool, PoolUse, Task, TaskState, TaskUpdate, WaitReason


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
    blocked: Mapping[tuple[PoolUse, ...], Shortage]
    more: bool


def room(pools: Iterable[PoolUse], slots: Mapping[str, Pool], held: Mapping[str, int]) -> int:
    """How many tasks with these uses fit now. A pool that was shrunk below what it holds has no room, not a negative one.

    >>> room([PoolUse("warehouse", 2)], {"warehouse": Pool("warehouse", 5)}, {"warehouse": 1})
    2
    """
    return min((max(slots[use.name].slots - held[use.name], 0) // use.slots for use in pools), default=0)


def admit(
    queues: Sequence[Sequence[Task]], slots: Mapping[str, Pool], held: Mapping[str, int], *, limit: int, now: datetime
) -> Admission:
    """Each queue: tasks of one pool set in order. `slots` and `held` cover all their pools."""
    free = {name: pool.slots - held[name] for name, pool in slots.items()}
    reserved: dict[str, Task] = {}
    admitted: list[tuple[Task, TaskUpdate]] = []
    explained: list[tuple[Task, TaskUpdate]] = []
    blocked: dict[tuple[PoolUse, ...], Shortage] = {}
    for task in heapq.merge(*queues, key=_order):
        if len(admitted) == limit:
            return Admission(tuple(admitted), tuple(explained), blocked, more=True)
        shortage = blocked.get(task.pools) or _shortage(task.pools, slots, free, reserved)
        if shortage is None:
            for use in task.pools:
                free[use.name] -= use.slots
            admitted.append((task, move(task, TaskState.QUEUED, Actor.ADMIT, queued_at=now)))
            continue
        blocked.setdefault(task.pools, shortage)
        _reserve(
            task, slots, free, reserved
        )  # each time: those before it may have taken what the first of its queue left
        if task.reason is not shortage.reason:
            explained.append((task, _explain(task, shortage)))
    return Admission(tuple(admitted), tuple(explained), blocked, more=False)


def _order(task: Task) -> tuple[int, datetime, int]:
    # A scheduled task always has ready_at (the guard of every move into `scheduled`); the store sorts likewise.
    assert task.ready_at is not None
    return (-task.priority, task.ready_at, task.id)


def _shortage(
    uses: tuple[PoolUse, ...], slots: Mapping[str, Pool], free: Mapping[str, int], reserved: Mapping[str, Task]
) -> Shortage | None:
    for use in uses:
        if free[use.name] < use.slots:
            return _shortage_of(use, slots[use.name], free[use.name], None)
        if use.name in reserved:
            return _shortage_of(use, slots[use.name], free[use.name], reserved[use.name])
    return None


def _shortage_of(use: PoolUse, pool: Pool, free: int, behind: Task | None) -> Shortage:
    cap = cap_of(use.name)
    if cap is not None:
        return Shortage(*cap_reason(cap, pool))
    detail: dict[str, Any] = {"pool": use.name, "slots": pool.slots, "held": pool.slots - free, "wants": use.slots}
    if behind is not None:
        detail["behind_task"] = behind.id
    return Shortage(WaitReason.POOL_FULL, detail)


def _reserve(task: Task, slots: Mapping[str, Pool], free: Mapping[str, int], reserved: dict[str, Task]) -> None:
    if any(use.slots > slots[use.name].slots for use in task.pools):
        return  # it can never run as things stand: it must not hold up those that can
    for use in task.pools:
        if free[use.name] < use.slots:
            reserved.setdefault(use.name, task)


def _explain(task: Task, shortage: Shortage) -> TaskUpdate:
    return move(task, TaskState.SCHEDULED, Actor.EXPLAIN, reason=shortage.reason, reason_detail=shortage.detail)
