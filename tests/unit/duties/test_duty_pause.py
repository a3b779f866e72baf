"""The big red button over the in-memory store: nothing of what is paused starts, and what runs ends as it will."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.unit.duties.duty_world import World, report, step

from partita.core.duties.admit import admit
from partita.core.duties.pause import pause, resume
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import fold_tallies
from partita.core.store.values import AssetId, AttemptOutcome
from partita.core.store.values_actions import EVERYTHING
from partita.core.store.values_clocks import Gathered

SAID = {"selection": "s1"}


def stop(world: World, *assets: int, why: str = "the source lies") -> Any:
    return pause(world.store, [AssetId(one) for one in assets], who="ada", reason=why, said=SAID)


def go(world: World, *assets: int) -> Any:
    return resume(world.store, [AssetId(one) for one in assets], who="bob", reason="", said=SAID)


def test_what_is_ready_waits_with_who_when_and_why_and_the_rest_goes_on(world: World) -> None:
    world.launch(step(1), step(2), step(3, 0))
    done = stop(world, 1)
    assert (done.assets, done.tasks, done.running) == ((AssetId(1),), 1, 0)
    row = world.of_step("s1")
    assert row["reason"] == "paused"
    assert row["reason_detail"] == {
        "asset": 1, "by": "ada", "at": "2026-01-01T00:00:00+00:00", "why": "the source lies",
    }  # fmt: skip
    assert admit(world.store).queued == 1
    assert world.states() == {"s1": "scheduled", "s2": "queued", "s3": "none"}
    assert world.of_step("s1")["reason"] == "paused", "admission says the same as the pause"
    assert go(world, 1).tasks == 1
    assert world.of_step("s1")["reason"] is None
    assert admit(world.store).queued == 1
    assert [row["action"] for row in world.rows("audit")] == ["launch", "pause", "resume"]


def test_what_was_admitted_gives_its_slots_back_and_what_runs_ends(world: World) -> None:
    made = world.launch(step(1, pools=[("one", 1)]), step(2), step(3, 1))
    started = world.start(limit=2)
    world.launch(step(4, pools=[("one", 1)], retries=2))
    world.finish(report(started["s1"]))
    assert admit(world.store).queued == 1
    done = stop(world, EVERYTHING)
    assert (done.tasks, done.running) == (2, 1)
    assert world.states() == {"s1": "success", "s2": "running", "s3": "none", "s4": "scheduled"}
    assert [row["pool"] for row in world.rows("pool_slot")] == ["default"], "only what runs holds a slot"
    world.finish(report(started["s2"]))
    assert world.states()["s3"] == "scheduled"
    assert (admit(world.store).queued, world.of_step("s3")["reason"]) == (0, "paused")
    assert world.of_step("s3")["reason_detail"]["by"] == "ada"
    go(world, EVERYTHING)
    world.finish(*(report(one) for one in world.start().values()))
    fold_tallies(world.store)
    assert world.run_state(made.run_id) == "success"


def test_a_failed_attempt_is_not_tried_again_while_it_is_paused(world: World) -> None:
    world.launch(step(1, retries=3))
    claimed = world.start()["s1"]
    stop(world, 1)
    world.finish(report(claimed, AttemptOutcome.FAILED))
    world.clock.forward(60)
    wake_retries(world.store)
    assert (world.states()["s1"], admit(world.store).queued) == ("scheduled", 0)
    go(world, 1)
    assert admit(world.store).queued == 1


def test_what_is_launched_while_it_is_paused_waits(world: World) -> None:
    stop(world, 1)
    stop(world, EVERYTHING, why="a fire")
    world.launch(step(1), step(2))
    assert admit(world.store).queued == 0
    assert {world.of_step(name)["reason_detail"]["why"] for name in ("s1", "s2")} == {"a fire"}
    go(world, EVERYTHING)
    assert admit(world.store).queued == 1
    assert world.states() == {"s1": "scheduled", "s2": "queued"}
    assert world.of_step("s1")["reason_detail"]["why"] == "the source lies", "the other pause binds now"


def test_a_group_with_one_paused_member_waits_as_a_whole(world: World) -> None:
    both = step(1)
    world.launch(step(1, cells=(*both.cells, *step(2).cells)))
    stop(world, 2)
    assert admit(world.store).queued == 0
    go(world, 2)
    assert admit(world.store).queued == 1


def test_the_first_pause_counts_and_resuming_twice_changes_nothing(world: World) -> None:
    world.launch(step(1))
    stop(world, 1, why="first")
    before = world.memory.dump()
    assert stop(world, 1, why="second").assets == ()
    assert world.memory.dump() == before
    assert go(world, 2).assets == ()
    assert world.memory.dump() == before
    go(world, 1)
    before = world.memory.dump()
    assert go(world, 1).assets == ()
    assert world.memory.dump() == before


def test_a_resume_looks_again_and_drops_nothing_that_was_gathered(world: World) -> None:
    asset, at = AssetId(1), world.clock.now + timedelta(hours=1)
    with world.store.begin() as tx:
        tx.set_clocks({asset: "debounce"}, ())
        tx.gather([Gathered(asset, ("2026-01-01",), at)])
    stop(world, 1)
    go(world, 1)
    with world.store.begin() as tx:
        clock = tx.clocks_of([asset])[asset]
    assert (clock.pending, clock.next_at) == (("2026-01-01",), world.clock.now)
