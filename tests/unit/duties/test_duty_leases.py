"""Leases over the in-memory store with virtual time: lapses, losses, outages of the database."""

from __future__ import annotations

from tests.unit.duties.duty_world import WORKER, World, step

from partita.core.duties.channels import Channel
from partita.core.duties.leases import pulse, register, renew, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import cancel_run
from partita.core.store.values import (
    WorkerId,
)


def test_a_lapsed_lease_loses_all_attempts_of_the_worker_and_no_user_retry(world: World) -> None:
    """S-128: any scheduler judges, off the hot path. S-153, S-155, S-233, B-10."""
    world.launch(step(1), step(2))
    world.start()
    _age(world, 31)
    swept = sweep(world.store)
    assert (swept.workers, swept.retried) == ((WORKER,), 2)
    assert {row["outcome"] for row in world.rows("attempt")} == {"lost"}
    assert (world.of_step("s1")["infra_losses"], world.of_step("s1")["user_failures"]) == (1, 0)
    assert sweep(world.store).workers == ()  # B-15, ex-101: one verdict
    register(world.store, WORKER, host="h", pid=2, capacity=1)
    wake_retries(world.store)
    world.run_all()
    assert set(world.states().values()) == {"success"}


def test_losses_have_a_limit_of_their_own(world: World) -> None:
    """Short backoff 0, 1, 2, 4 s; the sixth loss fails the task and its closure."""
    world.launch(step(1), step(2, 0))
    for waits in (0, 1, 2, 4, 4):
        world.start()
        register(world.store, WORKER, host="h", pid=1, capacity=1)
        assert (world.of_step("s1")["not_before"] - world.clock.now).total_seconds() == waits
        world.clock.forward(waits)
        wake_retries(world.store)
    world.start()
    register(world.store, WORKER, host="h", pid=1, capacity=1)
    assert world.states() == {"s1": "failed", "s2": "upstream_failed"}


def test_an_outage_of_the_database_kills_nobody(world: World) -> None:
    """S-156, ex-103: a sweep that finds an old pulse extends all leases and judges only at the next."""
    world.launch(step(1))
    world.start()
    world.clock.forward(300)
    assert not sweep(world.store).judged
    assert sweep(world.store).workers == ()
    assert renew(world.store, WORKER).live
    world.clock.forward(1)
    assert sweep(world.store).judged
    assert world.states() == {"s1": "running"}


def test_whoever_pulses_first_after_an_outage_extends_the_leases(world: World) -> None:
    world.launch(step(1))
    world.start()
    world.clock.forward(300)
    assert pulse(world.store) == 300
    assert pulse(world.store) == 0
    assert sweep(world.store).workers == ()


def test_who_renews_before_the_outage_is_noticed_is_not_believed_for_as_long_as_it_lasted(world: World) -> None:
    """Else its death in that moment would be found an hour later."""
    world.launch(step(1))
    world.start()
    world.clock.forward(3600)
    assert renew(world.store, WORKER).live
    assert pulse(world.store) == 3600
    _age(world, 31)
    assert sweep(world.store).workers == (WORKER,)


def test_an_outage_extends_a_lease_to_no_more_than_the_longest_there_is(world: World) -> None:
    register(world.store, WORKER, host="h", pid=1, capacity=1, lease_s=120)
    world.clock.forward(300)
    pulse(world.store, longest_lease_s=120)
    [row] = world.rows("worker")
    assert (row["lease_expires_at"] - world.clock.now).total_seconds() == 120


def test_a_renewal_tells_what_to_stop(world: World) -> None:
    made = world.launch(step(1), step(2, 0))
    claimed = world.start()["s1"]
    assert renew(world.store, WORKER).cancelled == ()
    cancelled = cancel_run(world.store, made.run_id, "ada")
    assert (cancelled.cancelled, cancelled.stopping) == (1, 1)
    assert Channel.CANCEL in cancelled.channels
    assert renew(world.store, WORKER).cancelled == ((claimed.task.id, claimed.attempt_id),)
    assert not renew(world.store, WorkerId("nobody")).live


def _age(world: World, seconds: int) -> None:
    """Time in which the database answers and the worker says nothing."""
    for _ in range(seconds):
        world.clock.forward(1)
        pulse(world.store)


def test_a_renewal_writes_one_row_whatever_the_worker_runs(world: World) -> None:
    """S-017, S-233: signs of life cost by the worker and not by what it runs."""
    world.launch(*(step(n) for n in range(1, 21)))
    assert len(world.start()) == 20
    before = world.memory.dump()
    assert renew(world.store, WORKER).live
    after = world.memory.dump()
    assert {name for name in after if after[name] != before[name]} <= {"worker"}
