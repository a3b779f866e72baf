"""Limits of runs, over the in-memory store: given at the launch, given and changed while they run, kept by what is added."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.duties.duty_world import World, plan_of, report, step

from partita.core.decide.caps import EACH_RUN_POOL
from partita.core.decide.runs import RunRefused
from partita.core.duties.admit import admit
from partita.core.duties.launch import launch_in
from partita.core.duties.retries import wake_retries
from partita.core.duties.run_limits import limit_run
from partita.core.duties.runs import cancel_run
from partita.core.duties.values import Into, NewBackfill
from partita.core.store.values import AttemptOutcome, RunId

DAYS = [f"d{n}" for n in range(1, 9)]
STEPS = tuple(step(1, partitions=[day]) for day in DAYS)


def _reasons(world: World) -> list[tuple[str, str | None]]:
    return [(row["state"], row["reason"]) for row in world.rows("task")]


def _held(world: World, run_id: int) -> int:
    return sum(row["slots"] for row in world.rows("pool_slot") if row["pool"] == f"run:{run_id}")


def test_a_run_never_has_more_active_than_its_limit(world: World) -> None:
    """S-144, issue 4 (per-run caps): the limit is a pool row, exact for any number of admitters; others are not kept waiting."""
    made = world.launch(*STEPS, max_active=2)
    world.launch(*(step(2, partitions=[day]) for day in DAYS[:3]))
    assert admit(world.store).queued == 2 + 3
    waiting = world.task(made.task_ids[2])
    assert (waiting["reason"], waiting["reason_detail"]) == ("run_cap", {"run": made.run_id, "max_active": 2})
    assert _held(world, made.run_id) == 2
    world.run_all()
    assert world.run_state(made.run_id) == "success"
    assert _held(world, made.run_id) == 0


def test_a_run_without_a_limit_has_no_pool(world: World) -> None:
    """The eight thousand runs of a midnight write no row for it."""
    world.launch(*STEPS)
    assert [row["name"] for row in world.rows("pool") if row["name"].startswith("run:")] == []


def test_a_run_that_is_given_no_limit_has_that_of_new_runs(world: World) -> None:
    """S-144: one place for whoever asks. What was launched before, backfills, and what says another number are left alone."""
    before = world.launch(*STEPS)
    world.set_caps({EACH_RUN_POOL: 3})
    limits = {
        before.run_id: None,
        world.launch(*(step(2, partitions=[day]) for day in DAYS)).run_id: 3,
        world.launch(*(step(3, partitions=[day]) for day in DAYS), max_active=5).run_id: 5,
        world.launch(step(4), backfill=NewBackfill("b", None, "me")).run_id: None,
    }
    assert {row["id"]: row["max_active"] for row in world.rows("run")} == limits
    assert admit(world.store).queued == 8 + 3 + 5 + 1
    world.set_caps({EACH_RUN_POOL: None})
    assert world.rows("run")[1]["max_active"] == 3, "a run keeps the limit that it was launched with"
    world.launch(step(5))
    assert world.rows("run")[-1]["max_active"] is None


def test_a_retry_stays_within_the_limit(world: World) -> None:
    made = world.launch(*(replace(one, retry=replace(one.retry, max_retries=1)) for one in STEPS[:3]), max_active=1)
    [first] = world.start().values()
    world.finish(report(first, AttemptOutcome.FAILED))
    assert admit(world.store).queued == 1, "the slot of what waits to be tried again is free"
    world.clock.forward(3600)
    wake_retries(world.store)
    assert admit(world.store).queued == 0
    world.run_all()
    assert world.run_state(made.run_id) == "success"


def test_the_limit_changes_while_it_runs(world: World) -> None:
    made = world.launch(*STEPS, max_active=2)
    assert admit(world.store).queued == 2
    assert limit_run(world.store, made.run_id, max_active=5, who="ada").changed
    assert admit(world.store).queued == 3
    assert world.task(made.task_ids[-1])["reason_detail"] == {"run": made.run_id, "max_active": 5}, "not that of before"
    [running] = world.claims(1).claimed
    lower = limit_run(world.store, made.run_id, max_active=2, who="ada", reason=" too many ")
    assert lower.requeued == 3, "what is queued above it would run before the limit counts for anything"
    assert _reasons(world)[:5] == [("running", None), ("queued", None), *[("scheduled", "run_cap")] * 3]
    assert world.rows("audit")[-1]["detail"] == {"run": made.run_id, "max_active": [5, 2]}
    assert world.rows("audit")[-1]["reason"] == "too many"
    limit_run(world.store, made.run_id, max_active=1, who="ada")
    assert (admit(world.store).queued, world.claims(1).claimed) == (0, ()), "nothing starts until what runs has ended"
    world.finish(report(running))
    assert admit(world.store).queued == 1
    limit_run(world.store, made.run_id, max_active=None, who="ada")
    assert admit(world.store).queued == 6
    world.run_all()
    assert world.run_state(made.run_id) == "success"


def test_a_run_that_was_launched_without_one_gets_a_limit(world: World) -> None:
    """What is active holds a slot of it from then on; what waits for something else counts when it comes to it."""
    made = world.launch(*STEPS[:4], step(2, 0), pools_first := step(3, 1))
    assert pools_first.upstream == (1,)
    assert admit(world.store).queued == 4
    running = world.claims(2).claimed
    done = limit_run(world.store, made.run_id, max_active=2, who="ada")
    assert (done.changed, done.requeued) == (True, 2)
    assert _held(world, made.run_id) == 2
    world.finish(*map(report, running))
    assert admit(world.store).queued == 2, "of the two that went back and the two whose upstream ended"
    world.run_all()
    assert world.run_state(made.run_id) == "success"
    assert _held(world, made.run_id) == 0


def test_the_same_limit_again_changes_nothing(world: World) -> None:
    made = world.launch(*STEPS, max_active=2)
    before = world.memory.dump()
    assert not limit_run(world.store, made.run_id, max_active=2, who="ada").changed
    assert world.memory.dump() == before


def test_what_is_added_to_a_run_keeps_its_limit(world: World) -> None:
    made = world.launch(*STEPS[:2], max_active=1)
    with world.memory.begin() as tx:
        launch_in(tx, replace(plan_of(step(7)), into=Into(made.run_id, None, limited=True)))
    assert admit(world.store).queued == 1
    assert _reasons(world) == [("queued", None), ("scheduled", "run_cap"), ("scheduled", "run_cap")]


def test_a_run_that_is_over_or_not_there_or_of_a_backfill_is_refused(world: World) -> None:
    """Law 10: named, with the fix, and nothing is written."""
    ended = world.launch(step(1))
    world.run_all()
    cancelled = world.launch(step(2))
    world.start()
    cancel_run(world.store, cancelled.run_id, "ada")
    of_backfill = world.launch(step(3), backfill=NewBackfill("b", 4, "ada"))
    open_run = world.launch(step(4))
    before = world.memory.dump()
    for run_id, limit, said in (
        (ended.run_id, 2, "has ended (success)"),
        (cancelled.run_id, 2, "is being cancelled"),
        (of_backfill.run_id, 2, f"is one of backfill {of_backfill.backfill_id}"),
        (open_run.run_id, 0, "would never let a task"),
        (open_run.run_id, -1, "would never let a task"),
        (RunId(999), 2, "there is no run 999"),
    ):
        with pytest.raises(RunRefused) as refused:
            limit_run(world.store, run_id, max_active=limit, who="ada")
        assert said in refused.value.what
        assert world.memory.dump() == before
