"""How long a plan may take: critical path, and the makespan for a number of slots by simulation (S-101 to S-103). Pure.

The simulation is a list schedule: whenever slots are free, ready tasks start by wave, then in plan order, as long as their
pools have room. Means of earlier attempts are the durations; without any there is no estimate.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from partita.core.catalog import Catalog, StepKey
from partita.core.planner.tasks import plan_tasks
from partita.core.planner.values import Estimate, Plan


@dataclass(frozen=True, slots=True)
class Durations:
    """The mean duration of the earlier attempts of a step, in seconds, and how many there were."""

    mean_s: float
    n: int


@dataclass(frozen=True, slots=True)
class Work:
    """One task to simulate: how long, after which others (positions), and what it takes of pools."""

    duration_s: float
    upstream: tuple[int, ...] = ()
    pools: tuple[tuple[str, int], ...] = ()


def critical_path(work: Sequence[Work]) -> tuple[tuple[int, ...], float]:
    """The longest chain (positions) and its length in seconds; the floor whatever the slots. `work` is in topological order.

    >>> critical_path([Work(60.0), Work(20.0), Work(30.0, upstream=(0, 1))])
    ((0, 2), 90.0)
    """
    ends: list[float] = []
    before: list[int] = []
    for one in work:
        last = max(one.upstream, key=lambda above: ends[above], default=-1)
        ends.append(one.duration_s + (ends[last] if last >= 0 else 0.0))
        before.append(last)
    if not ends:
        return (), 0.0
    at = max(range(len(ends)), key=lambda index: ends[index])
    length, path = ends[at], []
    while at >= 0:
        path.append(at)
        at = before[at]
    return tuple(reversed(path)), length


def makespan(work: Sequence[Work], slots: int, pools: Mapping[str, int] | None = None) -> float:
    """Seconds from the first start to the last end with `slots` at once; `work` is in topological order.

    A task that asks a pool for more than it has starts when the pool is empty, as if it took all of it. Raises ValueError
    without slots.

    >>> work = [Work(60.0), Work(20.0), Work(30.0, upstream=(0, 1))]
    >>> makespan(work, slots=1), makespan(work, slots=2)
    (110.0, 90.0)
    """
    if slots < 1:
        raise ValueError(f"a simulation with {slots} slots never ends")
    schedule = _Schedule(work, slots, pools or {})
    while schedule.busy():
        schedule.start()
        schedule.end()
    return schedule.now


class _Schedule:
    """The state of a simulated run."""

    def __init__(self, work: Sequence[Work], slots: int, pools: Mapping[str, int]) -> None:
        self.now = 0.0
        self._work = work
        self._free = slots
        self._size = dict(pools)
        self._room = dict(pools)
        self._waiting = [len(set(one.upstream)) for one in work]
        self._below: list[list[int]] = [[] for _ in work]
        for index, one in enumerate(work):
            for above in set(one.upstream):
                self._below[above].append(index)
        self._ready = [index for index, left in enumerate(self._waiting) if not left]
        self._running: list[tuple[float, int]] = []

    def busy(self) -> bool:
        return bool(self._ready or self._running)

    def start(self) -> None:
        """Start every ready task that fits, in order; a full pool never holds back what needs another."""
        held_back: list[int] = []
        while self._ready and self._free:
            index = heapq.heappop(self._ready)
            needs = self._needs(index)
            if any(self._room[name] < n for name, n in needs):
                held_back.append(index)
                continue
            for name, n in needs:
                self._room[name] -= n
            self._free -= 1
            heapq.heappush(self._running, (self.now + self._work[index].duration_s, index))
        for index in held_back:
            heapq.heappush(self._ready, index)

    def end(self) -> None:
        """Move to the next end, and end all that end then."""
        self.now = self._running[0][0]
        while self._running and self._running[0][0] <= self.now:
            _, ended = heapq.heappop(self._running)
            self._free += 1
            for name, n in self._needs(ended):
                self._room[name] += n
            for index in self._below[ended]:
                self._waiting[index] -= 1
                if not self._waiting[index]:
                    heapq.heappush(self._ready, index)

    def _needs(self, index: int) -> list[tuple[str, int]]:
        return [(name, min(n, self._size[name])) for name, n in self._work[index].pools if name in self._size]


def estimate(
    plan: Plan, catalog: Catalog, history: Mapping[StepKey, Durations], *, slots: int, pools: Mapping[str, int]
) -> Estimate | None:
    """The estimate of a plan; None when none of its steps ever ran, or nobody could run it."""
    known = {step.step: history[step.step] for step in plan.steps if step.step in history}
    total = sum(one.n for one in known.values())
    if not total or slots < 1:
        return None
    mean_s = sum(one.mean_s * one.n for one in known.values()) / total
    tasks = plan_tasks(plan, catalog)
    work = []
    for task in tasks:
        if task.step is None:
            work.append(Work(0.0, task.upstream))
            continue
        uses = {use.name: use.slots for key in task.assets for use in catalog.assets[key].spec.pools}
        duration_s = known[task.step].mean_s if task.step in known else mean_s
        work.append(Work(duration_s, task.upstream, tuple(uses.items())))
    path, critical_s = critical_path(work)
    keys = dict.fromkeys(tasks[index].assets[0] for index in path if tasks[index].assets)
    return Estimate(
        makespan_s=makespan(work, slots, pools),
        critical_s=critical_s,
        critical_path=tuple(keys),
        sample_size=total,
        slots=slots,
        unknown=tuple(step.step.id for step in plan.steps if step.step not in known),
    )
