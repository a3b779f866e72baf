"""Claims over the in-memory store: digests of the moment, early cutoff, and tasks that cannot be resolved."""

from __future__ import annotations

import pytest
from tests.unit.duties.duty_world import WORKER, World, cell, report, step

from partita.core.duties.admit import admit
from partita.core.duties.channels import Channel
from partita.core.duties.leases import pulse, retire, sweep
from partita.core.duties.runs import fold_tallies
from partita.core.duties.values_attempts import CodeVersion, Unresolvable
from partita.core.store.port import Unavailable
from partita.core.store.values import (
    AttemptOutcome,
    LocationId,
)


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
    """S-132: what is ready is claimed by tasks, whatever runs they are of."""
    world.launch(*(step(asset) for asset in range(1, 6)), step(9, location_id=LocationId(2)))
    admit(world.store)
    assert len(world.claims(limit=2).claimed) == 2
    assert len(world.claims().claimed) == 3
    assert world.of_step("s9")["state"] == "queued"
