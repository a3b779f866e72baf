"""Two duties at once on real Postgres, one paused between its statements (DESIGN sections 2 and 6)."""

from __future__ import annotations

import pytest
from tests.integration.duties.conftest import Paused, PostgresWorld
from tests.integration.store.pauses import in_thread, until_blocked
from tests.simulation.invariants import check_invariants
from tests.unit.duties.duty_world import PIN, WORKER, no_log, plan_of, report, step

from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.launch import launch
from partita.core.duties.leases import pulse, register, sweep
from partita.core.duties.runs import cancel_run, fold_tallies
from partita.core.store.values import AttemptOutcome, Exclusive


def test_a_join_that_is_being_made_is_seen_by_the_owner_that_ends(world: PostgresWorld) -> None:
    """The launch holds the owning task while it adds its gate; the report waits, and then releases that gate."""
    world.launch(step(1))
    result = report(world.start()["s1"])
    paused = Paused(world.postgres, after="insert_tasks")
    joining = in_thread(lambda: launch(paused, plan_of(step(1), step(2, 0))))
    paused.wait_reached()
    reporting = in_thread(lambda: world.finish(result))
    until_blocked(world.url)
    paused.go_on()
    launched = joining.result(120)
    assert reporting.result(120).applied == (result.task_id,)
    assert launched.waiting == 1
    assert world.of_step("s2", launched.run_id)["state"] == "scheduled"
    check_invariants(world.tables())


def test_an_owner_that_ends_while_it_is_joined_leaves_its_cells_to_the_launch(world: PostgresWorld) -> None:
    """The launch finds the owner ended, starts over, and owns the cell itself."""
    world.launch(step(1))
    result = report(world.start()["s1"])
    paused = Paused(world.postgres, after="lock_tasks")
    reporting = in_thread(lambda: finish(paused, [result]))
    paused.wait_reached()
    joining = in_thread(lambda: world.launch(step(1), step(2, 0)))
    until_blocked(world.url)
    paused.go_on()
    assert reporting.result(120).applied
    launched = joining.result(120)
    assert (launched.joined, launched.waiting, len(launched.task_ids)) == (0, 0, 2)
    assert world.of_step("s1", launched.run_id)["state"] == "scheduled"
    check_invariants(world.tables())


def test_two_reports_that_share_dependents_count_both(world: PostgresWorld) -> None:
    """No decrement is lost and nobody waits in a circle."""
    world.launch(step(1), step(2), step(3, 0, 1), step(4, 0, 1))
    started = world.start()
    paused = Paused(world.postgres, after="lock_dependents")
    one = in_thread(lambda: finish(paused, [report(started["s1"])]))
    paused.wait_reached()
    two = in_thread(lambda: world.finish(report(started["s2"])))
    until_blocked(world.url)
    paused.go_on()
    assert (one.result(120).released, two.result(30).released) == (0, 2)
    check_invariants(world.tables())


def test_a_failing_closure_and_a_success_meet_in_the_middle(world: PostgresWorld) -> None:
    world.launch(step(1), step(2), step(3, 0), step(4, 1, 2), step(5, 3))
    started = world.start()
    paused = Paused(world.postgres, after="edges_from")
    failing = in_thread(lambda: finish(paused, [report(started["s1"], AttemptOutcome.FAILED)]))
    paused.wait_reached()
    succeeding = in_thread(lambda: world.finish(report(started["s2"])))
    paused.go_on()
    assert failing.result(120).applied
    assert succeeding.result(120).applied
    assert world.states() == {
        "s1": "failed",
        "s2": "success",
        "s3": "upstream_failed",
        "s4": "upstream_failed",
        "s5": "upstream_failed",
    }
    check_invariants(world.tables())


def test_a_worker_that_is_being_declared_gone_claims_nothing(world: PostgresWorld) -> None:
    """Else the task would run on a worker that nobody looks at any more."""
    world.launch(step(1))
    admit(world.store)
    register(world.store, WORKER, host="h", pid=1, capacity=1, lease_s=-1.0)
    pulse(world.store)
    paused = Paused(world.postgres, after="lock_lapsed_workers_skip")
    sweeping = in_thread(lambda: sweep(paused))
    paused.wait_reached()
    claiming = in_thread(world.claims)
    until_blocked(world.url)
    paused.go_on()
    assert sweeping.result(120).workers == (WORKER,)
    assert not claiming.result(120).live
    check_invariants(world.tables())


def test_a_sweep_passes_over_a_worker_that_is_claiming(world: PostgresWorld) -> None:
    world.launch(step(1))
    admit(world.store)
    resolve = world.definitions.resolve
    paused = Paused(world.postgres, after="start_attempts")
    claiming = in_thread(lambda: claim(paused, WORKER, [PIN], 1, resolve, no_log, lease_s=-1.0))
    paused.wait_reached()
    pulse(world.store)
    assert sweep(world.store).workers == ()
    paused.go_on()
    assert len(claiming.result(120).claimed) == 1
    assert sweep(world.store).retried == 1
    check_invariants(world.tables())


def test_two_schedulers_do_not_fold_at_the_same_time(world: PostgresWorld) -> None:
    """What one holds the other skips: folding the same runs twice over would only make one wait for the other."""
    world.launch(step(1))
    world.finish(*(report(claimed) for claimed in world.start().values()))
    with world.store.begin() as first:
        assert first.try_duty(Exclusive.FOLD_TALLIES)
        assert fold_tallies(world.store).held
    assert not fold_tallies(world.store).held


def test_two_workers_never_claim_one_task(world: PostgresWorld) -> None:
    """S-122: nothing is handed over that could be lost in between: a queued task is a row until a worker has it.
    S-118: SKIP LOCKED, nobody waits."""
    world.launch(*(step(asset) for asset in range(1, 7)))
    admit(world.store)
    resolve = world.definitions.resolve
    paused = Paused(world.postgres, after="lock_queued_skip")
    # Another connection holds three of them for the moment.
    claiming = in_thread(lambda: claim(paused, WORKER, [PIN], 3, resolve, no_log))
    paused.wait_reached()
    with world.postgres.begin() as tx:
        assert len(tx.lock_queued_skip([PIN], 10)) == 3
    paused.go_on()
    first = {claimed.task.id for claimed in claiming.result(120).claimed}
    second = {claimed.task.id for claimed in world.claims().claimed}
    assert (len(first), len(second), first & second) == (3, 3, set())


def test_a_cancel_and_a_report_end_the_task_once(world: PostgresWorld) -> None:
    """ex-124: what was published before the cancel reached it is recorded."""
    made = world.launch(step(1), step(2, 0))
    result = report(world.start()["s1"])
    paused = Paused(world.postgres, after="lock_dependents")
    reporting = in_thread(lambda: finish(paused, [result]))
    paused.wait_reached()
    cancelling = in_thread(lambda: cancel_run(world.store, made.run_id, "ada"))
    until_blocked(world.url)
    paused.go_on()
    assert reporting.result(120).applied
    assert cancelling.result(120).known
    fold_tallies(world.store)
    assert world.states() == {"s1": "success", "s2": "cancelled"}
    assert world.run_state(made.run_id) == "cancelled"
    check_invariants(world.tables())


@pytest.mark.parametrize("outcome", [AttemptOutcome.SUCCESS, AttemptOutcome.FAILED])
def test_one_report_sent_twice_at_once_is_applied_once(world: PostgresWorld, outcome: AttemptOutcome) -> None:
    """B-14, ex-101."""
    world.launch(step(1), step(2, 0))
    result = report(world.start()["s1"], outcome)
    paused = Paused(world.postgres, after="lock_tasks")
    one = in_thread(lambda: finish(paused, [result]))
    paused.wait_reached()
    two = in_thread(lambda: world.finish(result))
    until_blocked(world.url)
    paused.go_on()
    assert [len(one.result(120).applied), len(two.result(30).applied)] in ([1, 0], [0, 1])
    assert len(world.events("materialized")) == (outcome is AttemptOutcome.SUCCESS)
    check_invariants(world.tables())
