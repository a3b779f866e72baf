"""Simulated runs: the critical path, and the makespan for a number of slots by list scheduling (S-101 to S-103). Pure.

Whenever slots are free, ready tasks start in the order of the list, as long as their pools have room; a full pool never
holds back what needs another. Owns no duration: `estimate` says how long tasks take.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Pools = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Work:
    """One task to simulate: how long, after which others (positions), what it takes of pools, and whether it takes a slot
    (a gate does not)."""

    duration_s: float
    upstream: tuple[int, ...] = ()
    pools: Pools = ()
    slot: bool = True


@dataclass(frozen=True, slots=True)
class Simulated:
    """How long a run took, and how many tasks ran at once at most: more slots than that never help."""

    makespan_s: float
    most_at_once: int


def critical_path(work: Sequence[Work]) -> tuple[tuple[int, ...], float]:
    """The longest chain and its length in seconds; the floor whatever the slots. `work` is in topological order.

    Of equally long chains the one through the upstream that is named first.

    >>> critical_path([Work(1), Work(4), Work(3, (0,)), Work(2, (2, 1)), Work(1, (3,))])
    ((0, 2, 3, 4), 7.0)
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
    """Seconds from the first start to the last end with `slots` at once.

    A task that asks a pool for more than it has starts when the pool is empty, as if it took all of it.

    >>> makespan([Work(3), Work(3), Work(2, (0, 1))], slots=1), makespan([Work(3), Work(3), Work(2, (0, 1))], slots=2)
    (8.0, 5.0)
    """
    return simulate(work, slots, pools).makespan_s


def simulate(work: Sequence[Work], slots: int, pools: Mapping[str, int] | None = None) -> Simulated:
    """The run with `slots` at once; raises ValueError for none."""
    if slots < 1:
        raise ValueError(f"a simulation with {slots} slots never ends")
    schedule = _Schedule(work, slots, pools or {})
    while schedule.busy():
        schedule.start()
        schedule.end()
    return Simulated(schedule.now, schedule.most_at_once)


class _Schedule:
    """The state of a simulated run. Ready tasks wait in one heap per demand on pools, so that a full pool costs nothing."""

    def __init__(self, work: Sequence[Work], slots: int, pools: Mapping[str, int]) -> None:
        self.now = 0.0
        self.most_at_once = 0
        self._work = work
        self._slots = self._free = slots
        self._room = dict(pools)
        demands: dict[Pools, Pools] = {}
        for one in work:
            if one.pools not in demands:
                demands[one.pools] = tuple((name, min(n, pools[name])) for name, n in one.pools if name in pools)
        self._needs = [demands[one.pools] for one in work]
        self._waiting = [len(one.upstream) for one in work]
        self._below: list[list[int]] = [[] for _ in work]
        for index, one in enumerate(work):
            for above in one.upstream:
                self._below[above].append(index)
        self._ready: dict[Pools, list[int]] = {}
        self._running: list[tuple[float, int]] = []
        for index, left in enumerate(tuple(self._waiting)):
            if not left:
                self._admit(index)

    def busy(self) -> bool:
        return bool(self._running) or any(self._ready.values())

    def start(self) -> None:
        """Start every ready task that fits, in the order of the list."""
        while self._free:
            index = self._next()
            if index is None:
                break
            for name, n in self._needs[index]:
                self._room[name] -= n
            self._free -= 1
            heapq.heappush(self._running, (self.now + self._work[index].duration_s, index))
        self.most_at_once = max(self.most_at_once, self._slots - self._free)

    def end(self) -> None:
        """Move to the next end, and end all that end then."""
        if not self._running:
            return
        self.now = float(self._running[0][0])
        while self._running and self._running[0][0] <= self.now:
            _, ended = heapq.heappop(self._running)
            self._free += 1
            for name, n in self._needs[ended]:
                self._room[name] += n
            self._release(ended)

    def _next(self) -> int | None:
        fits = [
            (queue[0], queue)
            for needs, queue in self._ready.items()
            if queue and all(self._room[name] >= n for name, n in needs)
        ]
        return heapq.heappop(min(fits, key=lambda pair: pair[0])[1]) if fits else None

    def _admit(self, index: int) -> None:
        """A task is ready; what takes no slot ends as soon as it is."""
        if self._work[index].slot:
            heapq.heappush(self._ready.setdefault(self._needs[index], []), index)
        else:
            self._release(index)

    def _release(self, ended: int) -> None:
        for index in self._below[ended]:
            self._waiting[index] -= 1
            if not self._waiting[index]:
                self._admit(index)
