"""Deadlines over the in-memory store with virtual time: a miss is told once, and costs the work nothing (S-203, S-204, S-128)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.unit.duties.duty_world import START, World, report, step

from partita.core.duties.channels import Channel
from partita.core.duties.deadlines import judge_deadlines
from partita.core.duties.run_timeouts import time_out_runs
from partita.core.duties.runs import cancel_run
from partita.core.duties.values import LaunchTask


def _due(task: LaunchTask, seconds: float = 60.0) -> LaunchTask:
    return replace(task, deadline_s=seconds)


def test_a_miss_is_an_event_and_a_row_and_the_task_goes_on(world: World) -> None:
    made = world.launch(_due(step(1, partitions=["a", "b"])), step(2))
    started = world.start()
    world.clock.forward(60)
    judged = judge_deadlines(world.store)
    assert (judged.met, judged.missed, judged.channels) == (0, 2, (Channel.EVENT,))
    events = world.events("deadline_missed")
    assert [(e["partition"], e["run_id"], e["body"]["state"]) for e in events] == [
        ("a", made.run_id, "running"),
        ("b", made.run_id, "running"),
    ]
    assert {row["missed_at"] for row in world.rows("deadline")} == {START + timedelta(seconds=60)}
    assert judge_deadlines(world.store).missed == 0, "told once"
    assert world.finish(report(started["s1"])).applied, "its report is taken as any other"
    assert world.states()["s1"] == "success"


def test_it_says_what_the_task_waited_for(world: World) -> None:
    world.launch(step(1), _due(step(2, 0)))
    world.clock.forward(61)
    judge_deadlines(world.store)
    (event,) = world.events("deadline_missed")
    assert (event["body"]["state"], event["body"]["reason"]) == ("none", "upstream")


def test_what_is_there_in_time_leaves_no_trace(world: World) -> None:
    world.launch(_due(step(1)))
    world.run_all()
    assert len(world.rows("deadline")) == 1, "a completion touches no deadline"
    assert judge_deadlines(world.store).met == 0, "it is not looked at before it is due"
    world.clock.forward(3600)  # nobody looked for an hour: judged as of its instant
    assert judge_deadlines(world.store).met == 1
    assert (world.rows("deadline"), world.events("deadline_missed")) == ([], [])


def test_what_came_too_late_was_missed_however_late_somebody_looks(world: World) -> None:
    world.launch(_due(step(1)))
    started = world.start()
    world.clock.forward(61)
    world.finish(report(started["s1"]))
    assert judge_deadlines(world.store).missed == 1


def test_a_cancelled_run_misses_nothing(world: World) -> None:
    made = world.launch(_due(step(1)))
    cancel_run(world.store, made.run_id, "ada")
    world.clock.forward(61)
    assert judge_deadlines(world.store).met == 1


def test_a_run_that_timed_out_is_late_all_the_same(world: World) -> None:
    """Nobody took the request back."""
    world.launch(_due(step(1)), timeout_s=30.0)
    world.clock.forward(30)
    assert time_out_runs(world.store).runs
    world.clock.forward(30)
    assert judge_deadlines(world.store).missed == 1


def test_a_failed_cell_that_another_run_made_in_time_is_there(world: World) -> None:
    world.launch(_due(step(1)))
    world.definitions.broken[1] = RuntimeError("gone")
    world.start()
    assert world.states()["s1"] == "failed"
    world.definitions.broken.clear()
    world.launch(step(1))
    world.run_all()
    world.clock.forward(61)
    assert judge_deadlines(world.store).met == 1


def test_a_joined_cell_has_the_deadline_of_its_owner(world: World) -> None:
    world.launch(_due(step(1)))
    world.launch(_due(step(1), 10.0))
    assert len(world.rows("deadline")) == 1


def test_a_visit_is_bounded(world: World) -> None:
    world.launch(_due(step(1, partitions=["a", "b", "c"])))
    world.clock.forward(61)
    assert [judge_deadlines(world.store, 2).more for _ in range(2)] == [True, False]
    assert len(world.events("deadline_missed")) == 3
