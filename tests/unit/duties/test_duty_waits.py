"""Waits over the in-memory store with virtual time: deferred, watched, fired, lost, late (S-166 .. S-173)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.duties.duty_world import PIN, START, World, cell, report, step

from partita.core.decide.transitions import HOLDS_SLOTS
from partita.core.decide.waits import Broken, Fired
from partita.core.duties.admit import admit
from partita.core.duties.leases import pulse
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import cancel_run, fold_tallies
from partita.core.duties.values import LaunchTask, LaunchWait
from partita.core.duties.values_attempts import Claimed, Deferral
from partita.core.duties.waits import (
    expire_waits,
    meet_waits,
    register_triggerer,
    report_waits,
    sweep_triggerers,
    watch,
)
from partita.core.store.values import AttemptOutcome, Pool, TaskState
from partita.core.store.values_waits import TriggererId, WaitKey

ONE, TWO = TriggererId("one"), TriggererId("two")


def waiting(task: LaunchTask, *labels: str, deadline_s: float = 3600.0, **changes: Any) -> LaunchTask:
    waits = tuple(LaunchWait("m:T", {"of": label}, label, deadline_s, **changes) for label in labels or ("file",))
    return replace(task, waits=waits)


def deferral(label: str = "job", place: int = 0, deadline_s: float = 3600.0, **changes: Any) -> Deferral:
    return Deferral(place, "m:T", {"of": label}, label, deadline_s, **changes)


def deferred(claimed: Claimed, asked: Deferral) -> Any:
    return report(claimed, AttemptOutcome.DEFERRED, deferral=asked)


def open_keys(world: World) -> list[WaitKey]:
    rows = [row for row in world.rows("wait") if row["state"] == "open"]
    return [WaitKey(row["task_id"], row["place"], row["stint"]) for row in rows]


def fire(world: World, payload: Any = True) -> Any:
    return report_waits(world.store, [Fired(key, payload) for key in open_keys(world)])


def test_a_step_waits_before_it_starts_and_is_handed_the_events(world: World) -> None:
    """S-168."""
    world.launch(waiting(step(1), "a", "b"), step(2, 0))
    assert world.states() == {"s1": "deferred", "s2": "none"}
    assert world.of_step("s1")["reason"] == "waiting_for"
    first, second = open_keys(world)
    assert report_waits(world.store, [Fired(first, 1)]).moved == 0, "all of them must fire"
    assert report_waits(world.store, [Fired(second, {"n": 2})]).moved == 1
    claimed = world.start()["s1"]
    assert [(event.place, event.payload) for event in claimed.events] == [(-2, 1), (-1, {"n": 2})]
    assert claimed.number == 1
    world.finish(report(claimed))
    assert world.states()["s2"] == "scheduled"


def test_a_step_below_others_begins_to_wait_when_they_have_ended(world: World) -> None:
    world.launch(step(1), waiting(step(2, 0)))
    assert [row["state"] for row in world.rows("wait")] == ["dormant"]
    world.clock.forward(100)
    world.finish(report(world.start()["s1"]))
    assert world.states()["s2"] == "deferred"
    (row,) = world.rows("wait")
    assert (row["state"], row["since"]) == ("open", START + timedelta(seconds=100))
    assert row["deadline_at"] == START + timedelta(seconds=3700), "its time counts from when it could have started"


def test_a_deferred_attempt_holds_no_slot_and_goes_on_under_its_number(world: World) -> None:
    world.launch(step(1, pools=[("p", 1)]), step(2, pools=[("p", 1)]))
    first = world.start()["s1"]
    world.finish(deferred(first, deferral()))
    assert world.states()["s1"] == "deferred"
    assert [row["task_id"] for row in world.rows("pool_slot")] == []
    second = world.start()["s2"]
    world.finish(report(second))
    fire(world, "done")
    resumed = world.start()["s1"]
    assert (resumed.number, resumed.fence > first.fence) == (1, True)
    assert [event.payload for event in resumed.events] == ["done"]
    assert [row["outcome"] for row in world.rows("attempt")] == ["deferred", "success", None]
    world.finish(report(resumed, AttemptOutcome.FAILED, error="boom"))
    assert world.of_step("s1")["user_failures"] == 1


def test_a_retry_after_the_event_is_handed_it_again(world: World) -> None:
    world.launch(step(1, retries=1))
    world.finish(deferred(world.start()["s1"], deferral()))
    fire(world, "done")
    world.finish(report(world.start()["s1"], AttemptOutcome.FAILED, error="boom"))
    wake_retries(world.store)
    again = world.start()["s1"]
    assert (again.number, [event.payload for event in again.events]) == (2, ["done"])


def test_the_first_event_counts_and_later_ones_are_refused(world: World) -> None:
    world.launch(waiting(step(1)))
    (key,) = open_keys(world)
    assert report_waits(world.store, [Fired(key, "first"), Fired(key, "twice")]).refused == (key,)
    assert report_waits(world.store, [Fired(key, "second")]).refused == (key,)
    assert [row["payload"] for row in world.rows("wait")] == ["first"]
    assert len(world.start()) == 1


def test_resumed_work_goes_before_fresh_work_of_equal_priority(world: World) -> None:
    with world.memory.begin() as tx:
        tx.set_pool(Pool("p", 1))
    world.launch(waiting(step(1, pools=[("p", 1)])))
    world.clock.forward(1)
    world.launch(step(2, pools=[("p", 1)]))
    world.clock.forward(1)
    fire(world)
    admit(world.store)
    assert world.states() == {"s1": "queued", "s2": "scheduled"}


def test_a_broken_trigger_consumes_a_retry_and_the_time_goes_on(world: World) -> None:
    world.launch(waiting(step(1, retries=1), deadline_s=1000))
    (key,) = open_keys(world)
    world.clock.forward(600)
    assert report_waits(world.store, [Broken(key, "no such host")]).moved == 1
    task = world.of_step("s1")
    assert (task["state"], task["user_failures"]) == ("up_for_retry", 1)
    assert task["error"] == "waiting for file failed: no such host"
    wake_retries(world.store)
    assert world.states()["s1"] == "deferred"
    (row,) = world.rows("wait")
    assert (row["state"], row["stint"], row["deadline_at"]) == ("open", 2, START + timedelta(seconds=1000))
    assert report_waits(world.store, [Fired(key, "late")]).refused == (key,), "who watched the first stint is late"
    world.clock.forward(400)
    assert expire_waits(world.store).tasks == 1
    assert world.states()["s1"] == "failed"


def test_one_that_breaks_at_once_whenever_it_is_tried_ends_at_its_deadline(world: World) -> None:
    """Whoever looks for late ones may never see it open."""
    world.launch(waiting(step(1, retries=1000), deadline_s=1000))
    tried = 0
    while world.states()["s1"] == "deferred":
        tried += 1
        world.clock.forward(300)
        report_waits(world.store, [Broken(key, "boom") for key in open_keys(world)])
        wake_retries(world.store)
    assert (tried, world.states()["s1"]) == (4, "failed")
    assert world.of_step("s1")["error"].endswith("its deadline has passed; it broke at last: boom")
    assert {row["state"] for row in world.rows("wait")} == {"ended"}


def test_a_deadline_fails_the_task_for_good_and_says_for_what(world: World) -> None:
    made = world.launch(waiting(step(1, retries=5), "file /in/a.csv", deadline_s=7200), step(2, 0))
    world.clock.forward(7199)
    assert expire_waits(world.store).tasks == 0
    world.clock.forward(1)
    assert expire_waits(world.store).tasks == 1
    assert world.states() == {"s1": "failed", "s2": "upstream_failed"}
    error = world.of_step("s1")["error"]
    assert error.startswith("it waited 2 h since 2026-01-01T00:00:00+00:00 for file /in/a.csv")
    assert [row["state"] for row in world.rows("wait")] == ["ended"]
    fold_tallies(world.store)
    assert world.run_state(made.run_id) == "failed"


def test_cancelling_ends_the_waits_and_whoever_watches_lets_go(world: World) -> None:
    register_triggerer(world.store, ONE, host="h", pid=1)
    made = world.launch(waiting(step(1)))
    (wait,) = watch(world.store, ONE, [PIN], 10).claimed
    cancel_run(world.store, made.run_id, "ada")
    assert [row["state"] for row in world.rows("wait")] == ["ended"]
    assert watch(world.store, ONE, [PIN], 10).dropped == (wait.key,)
    assert watch(world.store, ONE, [PIN], 10).dropped == ()
    assert report_waits(world.store, [Fired(wait.key, 1)]).refused == (wait.key,)


def test_the_waits_of_a_silent_triggerer_are_free_at_the_end_of_its_lease(world: World) -> None:
    """S-169."""
    register_triggerer(world.store, ONE, host="h", pid=1, lease_s=30)
    register_triggerer(world.store, TWO, host="h", pid=2, lease_s=3000)
    world.launch(*(waiting(step(n)) for n in range(1, 6)))
    assert len(watch(world.store, ONE, [PIN], 10, lease_s=30).claimed) == 5
    assert watch(world.store, TWO, [PIN], 10, lease_s=3000).claimed == ()
    for _ in range(29):
        world.clock.forward(1)
        pulse(world.store)
    assert sweep_triggerers(world.store).triggerers == ()
    world.clock.forward(1)
    freed = sweep_triggerers(world.store)
    assert (freed.triggerers, freed.waits) == ((ONE,), 5)
    assert len(watch(world.store, TWO, [PIN], 10, lease_s=3000).claimed) == 5
    assert not watch(world.store, ONE, [PIN], 10).live, "it must register again"


def test_an_outage_of_the_database_frees_nothing(world: World) -> None:
    register_triggerer(world.store, ONE, host="h", pid=1, lease_s=30)
    world.launch(waiting(step(1)))
    watch(world.store, ONE, [PIN], 10, lease_s=30)
    world.clock.forward(600)  # nobody could renew, and nobody could pulse
    assert sweep_triggerers(world.store).triggerers == ()
    assert watch(world.store, ONE, [PIN], 10).live


def test_a_reopened_wait_is_not_left_to_who_watched_it_before(world: World) -> None:
    register_triggerer(world.store, ONE, host="h", pid=1)
    world.launch(waiting(step(1, retries=1), "a", "b"))
    a, b = (wait.key for wait in watch(world.store, ONE, [PIN], 10).claimed)
    report_waits(world.store, [Broken(a, "boom")])
    wake_retries(world.store)
    again = watch(world.store, ONE, [PIN], 10)
    assert again.dropped == (a, b)
    assert {(wait.place, wait.stint) for wait in again.claimed} == {(-2, 2), (-1, 2)}


def test_a_publication_meets_a_wait_for_its_cell(world: World) -> None:
    world.launch(waiting(step(2), "orders", cell=cell(1)))
    assert meet_waits(world.store).tasks == 0
    world.launch(step(1))
    world.finish(report(world.start()["s1"], version="v7"))
    assert meet_waits(world.store).tasks == 1
    assert [event.payload for event in world.start()["s2"].events] == [{"data_version": "v7"}]


def test_a_wait_for_something_newer_is_not_met_by_what_is_there(world: World) -> None:
    world.launch(step(1))
    world.run_all()
    world.clock.forward(1)
    world.launch(waiting(step(2), "orders", cell=cell(1), newer=True))
    assert meet_waits(world.store).tasks == 0
    world.clock.forward(1)
    world.launch(step(1, reason="forced"))
    world.finish(report(world.start()["s1"], version="v8"))
    assert meet_waits(world.store).tasks == 1


def test_a_cancelled_attempt_does_not_defer(world: World) -> None:
    made = world.launch(step(1))
    claimed = world.start()["s1"]
    cancel_run(world.store, made.run_id, "ada")
    world.finish(deferred(claimed, deferral()))
    assert world.states()["s1"] == "cancelled"
    assert [row for row in world.rows("wait") if row["state"] == "open"] == []


def test_what_waits_to_begin_is_joined_and_what_began_is_not(world: World) -> None:
    world.launch(waiting(step(1)))
    assert world.launch(step(1)).joined == 1, "it has read nothing yet"
    fire(world)
    world.finish(deferred(world.start()["s1"], deferral()))
    assert world.launch(step(1)).waiting == 1, "it has read its inputs"


EVENTS = ("start", "defer", "fire", "break", "expire", "finish", "cancel", "wake", "forward", "launch", "meet")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(EVENTS), max_size=30), st.integers(1, 2))
def test_no_wait_ever_holds_a_slot(story: list[str], slots: int) -> None:
    """S-171: whatever happens in whatever order, slots are held by queued and running tasks alone, and nothing is stuck."""
    world = World()
    with world.memory.begin() as tx:
        tx.set_pool(Pool("p", slots))
    runs = [world.launch(*(waiting(step(n, retries=1, pools=[("p", 1)])) for n in (1, 2))).run_id]
    live: list[Claimed] = []
    for event in story:
        match event:
            case "start":
                live += world.start().values()
            case "defer" if live:
                world.finish(deferred(live.pop(0), deferral()))
            case "finish" if live:
                world.finish(report(live.pop(0)))
            case "fire":
                fire(world)
            case "break":
                report_waits(world.store, [Broken(key, "boom") for key in open_keys(world)[:1]])
            case "expire":
                world.clock.forward(3600)
                expire_waits(world.store)
            case "cancel":
                cancel_run(world.store, runs[0], "ada")
            case "wake":
                wake_retries(world.store)
            case "forward":
                world.clock.forward(1)
            case "launch":
                runs.append(world.launch(step(5 + len(runs), pools=[("p", 1)])).run_id)
            case "meet":
                meet_waits(world.store)
        tasks = {row["id"]: TaskState(row["state"]) for row in world.rows("task")}
        held = {row["task_id"] for row in world.rows("pool_slot")}
        assert held == {task_id for task_id, state in tasks.items() if state in HOLDS_SLOTS}
        opened = {key.task_id for key in open_keys(world)}
        assert opened == {task_id for task_id, state in tasks.items() if state is TaskState.DEFERRED}, (
            "a deferred task waits for something, and nobody else does"
        )
