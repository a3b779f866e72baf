"""Approvals over the in-memory store: asked before a step and in the middle of it, approved, rejected, late, stale (S-106)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.duties.duty_world import World, report, step

from partita.assets.wait_specs import APPROVAL_TRIGGER
from partita.core.decide.answers import Answer, AnswerRefused
from partita.core.decide.waits import Broken, Fired
from partita.core.duties.answers import answer_tasks
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import cancel_run, fold_tallies
from partita.core.duties.values import LaunchTask, LaunchWait
from partita.core.duties.values_attempts import Deferral
from partita.core.duties.waits import expire_waits, register_triggerer, report_waits, watch
from partita.core.store.values import AttemptOutcome, TaskId
from partita.core.store.values_waits import TriggererId, WaitKey


def asking(task: LaunchTask, *questions: str, outside: bool = False, deadline_s: float = 3600.0) -> LaunchTask:
    waits = [
        LaunchWait(APPROVAL_TRIGGER, {"question": one}, f"a person to approve: {one}", deadline_s) for one in questions
    ]
    if outside:
        waits.append(LaunchWait("m:T", {}, "file", deadline_s))
    return replace(task, waits=tuple(waits))


def shown(world: World, *, asks: bool = True) -> list[WaitKey]:
    rows = [row for row in world.rows("wait") if row["state"] == "open" and row["asks"] is asks]
    return [WaitKey(row["task_id"], row["place"], row["stint"]) for row in rows]


def say(world: World, *, approve: bool = True, note: str = "", keys: list[WaitKey] | None = None) -> Any:
    found = shown(world) if keys is None else keys
    task_ids = sorted({key.task_id for key in found})
    given = [Answer(one, approve, "ada", note, [key for key in found if key.task_id == one]) for one in task_ids]
    return answer_tasks(world.store, given)


def test_a_step_asks_before_it_starts_holds_no_slot_and_is_handed_the_answer(world: World) -> None:
    world.launch(asking(step(1), "Go?"), step(2, 0))
    task = world.of_step("s1")
    assert (task["state"], task["reason"]) == ("awaiting_input", "approval")
    assert world.rows("pool_slot") == []
    assert world.start() == {}
    say(world, note=" looked at it ")
    claimed = world.start()["s1"]
    (event,) = claimed.events
    assert event.payload == {
        "approved": True,
        "who": "ada",
        "note": "looked at it",
        "at": world.clock.now.isoformat(),
    }
    world.finish(report(claimed))
    assert world.states() == {"s1": "success", "s2": "scheduled"}
    entry = next(row for row in world.rows("audit") if row["action"] == "approve_task")
    assert (entry["who"], entry["reason"], entry["detail"]["asked"]) == (
        "ada",
        "looked at it",
        ["a person to approve: Go?"],
    )


def test_a_rejection_fails_for_good_with_its_reason_and_needs_one(world: World) -> None:
    made = world.launch(asking(step(1, retries=5), "Go?"), step(2, 0))
    with pytest.raises(AnswerRefused, match="without a reason"):
        say(world, approve=False, note="  ")
    say(world, approve=False, note="the figures are wrong")
    assert world.states() == {"s1": "failed", "s2": "upstream_failed"}
    assert world.of_step("s1")["error"] == "rejected by ada: the figures are wrong"
    assert [row["state"] for row in world.rows("wait")] == ["ended"]
    fold_tallies(world.store)
    assert world.run_state(made.run_id) == "failed"


def test_an_attempt_asks_gives_its_slot_back_and_goes_on_under_its_number(world: World) -> None:
    world.launch(step(1))
    claimed = world.start()["s1"]
    asked = Deferral(0, APPROVAL_TRIGGER, {"question": "Send?"}, "a person to approve: Send?", 60.0)
    world.finish(report(claimed, AttemptOutcome.DEFERRED, deferral=asked))
    assert world.states()["s1"] == "awaiting_input"
    assert world.rows("pool_slot") == []
    say(world)
    again = world.start()["s1"]
    assert (again.number, [event.place for event in again.events]) == (1, [0])


def test_nobody_watches_what_a_person_answers(world: World) -> None:
    world.launch(asking(step(1), "Go?"))
    one = TriggererId("one")
    register_triggerer(world.store, one, host="h", pid=1)
    pins = [(row["location_id"], row["snapshot_id"]) for row in world.rows("task")]
    assert watch(world.store, one, pins, 10).claimed == ()


def test_the_deadline_fails_a_task_that_nobody_answered(world: World) -> None:
    world.launch(asking(step(1, retries=3), "Go?", deadline_s=7200))
    world.clock.forward(7200)
    keys = shown(world)
    assert expire_waits(world.store).tasks == 1
    error = world.of_step("s1")["error"]
    assert error == (
        "it waited 2 h since 2026-01-01T00:00:00+00:00 for a person to approve: Go?, nobody answered: its deadline has passed"
    )
    with pytest.raises(AnswerRefused, match="it is failed"):
        say(world, keys=keys)


def test_after_the_answer_it_is_deferred_until_the_rest_has_come(world: World) -> None:
    world.launch(asking(step(1), "Go?", "Sure?", outside=True))
    assert world.states()["s1"] == "awaiting_input"
    say(world)
    assert (world.states()["s1"], world.of_step("s1")["reason"]) == ("deferred", "waiting_for")
    (outside,) = shown(world, asks=False)
    assert report_waits(world.store, [Fired(outside, True)]).moved == 1
    assert len(world.start()["s1"].events) == 3


def test_what_came_before_the_answer_is_kept(world: World) -> None:
    world.launch(asking(step(1), "Go?", outside=True))
    (outside,) = shown(world, asks=False)
    assert report_waits(world.store, [Fired(outside, True)]).moved == 0
    assert world.states()["s1"] == "awaiting_input"
    say(world)
    assert world.states()["s1"] == "scheduled"


def test_a_trigger_that_breaks_beside_a_question_asks_again_and_only_once_answered_no_more(world: World) -> None:
    world.launch(asking(step(1, retries=5), "Go?", outside=True))
    (outside,) = shown(world, asks=False)
    before = shown(world)
    report_waits(world.store, [Broken(outside, "no such host")])
    wake_retries(world.store)
    assert world.states()["s1"] == "awaiting_input"
    with pytest.raises(AnswerRefused, match="something else than what was shown"):
        say(world, keys=before)
    say(world)
    (outside,) = shown(world, asks=False)
    report_waits(world.store, [Broken(outside, "no such host")])
    wake_retries(world.store)
    assert world.states()["s1"] == "deferred", "a person is asked once"


def test_a_retry_after_the_answer_does_not_ask_again(world: World) -> None:
    world.launch(asking(step(1, retries=1), "Go?"))
    say(world)
    world.finish(report(world.start()["s1"], AttemptOutcome.FAILED, error="boom"))
    wake_retries(world.store)
    assert world.states()["s1"] == "scheduled"
    assert len(world.start()["s1"].events) == 1


def test_an_answer_is_whole_or_refused(world: World) -> None:
    made = world.launch(asking(step(1), "Go?"), asking(step(2), "Go?"))
    keys = shown(world)
    say(world, keys=keys[:1])
    with pytest.raises(AnswerRefused, match="it is scheduled"):
        say(world, keys=keys)
    assert world.states()["s2"] == "awaiting_input"
    cancel_run(world.store, made.run_id, "bob")
    assert world.states()["s2"] == "cancelled"
    with pytest.raises(AnswerRefused, match="it is cancelled"):
        say(world, keys=keys[1:])
    with pytest.raises(AnswerRefused, match="it is not there"):
        answer_tasks(world.store, [Answer(TaskId(999), True, "ada", "", [])])
