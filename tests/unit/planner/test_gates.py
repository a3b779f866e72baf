"""Gates instead of edge explosions: which sets get one, what is counted, and that nobody could tell from the outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.duties.duty_world import PIN, report
from tests.unit.duties.duty_world import World as Duties

from partita.assets import All, Hourly, PartitionSet, Rolling, TimePartitions
from partita.core.duties.admit import admit
from partita.core.duties.launch import launch
from partita.core.duties.runs import fold_tallies
from partita.core.duties.values import Launch
from partita.core.duties.values_attempts import CellOutcome
from partita.core.planner import gates as module
from partita.core.planner import plan_tasks, to_launch
from partita.core.planner.gates import (
    SMALLEST_BLOCK,
    Bundle,
    Gates,
    Wait,
    aligned,
    choose_gates,
    is_block,
    size,
    without,
)
from partita.core.store.values import AttemptOutcome

FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
RULES = ("all_success", "all_done", "none_failed", "none_skipped")


def _hours(n: int) -> TimePartitions:
    end = datetime(2020, 1, 1) + timedelta(hours=n)  # noqa: DTZ001 - a local wall time
    return Hourly("2020-01-01", end=end.isoformat(timespec="minutes"), tz="UTC")


def bundles() -> st.SearchStrategy[Bundle]:
    spans = st.tuples(st.integers(0, 60), st.integers(1, 40)).map(lambda one: (one[0], one[0] + one[1]))
    return st.lists(spans, min_size=1, max_size=3).map(lambda found: PartitionSet.from_ranges(found).ranges)


@given(start=st.integers(0, 5000), length=st.integers(0, 5000))
def test_a_run_is_cut_into_aligned_powers_of_two(start: int, length: int) -> None:
    pieces = list(aligned(start, start + length))
    assert [one for first, stop in pieces for one in range(first, stop)] == list(range(start, start + length))
    assert all((stop - first) & (stop - first - 1) == 0 and first % (stop - first) == 0 for first, stop in pieces)
    assert len(pieces) <= 2 * max(length, 1).bit_length()


@given(bundle=bundles(), position=st.integers(0, 100))
def test_a_set_without_a_position(bundle: Bundle, position: int) -> None:
    left = without(bundle, position)
    assert set(_positions(left)) == set(_positions(bundle)) - {position}
    assert left == PartitionSet.from_ranges(left).ranges


@given(
    waits=st.lists(st.builds(Wait, st.sampled_from([*RULES, "one_success"]), bundles(), st.booleans()), min_size=1),
    tasks=st.integers(1, 60),
)
def test_parts_come_to_the_set_and_to_nothing_else(waits: list[Wait], tasks: int) -> None:
    """Against a count by brute force: every position of the set is reached, each gate on the way has the task's rule."""
    gates = choose_gates(waits, tasks)
    for wait in waits:
        loose, inner = gates.parts(wait)
        assert set(loose).union(*(_reached(gates, one, wait) for one in inner)) == set(_positions(wait.bundle))
        if wait.rule == "one_success":
            assert not inner, "it holds of a whole without holding of its parts"


def _reached(gates: Gates, gate: Wait, behind: Wait) -> set[int]:
    assert (gate.rule, gate.own) == (behind.rule, behind.own)
    loose, inner = gates.inside(gate)
    assert all(size(one.bundle) < size(gate.bundle) for one in inner), "ids rise: a gate is made of smaller ones"
    return set(loose).union(*(_reached(gates, one, behind) for one in inner))


def _positions(bundle: Bundle) -> list[int]:
    return [one for start, stop in bundle for one in range(start, stop)]


def test_a_thin_plan_has_no_gates() -> None:
    assert choose_gates([Wait("all_success", ((0, 4),))] * 4, 4) == Gates(frozenset(), blocks=False)
    assert is_block(Wait("all_success", ((8, 8 + SMALLEST_BLOCK),)))
    assert not is_block(Wait("all_success", ((2, 2 + SMALLEST_BLOCK),)))


@pytest.mark.parametrize("window", [8, 30, 100, 1000])
def test_rolling_windows_cost_about_the_same_however_wide(window: int, world: Any, asset_of: Any) -> None:
    """DESIGN section 6: edges are rows only up to a mean of about four a task; 2,000 windows of 1,000 would be two million."""
    hours = _hours(2000)
    made = world(
        [asset_of("a", hours), asset_of("b", hours, {"a": (hours, Rolling(n=window, unit="hours", edge="clip"))})]
    )
    tasks = plan_tasks(made.plan(), made.catalog)
    assert sum(not task.gate for task in tasks) == 4000
    assert sum(task.gate for task in tasks) < 2000
    assert sum(len(task.upstream) for task in tasks) < 6 * len(tasks)
    assert all(up < place for place, task in enumerate(tasks) for up in task.upstream)


def test_newest_first_turns_the_partitions_round_and_keeps_the_waves(world: Any, asset_of: Any) -> None:
    hours = _hours(5)
    made = world([asset_of("a", hours), asset_of("b", hours, {"a": (hours, All())})])
    found = made.plan()
    newest = [
        (task.assets, task.cells.first) for task in plan_tasks(found, made.catalog, newest_first=True) if task.cells
    ]
    assert newest == [*((("a",), n) for n in range(4, -1, -1)), *((("b",), n) for n in range(4, -1, -1))]
    assert [task.cells.first for task in plan_tasks(found, made.catalog)[:5]] == [0, 1, 2, 3, 4]


@given(
    seed=st.integers(0, 2**32),
    n=st.integers(10, 30),
    window=st.integers(5, 20),
    rule=st.sampled_from(RULES),
    own=st.booleans(),
)
@settings(suppress_health_check=FIXTURES, max_examples=40, deadline=None)
def test_nobody_can_tell_from_the_outcome_that_there_were_gates(
    seed: int, n: int, window: int, rule: str, own: bool, world: Any, asset_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same outcomes of the same attempts end every task in the same state with edges alone and with gates."""
    hours, wide = _hours(n), Rolling(n=window, unit="hours", edge="clip")
    inputs = {"a": (hours, wide)} | ({"b": (hours, wide)} if own else {})
    made = world([asset_of("a", hours), asset_of("b", hours, inputs, trigger_rule=rule)])
    found = made.plan()
    gated = to_launch(found, made.catalog, cause={})
    with monkeypatch.context() as patched:
        patched.setattr(module, "MEAN_EDGES", 10**9)
        plain = to_launch(found, made.catalog, cause={})
    assert all(task.kind == "step" for task in plain.tasks)
    assert _ends(gated, seed) == _ends(plain, seed)


def _ends(asked: Launch, seed: int) -> dict[tuple[int, str], str]:
    """Runs it to its end; what becomes of an attempt depends on its cell alone."""
    duties = Duties()
    location, snapshot = PIN
    tasks = [
        task if task.kind == "gate" else replace(task, location_id=location, snapshot_id=snapshot)
        for task in asked.tasks
    ]
    made = launch(duties.store, replace(asked, tasks=tuple(tasks), pins=(PIN,), schemes={}))
    while True:
        admit(duties.store)
        claimed = duties.claims().claimed
        if not claimed:
            break
        duties.finish(*(_outcome(one, seed) for one in claimed))
    fold_tallies(duties.store)
    assert duties.run_state(made.run_id) != "running"
    cells = {row["task_id"]: (row["asset_id"], row["partition"]) for row in duties.rows("task_cell")}
    return {cells[row["id"]]: row["state"] for row in duties.rows("task") if row["kind"] == "step"}


def _outcome(claimed: Any, seed: int) -> Any:
    cells: Sequence[Any] = claimed.cells
    chosen = Random(f"{seed} {cells[0].cell}").random()
    if chosen < 0.06:
        return report(claimed, AttemptOutcome.FAILED, error="told to")
    if chosen < 0.12:
        return report(claimed, AttemptOutcome.SKIPPED, kinds={own.cell: CellOutcome.SKIPPED for own in cells})
    return report(claimed)
