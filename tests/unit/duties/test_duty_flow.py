"""The duties one by one, over the in-memory store with virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.duties.crashing import Crash, CrashingStore
from tests.unit.duties.duty_world import PIN, SNAPSHOT, WORKER, World, cell, gate, plan_of, report, step

from partita.core.decide.admit import backfill_pool
from partita.core.duties.admit import admit
from partita.core.duties.explain import explain
from partita.core.duties.finish import finish, publish_part
from partita.core.duties.launch import LaunchRefused, launch
from partita.core.duties.leases import pulse, register, renew, retire, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import cancel_run, fold_tallies
from partita.core.duties.values import (
    BATCH_CELLS,
    AttemptResult,
    CellOutcome,
    Channel,
    CodeVersion,
    NewBackfill,
    Unresolvable,
)
from partita.core.store.memory.store import MemoryTx
from partita.core.store.port import Unavailable
from partita.core.store.values import (
    AssetId,
    AttemptOutcome,
    Fence,
    LocationId,
    Pool,
    RetryPolicy,
    RunId,
    SnapshotId,
    WaitReason,
    WorkerId,
)


@pytest.fixture
def world() -> World:
    return World()


# ------------------------------------------------------------------------------------------------- the happy path
def test_a_chain_runs_in_order_and_the_run_succeeds(world: World) -> None:
    """none -> scheduled -> queued -> running -> success (S-107); the completion releases the next (S-139)."""
    made = world.launch(step(1), step(2, 0), step(3, 1))
    assert world.states() == {"s1": "scheduled", "s2": "none", "s3": "none"}
    for name in ("s1", "s2", "s3"):
        started = world.start()
        assert list(started) == [name]
        assert world.of_step(name)["state"] == "running"
        finished = world.finish(report(started[name]))
        assert finished.released == (0 if name == "s3" else 1)
        assert Channel.SCHEDULED in finished.channels
    folded = fold_tallies(world.store)
    assert folded.ended == ((made.run_id, "success"),)
    assert world.rows("pool_slot") == world.rows("open_cell") == world.rows("run_tally") == []
    assert world.cell(3)["data_version"] == "v3"
    assert [event["body"]["confirmed"] for event in world.events("materialized")] == [False] * 3


def test_attempts_are_numbered_at_the_claim_from_one(world: World) -> None:
    """S-110."""
    world.launch(step(1, retries=1))
    first = world.start()["s1"]
    world.finish(report(first, AttemptOutcome.FAILED, error="boom"))
    wake_retries(world.store)
    second = world.start()["s1"]
    assert (first.number, second.number) == (1, 2)
    assert second.fence > first.fence
    assert first.log == f"{first.task.id}/1.log"


def test_a_gate_counts_down_once_and_releases_its_members(world: World) -> None:
    made = world.launch(step(1), step(2), gate(0, 1), step(3, 2), step(4, 2))
    started = world.start()
    assert world.finish(report(started["s1"])).released == 0
    assert world.finish(report(started["s2"])).released == 2
    world.run_all()
    assert set(world.states().values()) == {"success"}
    assert world.run_state(made.run_id) == "success"


def test_a_gate_whose_opener_died_is_opened_by_the_next_admission(world: World) -> None:
    """Postgres is the only coordinator and every component may die at any moment (law 2)."""
    world.launch(step(1), gate(0), step(2, 1))
    started = world.start()["s1"]
    with pytest.raises(Crash):
        finish(CrashingStore(world.memory, transactions=1), [report(started)])
    assert world.of_step("s2")["state"] == "none"
    assert admit(world.store).gates == 1
    assert list(world.start()) == ["s2"]


# ------------------------------------------------------------------------------------------------- launch
def test_a_request_joins_a_task_that_has_not_started(world: World) -> None:
    """One owner per cell; all causes are recorded; the joined run follows the owner's outcome (DESIGN section 6)."""
    first = world.launch(step(1), step(2, 0))
    second = world.launch(step(1), step(3, 0))
    assert (second.joined, second.waiting) == (1, 0)
    assert len(world.rows("open_cell")) == 3
    assert world.rows("cell_cause") == [
        {**world.rows("cell_cause")[0], "run_id": second.run_id, "task_id": first.task_ids[0], "waits": False}
    ]
    world.run_all()
    assert world.run_state(first.run_id) == world.run_state(second.run_id) == "success"
    assert len([e for e in world.events("materialized") if e["asset_id"] == 1]) == 1


def test_a_joined_failure_fails_the_joining_run_and_names_the_owner(world: World) -> None:
    first = world.launch(step(1))
    second = world.launch(step(1), step(3, 0))
    world.finish(report(world.start()["s1"], AttemptOutcome.FAILED, error="boom"))
    fold_tallies(world.store)
    assert world.run_state(first.run_id) == world.run_state(second.run_id) == "failed"
    gate_row = next(row for row in world.rows("task") if row["kind"] == "gate")
    assert gate_row["error"] == f"upstream task {first.task_ids[0]} (s1) is failed"
    assert world.of_step("s3")["state"] == "upstream_failed"


@pytest.mark.parametrize("why", ["running", "other code", "forced over conditional"])
def test_a_request_waits_for_an_owner_whose_outcome_it_cannot_take(world: World, why: str) -> None:
    """`in_progress`: recorded, and planned again at the owner's end."""
    world.launch(step(1, conditional=why == "forced over conditional"))
    task = step(1, reason="forced") if why.startswith("forced") else step(1)
    started = world.start() if why == "running" else {}
    if why == "other code":
        task = replace(task, snapshot_id=SnapshotId(SNAPSHOT + 1))
    second = world.launch(task)
    assert (second.joined, second.waiting) == (0, 1)
    finished = world.finish(report((started or world.start())["s1"]))
    assert finished.todo
    assert Channel.TODO in finished.channels
    todo = [row for row in world.rows("event_todo") if row["consumer"] == "replan"]
    assert [(row["asset_id"], row["partition"], row["run_id"]) for row in todo] == [(1, "", second.run_id)]
    assert world.rows("cell_cause") == []


def test_a_task_that_keeps_some_cells_runs_beside_the_gate_for_the_others(world: World) -> None:
    first = world.launch(step(1, partitions=["a"]))
    second = world.launch(step(1, partitions=["a", "b"]), step(2, 0))
    kept = world.of_step("s1", second.run_id)
    assert kept["cell_count"] == 1
    assert world.of_step("s2", second.run_id)["waiting_on"] == 2
    world.run_all()
    assert world.run_state(first.run_id) == world.run_state(second.run_id) == "success"
    assert world.cell(1, "a")["published_run"] == first.run_id
    assert world.cell(1, "b")["published_run"] == second.run_id


@pytest.mark.parametrize(
    ("tasks", "says"),
    [
        ((), "nothing to run"),
        ((step(1, 0),), "come earlier"),
        ((step(1), step(1)), "one owner per cell"),
        ((step(1, rule="one_success"),), "trigger rule"),
        ((step(1, partitions=[]),), "needs cells"),
        ((step(1, pools=[("backfill:7", 1)]),), "a pool of your own"),
        ((step(1, pools=[("db", 0)]),), "at least one"),
    ],
)
def test_a_launch_that_contradicts_itself_is_refused_and_changes_nothing(
    world: World, tasks: tuple[object, ...], says: str
) -> None:
    """Law 10."""
    before = world.memory.dump()
    with pytest.raises(LaunchRefused, match=says):
        launch(world.store, plan_of(*tasks))  # type: ignore[arg-type]
    assert world.memory.dump() == before


def test_steps_that_name_no_pool_take_a_slot_of_default_and_unknown_pools_are_made_of_one(world: World) -> None:
    """S-022; a pool that nobody sized is safe, visible and adjustable."""
    world.launch(step(1), step(2, pools=[("duckdb", 1)]), step(3, pools=[("duckdb", 1)]))
    started = world.start()
    assert sorted(started) == ["s1", "s2"]
    assert {row["pool"]: row["slots"] for row in world.rows("pool_slot")} == {"default": 1, "duckdb": 1}


# ------------------------------------------------------------------------------------------------- admission
def test_a_full_pool_never_hides_an_empty_one(world: World) -> None:
    """B-17, S-141."""
    with world.memory.begin() as tx:
        tx.set_pool(Pool("x", 1))
        tx.set_pool(Pool("y", 3))
    many = [step(asset, pools=[("x", 1)], priority=9) for asset in range(10, 60)]
    world.launch(*many, *(step(asset, pools=[("y", 1)]) for asset in (1, 2, 3)))
    admitted = admit(world.store, limit=5)
    assert admitted.queued == 4
    assert not admitted.more
    assert [b.detail["pool"] for b in admitted.blocked] == ["x"]


def test_a_big_task_is_not_starved_by_small_ones(world: World) -> None:
    """B-18: it reserves its pool until it fits."""
    with world.memory.begin() as tx:
        tx.set_pool(Pool("p", 2))
    world.launch(step(1, pools=[("p", 1)]))
    running = world.start()["s1"]
    world.clock.forward(1)
    world.launch(step(2, pools=[("p", 2)], priority=5), step(3, pools=[("p", 1)]))
    assert world.start() == {}
    blocked = world.of_step("s3")
    assert (blocked["reason"], blocked["reason_detail"]["behind_task"]) == ("pool_full", world.of_step("s2")["id"])
    world.finish(report(running))
    assert list(world.start()) == ["s2"]


def test_a_task_that_can_never_fit_holds_up_nobody(world: World) -> None:
    with world.memory.begin() as tx:
        tx.set_pool(Pool("p", 1))
    world.launch(step(1, pools=[("p", 2)], priority=5), step(2, pools=[("p", 1)]))
    assert list(world.start()) == ["s2"]
    assert world.of_step("s1")["reason_detail"] == {"pool": "p", "slots": 1, "held": 0, "wants": 2}


@pytest.mark.parametrize("busy", [{"x"}, {"x", "y"}])
def test_pools_that_another_admitter_holds_are_passed_over_and_come_back_to(
    world: World, busy: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-118: nobody waits for anybody; `more` says that the visit was not complete."""
    world.launch(step(1, pools=[("x", 1), ("y", 1)]), step(2, pools=[("y", 1)]))
    lock = MemoryTx.lock_pools_skip
    monkeypatch.setattr(
        MemoryTx, "lock_pools_skip", lambda tx, names: [pool for pool in lock(tx, names) if pool.name not in busy]
    )
    admitted = admit(world.store)
    assert (admitted.queued, admitted.more) == (2 - len(busy), True)
    monkeypatch.undo()
    assert admit(world.store).queued == len(busy) - 1  # the one slot of y is taken, or both are free


def test_a_raised_limit_counts_at_the_next_visit(world: World) -> None:
    """B-22."""
    world.launch(*(step(asset, pools=[("p", 1)]) for asset in range(1, 9)))
    assert admit(world.store).queued == 1
    with world.memory.begin() as tx:
        tx.set_pool(Pool("p", 6))
    assert admit(world.store).queued == 5


def test_a_backfill_never_has_more_active_than_its_cap(world: World) -> None:
    """B-24, S-144: the cap is a pool row, so it is exact."""
    made = world.launch(
        *(step(asset) for asset in range(1, 6)), backfill=NewBackfill("b", max_active=2, created_by="ada")
    )
    assert made.backfill_id is not None
    assert len(world.start()) == 2
    waiting = world.of_step("s3")
    assert waiting["reason"] == "backfill_cap"
    assert waiting["reason_detail"] == {"backfill": made.backfill_id, "max_active": 2}
    assert [row["slots"] for row in world.rows("pool") if row["name"] == backfill_pool(made.backfill_id)] == [2]


def test_a_backfill_ends_with_its_run(world: World) -> None:
    made = world.launch(step(1), backfill=NewBackfill("b", max_active=None, created_by="ada"))
    world.run_all()
    assert [row["state"] for row in world.rows("backfill")] == ["success"]
    assert world.events("backfill")[0]["body"]["backfill"] == made.backfill_id


def test_reasons_are_written_only_when_they_change(world: World) -> None:
    world.launch(step(1, pools=[("p", 1)]), step(2, pools=[("p", 1)]))
    admit(world.store)
    before = world.memory.dump()
    world.clock.forward(1)
    assert admit(world.store).queued == 0
    assert world.memory.dump() == before


# ------------------------------------------------------------------------------------------------- claim
def test_digests_and_locations_are_those_of_the_claim(world: World) -> None:
    world.definitions.inputs = {2: [("a", 1), ("ext", 9)]}
    world.definitions.externals = {9}
    world.launch(step(1), step(2, 0))
    world.finish(report(world.start()["s1"], version="one"))
    claimed = world.start()["s2"]
    a, ext = claimed.inputs
    assert [fact.location for fact in a.facts[cell(2)]] == ["at/1"]
    assert [fact.data_version for fact in a.facts[cell(2)]] == ["one"]
    assert ext.external
    assert [fact.data_version for fact in ext.facts[cell(2)]] == ["external"]
    manifest = world.rows("attempt")[1]["inputs"]
    assert manifest[0]["versions"] == [["", "one"]]
    assert (manifest[1]["external"], manifest[1]["cells"]) == (True, 1)
    world.finish(report(claimed))
    assert world.cell(2)["consumed_digest"] == claimed.digests[cell(2)] != 0


def test_a_conditional_task_whose_inputs_did_not_move_ends_without_an_attempt(world: World) -> None:
    """Early cutoff (DESIGN section 5); its slots and cells are given back, its dependents go on."""
    world.definitions.inputs = {2: [("a", 1)], 3: [("b", 2)]}
    world.launch(step(1), step(2, 0), step(3, 1))
    for name in ("s1", "s2", "s3"):
        world.finish(report(world.start()[name], version="same"))
    attempts = len(world.rows("attempt"))
    again = world.launch(step(1), step(2, 0, conditional=True), step(3, 1, conditional=True))
    world.finish(report(world.start()["s1"], version="same"))
    admit(world.store)
    claims = world.claims()
    assert (claims.claimed, claims.unchanged, claims.more) == ((), 1, True)
    assert Channel.SCHEDULED in claims.channels
    admit(world.store)
    assert world.claims().unchanged == 1
    fold_tallies(world.store)
    assert len(world.rows("attempt")) == attempts + 1
    assert world.of_step("s3", again.run_id)["outcome"] == "unchanged"
    assert world.run_state(again.run_id) == "success"
    assert world.rows("pool_slot") == world.rows("open_cell") == []


@pytest.mark.parametrize("moved", ["input", "code", "dependencies", "last failed"])
def test_a_conditional_task_runs_when_anything_moved(world: World, moved: str) -> None:
    world.definitions.inputs = {2: [("a", 1)]}
    world.launch(step(1), step(2, 0))
    world.finish(report(world.start()["s1"], version="one"))
    world.finish(report(world.start()["s2"]))
    if moved == "last failed":
        world.launch(step(2))
        world.finish(report(world.start()["s2"], AttemptOutcome.FAILED))
    if moved == "code":
        world.definitions.versions[2] = CodeVersion("new", "deps2")
    if moved == "dependencies":
        world.definitions.versions[2] = CodeVersion("code2", "new")
    world.launch(step(1), step(2, 0, conditional=True))
    world.finish(report(world.start()["s1"], version="two" if moved == "input" else "one"))
    assert list(world.start()) == ["s2"]


def test_only_the_changed_partitions_of_a_conditional_batch_are_made(world: World) -> None:
    world.definitions.inputs = {2: [("a", 1)]}
    days = ["d1", "d2"]
    world.launch(step(1, partitions=days), step(2, 0, partitions=days))
    world.finish(report(world.start()["s1"], version="one"))
    world.finish(report(world.start()["s2"]))
    world.launch(step(1, partitions=["d2"]), step(2, 0, partitions=days, conditional=True))
    world.finish(report(world.start()["s1"], version="two"))
    claimed = world.start()["s2"]
    assert [own.cell for own in claimed.cells] == [cell(2, "d2")]
    world.finish(report(claimed))
    states = {row["partition"]: row["state"] for row in world.rows("task_cell") if row["task_id"] == claimed.task.id}
    assert states == {"d1": "unchanged", "d2": "published"}


@pytest.mark.parametrize("error", [Unresolvable("asset 1 is not in snapshot 1"), KeyError("x")])
def test_a_task_that_cannot_be_resolved_fails_alone(world: World, error: Exception) -> None:
    """B-43: one whose planning raises does not hold up the others."""
    world.definitions.broken = {1: error}
    world.launch(step(1), step(2, 0), step(3))
    admit(world.store)
    claims = world.claims()
    assert [claimed.task.step for claimed in claims.claimed] == ["s3"]
    assert claims.failed == 1
    assert world.states() == {"s1": "failed", "s2": "upstream_failed", "s3": "running"}
    assert "cannot be resolved" in world.of_step("s1")["error"]


@pytest.mark.parametrize(
    "error", [Unavailable("the database does not answer"), OSError("no more files"), MemoryError()]
)
def test_trouble_that_says_nothing_about_the_task_gives_the_claim_up(world: World, error: Exception) -> None:
    world.definitions.broken = {1: error}
    world.launch(step(1))
    admit(world.store)
    before = world.memory.dump()
    with pytest.raises(type(error)):
        world.claims()
    assert world.memory.dump() == before
    world.definitions.broken = {}
    assert len(world.claims().claimed) == 1


def test_a_worker_whose_lease_was_lost_claims_nothing(world: World) -> None:
    world.launch(step(1))
    admit(world.store)
    world.clock.forward(4)
    pulse(world.store)
    retire(world.store, WORKER)
    sweep(world.store)
    assert not world.claims().live
    assert world.states() == {"s1": "queued"}


def test_claims_are_limited_and_pinned(world: World) -> None:
    world.launch(*(step(asset) for asset in range(1, 6)), step(9, location_id=LocationId(2)))
    admit(world.store)
    assert len(world.claims(limit=2).claimed) == 2
    assert len(world.claims().claimed) == 3
    assert world.of_step("s9")["state"] == "queued"


# ------------------------------------------------------------------------------------------------- finish
def test_a_late_report_is_refused_and_changes_nothing(world: World) -> None:
    """Fencing (S-153, ex-099): only the live attempt counts, whatever the other wrote."""
    world.launch(step(1, retries=1))
    first = world.start()["s1"]
    world.finish(report(first, AttemptOutcome.FAILED))
    wake_retries(world.store)
    second = world.start()["s1"]
    before = world.memory.dump()
    assert world.finish(report(first)).refused[0].why.startswith(f"attempt {second.attempt_id} holds the task now")
    assert world.finish(replace(report(second), fence=Fence(second.fence - 1))).refused
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
    stale = replace(report(started["s1"]), attempt_id=started["s2"].attempt_id)
    finished = world.finish(stale, report(started["s2"]), report(started["s2"]))
    assert finished.applied == (started["s2"].task.id,)
    assert len(finished.refused) == 2
    assert world.states() == {"s1": "running", "s2": "success"}


def test_an_unmoved_version_is_confirmed_and_wakes_no_automation(world: World) -> None:
    """DESIGN section 5: freshness, fingerprint and digest move, version and location stay."""
    for _ in range(2):
        world.launch(step(1))
        started = world.start()["s1"]
        finished = world.finish(replace(report(started, version="same"), automation_assets=frozenset({AssetId(1)})))
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
    """S-111, S-113."""
    made = world.launch(step(1), step(2, 0), step(3, 1, rule="all_done"))
    world.finish(report(world.start()["s1"], AttemptOutcome.FAILED))
    assert world.states() == {"s1": "failed", "s2": "upstream_failed", "s3": "scheduled"}
    world.run_all()
    assert world.states()["s3"] == "success"
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
    world.finish(replace(report(claimed, kinds=kinds), groups=((AssetId(1), AssetId(2)),)))
    published = {(e["asset_id"], e["partition"]) for e in world.events("materialized")}
    assert published == {(1, "p"), (2, "p")}
    assert world.states() == {"s1": "failed"}


def test_a_report_without_its_digest_is_a_failure_of_that_cell_and_not_of_the_batch(world: World) -> None:
    world.launch(step(1), step(2))
    started = world.start()
    finished = world.finish(replace(report(started["s1"]), digests={}), report(started["s2"]))
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


# ------------------------------------------------------------------------------------------------- leases
def test_a_lapsed_lease_loses_all_attempts_of_the_worker_and_no_user_retry(world: World) -> None:
    """S-153, S-155, B-10."""
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


def test_a_renewal_tells_what_to_stop(world: World) -> None:
    made = world.launch(step(1), step(2, 0))
    claimed = world.start()["s1"]
    assert renew(world.store, WORKER).cancelled == ()
    cancelled = cancel_run(world.store, made.run_id, "ada")
    assert (cancelled.cancelled, cancelled.stopping) == (1, 1)
    assert Channel.CANCEL in cancelled.channels
    assert renew(world.store, WORKER).cancelled == ((claimed.task.id, claimed.attempt_id),)
    assert not renew(world.store, WorkerId("nobody")).live


# ------------------------------------------------------------------------------------------------- cancel
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


# ------------------------------------------------------------------------------------------------- explain
def test_queued_tasks_say_what_they_wait_for(world: World) -> None:
    """Stuck in queued means workers or servers (S-151); written only when it changes."""
    with world.memory.begin() as tx:
        location = tx.put_location("flights")
        snapshot, _ = tx.put_snapshot(location, "hash-1", body=b"", effective=b"", kept=[])
    assert (location, snapshot) == PIN
    world.launch(step(1))
    admit(world.store)

    def reason() -> str | None:
        explain(world.store)
        row = world.of_step("s1")
        assert explain(world.store).changed == 0
        return row["reason"] if row["reason"] is None else str(row["reason"])

    assert reason() == WaitReason.NO_SERVER
    with world.memory.begin() as tx:
        tx.put_code_server("c1", location, "addr", ["hash-2"], 1000)
    assert reason() == WaitReason.VERSION_GONE
    assert world.of_step("s1")["reason_detail"] == {"location": "flights", "version": "hash-1"}
    with world.memory.begin() as tx:
        tx.put_code_server("c1", location, "addr", ["hash-2", "hash-1"], 1000)
    assert reason() is None  # about to be claimed
    world.clock.forward(3)
    assert reason() == WaitReason.WORKERS_BUSY
    retire(world.store, WORKER)
    assert reason() == WaitReason.NO_WORKER


def test_tasks_that_no_server_can_run_leave_the_pool_to_others(world: World) -> None:
    """Law 7, S-007: a version that was gone for good used to hold every slot of a pool that others share."""
    with world.memory.begin() as tx:
        location = tx.put_location("flights")
        tx.put_snapshot(location, "hash-1", body=b"", effective=b"", kept=[])
        other = tx.put_location("other")
        snapshot, _ = tx.put_snapshot(other, "hash-2", body=b"", effective=b"", kept=[])
        tx.put_code_server("c2", other, "addr", ["hash-2"], 1000)
        tx.set_pool(Pool("narrow", 2))
    lost = world.launch(*(step(n, pools=[("narrow", 1)]) for n in (1, 2)))
    served = world.launch(step(3, pools=[("narrow", 1)], location_id=other, snapshot_id=snapshot))
    assert admit(world.store).queued == 2
    explain(world.store)
    world.clock.forward(10)
    explain(world.store)
    assert admit(world.store).queued == 0
    world.clock.forward(6)
    assert explain(world.store).channels == (Channel.SCHEDULED,)
    assert {world.task(task_id)["state"] for task_id in lost.task_ids} == {"up_for_retry"}
    assert world.of_step("s1")["reason"] == WaitReason.NO_SERVER
    assert admit(world.store).queued == 1
    assert world.task(served.task_ids[0])["state"] == "queued"
    world.clock.forward(16)
    assert wake_retries(world.store).tasks == 2
    admit(world.store)
    world.run_all()
    assert world.of_step("s1")["attempt_number"] == 1
    assert world.of_step("s1")["state"] == "success"


def test_a_part_never_reports_for_a_task_that_is_not_there(world: World) -> None:
    nobody = AttemptResult(world.launch(step(1)).task_ids[0], 7, Fence(7), AttemptOutcome.SUCCESS)  # type: ignore[arg-type]
    assert publish_part(world.store, nobody).refused is not None
    assert world.finish(replace(nobody, task_id=99)).refused[0].why == "there is no such task"  # type: ignore[arg-type]


def _age(world: World, seconds: int) -> None:
    """Time in which the database answers and the worker says nothing."""
    for _ in range(seconds):
        world.clock.forward(1)
        pulse(world.store)
