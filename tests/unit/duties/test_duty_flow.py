"""The duties together, over the in-memory store with virtual time: chains, gates, attempt numbers."""

from __future__ import annotations

import pytest
from tests.simulation.crashing import Crash, CrashingStore
from tests.unit.duties.duty_world import World, gate, report, step

from partita.core.decide.caps import asset_pool
from partita.core.duties.admit import admit
from partita.core.duties.channels import Channel
from partita.core.duties.finish import finish
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import fold_tallies
from partita.core.store.values import (
    AttemptOutcome,
)


def test_a_chain_runs_in_order_and_the_run_succeeds(world: World) -> None:
    """S-011: the transaction that ends a task makes what follows ready: no loop has to come by.
    none -> scheduled -> queued -> running -> success (S-107); the completion releases the next (S-139)."""
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


def test_an_earlier_partition_is_waited_for_and_not_what_follows_from_it(world: World) -> None:
    """S-164: waiting for everything downstream of the earlier partition too is no default: the first downstream is still open
    here, and the second partition goes on."""
    world.launch(
        step(1, partitions=["1"]),
        step(2, 0, partitions=["1"]),
        step(1, 0, partitions=["2"]),
    )
    world.finish(report(world.start()["s1"]))
    open_now = [(row["step"], row["state"]) for row in world.rows("task") if row["state"] != "success"]
    assert sorted(open_now) == [("s1", "scheduled"), ("s2", "scheduled")]


def test_tasks_of_one_asset_go_in_the_order_of_its_partitions(world: World) -> None:
    """S-093: with one slot, the earliest partition first."""
    world.set_caps({asset_pool("a"): 1})
    world.launch(*(step(1, partitions=[one], caps=(asset_pool("a"),)) for one in ("1", "2", "3")))
    made = []
    for _ in range(3):
        started = world.start()
        [claimed] = started.values()
        made += [one.cell.partition for one in claimed.cells]
        world.finish(report(claimed))
    assert made == ["1", "2", "3"]
