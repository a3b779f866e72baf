"""Queues of workers over the in-memory store with virtual time (S-148): a task runs where it can, and waits at nobody's cost."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from tests.unit.duties.duty_world import START, WORKER, World, report, step

from partita.assets.queues import ALL_QUEUES, DEFAULT_QUEUE
from partita.core.duties.admit import admit
from partita.core.duties.channels import Channel
from partita.core.duties.explain import explain
from partita.core.duties.leases import register, retire
from partita.core.duties.values import LaunchTask
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


def narrow(n: int, queue: str = DEFAULT_QUEUE, pool: str = "shared") -> LaunchTask:
    return step(n, queue=queue, pools=[(pool, 1)])


@pytest.fixture
def shared(house: World) -> World:
    """A pool of twenty slots that both queues want, and a worker of four places for one of them."""
    with house.memory.begin() as tx:
        tx.set_pool(Pool("shared", 20))
    enter(house, GPU, "gpu")
    return house


def in_state(world: World, state: str, queue: str) -> int:
    return sum(row["state"] == state and row["queue"] == queue for row in world.rows("task"))


def test_a_queue_whose_workers_are_busy_leaves_the_slots_to_others(shared: World) -> None:
    """S-146, S-151: thirty tasks came first, and four of them can run; what comes then for an idle worker starts at once."""
    shared.launch(*(narrow(n, "gpu") for n in range(1, 31)))
    admitted = admit(shared.store)
    assert admitted.queued == 4 + 1, "the places of the worker, and one that waits beside them"
    assert [(one.queue, one.reason) for one in admitted.blocked] == [("gpu", "workers_busy")]
    row = shared.of_step("s9")
    assert said(row) == ("scheduled", "workers_busy")
    assert row["reason_detail"] == {"queue": "gpu", "workers": 1, "capacity": 4}
    running = shared.claims(4, GPU, ["gpu"]).claimed
    assert admit(shared.store).queued == 0
    shared.clock.forward(1)
    shared.launch(*(narrow(n) for n in range(31, 36)))
    assert admit(shared.store).queued == 5
    assert len(shared.claims().claimed) == 5
    assert len(running) == 4
    shared.finish(report(running[0]))
    assert admit(shared.store).queued == 1, "as soon as one has ended"


def test_nothing_waits_beside_the_places_while_an_idle_worker_wants_the_slots(shared: World) -> None:
    """Its slot would be the one that the other queue's worker lacks, and its place in line is always the earlier one."""
    with shared.memory.begin() as tx:
        tx.set_pool(Pool("shared", 4))
    register(shared.store, GPU, host="h", pid=1, capacity=3, queues=["gpu"])
    shared.launch(*(narrow(n, "gpu") for n in range(1, 9)))
    shared.launch(*(narrow(n) for n in (11, 12)))
    assert admit(shared.store).queued == 4
    assert (in_state(shared, "queued", "gpu"), in_state(shared, "queued", "default")) == (3, 1)
    first, *_ = shared.claims(3, GPU, ["gpu"]).claimed
    shared.run_all()
    shared.finish(report(first))
    assert in_state(shared, "success", "default") == 2


def test_where_every_worker_takes_the_queue_its_tasks_are_in_nobodys_way(house: World) -> None:
    """The eight thousand runs of a midnight: nothing is counted, and as many are queued as pools let in."""
    with house.memory.begin() as tx:
        tx.set_pool(Pool("shared", 500))
    retire(house.store, WORKER)
    enter(house, GPU, "gpu", DEFAULT_QUEUE)
    enter(house, WorkerId("gpu2"), ALL_QUEUES)
    house.launch(*(narrow(n) for n in range(1, 101)), *(narrow(n, "gpu") for n in range(101, 201)))
    assert admit(house.store).queued == 200


def test_what_was_queued_before_another_queue_had_a_worker_goes_back_in_line(shared: World) -> None:
    """After the grace in which a worker that restarts is back; the last in line go, and keep their age."""
    retire(shared.store, WORKER)
    shared.launch(*(narrow(n, "gpu") for n in range(1, 11)))
    assert admit(shared.store).queued == 10, "nobody else is there"
    shared.claims(4, GPU, ["gpu"])
    enter(shared, WorkerId("cpu"), DEFAULT_QUEUE)
    shared.clock.forward(10)
    explain(shared.store)
    assert in_state(shared, "queued", "gpu") == 6
    with shared.memory.begin() as tx:
        tx.renew_lease(GPU, 1e6)
        tx.renew_lease(WorkerId("cpu"), 1e6)
    shared.clock.forward(5)
    assert explain(shared.store).channels == (Channel.SCHEDULED,)
    assert [row["step"] for row in shared.rows("task") if row["state"] == "queued"] == ["s5"]
    assert said(shared.of_step("s10")) == ("scheduled", "workers_busy")
    assert shared.of_step("s10")["ready_at"] == START
    assert len(shared.rows("pool_slot")) == 5
    assert (explain(shared.store).changed, admit(shared.store).queued) == (0, 0), "and there they stay"


def test_a_worker_that_is_busy_with_another_queue_has_no_place(shared: World) -> None:
    """One worker for both queues and one for the default queue only: what runs counts for both."""
    retire(shared.store, GPU)
    enter(shared, WorkerId("both"), "gpu", DEFAULT_QUEUE)
    shared.launch(*(narrow(n) for n in range(1, 4)))
    admit(shared.store)
    assert len(shared.claims(9, WorkerId("both")).claimed) == 3
    shared.launch(*(narrow(n, "gpu") for n in range(11, 21)))
    assert admit(shared.store).queued == 1 + 1
