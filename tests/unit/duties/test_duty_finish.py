"""Reports over the in-memory store: fencing, retries, skips, partial batches, publication in parts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.duties.duty_world import WORKER, World, cell, report, step

from partita.core.duties.finish import publish_part
from partita.core.duties.leases import retire, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.values import BATCH_CELLS
from partita.core.duties.values_attempts import AttemptResult, CellOutcome, CodeVersion
from partita.core.store.values import (
    AssetId,
    AttemptOutcome,
    Fence,
    RetryPolicy,
)


def test_a_late_report_is_refused_and_changes_nothing(world: World) -> None:
    """Fencing (S-153, ex-099): only the live attempt counts, whatever the other wrote."""
    world.launch(step(1, retries=1))
    first = world.start()["s1"]
    world.finish(report(first, AttemptOutcome.FAILED))
    wake_retries(world.store)
    second = world.start()["s1"]
    before = world.memory.dump()
    assert world.finish(report(first)).refused[0].why.startswith(f"attempt {second.attempt_id} holds the task now")
    assert world.finish(report(second)._replace(fence=Fence(second.fence - 1))).refused
    assert world.memory.dump() == before
    world.finish(report(second))
    before = world.memory.dump()
    again = world.finish(report(second))
    assert (again.applied, again.channels) == ((), ())
    assert "with this very attempt" in again.refused[0].why
    assert world.memory.dump() == before
    assert [event["body"]["data_version"] for event in world.events("materialized")] == [f"v{second.attempt_id}"]


def test_one_refused_report_sinks_no_other(world: World) -> None:
    world.launch(step(1), step(2))
    started = world.start()
    stale = report(started["s1"])._replace(attempt_id=started["s2"].attempt_id)
    finished = world.finish(stale, report(started["s2"]), report(started["s2"]))
    assert finished.applied == (started["s2"].task.id,)
    assert len(finished.refused) == 2
    assert world.states() == {"s1": "running", "s2": "success"}


def test_an_unmoved_version_is_confirmed_and_wakes_no_automation(world: World) -> None:
    """DESIGN section 5: freshness, fingerprint and digest move, version and location stay."""
    for _ in range(2):
        world.launch(step(1))
        started = world.start()["s1"]
        finished = world.finish(report(started, version="same")._replace(automation_assets=frozenset({AssetId(1)})))
        world.clock.forward(60)
        world.definitions.versions[1] = CodeVersion("code2", "deps")
    assert not finished.todo
    assert len([row for row in world.rows("event_todo") if row["consumer"] == "automation"]) == 1
    row = world.cell(1)
    assert (row["location"], row["last_outcome"]) == ("at/1", "unchanged")
    assert row["published_at"] > row["version_at"]
    assert world.rows("task")[-1]["outcome"] == "unchanged"


def test_a_failure_is_retried_after_its_delay_and_then_fails_for_good(world: World) -> None:
    """S-110, S-157: attempt n fails, up_for_retry, ready again at fail time + delay."""
    world.launch(step(1, retry=RetryPolicy(1, delay_s=60)), step(2, 0))
    world.finish(report(world.start()["s1"], AttemptOutcome.FAILED, error="boom"))
    row = world.of_step("s1")
    assert (row["state"], row["reason"], row["reason_detail"]["error"]) == ("up_for_retry", "retry_at", "boom")
    assert world.rows("pool_slot") == []  # a wait holds no slot (law 7)
    world.clock.forward(59)
    assert wake_retries(world.store).tasks == 0
    world.clock.forward(1)
    assert wake_retries(world.store).tasks == 1
    world.finish(report(world.start()["s1"], AttemptOutcome.TIMED_OUT, error="slow"))
    assert world.states() == {"s1": "failed", "s2": "upstream_failed"}
    assert (world.cell(1)["last_outcome"], world.cell(1)["last_error"]) == ("failed", "slow")
    assert {row["state"] for row in world.rows("task_cell")} == {"failed", "upstream_failed"}


def test_a_retry_carries_only_the_cells_not_yet_published(world: World) -> None:
    world.launch(step(1, partitions=["a", "b", "c"], retries=1))
    first = world.start()["s1"]
    kinds = {cell(1, "a"): CellOutcome.WRITTEN, cell(1, "b"): CellOutcome.FAILED}
    world.finish(report(first, AttemptOutcome.FAILED, kinds=kinds))
    wake_retries(world.store)
    second = world.start()["s1"]
    assert [own.cell.partition for own in second.cells] == ["b", "c"]
    world.finish(report(second))
    assert world.states() == {"s1": "success"}
    assert len(world.events("materialized")) == 3


def test_a_batch_ends_failed_when_one_cell_failed_for_good_and_keeps_the_others(world: World) -> None:
    world.launch(step(1, partitions=["a", "b"]))
    kinds = {cell(1, "a"): CellOutcome.WRITTEN, cell(1, "b"): CellOutcome.FAILED}
    world.finish(report(world.start()["s1"], kinds=kinds))
    assert world.states() == {"s1": "failed"}
    assert {row["partition"]: row["state"] for row in world.rows("task_cell")} == {"a": "published", "b": "failed"}


def test_a_cell_without_a_report_under_success_is_a_failure(world: World) -> None:
    world.launch(step(1, partitions=["a", "b"]))
    world.finish(report(world.start()["s1"], kinds={cell(1, "a"): CellOutcome.WRITTEN}))
    assert world.states() == {"s1": "failed"}
    assert "made nothing for partition 'b'" in world.of_step("s1")["error"]
    assert [row["outcome"] for row in world.rows("attempt")] == ["failed"]


def test_a_skip_publishes_nothing_skips_what_is_below_and_the_run_succeeds(world: World) -> None:
    """DESIGN section 5 "Skip"; S-112: skips never fail a run."""
    made = world.launch(step(1), step(2, 0), step(3, 1, rule="none_failed"))
    world.finish(report(world.start()["s1"], AttemptOutcome.SKIPPED))
    assert world.states() == {"s1": "skipped", "s2": "skipped", "s3": "scheduled"}
    world.run_all()
    assert world.run_state(made.run_id) == "success"
    assert world.cell(1)["data_version"] is None


def test_a_skipped_earlier_partition_satisfies_a_self_dependency(world: World) -> None:
    """ex-133."""
    world.launch(step(1, partitions=["d1"]), step(1, 0, partitions=["d2"]))
    world.finish(report(world.start()["s1"], AttemptOutcome.SKIPPED))
    assert [own.cell.partition for own in world.start()["s1"].cells] == ["d2"]


def test_an_all_done_cleanup_runs_and_does_not_rescue_the_run(world: World) -> None:
    """S-114: an optional step is a trigger rule, and hides no failure. S-111, S-113."""
    made = world.launch(step(1), step(2, 0), step(3, 1, rule="all_done"))
    world.finish(report(world.start()["s1"], AttemptOutcome.FAILED))
    assert world.states() == {"s1": "failed", "s2": "upstream_failed", "s3": "scheduled"}
    world.run_all()
    assert world.states()["s3"] == "success"
    assert world.run_state(made.run_id) == "failed"


def test_a_rule_that_is_certain_early_starts_and_heeds_no_later_end(world: World) -> None:
    """ex-039, ex-036: it runs beside its upstream, and the failure that comes after changes nothing about it."""
    made = world.launch(step(1), step(2), step(3, 0, 1, rule="one_success"), step(4, 0, 1, rule="always"))
    assert world.states()["s4"] == "scheduled"
    claimed = world.start()
    world.finish(report(claimed["s1"]), report(claimed["s4"]))
    assert world.states()["s3"] == "scheduled"
    third = world.start()["s3"]
    world.finish(report(claimed["s2"], AttemptOutcome.FAILED))
    assert world.states()["s3"] == "running"
    world.finish(report(third))
    world.run_all()
    assert world.states() == {"s1": "success", "s2": "failed", "s3": "success", "s4": "success"}
    assert world.run_state(made.run_id) == "failed"


@pytest.mark.parametrize("late", [CellOutcome.FAILED, CellOutcome.SKIPPED, None])
def test_an_atomic_group_publishes_all_or_nothing_within_a_partition(world: World, late: CellOutcome | None) -> None:
    both = step(1, partitions=[])
    cells = (*step(1, partitions=["p", "q"]).cells, *step(2, partitions=["p", "q"]).cells)
    world.launch(replace(both, cells=cells))
    claimed = world.start()["s1"]
    kinds = {own.cell: CellOutcome.WRITTEN for own in claimed.cells}
    if late is None:
        del kinds[cell(2, "q")]
    else:
        kinds[cell(2, "q")] = late
    world.finish(report(claimed, kinds=kinds)._replace(groups=((AssetId(1), AssetId(2)),)))
    published = {(e["asset_id"], e["partition"]) for e in world.events("materialized")}
    assert published == {(1, "p"), (2, "p")}
    assert world.states() == {"s1": "failed"}


def test_a_report_without_its_digest_is_a_failure_of_that_cell_and_not_of_the_batch(world: World) -> None:
    world.launch(step(1), step(2))
    started = world.start()
    finished = world.finish(report(started["s1"])._replace(digests={}), report(started["s2"]))
    assert len(finished.applied) == 2
    assert world.states() == {"s1": "failed", "s2": "success"}
    assert "without its digest" in world.of_step("s1")["error"]


def test_a_cell_that_a_later_fence_holds_is_not_published(world: World) -> None:
    """A roll-back or a mark in the meantime wins; the attempt is lost and done again, nobody else is held up."""
    world.launch(step(1), step(2))
    started = world.start()
    with world.memory.begin() as tx:
        tx.raise_fences([cell(1)], [tx.next_fence()])
    world.finish(report(started["s1"]), report(started["s2"]))
    assert world.states() == {"s1": "up_for_retry", "s2": "success"}
    assert [e["asset_id"] for e in world.events("materialized")] == [2]
    assert world.of_step("s1")["infra_losses"] == 1
    wake_retries(world.store)
    world.run_all()
    assert world.states()["s1"] == "success"


def test_retry_later_waits_as_long_as_it_says_and_consumes_a_retry(world: World) -> None:
    world.launch(step(1, retry=RetryPolicy(1, delay_s=5)))
    world.finish(report(world.start()["s1"], AttemptOutcome.RETRY_LATER, retry_in_s=600.0))
    world.clock.forward(599)
    assert wake_retries(world.store).tasks == 0
    world.clock.forward(1)
    assert wake_retries(world.store).tasks == 1
    world.finish(report(world.start()["s1"], AttemptOutcome.RETRY_LATER, retry_in_s=1.0))
    assert world.states() == {"s1": "failed"}


def test_a_version_that_went_away_consumes_nothing(world: World) -> None:
    world.launch(step(1))
    for _ in range(10):
        world.finish(report(world.start()["s1"], AttemptOutcome.VERSION_GONE))
        assert world.of_step("s1")["reason"] == "version_gone"
        world.clock.forward(5)
        wake_retries(world.store)
    world.run_all()
    assert world.states() == {"s1": "success"}


def test_parts_of_a_long_batch_are_published_while_it_runs(world: World) -> None:
    world.launch(step(1, partitions=["a", "b"]))
    claimed = world.start()["s1"]
    part = report(claimed, kinds={cell(1, "a"): CellOutcome.WRITTEN})
    assert publish_part(world.store, part).cells == (cell(1, "a"),)
    assert publish_part(world.store, part).cells == ()
    assert world.states() == {"s1": "running"}
    world.finish(report(claimed))
    assert world.states() == {"s1": "success"}
    assert len(world.events("materialized")) == 2
    assert publish_part(world.store, part).refused is not None


def test_a_worker_that_dies_after_its_last_part_has_lost_nothing(world: World) -> None:
    world.launch(step(1, partitions=["a", "b"]), step(2, 0))
    publish_part(world.store, report(world.start()["s1"]))
    retire(world.store, WORKER)
    assert sweep(world.store).ended == 1
    assert world.states() == {"s1": "success", "s2": "scheduled"}


def test_a_report_of_more_cells_than_a_transaction_takes_is_published_in_parts(world: World) -> None:
    partitions = [f"p{n:04}" for n in range(BATCH_CELLS + 200)]
    world.launch(step(1, partitions=partitions))
    claimed = world.start()["s1"]
    world.finish(report(claimed))
    assert world.states() == {"s1": "success"}
    assert len(world.events("materialized")) == len(partitions)
    with pytest.raises(ValueError, match="at most 1000"):
        publish_part(world.store, report(claimed))


def test_a_part_never_reports_for_a_task_that_is_not_there(world: World) -> None:
    nobody = AttemptResult(world.launch(step(1)).task_ids[0], 7, Fence(7), AttemptOutcome.SUCCESS)  # type: ignore[arg-type]
    assert publish_part(world.store, nobody).refused is not None
    assert world.finish(nobody._replace(task_id=99)).refused[0].why == "there is no such task"  # type: ignore[arg-type]
