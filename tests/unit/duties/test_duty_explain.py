"""Reasons of queued tasks over the in-memory store with virtual time."""

from __future__ import annotations

from tests.unit.duties.duty_world import PIN, WORKER, World, step

from partita.core.duties.admit import admit
from partita.core.duties.channels import Channel
from partita.core.duties.explain import explain
from partita.core.duties.leases import retire
from partita.core.duties.retries import wake_retries
from partita.core.store.values import (
    Pool,
    WaitReason,
)


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
