"""Launches over the in-memory store: who owns a cell, who joins, who waits, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.duties.duty_world import SNAPSHOT, World, gate, plan_of, report, step

from partita.core.duties.channels import Channel
from partita.core.duties.launch import LaunchRefused, launch, launch_all
from partita.core.duties.runs import fold_tallies
from partita.core.store.values import (
    AttemptOutcome,
    SnapshotId,
)


def test_a_request_joins_a_task_that_has_not_started(world: World) -> None:
    """One owner per cell; all causes are recorded; the joined run follows the owner's outcome (DESIGN section 6)."""
    first = world.launch(step(1), step(2, 0))
    second = world.launch(step(1), step(3, 0))
    assert (second.joined, second.waiting) == (1, 0)
    assert len(world.rows("open_cell")) == 3
    assert world.rows("cell_cause") == [
        {**world.rows("cell_cause")[0], "run_id": second.run_id, "task_id": first.task_ids[0], "waits": False}
    ]
    world.run_all()
    assert world.run_state(first.run_id) == world.run_state(second.run_id) == "success"
    assert len([e for e in world.events("materialized") if e["asset_id"] == 1]) == 1


def test_a_joined_failure_fails_the_joining_run_and_names_the_owner(world: World) -> None:
    first = world.launch(step(1))
    second = world.launch(step(1), step(3, 0))
    world.finish(report(world.start()["s1"], AttemptOutcome.FAILED, error="boom"))
    fold_tallies(world.store)
    assert world.run_state(first.run_id) == world.run_state(second.run_id) == "failed"
    gate_row = next(row for row in world.rows("task") if row["kind"] == "gate")
    assert gate_row["error"] == f"upstream task {first.task_ids[0]} (s1) is failed"
    assert world.of_step("s3")["state"] == "upstream_failed"


def test_a_joined_skip_skips_what_waits_for_it_and_satisfies_its_own_past(world: World) -> None:
    """DESIGN section 5 "Skip": as in the owner's run. The gate that stands for the owner has its step's name, and no past."""
    first = world.launch(step(1, partitions=["d1"]), step(2, 0, partitions=["d1"]))
    second = world.launch(
        step(1, partitions=["d1"]),
        step(1, 0, partitions=["d2"]),
        step(3, 0),
        replace(gate(0), step="s1"),
        step(1, 3, partitions=["d3"]),
    )
    world.finish(report(world.start()["s1"], AttemptOutcome.SKIPPED))
    assert world.states(first.run_id) == {"s1": "skipped", "s2": "skipped"}
    steps = [row for row in world.rows("task") if row["run_id"] == second.run_id and row["kind"] == "step"]
    assert [(row["step"], row["state"]) for row in steps] == [
        ("s1", "scheduled"),
        ("s3", "skipped"),
        ("s1", "scheduled"),
    ]
    world.run_all()
    assert world.run_state(second.run_id) == "success"


@pytest.mark.parametrize("why", ["running", "other code", "forced over conditional"])
def test_a_request_waits_for_an_owner_whose_outcome_it_cannot_take(world: World, why: str) -> None:
    """`in_progress`: recorded, and planned again at the owner's end."""
    world.launch(step(1, conditional=why == "forced over conditional"))
    task = step(1, reason="forced") if why.startswith("forced") else step(1)
    started = world.start() if why == "running" else {}
    if why == "other code":
        task = replace(task, snapshot_id=SnapshotId(SNAPSHOT + 1))
    second = world.launch(task)
    assert (second.joined, second.waiting) == (0, 1)
    finished = world.finish(report((started or world.start())["s1"]))
    assert finished.todo
    assert Channel.TODO in finished.channels
    todo = [row for row in world.rows("event_todo") if row["consumer"] == "replan"]
    assert [(row["asset_id"], row["partition"], row["run_id"]) for row in todo] == [(1, "", second.run_id)]
    assert world.rows("cell_cause") == []


def test_a_task_that_keeps_some_cells_runs_beside_the_gate_for_the_others(world: World) -> None:
    first = world.launch(step(1, partitions=["a"]))
    second = world.launch(step(1, partitions=["a", "b"]), step(2, 0))
    kept = world.of_step("s1", second.run_id)
    assert kept["cell_count"] == 1
    assert world.of_step("s2", second.run_id)["waiting_on"] == 2
    world.run_all()
    assert world.run_state(first.run_id) == world.run_state(second.run_id) == "success"
    assert world.cell(1, "a")["published_run"] == first.run_id
    assert world.cell(1, "b")["published_run"] == second.run_id


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ((), "nothing to run"),
        ((step(1, 0),), "come earlier"),
        ((step(1), step(1)), "one owner per cell"),
        ((step(1, rule="sometimes"),), "trigger rule"),
        ((step(1, partitions=[]),), "needs cells"),
        ((step(1, pools=[("backfill:7", 1)]),), "a pool of your own"),
        ((step(1, pools=[("db", 0)]),), "at least one"),
    ],
)
def test_a_launch_that_contradicts_itself_is_refused_and_changes_nothing(
    world: World, tasks: tuple[object, ...], says: str
) -> None:
    """Law 10."""
    before = world.memory.dump()
    with pytest.raises(LaunchRefused, match=says):
        launch(world.store, plan_of(*tasks))  # type: ignore[arg-type]
    assert world.memory.dump() == before


def test_steps_that_name_no_pool_take_a_slot_of_default_and_unknown_pools_are_made_of_one(world: World) -> None:
    """S-022; a pool that nobody sized is safe, visible and adjustable."""
    world.launch(step(1), step(2, pools=[("duckdb", 1)]), step(3, pools=[("duckdb", 1)]))
    started = world.start()
    assert sorted(started) == ["s1", "s2"]
    assert {row["pool"]: row["slots"] for row in world.rows("pool_slot")} == {"default": 1, "duckdb": 1}


def test_many_plans_are_launched_together_as_if_one_after_the_other(world: World) -> None:
    """A cell that two of them ask for has one owner, which the later one joins; runs come in the order of the plans."""
    plans = [plan_of(step(n), step(100 + n, 0)) for n in range(1, 9)] + [plan_of(step(3), step(200, 0))]
    made = launch_all(world.store, plans)
    assert [one.run_id for one in made] == sorted(one.run_id for one in made)
    assert [one.joined for one in made] == [0] * 8 + [1]
    assert [len(one.task_ids) for one in made] == [2] * 9  # the last: a gate for what it joined, and its own task
    world.run_all()
    assert {world.run_state(one.run_id) for one in made} == {"success"}
    assert len([event for event in world.events("materialized") if event["asset_id"] == 3]) == 1


def test_one_plan_that_contradicts_itself_refuses_all_before_anything_is_written(world: World) -> None:
    before = world.memory.dump()
    with pytest.raises(LaunchRefused, match="nothing to run"):
        launch_all(world.store, [plan_of(step(1)), plan_of()])
    assert world.memory.dump() == before
