"""Tasks whose version no server has, over the in-memory store with virtual time (DESIGN section 6, "Snapshots")."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.duties.duty_world import LOCATION, PIN, World, gate, report, step

from partita.core.duties.admit import admit
from partita.core.duties.channels import Channel
from partita.core.duties.explain import explain
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import fold_tallies
from partita.core.duties.stranded import give_up_versions
from partita.core.duties.values import LaunchTask, LaunchWait
from partita.core.duties.values_attempts import Deferral
from partita.core.duties.waits import register_triggerer, watch
from partita.core.store.values import AssetId, AttemptOutcome, AutomationRequest, CellRef, RunId, SnapshotId
from partita.core.store.values_waits import TriggererId

GRACE_S = 600.0


@pytest.fixture
def two_versions(world: World) -> World:
    """The tasks of the tests are pinned to `old`, which no server has any more; `new` is served."""
    with world.memory.begin() as tx:
        assert tx.put_location("house") == LOCATION
        for version in ("old", "new"):
            tx.put_snapshot(LOCATION, version, body=b"", effective=b"", kept=())
        tx.put_code_server("server", LOCATION, "at", ["new"], 10**9)
    return world


def wait(world: World, seconds: int) -> None:
    """What the schedulers do meanwhile, but for giving up."""
    for _ in range(0, seconds, 5):
        world.clock.forward(5)
        wake_retries(world.store)
        admit(world.store)
        explain(world.store)


def replans(world: World) -> set[tuple[int, str]]:
    return {(row["asset_id"], row["partition"]) for row in world.rows("event_todo") if row["consumer"] == "replan"}


def test_what_automation_asked_for_may_be_asked_for_again(two_versions: World) -> None:
    """The same state of the inputs: nobody made what it asked for. What another run was to make stays asked for."""
    world = two_versions
    run = world.launch(step(1, partitions=["a", "b"]), step(2, 0, partitions=["a"]))
    cells = [CellRef(AssetId(1), "a"), CellRef(AssetId(1), "b"), CellRef(AssetId(2), "a")]
    other = RunId(run.run_id + 1)
    with world.memory.begin() as tx:
        tx.insert_automation_requests([AutomationRequest(cell, 7, run.run_id, {}) for cell in cells])
        tx.insert_automation_requests([AutomationRequest(cells[0], 8, other, {})])
    wait(world, 640)
    assert give_up_versions(world.store, grace_s=GRACE_S).replanned == 3
    with world.memory.begin() as tx:
        assert tx.known_requests(dict.fromkeys(cells, 7)) == set()
        assert tx.known_requests({cells[0]: 8}) == {cells[0]}


def test_after_the_grace_they_are_removed_and_the_request_is_planned_again(two_versions: World) -> None:
    world = two_versions
    run = world.launch(step(1, partitions=["a", "b"]), gate(0), step(2, 1, partitions=["a"]), step(3))
    wait(world, 30)
    assert world.of_step("s1")["reason"] == "version_gone"
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 0
    wait(world, 600)
    done = give_up_versions(world.store, grace_s=GRACE_S)
    assert (done.removed, done.replanned, done.more) == (2, 4, False)
    assert Channel.TODO in done.channels
    states = world.states(run.run_id)
    assert (states["s1"], states["s2"], states["s3"]) == ("removed", "upstream_failed", "removed")
    assert "has had version old since" in world.of_step("s1")["error"]
    assert replans(world) == {(1, "a"), (1, "b"), (2, "a"), (3, "")}, "with what ended below them"
    assert (world.rows("pool_slot"), world.rows("open_cell")) == ([], [])
    fold_tallies(world.store)
    assert world.run_state(run.run_id) == "failed", "a run that did not make what it was asked for is not green"
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 0


def test_a_version_that_comes_back_is_waited_for_anew(two_versions: World) -> None:
    world = two_versions
    world.launch(step(1))
    wait(world, 500)
    with world.memory.begin() as tx:
        tx.put_code_server("server", LOCATION, "at", ["old", "new"], 10**9)
    assert world.rows("version_gone") == []
    with world.memory.begin() as tx:
        tx.put_code_server("server", LOCATION, "at", ["new"], 10**9)
    wait(world, 500)
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 0
    wait(world, 120)
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 1


def test_a_location_that_is_down_says_nothing_about_its_versions(two_versions: World) -> None:
    world = two_versions
    world.launch(step(1))
    wait(world, 700)
    with world.memory.begin() as tx:
        tx.remove_code_server("server")
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 0


def test_what_runs_or_is_pinned_elsewhere_is_left_alone(two_versions: World) -> None:
    """A running attempt is not stopped: its server still has it, or its lease will say so."""
    world = two_versions
    world.launch(step(1))
    world.start()
    run = world.launch(step(2), step(3, snapshot_id=SnapshotId(2)))
    wait(world, 700)
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 1
    assert world.states()["s1"] == "running"
    assert world.states(run.run_id) == {"s2": "removed", "s3": "queued"}


def test_one_run_a_transaction(two_versions: World) -> None:
    world = two_versions
    world.launch(step(1))
    world.launch(step(2))
    wait(world, 700)
    assert [give_up_versions(world.store, grace_s=GRACE_S).more for _ in range(2)] == [True, False]
    assert set(world.states().values()) == {"removed"}


def waiting(task: LaunchTask) -> LaunchTask:
    return replace(task, waits=(LaunchWait("m:T", {}, "file a.csv", 3600.0),))


def test_what_nobody_can_watch_any_more_is_planned_again_too(two_versions: World) -> None:
    """Before its start or in the middle: what it waits for could come, and only its own version would notice."""
    world = two_versions
    run = world.launch(waiting(step(1)), step(2), step(3, 0))
    world.finish(
        report(world.start()["s2"], AttemptOutcome.DEFERRED, deferral=Deferral(0, "m:T", {}, "job 7", 3600.0)),
    )
    assert world.states(run.run_id) == {"s1": "deferred", "s2": "deferred", "s3": "none"}
    wait(world, 595)
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 0
    wait(world, 10)
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 2
    assert world.states(run.run_id) == {"s1": "removed", "s2": "removed", "s3": "upstream_failed"}
    assert replans(world) == {(1, ""), (2, ""), (3, "")}
    assert {row["state"] for row in world.rows("wait")} == {"ended"}, "nobody looks for it in vain"


def test_what_is_watched_is_left_to_its_version(two_versions: World) -> None:
    """A server that has been told of newer code keeps the version for as long as it watches for it."""
    world = two_versions
    world.launch(waiting(step(1)))
    with world.memory.begin() as tx:
        tx.put_code_server("server", LOCATION, "at", ["old", "new"], 10**9)
    register_triggerer(world.store, TriggererId("one"), host="h", pid=1, lease_s=10**9)
    assert len(watch(world.store, TriggererId("one"), [PIN], 10).claimed) == 1
    wait(world, 700)
    assert world.rows("version_gone") == []
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 0


def test_what_was_given_up_is_forgotten_when_another_version_is_gone(two_versions: World) -> None:
    world = two_versions
    with world.memory.begin() as tx:
        third, _ = tx.put_snapshot(LOCATION, "third", body=b"", effective=b"", kept=())
    world.launch(step(1))
    wait(world, 700)
    world.launch(step(2, snapshot_id=SnapshotId(third)))
    wait(world, 10)
    assert [row["snapshot_id"] for row in world.rows("version_gone")] == [1, third], "the first is waited for"
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 1
    wait(world, 700)
    assert [row["snapshot_id"] for row in world.rows("version_gone")] == [third]
    assert give_up_versions(world.store, grace_s=GRACE_S).removed == 1
