"""How long a plan may take: the simulation, the numbers of slots, the chain that is the floor, and the words for it."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.planner.conftest import World, spec
from tests.unit.planner.test_kept import FIXTURES, NAMES, graphs

from partita.assets import AssetSpec, Daily, PartitionsDef, SingleBatchSpec, TimeOverlap, UpToBatchSpec
from partita.core.planner import Durations, PlanTask, PoolLoad, Work, critical_path, makespan, plan_tasks
from partita.core.planner.estimate import shared_out, slot_counts
from partita.core.planner.longest import OnChain, longest_chain
from partita.core.planner.simulate import simulate

DAYS = Daily("2024-01-01", end="2024-01-15")


def test_waves_and_critical_path_of_the_worked_graph() -> None:
    """S-102: list_files 1, load_dim 4, process 3, join 2, report 1: the floor is 7."""
    work = [Work(1), Work(4), Work(3, (0,)), Work(2, (2, 1)), Work(1, (3,))]
    assert critical_path(work) == ((0, 2, 3, 4), 7.0)
    assert makespan(work, 100) == 7.0


@pytest.mark.parametrize(("slots", "expected"), [(1, 26), (2, 16), (4, 10), (8, 7)])
def test_makespan_with_six_files_mapped(slots: int, expected: int) -> None:
    """S-152, S-103: 26 minutes with one slot, 16 with two, 10 with four, 7 with eight; the floor is 7."""
    files = [Work(3, (0,)) for _ in range(6)]
    work = [Work(1), Work(4), *files, Work(2, (1, *range(2, 8))), Work(1, (8,))]
    assert makespan(work, slots) == expected


def test_a_pool_holds_back_only_what_needs_it() -> None:
    work = [Work(5, (), (("db", 1),)), Work(5, (), (("db", 1),)), Work(5)]
    assert makespan(work, 3, {"db": 1}) == 10
    assert makespan(work, 3, {"db": 2}) == 5
    assert makespan([Work(5, (), (("db", 9),))], 1, {"db": 2}) == 5


def test_a_gate_takes_no_slot() -> None:
    """The only slot is busy; the gate passes on what it counts at once, so that the long task follows without a gap."""
    work = [Work(1), Work(4), Work(0, (0,), slot=False), Work(2, (2,))]
    assert simulate(work, 2).makespan_s == 4
    assert simulate([Work(0, slot=False)], 1) == simulate([], 1)


def test_no_slots_never_end() -> None:
    with pytest.raises(ValueError, match="0 slots"):
        makespan([Work(1)], 0)


@st.composite
def works(draw: st.DrawFn) -> list[Work]:
    found: list[Work] = []
    for index in range(draw(st.integers(1, 12))):
        above = draw(st.sets(st.integers(0, index - 1), max_size=3)) if index else set()
        pool = draw(st.sampled_from([(), (("p", 1),), (("p", 2), ("q", 1))]))
        found.append(Work(draw(st.integers(0, 5)), tuple(sorted(above)), pool))
    return found


def naive(work: list[Work], slots: int, pools: dict[str, int]) -> float:
    """The same schedule by looking at everything at every instant."""
    needs = [[(name, min(n, pools[name])) for name, n in one.pools] for one in work]
    started: dict[int, float] = {}
    ended: dict[int, float] = {}
    now = 0.0
    while len(ended) < len(work):
        for index, one in enumerate(work):
            running = [at for at in started if at not in ended]
            free = all(pools[name] - sum(m for at in running for p, m in needs[at] if p == name) >= n
                       for name, n in needs[index])  # fmt: skip
            if index not in started and all(up in ended for up in one.upstream) and free and len(running) < slots:
                started[index] = now
        now = min(started[at] + work[at].duration_s for at in started if at not in ended)
        ended.update((at, now) for at in started if at not in ended and started[at] + work[at].duration_s <= now)
    return now


@given(work=works(), slots=st.integers(1, 5), p=st.integers(1, 3))
def test_the_simulation_is_the_naive_schedule(work: list[Work], slots: int, p: int) -> None:
    pools = {"p": p, "q": 1}
    found = simulate(work, slots, pools)
    assert found.makespan_s == naive(work, slots, pools)
    assert found.most_at_once <= slots


@given(work=works(), p=st.integers(1, 3))
def test_the_bounds_hold_for_every_number_of_slots(work: list[Work], p: int) -> None:
    """Never under the critical path, nor under the work shared out evenly; enough slots reach what no limit gives."""
    pools = {"p": p, "q": 1}
    floor = critical_path(work)[1]
    total = sum(one.duration_s for one in work)
    free = simulate(work, len(work))
    assert free.makespan_s == floor
    assert simulate(work, free.most_at_once).makespan_s == floor
    assert makespan(work, 1, pools) == total
    for slots in range(1, len(work) + 1):
        assert max(floor, total / slots) - 1e-9 <= makespan(work, slots, pools) <= total


@given(most=st.integers(1, 100_000), slots=st.integers(0, 500), tasks=st.integers(1, 200_000))
def test_the_numbers_of_slots_rise_from_one_to_the_most(most: int, slots: int, tasks: int) -> None:
    counts = slot_counts(most, slots, tasks)
    assert counts[0] == 1
    assert counts[-1] == most
    assert min(max(1, slots), most) in counts
    assert all(low < high for low, high in pairwise(counts))
    assert len(counts) * tasks <= 30_000 + 4 * tasks


def test_an_estimate_has_a_basis_or_is_none(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS, pools=({"name": "one"},)), asset_of("b", DAYS, {"a": (DAYS, None)})])
    made.cells.pool_loads["default"] = PoolLoad(128, 0)
    assert made.plan().estimate is None
    made.cells.slots = 4
    assert made.plan().estimate is None
    made.cells.history[made.catalog.asset("a").step] = Durations(10.0, 5)
    made.cells.pool_loads["one"] = PoolLoad(1, 1)
    found = made.plan().estimate
    assert found is not None
    assert (found.critical_s, found.makespan_s, found.sample_size, found.unknown) == (20.0, 150.0, 5, ("b",))
    assert found.critical_path == ("a", "b")
    assert [(part.assets, list(part.cells), part.duration_s) for part in found.critical] == [
        (("a",), [0], 10.0),
        (("b",), [0], 10.0),
    ]
    assert found.bound_pool == "one"
    assert [(one.slots, one.makespan_s) for one in found.by_slots] == [(1, 280.0), (2, 150.0)]
    assert found.basis == "mean of 5 earlier attempts, 4 at once; b never ran"
    assert [(one.name, one.slots, one.held, one.wanted) for one in made.plan().pools] == [
        ("default", 128, 0, 14),
        ("one", 1, 1, 14),
    ]


def test_without_a_worker_the_time_is_that_of_one_slot(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS)])
    made.cells.pool_loads["default"] = PoolLoad(128, 0)
    made.cells.history[made.catalog.asset("a").step] = Durations(10.0, 1)
    found = made.plan().estimate
    assert (found.makespan_s, found.floor_s, found.critical_s, found.bound_pool) == (140.0, 10.0, 10.0, None)
    assert [(one.slots, one.makespan_s) for one in found.by_slots] == [(1, 140), (2, 70), (4, 40), (8, 20), (14, 10)]
    assert found.enough_slots == 14
    assert found.basis == "mean of 1 earlier attempt, no worker is up"


def test_a_chain_along_a_self_dependency_is_one_part(world: Any, asset_of: Any) -> None:
    own = TimeOverlap(-1, -1)
    made = world([asset_of("a", DAYS), asset_of("s", DAYS, {"a": (DAYS, None), "s": (DAYS, own)})])
    made.cells.slots = 8
    made.cells.pool_loads["default"] = PoolLoad(128, 0)
    for key, s in (("a", 3.0), ("s", 1.0)):
        made.cells.history[made.catalog.asset(key).step] = Durations(s, 2)
    planned = made.plan()
    assert [(part.assets, part.tasks, part.cells.ranges, part.duration_s) for part in planned.estimate.critical] == [
        (("a",), 1, ((0, 1),), 3.0),
        (("s",), 14, ((0, 14),), 14.0),
    ]
    assert planned.estimate.critical_s == 17.0
    assert sum(len(task.upstream) for task in plan_tasks(planned, made.catalog)) == 14 + 13


@given(work=works(), slots=st.integers(1, 5))
def test_work_shared_out_evenly_is_under_the_simulation_by_less_than_the_chain(work: list[Work], slots: int) -> None:
    """What a very large plan is told instead (Graham's bound)."""
    floor = critical_path(work)[1]
    for one in shared_out([(one, 1) for one in work], slots, {}, floor):
        assert one.makespan_s - 1e-9 <= makespan(work, one.slots) <= one.makespan_s + floor + 1e-9
    assert shared_out([(Work(1.0), 70_000)], 7, {"p": 4}, 1.0)[-1].slots == 70_000
    assert shared_out([(Work(1.0, (), (("p", 1),)), 8)], 7, {"p": 4}, 1.0)[-1].makespan_s == 2.0


@st.composite
def plans(draw: st.DrawFn) -> tuple[World, list[float]]:
    """A plan of everything, cut into tasks of some cells, and how long a task of each step takes."""
    specs: list[AssetSpec] = []
    schemes: list[PartitionsDef | None] = []
    for at, (scheme, inputs) in enumerate(draw(graphs())):
        n = draw(st.integers(1, 3))
        batch = UpToBatchSpec(n=n) if n > 1 and scheme is not None else SingleBatchSpec()
        schemes.append(scheme)
        above = {NAMES[up]: (schemes[up], mapping) for up, mapping in inputs.items()}
        specs.append(spec(NAMES[at], scheme, above, batch=batch))
    return World(specs), [draw(st.integers(0, 4)) * 0.5 for _ in specs]


@given(drawn=plans())
@settings(suppress_health_check=FIXTURES, max_examples=150)
def test_the_longest_chain_of_arrays_is_that_of_tasks(drawn: tuple[World, list[float]]) -> None:
    made, durations = drawn
    found = made.plan()
    seconds = {step.step: took for step, took in zip(found.steps, durations, strict=False)}
    tasks = plan_tasks(found, made.catalog)
    work = [Work(0.0 if one.step is None else seconds[one.step], one.upstream) for one in tasks]
    chain, length = longest_chain(found, made.catalog, seconds)
    assert length == critical_path(work)[1]
    assert sum(seconds[one.step] for one in chain) == length
    place = {(one.step, one.cells): at for at, one in enumerate(tasks) if one.step is not None}
    for one, two in pairwise(chain):
        assert place[one.step, one.cells] in _above(tasks, place[two.step, two.cells]), "each waits for the one before"


def _above(tasks: list[PlanTask], at: int) -> set[int]:
    """What a task waits for, through gates."""
    found: set[int] = set()
    waiting = list(tasks[at].upstream)
    while waiting:
        one = waiting.pop()
        found.add(one)
        waiting += tasks[one].upstream if tasks[one].gate else ()
    return found


def test_a_large_plan_is_estimated_without_its_tasks(
    world: Any, asset_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the arrays say is what the tasks say, to the pool that is the limit."""
    made = world(
        [asset_of("a", DAYS, pools=({"name": "one"},)), asset_of("b", DAYS, {"a": (DAYS, TimeOverlap(-1, 0))})]
    )
    made.cells.pool_loads |= {"default": PoolLoad(128, 0), "one": PoolLoad(1, 0)}
    made.cells.history[made.catalog.asset("a").step] = Durations(10.0, 5)
    estimates = import_module("partita.core.planner.estimate")  # the package has the function under this name
    monkeypatch.setattr(estimates, "EVEN_ABOVE_TASKS", 20)
    large = made.plan().estimate
    with monkeypatch.context() as by_tasks:
        by_tasks.setattr(estimates, "longest_chain", _by_tasks)
        assert made.plan().estimate == large
    assert (large.critical_s, large.bound_pool, large.critical_path) == (20.0, "one", ("a", "b"))


def _by_tasks(plan: Any, catalog: Any, seconds: Any) -> Any:
    tasks = plan_tasks(plan, catalog)
    path, length = critical_path([Work(seconds.get(one.step, 0.0), one.upstream) for one in tasks])
    chain = [OnChain(one.step, one.assets, one.cells) for at in path if (one := tasks[at]).step is not None]
    return chain, length


def test_groups_in_parts_are_refused(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS)])
    found = made.plan()
    twice = replace(found, steps=(*found.steps, *found.steps))
    with pytest.raises(ValueError, match="in parts"):
        longest_chain(twice, made.catalog, {found.steps[0].step: 1.0})
