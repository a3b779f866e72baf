"""Backfills while they run, over the in-memory store: paused, resumed, resized, re-prioritised, retried, cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.duties.duty_world import World, plan_of, report, step

from partita.core.decide.backfills import BackfillRefused
from partita.core.duties.admit import admit
from partita.core.duties.backfills import cancel_backfill, change, pause, resume
from partita.core.duties.launch import LaunchRefused, launch
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import cancel_run, continue_cancels, fold_tallies
from partita.core.duties.values import Launched, NewBackfill
from partita.core.store.values import AttemptOutcome, BackfillId

DAYS = [f"d{n}" for n in range(1, 9)]


def _launched(world: World, days: list[str] = DAYS, **changes: Any) -> tuple[BackfillId, Launched]:
    backfill = replace(NewBackfill("b", None, "ada"), **changes)
    made = world.launch(*(step(1, partitions=[day]) for day in days), backfill=backfill)
    assert made.backfill_id is not None
    return made.backfill_id, made


def _backfill(world: World, backfill_id: int) -> dict[str, Any]:
    return next(row for row in world.rows("backfill") if row["id"] == backfill_id)


def _reasons(world: World) -> list[tuple[str, str | None]]:
    return [(row["state"], row["reason"]) for row in world.rows("task")]


def test_a_paused_backfill_holds_no_slot_but_of_what_runs(world: World) -> None:
    """Law 7, S-201: running attempts end, nothing new starts, each task says who paused it and when."""
    backfill_id, made = _launched(world, DAYS[:5], max_active=3)
    admit(world.store)
    [running] = world.claims(1).claimed
    done = pause(world.store, backfill_id, who="ada", reason=" lake is full ")
    assert (done.changed, done.requeued) == (True, 2)
    assert [row["task_id"] for row in world.rows("pool_slot") if row["pool"] == "default"] == [running.task.id]
    admit(world.store)
    assert _reasons(world) == [("running", None), *[("scheduled", "paused")] * 4]
    detail = world.rows("task")[-1]["reason_detail"]
    assert (detail["by"], detail["backfill"]) == ("ada", backfill_id)
    assert detail["at"] == world.clock().isoformat(timespec="seconds")
    world.finish(report(running))
    assert admit(world.store).queued == 0
    assert world.rows("pool_slot") == []
    entry = world.rows("audit")[-1]
    assert (entry["action"], entry["who"], entry["reason"]) == ("pause_backfill", "ada", "lake is full")
    before = world.memory.dump()
    assert not pause(world.store, backfill_id, who="bob").changed, "pausing twice changes nothing, nor who did"
    assert world.memory.dump() == before
    assert resume(world.store, backfill_id, who="bob").changed
    assert not any(reason == "paused" for _, reason in _reasons(world)), "nobody says what is no longer so"
    assert not resume(world.store, backfill_id, who="bob").changed
    world.run_all()
    assert world.run_state(made.run_id) == _backfill(world, backfill_id)["state"] == "success"


def test_a_paused_backfill_keeps_nobody_else_waiting(world: World) -> None:
    """Its tasks stand in no line: neither its priority nor its lane takes anything from others."""
    backfill_id, _ = _launched(world, max_active=2)
    pause(world.store, backfill_id, who="ada")
    world.launch(*(step(2, partitions=[day]) for day in DAYS))
    assert admit(world.store).queued == len(DAYS)


def test_a_retry_that_is_due_while_paused_waits_too(world: World) -> None:
    backfill = NewBackfill("b", None, "ada")
    made = world.launch(step(1, retries=3), backfill=backfill)
    assert made.backfill_id is not None
    world.finish(report(world.start()["s1"], AttemptOutcome.FAILED))
    pause(world.store, made.backfill_id, who="ada")
    world.clock.forward(3600)
    wake_retries(world.store)
    assert admit(world.store).queued == 0
    assert _reasons(world) == [("scheduled", "paused")]


def test_the_limit_changes_while_it_runs(world: World) -> None:
    backfill_id, _ = _launched(world, max_active=2)
    assert admit(world.store).queued == 2
    assert change(world.store, backfill_id, max_active=5, priority=0, who="ada").changed
    assert admit(world.store).queued == 3
    [running] = world.claims(1).claimed
    lower = change(world.store, backfill_id, max_active=2, priority=0, who="ada")
    assert lower.requeued == 3, "what is queued above it would run before the limit counts for anything"
    assert _reasons(world)[:5] == [("running", None), ("queued", None), *[("scheduled", "backfill_cap")] * 3]
    change(world.store, backfill_id, max_active=1, priority=0, who="ada")
    assert admit(world.store).queued == 0, "nothing more starts until what runs has ended"
    assert not world.claims(1).claimed
    world.finish(report(running))
    assert admit(world.store).queued == 1
    change(world.store, backfill_id, max_active=None, priority=0, who="ada")
    assert admit(world.store).queued == 6
    assert world.rows("audit")[-1]["detail"] == {"backfill": backfill_id, "max_active": [1, None], "priority": [0, 0]}


def test_the_priority_changes_while_it_runs_without_touching_its_tasks(world: World) -> None:
    world.launch(step(9, pools=[("one", 1)], partitions=["x"]))
    [busy] = world.start().values()
    first = world.launch(step(1, pools=[("one", 1)]), backfill=NewBackfill("b", None, "ada"))
    second = world.launch(step(2, pools=[("one", 1)]), backfill=NewBackfill("b", None, "ada"))
    assert second.backfill_id is not None
    change(world.store, second.backfill_id, max_active=None, priority=5, who="ada")
    assert [row["priority"] for row in world.rows("task")[-2:]] == [0, 0]
    world.finish(report(busy))
    admit(world.store)
    assert (world.of_step("s1")["state"], world.of_step("s2")["state"]) == ("scheduled", "queued")
    assert world.run_state(first.run_id) == "running"


def test_what_failed_is_made_by_a_further_run_of_the_backfill(world: World) -> None:
    """S-053: the part that failed, and nothing else, while the backfill stays one thing with one end."""
    backfill_id, made = _launched(world, DAYS[:3])
    admit(world.store)
    claimed = world.claims().claimed
    world.finish(report(claimed[0]), report(claimed[1], AttemptOutcome.FAILED), report(claimed[2]))
    fold_tallies(world.store)
    assert _backfill(world, backfill_id)["state"] == "failed"
    with world.memory.begin() as tx:
        unmade = tx.unmade_cells(backfill_id)
    assert [(cell.partition, state.value) for cell, state in unmade] == [("d2", "failed")]
    again = launch(world.store, plan_of(step(1, partitions=["d2"]), retry_of=backfill_id))
    assert again.backfill_id == backfill_id
    row = _backfill(world, backfill_id)
    assert (row["state"], row["finished_at"]) == ("running", None)
    world.run_all()
    assert world.run_state(made.run_id) == "failed", "terminal rows are immutable"
    assert world.run_state(again.run_id) == _backfill(world, backfill_id)["state"] == "success"


def test_a_backfill_ends_with_the_last_of_its_runs(world: World) -> None:
    """Failed cells are tried again while others still run; in the end counts what is made, not which run made it."""
    backfill_id, made = _launched(world, DAYS[:2])
    admit(world.store)
    one, other = world.claims().claimed
    world.finish(report(one, AttemptOutcome.FAILED))
    again = launch(world.store, plan_of(step(1, partitions=["d1"]), retry_of=backfill_id))
    admit(world.store)
    [second] = world.claims().claimed
    world.finish(report(second))
    fold_tallies(world.store)
    assert world.run_state(again.run_id) == "success"
    assert _backfill(world, backfill_id)["state"] == "running"
    world.finish(report(other))
    fold_tallies(world.store)
    assert world.run_state(made.run_id) == "failed"
    assert _backfill(world, backfill_id)["state"] == "success"


def test_a_retried_backfill_that_had_been_cancelled_goes_on(world: World) -> None:
    """Cancelling closes its pool; a further run opens it."""
    backfill_id, made = _launched(world, DAYS[:2])
    cancel_backfill(world.store, backfill_id, who="ada")
    fold_tallies(world.store)
    assert world.run_state(made.run_id) == _backfill(world, backfill_id)["state"] == "cancelled"
    launch(world.store, plan_of(*(step(1, partitions=[day]) for day in DAYS[:2]), retry_of=backfill_id))
    world.run_all()
    assert _backfill(world, backfill_id)["state"] == "success"


@pytest.mark.parametrize(
    "act",
    [
        lambda world, one: pause(world.store, one, who="ada"),
        lambda world, one: resume(world.store, one, who="ada"),
        lambda world, one: change(world.store, one, max_active=3, priority=1, who="ada"),
        lambda world, one: cancel_backfill(world.store, one, who="ada"),
    ],
)
def test_what_is_finished_is_refused_and_changes_nothing(act: Callable[[World, BackfillId], Any], world: World) -> None:
    """Law 10."""
    backfill_id, _ = _launched(world, DAYS[:1])
    world.run_all()
    before = world.memory.dump()
    with pytest.raises(
        BackfillRefused, match=f"backfill {backfill_id} is finished \\(success\\): there is nothing left to"
    ):
        act(world, backfill_id)
    with pytest.raises(BackfillRefused, match="there is no backfill 99"):
        act(world, BackfillId(99))
    assert world.memory.dump() == before


def test_limits_and_priorities_that_mean_nothing_are_refused(world: World) -> None:
    backfill_id, _ = _launched(world)
    before = world.memory.dump()
    for wrong, text in (((0, 0), "would never let a task"), ((None, 5000), "out of bounds")):
        with pytest.raises(BackfillRefused, match=text):
            change(world.store, backfill_id, max_active=wrong[0], priority=wrong[1], who="ada")
    assert world.memory.dump() == before


def test_nothing_of_a_cancelled_backfill_starts_while_its_tasks_are_reached(world: World) -> None:
    """A flip first, then bounded visits from the last task on; dependents of the same run are cancelled, not upstream_failed."""
    first = [step(1, partitions=[day]) for day in DAYS]
    made = world.launch(*first, step(2, *range(len(first))), backfill=NewBackfill("b", None, "ada"))
    assert made.backfill_id is not None
    [running] = world.start(limit=1).values()
    done = cancel_backfill(world.store, made.backfill_id, who="ada", limit=3)
    assert [run.more for run in done.runs] == [True]
    assert done.runs[0].cancelled == 3
    assert admit(world.store).queued == 0
    with pytest.raises(BackfillRefused, match="is being cancelled"):
        pause(world.store, made.backfill_id, who="ada")
    with pytest.raises(LaunchRefused, match=f"run {made.run_id} is being cancelled"):
        world.launch(step(1, partitions=["d2"]))
    rest = continue_cancels(world.store)
    assert (rest.cancelled, rest.stopping, rest.more) == (5, 1, False)
    world.finish(report(running, AttemptOutcome.CANCELLED))
    fold_tallies(world.store)
    assert set(world.states().values()) == {"cancelled"}
    assert world.run_state(made.run_id) == "cancelled"
    assert world.rows("pool_slot") == world.rows("open_cell") == []
    assert not continue_cancels(world.store).known


def test_a_cancelled_run_without_a_backfill_is_reached_in_visits_too(world: World) -> None:
    made = world.launch(*(step(1, partitions=[day]) for day in DAYS[:5]))
    assert cancel_run(world.store, made.run_id, "ada", limit=2).more
    while continue_cancels(world.store, visits=1, limit=2).more:
        pass
    fold_tallies(world.store)
    assert world.run_state(made.run_id) == "cancelled"
