"""A run that takes longer than it may, over the in-memory store with virtual time (S-159, S-204, S-128)."""

from __future__ import annotations

from tests.unit.duties.duty_world import World, report, step

from partita.core.duties.channels import Channel
from partita.core.duties.finish import finish
from partita.core.duties.leases import renew
from partita.core.duties.run_timeouts import time_out_runs
from partita.core.duties.runs import fold_tallies
from partita.core.store.values import AttemptOutcome, WorkerId


def test_what_has_not_started_ends_what_runs_is_asked_to_stop_and_the_run_has_failed(world: World) -> None:
    run = world.launch(step(1), step(2, 0), step(3, pools=[("none", 1)]), timeout_s=60.0)
    with world.memory.begin() as tx:
        from partita.core.store.values import Pool

        tx.set_pool(Pool("none", 0))
    started = world.start()
    world.clock.forward(59)
    assert time_out_runs(world.store).runs == ()
    world.clock.forward(1)
    done = time_out_runs(world.store)
    assert (done.runs, done.more, Channel.CANCEL in done.channels) == ((run.run_id,), False, True)
    assert world.states() == {"s1": "running", "s2": "cancelled", "s3": "cancelled"}
    assert "timed out" in world.of_step("s3")["error"]
    asked = renew(world.store, WorkerId("w1")).cancelled
    assert [task_id for task_id, _ in asked] == [world.of_step("s1")["id"]]
    assert time_out_runs(world.store).runs == (), "once"
    finish(world.store, [report(started["s1"], AttemptOutcome.CANCELLED)])
    fold_tallies(world.store)
    assert world.run_state(run.run_id) == "failed"


def test_a_run_that_has_ended_in_time_is_not_timed_out_before_it_is_folded(world: World) -> None:
    run = world.launch(step(1), timeout_s=60.0)
    late = world.launch(step(2, pools=[("p", 2)]), timeout_s=60.0)
    world.finish(report(world.start()["s1"]))
    world.clock.forward(61)
    assert time_out_runs(world.store).runs == (late.run_id,), "and it holds nobody up"
    fold_tallies(world.store)
    assert (world.run_state(run.run_id), world.run_state(late.run_id)) == ("success", "failed")


def test_a_run_without_a_timeout_takes_as_long_as_it_takes(world: World) -> None:
    world.launch(step(1))
    world.clock.forward(10**7)
    assert time_out_runs(world.store).runs == ()


def test_what_was_made_in_spite_of_it_stays_made(world: World) -> None:
    """An attempt that ends well while it is asked to stop publishes; the run has failed all the same."""
    run = world.launch(step(1), timeout_s=60.0)
    started = world.start()
    world.clock.forward(60)
    time_out_runs(world.store)
    world.finish(report(started["s1"]))
    fold_tallies(world.store)
    assert world.cell(1)["data_version"] is not None
    assert world.run_state(run.run_id) == "failed"
