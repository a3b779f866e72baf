"""Who may get a slot before whom: the line of a pool and of a worker, read out naively and compared with each commit.

A task stands before another when its lane holds less than it is due of each pool that it wants and the other's does not; then
the same of its key; then by the minute: ready time less a minute for each step of priority, the longer chain, the id. A lane is
due a part of a pool by its weight among the lanes that wait there, a key an even part of its lane's. From this follow the bound
of the fairness error (`_bounded`) and that no stream of tasks starves another, of whichever lane.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

from tests.simulation.invariants import Row, Tables

from partita.assets.queues import ALL_QUEUES
from partita.core.store.encode import pool_set_of

_A_STEP_OF_PRIORITY_S = 60
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Party = tuple[str, str]


@dataclass
class Line:
    """Sizes, weights and holders of pools at one instant, and the tasks that wait for them."""

    sizes: Mapping[str, int]
    lanes: Mapping[str, Row]
    held: dict[str, Counter[Party]]
    waiting: Sequence[Row]
    reserved: dict[str, int] = field(default_factory=dict)  # pool -> the task that waits for room in it
    parties: dict[str, set[Party]] = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        for row in self.waiting:
            for name, _ in uses(row):
                self.parties[name].add(party(row))

    def of_lane(self, pool: str, lane: str) -> int:
        return sum(slots for (of, _), slots in self.held[pool].items() if of == lane)

    def due(self, pool: str, lane: str) -> Fraction:
        weights = sum(self.lanes[of]["weight"] for of in {of for of, _ in self.parties[pool]})
        return Fraction(self.sizes[pool] * self.lanes[lane]["weight"], weights)

    def standing(self, row: Row) -> tuple[bool, bool]:
        lane, _ = party(row)
        wanted = [name for name, _ in uses(row)]
        keys = {name: sum(of == lane for of, _ in self.parties[name]) for name in wanted}
        lane_has = any(self.of_lane(name, lane) >= self.due(name, lane) for name in wanted)
        return lane_has, any(self.held[name][party(row)] >= self.due(name, lane) / keys[name] for name in wanted)

    def kept(self, pool: str, lane: str) -> int:
        """What is left of the slots that are kept for the lane."""
        if pool.startswith(("asset:", "backfill:", "run:")):
            return 0
        whole = int(Fraction(str(self.lanes[lane]["reserved"])) * self.sizes[pool])
        return max(0, whole - self.of_lane(pool, lane))

    def kept_from(self, pool: str, lane: str) -> int:
        return sum(self.kept(pool, of) for of in self.lanes if of != lane)

    def free(self, pool: str) -> int:
        return self.sizes[pool] - sum(self.held[pool].values())

    def may_take(self, row: Row) -> bool:
        lane, _ = party(row)
        return all(
            self.free(name) - self.kept_from(name, lane) >= slots
            and (name not in self.reserved or self.kept(name, lane) >= slots)
            for name, slots in uses(row)
        )

    def take(self, row: Row) -> None:
        for name, slots in uses(row):
            self.held[name][party(row)] += slots

    def reserve(self, row: Row) -> None:
        """Whoever finds too little room keeps the pool shut, unless it could never have it."""
        lane, _ = party(row)
        nobody = Line(self.sizes, self.lanes, {name: Counter() for name in self.sizes}, ())
        if all(self.sizes[name] - nobody.kept_from(name, lane) >= slots for name, slots in uses(row)):
            for name, slots in uses(row):
                if self.free(name) - self.kept_from(name, lane) < slots:
                    self.reserved.setdefault(name, row["id"])


def uses(row: Row) -> list[tuple[str, int]]:
    return [(use.name, use.slots) for use in pool_set_of(row["pool_set"])]


def party(row: Row) -> Party:
    return row["lane"], row["fair_key"]


def place(row: Row) -> tuple[Any, ...]:
    seconds = (row["ready_at"] - _EPOCH).total_seconds() // 1 - _A_STEP_OF_PRIORITY_S * row["priority"]
    return (seconds, -row["critical_path"], row["id"])


# ---------------------------------------------------------------------------------------------- admission


def _admitted(before: Tables, after: Tables) -> tuple[set[int], dict[int, Row]]:
    now = {row["id"]: row for row in after["task"]}
    moved = {r["id"] for r in before["task"] if r["state"] == "scheduled" and now[r["id"]]["state"] == "queued"}
    return moved, now


def _no_overtaking(before: Tables, after: Tables) -> None:
    """Nobody took a slot of a pool that somebody before it in the line has reserved, and nobody who could start was passed over.

    One without a reason was not looked at: the visit ended before it, or it became ready after the visit had begun. Whether it
    counted for what the others are due cannot be told, so that either will do.
    """
    admitted, now = _admitted(before, after)
    if not admitted:
        return
    waiting = _waiting(before, now)
    sure = [row for row in waiting if row["id"] in admitted or now[row["id"]]["reason"] is not None]
    sure = _together(sure, {name for row in sure if row["id"] in admitted for name, _ in uses(row)})
    sets = {(row["pool_set"], row["queue"]) for row in sure}
    wrong = [
        _first_wrong(_line(before, counted), sure, admitted)
        for counted in (waiting, sure, [row for row in waiting if (row["pool_set"], row["queue"]) in sets])
    ]
    assert None in wrong, wrong[0]


def _waiting(tables: Tables, now: Mapping[int, Row]) -> list[Row]:
    """Who stands in line: nobody whose pool is paused, nobody who was told that no worker takes it, or has a place for it."""
    shut = {row["name"] for row in tables["pool"] if row["paused_by"] is not None}
    found = [row for row in tables["task"] if row["state"] == "scheduled" and row["kind"] == "step"]
    found = [row for row in found if now[row["id"]]["reason"] not in ("no_worker", "workers_busy")]
    return _with_priorities(tables, [row for row in found if not any(name in shut for name, _ in uses(row))])


def _with_priorities(tables: Tables, rows: Sequence[Row]) -> list[Row]:
    """A backfill's priority counts beside that of its tasks."""
    more = {f"backfill:{row['id']}": row["priority"] for row in tables["backfill"]}
    return [row | {"priority": row["priority"] + more.get(row["fair_key"], 0)} for row in rows]


def _together(rows: Sequence[Row], names: set[str]) -> list[Row]:
    """The rows that share one of these pools, directly or through others: they are decided together."""
    while True:
        found = [row for row in rows if not names.isdisjoint(name for name, _ in uses(row))]
        wider = names | {name for row in found for name, _ in uses(row)}
        if wider == names:
            return found
        names = wider


def _line(tables: Tables, waiting: Sequence[Row]) -> Line:
    held: dict[str, Counter[Party]] = {row["name"]: Counter() for row in tables["pool"]}
    for row in tables["pool_slot"]:
        held[row["pool"]][row["lane"], row["fair_key"]] += row["slots"]
    sizes = {row["name"]: row["slots"] for row in tables["pool"]}
    return Line(sizes, {row["name"]: row for row in tables["lane"]}, held, waiting)


def _first_wrong(line: Line, sure: Iterable[Row], admitted: set[int]) -> str | None:
    left, to_come = list(sure), set(admitted)
    blocked: set[tuple[str, str, Party]] = set()
    while to_come:
        row = min(left, key=lambda row: (line.standing(row), place(row)))
        left.remove(row)
        own = (row["pool_set"], row["queue"], party(row))
        fits = own not in blocked and line.may_take(row)
        if row["id"] in to_come:
            if not fits:
                return f"task {row['id']} took {row['pool_set']} before {line.reserved or 'its lane was due it'}"
            line.take(row)
            to_come.discard(row["id"])
            continue
        if fits:
            return f"task {row['id']} could start, and was passed over for {sorted(to_come)}"
        blocked.add(own)
        line.reserve(row)
    return None


def _bounded(before: Tables, after: Tables) -> None:
    """The fairness error is less than one task: no lane takes slots of a pool when it holds what it is due of it already, while
    somebody below his lane's due waits for this pool alone and wants no more than was taken.

    Where slots are kept for lanes, "could have had them" is another question; `_no_overtaking` asks it.
    """
    admitted, now = _admitted(before, after)
    if not admitted or any(row["reserved"] for row in before["lane"]):
        return
    waiting = _waiting(before, now)
    sure = [row for row in waiting if row["id"] in admitted or now[row["id"]]["reason"] is not None]
    put_off = [_put_off(_line(before, counted), waiting, admitted, now) for counted in (waiting, sure)]
    assert None in put_off, put_off[0]


def _put_off(line: Line, waiting: Sequence[Row], admitted: set[int], now: Mapping[int, Row]) -> str | None:
    took: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in waiting:
        if row["id"] in admitted:
            line.take(row)
            for name, slots in uses(row):
                took[name, row["lane"]].append(slots)
    left = [row for row in waiting if row["reason"] is not None and now[row["id"]]["reason"] is not None]
    for (pool, lane), taken in took.items():
        error = line.of_lane(pool, lane) - line.due(pool, lane)
        for row in left if error >= max(taken) else ():
            [(name, wanted), *more] = uses(row)
            alone = (name, more) == (pool, []) and wanted <= min(taken)
            if alone and row["lane"] != lane and line.of_lane(pool, row["lane"]) < line.due(pool, row["lane"]):
                return f"lane {lane} took {error} of {pool} beyond its due, and task {row['id']} waits"
    return None


# ---------------------------------------------------------------------------------------------- workers


def _started_in_line(before: Tables, after: Tables) -> None:
    """A worker shares its own slots as a pool is shared: what it left behind stands behind what it took."""
    now = {row["id"]: row for row in after["task"]}
    queued = _with_priorities(before, [row for row in before["task"] if row["state"] == "queued"])
    started = [row for row in queued if now[row["id"]]["state"] == "running"]
    workers = {now[row["id"]]["worker_id"] for row in started}
    if len(workers) != 1:
        return  # nobody, or not a claim
    served = {queue for row in after["worker"] if row["id"] in workers for queue in row["queues"]}
    queued = [row for row in queued if {row["queue"], ALL_QUEUES} & served or now[row["id"]]["state"] != "queued"]
    taken = {row["id"] for row in queued if now[row["id"]]["state"] != "queued"}
    pins = {(row["location_id"], row["snapshot_id"]) for row in queued if row["id"] in taken}
    others = {(row["location_id"], row["snapshot_id"]) for row in queued} - pins
    running = [row for row in before["task"] if row["state"] == "running" and row["worker_id"] in workers]
    wrong = [
        _wrong_start(
            running,
            [row for row in queued if (row["location_id"], row["snapshot_id"]) in pins | set(more)],
            taken,
            before,
        )
        for more in chain.from_iterable(combinations(sorted(others), n) for n in range(len(others) + 1))
    ]  # which versions are served stands in no table
    assert None in wrong, wrong[0]


def _wrong_start(running: Sequence[Row], queued: Sequence[Row], taken: set[int], before: Tables) -> str | None:
    """The naive choice of as many as were taken, where somebody was left behind."""
    if len(queued) == len(taken):
        return None
    lanes = {row["name"]: row for row in before["lane"]}
    waiting = {row["lane"] for row in queued}
    held = Counter(party(row) for row in running)
    size = len(taken) + sum(n for (lane, _), n in held.items() if lane in waiting)
    as_slots = [row | {"pool_set": '[["worker",1]]'} for row in queued]
    line = Line({"worker": size}, lanes, {"worker": held}, as_slots)
    left = list(as_slots)
    chosen: set[int] = set()
    while len(chosen) < len(taken):
        row = min(left, key=lambda row: (line.standing(row), place(row)))
        left.remove(row)
        line.take(row)
        chosen.add(row["id"])
    return None if chosen == taken else f"tasks {sorted(taken)} were taken, {sorted(chosen)} stood before them"


FAIRNESS: dict[str, Callable[[Tables, Tables], None]] = {
    "nobody overtakes a reserved pool": _no_overtaking,
    "a lane exceeds its due by less than a task": _bounded,
    "a worker starts in line": _started_in_line,
}
