"""Admission over the in-memory store with virtual time: pools, big tasks, caps of backfills."""

from __future__ import annotations

import pytest
from tests.unit.duties.duty_world import LOCATION, World, report, step

from partita.core.decide.caps import RUNNING_POOL, asset_pool, backfill_pool, location_pool
from partita.core.duties.admit import admit
from partita.core.duties.values import NewBackfill
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values import (
    Pool,
)


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
    """B-18, S-147: a task of several slots counts as several, and it reserves its pool until it fits."""
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
    assert admitted.held == (len(busy) == 2), "only who did nothing stands back"
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


def test_an_asset_never_has_more_active_than_its_cap_over_all_runs(world: World) -> None:
    """S-093: max_active=1 serializes what writes a shared target, in the order of its partitions.
    S-143: `max_active` of an asset is a pool row that every run's tasks of it take a slot of."""
    world.set_caps({asset_pool("a"): 2})
    for partition in ("1", "2", "3"):
        world.launch(step(1, partitions=[partition], caps=(asset_pool("a"),)), step(2, partitions=[partition]))
    assert admit(world.store).queued == 2 + 3
    waiting = [row for row in world.rows("task") if row["state"] == "scheduled"]
    assert [(row["step"], row["reason"], row["reason_detail"]) for row in waiting] == [
        ("s1", "asset_cap", {"asset": "a", "max_active": 2})
    ]
    world.set_caps({asset_pool("a"): None})
    assert admit(world.store).queued == 1, "a cap that is taken away limits no more"


def test_a_location_and_everything_have_caps(world: World) -> None:
    """S-145: they hold for what is launched while there is a limit, and a change of the number counts at once."""
    name = "flights"
    with world.memory.begin() as tx:
        assert tx.put_location(name) == LOCATION
        assert tx.running_caps() == {}
    world.set_caps({location_pool(name): 3, RUNNING_POOL: 2})
    world.launch(*(step(asset) for asset in range(1, 6)))
    assert admit(world.store).queued == 2
    assert world.of_step("s5")["reason"] == "running_cap"
    world.set_caps({RUNNING_POOL: 4})
    assert admit(world.store).queued == 1
    assert (world.of_step("s5")["reason"], world.of_step("s5")["reason_detail"]) == (
        "location_cap",
        {"location": name, "max_running": 3},
    )
    world.set_caps({location_pool(name): None, RUNNING_POOL: None})
    assert admit(world.store).queued == 2


def test_what_a_person_set_holds_until_the_configuration_says_another_number(world: World) -> None:
    def slots() -> int:
        return int(next(row["slots"] for row in world.rows("pool") if row["name"] == "p"))

    with world.memory.begin() as tx:
        tx.configure_pools([Pool("p", 2)])
        assert tx.set_pool(Pool("p", 5))
        assert not tx.set_pool(Pool("p", 5)), "nothing moved: nothing to record"
        tx.configure_pools([Pool("p", 2)])  # a scheduler starts again
    assert slots() == 5
    with world.memory.begin() as tx:
        tx.configure_pools([Pool("p", 3)])
    assert slots() == 3
