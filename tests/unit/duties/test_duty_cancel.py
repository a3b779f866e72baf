"""Cancelling over the in-memory store: what had not started ends, what runs is asked to stop."""

from __future__ import annotations

from tests.unit.duties.duty_world import WORKER, World, report, step

from partita.core.duties.admit import admit
from partita.core.duties.leases import retire, sweep
from partita.core.duties.runs import cancel_run, cancel_tasks, fold_tallies
from partita.core.store.values import (
    AttemptOutcome,
    RunId,
)


def test_cancelling_ends_what_has_not_started_and_stops_what_runs(world: World) -> None:
    """ex-123: retries do not revive it."""
    made = world.launch(step(1, retries=3), step(2, retries=3), step(3, 0), step(4))
    started = world.start(limit=2)
    world.finish(report(started["s2"], AttemptOutcome.FAILED))
    cancel_run(world.store, made.run_id, "ada")
    assert world.states() == {"s1": "running", "s2": "cancelled", "s3": "cancelled", "s4": "cancelled"}
    world.finish(report(started["s1"], AttemptOutcome.CANCELLED))
    fold_tallies(world.store)
    assert world.run_state(made.run_id) == "cancelled"
    assert world.rows("pool_slot") == world.rows("open_cell") == []
    assert [row["action"] for row in world.rows("audit")] == ["launch", "cancel_run"]
    before = world.memory.dump()
    assert cancel_run(world.store, made.run_id, "ada").cancelled == 0
    assert world.memory.dump() == before
    assert not cancel_run(world.store, RunId(99), "ada").known


def test_work_that_finished_before_the_cancel_reached_it_is_recorded(world: World) -> None:
    """ex-124: and what was cancelled while it ran stays a cancelled run, even where all of it got done."""
    made = world.launch(step(1), step(2, 0))
    claimed = world.start()["s1"]
    cancel_run(world.store, made.run_id, "ada")
    world.finish(report(claimed))
    fold_tallies(world.store)
    assert world.states() == {"s1": "success", "s2": "cancelled"}
    assert world.run_state(made.run_id) == "cancelled"


def test_a_run_that_has_done_everything_is_not_cancelled_any_more(world: World) -> None:
    made = world.launch(step(1))
    world.finish(report(world.start()["s1"]))
    before = world.memory.dump()
    assert cancel_run(world.store, made.run_id, "ada").known
    assert world.memory.dump() == before
    fold_tallies(world.store)
    assert world.run_state(made.run_id) == "success"


def test_the_slot_of_a_cancelled_and_lost_task_is_returned(world: World) -> None:
    """ex-125."""
    made = world.launch(step(1, pools=[("one", 1)]))
    world.start()
    cancel_run(world.store, made.run_id, "ada")
    world.launch(step(2, pools=[("one", 1)]))
    retire(world.store, WORKER)
    sweep(world.store)
    assert world.of_step("s1")["state"] == "cancelled"
    assert admit(world.store).queued == 1


def test_a_run_that_joined_a_cancelled_task_hears_of_it(world: World) -> None:
    first = world.launch(step(1), step(2, 0))
    second = world.launch(step(2), step(3, 0))
    cancel_run(world.store, first.run_id, "ada")
    fold_tallies(world.store)
    assert world.run_state(second.run_id) == "failed"
    assert world.of_step("s3")["state"] == "upstream_failed"


def test_a_cancelled_task_ends_alone_and_what_needs_it_hears_of_it(world: World) -> None:
    made = world.launch(step(1), step(2, 0), step(3, 1), step(4))
    done = cancel_tasks(world.store, [world.of_step("s1")["id"]], who="ada", reason="  wrong input ")
    assert (done.cancelled, done.stopping, done.below) == (1, 0, 2)
    assert world.states() == {"s1": "cancelled", "s2": "upstream_failed", "s3": "upstream_failed", "s4": "scheduled"}
    assert "is cancelled" in world.of_step("s2")["error"]
    entry = world.rows("audit")[-1]
    assert (entry["action"], entry["who"], entry["reason"]) == ("cancel_task", "ada", "wrong input")
    assert entry["detail"] == {"tasks": [world.of_step("s1")["id"]], "runs": [made.run_id]}
    world.finish(report(world.start()["s4"]))
    fold_tallies(world.store)
    assert world.run_state(made.run_id) == "failed"


def test_a_running_task_is_asked_to_stop_and_its_run_is_cancelled_when_nothing_needed_it(world: World) -> None:
    """What it published until then is recorded as ever (ex-124)."""
    made = world.launch(step(1), step(2))
    started = world.start()
    task = world.of_step("s1")["id"]
    done = cancel_tasks(world.store, [task], who="ada")
    assert (done.cancelled, done.stopping, done.below) == (0, 1, 0)
    assert "partita_cancel" in done.channels
    before = world.memory.dump()
    assert cancel_tasks(world.store, [task], who="ada").stopping == 0, "asking twice changes nothing"
    assert world.memory.dump() == before
    world.finish(report(started["s1"], AttemptOutcome.CANCELLED), report(started["s2"]))
    fold_tallies(world.store)
    assert world.states() == {"s1": "cancelled", "s2": "success"}
    assert world.run_state(made.run_id) == "cancelled", "a run that lacks what somebody stopped has not succeeded"
    before = world.memory.dump()
    cancel_tasks(world.store, [task], who="ada")
    assert world.memory.dump() == before, "what has ended stays"
