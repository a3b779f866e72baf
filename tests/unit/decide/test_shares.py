"""Shares of lanes and keys: admission against a naive reading of the rule, what is due, what is kept, the choice of a worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.duties.duty_world import START
from tests.unit.store.tasks import a_task

from partita.core.decide.admit import Admission, admit
from partita.core.decide.shares import Line, choose, fair_key, lines_of
from partita.core.store.values import (
    PRIORITY_WORTH_S,
    BackfillId,
    Lane,
    Party,
    Pool,
    PoolUse,
    Task,
    TaskId,
    WaitReason,
    read_of_each,
)

LANES = {lane.name: lane for lane in (Lane("interactive", 4, 0.3), Lane("scheduled", 2), Lane("backfill", 1))}
ONE = (PoolUse("p", 1),)


def _task(task_id: int, lane: str = "interactive", key: str = "", **changes: object) -> Task:
    values = {"pools": ONE, "ready_at": START} | changes
    return a_task(id=TaskId(task_id), lane=lane, fair_key=key, **values)


def _admit(
    tasks: Sequence[Task],
    slots: Mapping[str, int],
    held: Mapping[str, Mapping[Party, int]],
    lanes: Mapping[str, Lane] = LANES,
    limit: int = 500,
) -> Admission:
    pools = {name: Pool(name, n) for name, n in slots.items()}
    queues = lines_of(sorted(tasks, key=_place), dict.fromkeys((task.needs for task in tasks), 1_000))
    return admit(queues, pools, {name: held.get(name, {}) for name in slots}, lanes, limit=limit, now=START)


def _place(task: Task) -> tuple[float, int, int]:
    assert task.ready_at is not None
    seconds = (task.ready_at - START) // timedelta(seconds=1)
    return (seconds - PRIORITY_WORTH_S * task.priority, -task.critical_path, task.id)


# ------------------------------------------------------------------------------------------------- a naive reading
@dataclass
class _Naive:
    """The rule of admission, read out loud: everything is looked at again before every step."""

    lanes: Mapping[str, Lane]
    slots: Mapping[str, int]
    held: dict[str, Counter[Party]]
    tasks: list[Task]

    def __post_init__(self) -> None:
        self.waiting = {name: {t.party for t in self.tasks for u in t.pools if u.name == name} for name in self.slots}

    def of_lane(self, pool: str, lane: str) -> int:
        return sum(n for party, n in self.held[pool].items() if party.lane == lane)

    def due(self, pool: str, lane: str) -> float:
        weights = sum(self.lanes[name].weight for name in {party.lane for party in self.waiting[pool]})
        return self.slots[pool] * self.lanes[lane].weight / weights

    def standing(self, task: Task) -> tuple[bool, bool]:
        lane_has, key_has = False, False
        for use in task.pools:
            due, keys = self.due(use.name, task.lane), sum(p.lane == task.lane for p in self.waiting[use.name])
            lane_has |= self.of_lane(use.name, task.lane) >= due - 1e-9
            key_has |= self.held[use.name][task.party] >= due / keys - 1e-9
        return lane_has, key_has

    def own(self, pool: str, lane: str) -> int:
        return max(0, int(self.lanes[lane].reserved * self.slots[pool] + 1e-9) - self.of_lane(pool, lane))

    def kept(self, pool: str, lane: str) -> int:
        return sum(self.own(pool, other) for other in self.lanes if other != lane)

    def free(self, pool: str) -> int:
        return self.slots[pool] - sum(self.held[pool].values())

    def most(self, pool: str, lane: str) -> int:
        others = (int(one.reserved * self.slots[pool] + 1e-9) for one in self.lanes.values() if one.name != lane)
        return self.slots[pool] - sum(others)

    def run(self, limit: int) -> list[int]:
        admitted: list[int] = []
        shut: set[str] = set()
        blocked: set[tuple[object, Party]] = set()
        left = list(self.tasks)
        while left and len(admitted) < limit:
            task = min(left, key=lambda t: (self.standing(t), _place(t)))
            left.remove(task)
            room = {use.name: self.free(use.name) - self.kept(use.name, task.lane) >= use.slots for use in task.pools}
            open_to = all(u.name not in shut or self.own(u.name, task.lane) >= u.slots for u in task.pools)
            if (task.pools, task.party) not in blocked and all(room.values()) and open_to:
                admitted.append(task.id)
                for use in task.pools:
                    self.held[use.name][task.party] += use.slots
                continue
            blocked.add((task.pools, task.party))
            if all(use.slots <= self.most(use.name, task.lane) for use in task.pools):
                shut |= {name for name, fits in room.items() if not fits}
        return admitted


@st.composite
def _worlds(draw: st.DrawFn) -> tuple[list[Task], dict[str, int], dict[str, Counter[Party]]]:
    names = ["a", "b", "c"]
    parties = [Party(lane, key) for lane in LANES for key in ("x", "y")]
    slots = {name: draw(st.integers(0, 9)) for name in names}
    held = {name: Counter(draw(st.dictionaries(st.sampled_from(parties), st.integers(1, 3)))) for name in names}
    tasks = []
    for task_id in range(1, draw(st.integers(1, 14)) + 1):
        uses = draw(st.dictionaries(st.sampled_from(names), st.integers(1, 3), min_size=1, max_size=2))
        party = draw(st.sampled_from(parties))
        tasks.append(
            _task(
                task_id,
                party.lane,
                party.key,
                pools=tuple(PoolUse(name, n) for name, n in sorted(uses.items())),
                priority=draw(st.integers(0, 2)),
                critical_path=draw(st.integers(0, 1)),
                ready_at=START + timedelta(seconds=draw(st.integers(0, 150))),
            )
        )
    return tasks, slots, held


@given(_worlds(), st.integers(0, 20))
def test_admission_shares_pools_as_the_rule_says_and_never_over(
    world: tuple[list[Task], dict[str, int], dict[str, Counter[Party]]], limit: int
) -> None:
    """S-141, S-146, S-149, S-196."""
    tasks, slots, held = world
    admission = _admit(tasks, slots, held, limit=limit)
    naive = _Naive(LANES, slots, {name: Counter(parties) for name, parties in held.items()}, tasks)
    expected = naive.run(limit)
    assert [task.id for task, _ in admission.admitted] == expected
    assert all(naive.free(name) >= 0 or sum(held[name].values()) > slots[name] for name in slots)
    waiting = {task.id for task, _ in admission.explained}
    assert not waiting & set(expected)
    if not admission.more:
        assert waiting | set(expected) == {task.id for task in tasks}


# ------------------------------------------------------------------------------------------------- what people see
def test_lanes_that_wait_get_slots_by_their_weights() -> None:
    tasks = [_task(n, lane) for n, lane in enumerate(["backfill"] * 30 + ["interactive"] * 30, start=1)]
    got = Counter(
        task.lane
        for task, _ in _admit(
            tasks, {"p": 10}, {}, {"interactive": Lane("interactive", 4), "backfill": Lane("backfill")}
        ).admitted
    )
    assert got == {"interactive": 8, "backfill": 2}


def test_what_a_lane_does_not_want_others_may_have() -> None:
    admission = _admit(
        [_task(n, "backfill") for n in range(1, 12)], {"p": 10}, {}, {"interactive": Lane("interactive", 4)}
    )
    assert len(admission.admitted) == 10


def test_a_lane_that_comes_late_is_first_at_what_comes_free() -> None:
    """The backfill holds everything and waits with older tasks: of what it gives back, nothing goes to it before the others have
    their part."""
    tasks = [
        *(_task(n, "backfill") for n in range(1, 9)),
        *(_task(n, "scheduled", ready_at=START + timedelta(hours=1)) for n in range(10, 20)),
    ]
    lanes = {"scheduled": Lane("scheduled", 4), "backfill": Lane("backfill")}
    admission = _admit(tasks, {"p": 10}, {"p": {Party("backfill", ""): 7}}, lanes)
    assert [task.lane for task, _ in admission.admitted] == ["scheduled"] * 3
    reasons = {task.lane: update for task, update in admission.explained}
    assert reasons["scheduled"].reason is WaitReason.POOL_FULL
    assert reasons["backfill"].reason is WaitReason.LANE
    assert reasons["backfill"].reason_detail == {
        "lane": "backfill", "pool": "p", "slots": 10, "held": 7, "share": 2, "wants": 1,
    }  # fmt: skip


def test_a_small_part_of_a_small_pool_is_one_slot_and_is_told_so() -> None:
    lanes = {"interactive": Lane("interactive", 4), "backfill": Lane("backfill")}
    tasks = [*(_task(n, "backfill") for n in range(1, 9)), *(_task(n, "interactive") for n in range(10, 20))]
    admission = _admit(tasks, {"p": 3}, {}, lanes)
    assert Counter(task.lane for task, _ in admission.admitted) == {"interactive": 2, "backfill": 1}
    waits = next(update for task, update in admission.explained if task.lane == "backfill")
    assert waits.reason_detail == {"lane": "backfill", "pool": "p", "slots": 3, "held": 1, "share": 1, "wants": 1}


def test_what_is_reserved_for_a_lane_nobody_else_has() -> None:
    lanes = {"interactive": Lane("interactive", 1, 0.3), "backfill": Lane("backfill")}
    admission = _admit([_task(n, "backfill") for n in range(1, 12)], {"p": 10}, {}, lanes)
    assert len(admission.admitted) == 7
    _, waits = admission.explained[0]
    assert waits.reason is WaitReason.LANE
    assert waits.reason_detail == {"lane": "backfill", "pool": "p", "slots": 10, "held": 7, "share": 7, "wants": 1}
    late = _admit([_task(99)], {"p": 10}, {"p": {Party("backfill", ""): 7}}, lanes)
    assert [task.id for task, _ in late.admitted] == [99]


def test_the_cap_of_an_asset_is_no_capacity_that_lanes_share() -> None:
    pools = (PoolUse("asset:a", 1),)
    lanes = {"interactive": Lane("interactive", 1, 0.9), "backfill": Lane("backfill")}
    assert len(_admit([_task(1, "backfill", pools=pools)], {"asset:a": 1}, {}, lanes).admitted) == 1


def test_keys_of_a_lane_get_even_parts() -> None:
    """S-238: one team's thousand tasks do not put off the three of another."""
    tasks = [*(_task(n, key="by:ada") for n in range(1, 100)), *(_task(n, key="by:bob") for n in range(100, 103))]
    got = Counter(task.fair_key for task, _ in _admit(tasks, {"p": 10}, {}).admitted)
    assert got == {"by:ada": 7, "by:bob": 3}


def test_a_big_task_keeps_a_pool_shut_for_every_lane() -> None:
    """ "Nobody overtakes a reserved pool" holds across lanes, whatever they are due."""
    big = _task(1, "backfill", pools=(PoolUse("p", 3),))
    small = [_task(n, "scheduled", ready_at=START + timedelta(seconds=9)) for n in range(2, 9)]
    held = {"p": {Party("scheduled", ""): 1}}
    lanes = {"scheduled": Lane("scheduled"), "backfill": Lane("backfill")}
    admission = _admit([big, *small], {"p": 3}, held, lanes)
    assert admission.admitted == ()
    _, behind = admission.explained[-1]
    assert behind.reason_detail is not None
    assert behind.reason_detail["behind_task"] == 1


def test_whoever_waits_long_enough_goes_before_a_higher_priority() -> None:
    old = _task(2, ready_at=START)
    young = _task(1, priority=2, ready_at=START + timedelta(seconds=2 * PRIORITY_WORTH_S + 1))
    younger = young._replace(ready_at=START + timedelta(seconds=2 * PRIORITY_WORTH_S - 1))
    assert [task.id for task, _ in _admit([young, old], {"p": 1}, {}).admitted] == [2]
    assert [task.id for task, _ in _admit([younger, old], {"p": 1}, {}).admitted] == [1]


def test_of_equals_the_longer_chain_goes_first() -> None:
    """S-149."""
    tasks = [_task(1, critical_path=1), _task(2, critical_path=5, ready_at=START + timedelta(milliseconds=900))]
    assert [task.id for task, _ in _admit(tasks, {"p": 1}, {}).admitted] == [2]


def test_a_queue_of_which_more_is_not_known_ends_the_visit() -> None:
    """Else others would go before those of it that were not read."""
    known = Line(ONE, Party("interactive", "x"), (_task(1, key="x"),), whole=False)
    other = Line(ONE, Party("interactive", "y"), tuple(_task(n, key="y") for n in range(2, 9)))
    admission = admit([known, other], {"p": Pool("p", 9)}, {"p": {}}, LANES, limit=500, now=START)
    assert [task.id for task, _ in admission.admitted] == [1]
    assert admission.more


# ------------------------------------------------------------------------------------------------- the choice of a worker
def test_a_worker_shares_its_own_slots() -> None:
    """Deep queues of a backfill do not put off what comes later: eight of its tasks run, and the next slot is for the nightly."""
    tasks = [*(_task(n, "backfill") for n in range(1, 100)), *(_task(n, "scheduled") for n in range(100, 103))]
    lanes = {"scheduled": Lane("scheduled", 4), "backfill": Lane("backfill")}
    assert [task.lane for task in choose(tasks, {Party("backfill", ""): 7}, lanes, 1)] == ["scheduled"]
    assert Counter(task.lane for task in choose(tasks, {}, lanes, 8)) == {"backfill": 5, "scheduled": 3}


def test_with_one_lane_a_worker_starts_in_order() -> None:
    tasks = [_task(1), _task(2, priority=1), _task(3, critical_path=2)]
    assert [task.id for task in choose(tasks, {}, {}, 2)] == [2, 3]


@pytest.mark.parametrize(
    ("cause", "owner", "backfill", "key"),
    [
        ({"kind": "cli", "by": "ada"}, "team:ops", 7, "backfill:7"),
        ({"kind": "api", "by": "ada"}, "team:ops", None, "by:ada"),
        ({"kind": "schedule", "by": "nightly"}, "team:ops", None, "owner:team:ops"),
        ({"kind": "eager"}, "", None, ""),
        ({"kind": "cli", "by": ""}, "team:ops", None, "owner:team:ops"),
    ],
)
def test_the_key_is_what_people_expect_to_share_by(
    cause: Mapping[str, str], owner: str, backfill: int | None, key: str
) -> None:
    assert fair_key(cause, owner, None if backfill is None else BackfillId(backfill)) == key


@given(st.integers(1, 600), st.integers(1, 600))
def test_many_parties_do_not_make_a_visit_read_much_more(limit: int, parties: int) -> None:
    each = read_of_each(limit, parties)
    assert 1 <= each <= limit
    assert each * parties >= limit
    assert each * parties <= max(2 * limit + parties, 8 * parties)
