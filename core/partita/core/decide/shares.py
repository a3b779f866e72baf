"""Fair shares: whose turn it is when lanes, and keys inside a lane, want the same slots. Pure (ADR 11).

Of each pool a lane is due a part by its weight among the lanes that wait there, and a key an even part of what its lane is
due. Who holds less than that goes before who does not, lanes first and then keys; within the same standing tasks go in their
order (`turn`, the longer critical path, id). So nobody is kept from what is due to it by others that have theirs, whatever
they ask for, and what one does not want others may have: a part is a rank in the line, not a limit.

The limit is `reserved`: so many slots of a pool are kept for a lane, whoever waits.

How far off it can be: slots are never taken back, so a lane waits for what others took before it came; from then on nobody
takes a slot beyond its due while a task of a lane below its own could start there. A lane exceeds its due by less than the
slots of one task.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.decide.caps import cap_of
from partita.core.store.values import BackfillId, Lane, Needs, Party, PoolUse, Task, read_of_each, turn

PoolSet = tuple[PoolUse, ...]
Held = Mapping[str, Mapping[Party, int]]
_NO_PRIORITIES: Mapping[str, int] = {}  # of keys inside a lane: those of backfills that somebody gave one


_BY_PEOPLE = frozenset({"person", "cli", "api"})


def fair_key(cause: Mapping[str, Any], owner: str, backfill_id: BackfillId | None) -> str:
    """By what a lane is shared on: a backfill against other backfills, a person against other persons, and what nobody asked for
    by the owners of its assets (ADR 11).

    >>> fair_key({"kind": "cli", "by": "ada"}, "team:ops", None), fair_key({"kind": "eager"}, "team:ops", None)
    ('by:ada', 'owner:team:ops')
    """
    if backfill_id is not None:
        return f"backfill:{backfill_id}"
    if cause.get("kind") in _BY_PEOPLE and cause.get("by"):
        return f"by:{cause['by']}"
    return f"owner:{owner}" if owner else ""


@dataclass(frozen=True, slots=True)
class Line:
    """Waiting tasks of one party that need the same, in order; `whole` when there are no more than these."""

    pools: PoolSet
    party: Party
    tasks: tuple[Task, ...]
    whole: bool = True
    queue: str = DEFAULT_QUEUE

    @property
    def needs(self) -> Needs:
        return Needs(self.pools, self.queue)


def lines_of(tasks: Iterable[Task], limits: Mapping[Needs, int]) -> list[Line]:
    """Tasks as the store read them under these limits (`read_of_each`)."""
    found: dict[Needs, dict[Party, list[Task]]] = defaultdict(lambda: defaultdict(list))
    for task in tasks:
        found[task.needs][task.party].append(task)
    return [
        Line(needs.pools, party, tuple(own), len(own) < read_of_each(limits[needs], len(parties)), needs.queue)
        for needs, parties in found.items()
        for party, own in parties.items()
    ]


class Shares:
    """What each lane and key is due and holds of each pool. `take` moves what is held; what is due stays for one visit."""

    def __init__(
        self,
        lanes: Mapping[str, Lane],
        sizes: Mapping[str, int],
        held: Held,
        waiting: Iterable[tuple[PoolSet, Party]],
        priorities: Mapping[str, int] = _NO_PRIORITIES,
    ) -> None:
        self._lanes = lanes
        self._priorities = priorities
        self._sizes = sizes
        self._of_lane: Counter[tuple[str, str]] = Counter()
        self._of_party: Counter[tuple[str, Party]] = Counter()
        for pool, parties in held.items():
            for party, slots in parties.items():
                self._of_lane[pool, party.lane] += slots
                self._of_party[pool, party] += slots
        self._keys: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        for pools, party in waiting:
            for use in pools:
                self._keys[use.name][party.lane].add(party.key)
        self._weights = {pool: sum(self._weight(lane) for lane in keys) for pool, keys in self._keys.items()}
        self._reserving = [lane for lane in lanes.values() if lane.reserved]

    def _weight(self, lane: str) -> int:
        return self._lanes[lane].weight if lane in self._lanes else 1

    def order(self, task: Task) -> tuple[int, int, int]:
        """A task's place among all, with the priority that its key has beside its own."""
        # A task that waits for slots or a worker always has ready_at (the guard of every move into `scheduled`).
        assert task.ready_at is not None
        priority = task.priority + self._priorities.get(task.fair_key, 0)
        return (turn(task.ready_at, priority), -task.critical_path, task.id)

    def standing(self, pools: PoolSet, party: Party) -> int:
        """0 to 3, the lower the sooner: whether its lane (2) and its key (1) hold what they are due of one of the pools."""
        lane_has = key_has = False
        for use in pools:
            due = self._sizes[use.name] * self._weight(
                party.lane
            )  # times the weights of all, so that all of it is whole
            weights = self._weights[use.name]
            lane_has = lane_has or self._of_lane[use.name, party.lane] * weights >= due
            keys = len(self._keys[use.name][party.lane])
            key_has = key_has or self._of_party[use.name, party] * weights * keys >= due
        return 2 * lane_has + key_has

    def take(self, pools: PoolSet, party: Party) -> None:
        for use in pools:
            self._of_lane[use.name, party.lane] += use.slots
            self._of_party[use.name, party] += use.slots

    def reserved(self, pool: str, lane: str) -> int:
        """How many slots of a pool are kept for the lane. None of the cap of an asset, a backfill or a run: those are no
        capacity that lanes share."""
        cap = cap_of(pool)
        if lane not in self._lanes or (cap is not None and cap.kind in ("asset", "backfill", "run")):
            return 0
        return int(self._lanes[lane].reserved * self._sizes[pool] + 1e-9)

    def own(self, pool: str, lane: str) -> int:
        """What is left of the slots kept for the lane."""
        return max(0, self.reserved(pool, lane) - self._of_lane[pool, lane])

    def kept_from(self, pool: str, lane: str) -> int:
        """What is left of the slots kept for other lanes."""
        return sum(self.own(pool, one.name) for one in self._reserving if one.name != lane)

    def most(self, pool: str, lane: str) -> int:
        """What the lane can ever hold of the pool while the others' slots are kept for them."""
        others = sum(self.reserved(pool, one.name) for one in self._reserving if one.name != lane)
        return self._sizes[pool] - others

    def evidence(self, use: PoolUse, lane: str) -> dict[str, Any]:
        """What a task that waits for its lane's part says."""
        lanes = self._keys[use.name]
        # Rounded up: a lane goes on while it holds less than it is due, so that of three slots a fifth of them is one.
        due = -(-self._sizes[use.name] * self._weight(lane) // max(1, self._weights.get(use.name, 1)))
        return {
            "lane": lane,
            "pool": use.name,
            "slots": self._sizes[use.name],
            "held": self._of_lane[use.name, lane],
            "share": min(self.most(use.name, lane), due) if len(lanes) > 1 else self.most(use.name, lane),
            "wants": use.slots,
        }

    def has_its_share(self, pool: str, lane: str) -> bool:
        """Whether other lanes wait for the pool, and this one holds what it is due of it."""
        due = self._sizes[pool] * self._weight(lane)
        return len(self._keys[pool]) > 1 and self._of_lane[pool, lane] * self._weights[pool] >= due


def turns(lines: Sequence[Line], shares: Shares) -> Iterator[tuple[Line, Task]]:
    """All tasks, by the standing of their line and then in their order. Whoever consumes it tells `shares` of what each took;
    a line's standing only grows by that, so that it is enough to look again at whoever comes first."""
    heads = [
        (shares.standing(line.pools, line.party), shares.order(line.tasks[0]), at, 0)
        for at, line in enumerate(lines)
        if line.tasks
    ]
    heapq.heapify(heads)
    while heads:
        standing, order, at, place = heads[0]
        line = lines[at]
        now = shares.standing(line.pools, line.party)
        if now != standing:
            heapq.heapreplace(heads, (now, order, at, place))
            continue
        if place + 1 < len(line.tasks):
            heapq.heapreplace(heads, (now, shares.order(line.tasks[place + 1]), at, place + 1))
        else:
            heapq.heappop(heads)
        yield line, line.tasks[place]


_A_SLOT = (PoolUse("worker", 1),)


def choose(
    tasks: Sequence[Task],
    running: Mapping[Party, int],
    lanes: Mapping[str, Lane],
    limit: int,
    priorities: Mapping[str, int] = _NO_PRIORITIES,
) -> list[Task]:
    """Which `limit` of these queued tasks a worker starts: its own slots are shared as those of a pool.

    The pool is what the lanes that wait run on it now, and what is free.
    """
    queued: dict[Party, list[Task]] = defaultdict(list)
    for task in tasks:
        queued[task.party].append(task)
    waiting = {party.lane for party in queued}
    size = limit + sum(n for party, n in running.items() if party.lane in waiting)
    shares = Shares(lanes, {"worker": size}, {"worker": running}, [(_A_SLOT, party) for party in queued], priorities)
    lines = [Line(_A_SLOT, party, tuple(sorted(own, key=shares.order))) for party, own in queued.items()]
    chosen: list[Task] = []
    for line, task in turns(lines, shares):
        if len(chosen) == limit:
            break
        shares.take(line.pools, line.party)
        chosen.append(task)
    return chosen
