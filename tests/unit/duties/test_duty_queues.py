"""Queues of workers over the in-memory store with virtual time (S-148): a task runs where it can, and waits at nobody's cost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.duties.duty_world import START, WORKER, World, step

from partita.assets.queues import ALL_QUEUES, DEFAULT_QUEUE
from partita.core.duties.admit import admit
from partita.core.duties.channels import Channel
from partita.core.duties.explain import explain
from partita.core.duties.leases import register, retire
from partita.core.store.values import Pool, WorkerId

GPU = WorkerId("gpu1")
NARROW = [("narrow", 1)]


@pytest.fixture
def house(world: World) -> World:
    """A location that is served, a pool of two slots, and the worker of the default queue."""
    with world.memory.begin() as tx:
        location = tx.put_location("house")
        tx.put_snapshot(location, "v1", body=b"", effective=b"", kept=())
        tx.put_code_server("server", location, "at", ["v1"], 1e6)
        tx.set_pool(Pool("narrow", 2))
    return world


def enter(world: World, worker: WorkerId, *queues: str) -> tuple[Channel, ...]:
    return register(world.store, worker, host="h", pid=1, capacity=4, queues=queues).channels


def said(row: dict[str, Any]) -> tuple[str, str | None]:
    return row["state"], row["reason"]


def test_a_worker_takes_the_tasks_of_its_queues_only(house: World) -> None:
    enter(house, GPU, "gpu")
    house.launch(step(1), step(2, queue="gpu"), step(3, queue="gpu"))
    admit(house.store)
    assert [claimed.task.step for claimed in house.claims().claimed] == ["s1"]
    assert [claimed.task.step for claimed in house.claims(1, GPU, ["gpu"]).claimed] == ["s2"]
    assert [claimed.task.step for claimed in house.claims(9, GPU, ["default", "gpu"]).claimed] == ["s3"]


def test_a_backlog_of_another_queue_is_not_walked_past(house: World) -> None:
    enter(house, GPU, "gpu")
    with house.memory.begin() as tx:
        tx.set_pool(Pool("wide", 1_000))
    wide = [("wide", 1)]
    house.launch(*(step(1, partitions=[str(n)], queue="gpu", pools=wide, priority=9) for n in range(30)))
    house.clock.forward(1)
    house.launch(step(2, pools=wide))
    admit(house.store)
    assert [claimed.task.step for claimed in house.claims(1).claimed] == ["s2"]


def test_what_no_worker_takes_is_not_admitted_and_says_so(house: World) -> None:
    """Law 7: it holds no slot, reserves none, and is nobody's turn; the first worker of its queue makes admission look."""
    house.launch(
        step(1, partitions=["a"], queue="gpu", pools=NARROW, priority=9),
        step(1, partitions=["b"], queue="gpu", pools=[("narrow", 2)], priority=9),
        *(step(n, pools=NARROW) for n in (2, 3)),
    )
    admitted = admit(house.store)
    assert admitted.queued == 2
    assert {(one.queue, one.reason) for one in admitted.blocked} == {("gpu", "no_worker")}
    row = house.of_step("s1")
    assert said(row) == ("scheduled", "no_worker")
    assert row["reason_detail"] == {"queue": "gpu", "since": None, "others": {"default": 1}}
    assert admit(house.store).queued == 0
    house.run_all()
    assert enter(house, GPU, "gpu") == (Channel.SCHEDULED,)
    assert admit(house.store).queued == 1, (
        "the big one fits alone, the small one waits behind it, or the other way round"
    )
    assert house.claims(9, GPU, ["gpu"]).claimed


def test_who_is_queued_when_the_last_worker_of_its_queue_goes_gives_its_slots_back(house: World) -> None:
    """After a grace, in which a worker that restarts is back; since when nobody is there is told."""
    enter(house, GPU, "gpu")
    house.launch(*(step(n, queue="gpu", pools=NARROW) for n in (1, 2)))
    assert admit(house.store).queued == 2
    house.clock.forward(5)
    retire(house.store, GPU)
    gone = house.clock.now
    house.clock.forward(10)
    house.launch(step(3, pools=NARROW))
    assert admit(house.store).queued == 0
    explain(house.store)
    row = house.of_step("s1")
    assert said(row) == ("queued", "no_worker")
    assert row["reason_detail"]["since"] == gone.isoformat(timespec="seconds")
    house.clock.forward(5)
    assert explain(house.store).channels == (Channel.SCHEDULED,)
    row = house.of_step("s1")
    assert said(row) == ("scheduled", "no_worker")
    assert row["ready_at"] == START, "it keeps its age"
    assert house.rows("pool_slot") == []
    assert admit(house.store).queued == 1
    assert said(house.of_step("s3")) == ("queued", None)
    enter(house, GPU, "gpu")
    assert admit(house.store).queued == 1, "one slot is left, and it goes to the first in line"
    assert said(house.of_step("s1")) == ("queued", None)


def test_a_worker_that_restarts_in_time_finds_its_tasks_queued(house: World) -> None:
    enter(house, GPU, "gpu")
    house.launch(step(1, queue="gpu"))
    admit(house.store)
    house.clock.forward(60)
    retire(house.store, GPU)
    house.clock.forward(14)
    explain(house.store)
    enter(house, WorkerId("gpu2"), "gpu")
    explain(house.store)
    assert said(house.of_step("s1")) == ("queued", "workers_busy")
    assert house.of_step("s1")["reason_detail"] == {"queue": "gpu", "workers": 1, "capacity": 4}


def test_while_no_worker_at_all_is_alive_tasks_go_on_into_their_queues(house: World) -> None:
    """S-151: stuck in queued means workers. Nobody's slots are kept from anybody."""
    retire(house.store, WORKER)
    house.launch(step(1), step(2, queue="gpu"))
    assert admit(house.store).queued == 2
    house.clock.forward(600)
    explain(house.store)
    assert {said(house.of_step(name)) for name in ("s1", "s2")} == {("queued", "no_worker")}
    assert house.of_step("s1")["reason_detail"] == {
        "queue": "default",
        "since": START.isoformat(timespec="seconds"),
        "others": {},
    }
    enter(house, GPU, "gpu")
    explain(house.store)
    assert said(house.of_step("s1")) == ("scheduled", "no_worker")
    assert said(house.of_step("s2"))[0] == "queued"


def test_a_worker_of_all_queues_takes_every_one(house: World) -> None:
    enter(house, GPU, ALL_QUEUES)
    retire(house.store, WORKER)
    house.launch(step(1), step(2, queue="gpu"), step(3, queue="high-memory"))
    assert admit(house.store).queued == 3
    assert len(house.claims(9, GPU, [DEFAULT_QUEUE, "gpu", "high-memory"]).claimed) == 3


def test_a_lapsed_lease_counts_as_no_worker(house: World) -> None:
    register(house.store, GPU, host="h", pid=1, capacity=4, queues=["gpu"], lease_s=10)
    with house.memory.begin() as tx:
        tx.renew_lease(WORKER, 1e6)
    house.clock.forward(11)
    house.launch(step(1, queue="gpu"))
    assert admit(house.store).queued == 0
    since = START + timedelta(seconds=10)
    assert house.of_step("s1")["reason_detail"]["since"] == since.isoformat(timespec="seconds")
