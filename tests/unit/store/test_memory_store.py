"""What the differential test cannot show of the in-memory store: its clock, its lock, its rollback."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Event, Thread

import pytest
from tests.unit.store.tasks import new_task

from partita.core.store.memory import MemoryStore
from partita.core.store.port import Conflict, Store, Tx, Violation
from partita.core.store.values import (
    CellRef,
    Needs,
    NewRun,
    Pool,
    PoolUse,
    RunId,
    TaskId,
    TaskState,
    TaskUpdate,
    WorkerId,
)

T0 = datetime(2026, 3, 1, tzinfo=UTC)


class _Failed(Exception):
    pass


def _failing(work: Callable[[Tx], object]) -> Callable[[Tx], None]:
    def fail(tx: Tx) -> None:
        work(tx)
        raise _Failed

    return fail


def _run(tx: Tx) -> None:
    tx.insert_runs([NewRun(None, "interactive", 0, {}, {}, "h", T0, {}, 1, ())])


def test_the_clock_is_the_callers_and_stands_still_within_a_transaction() -> None:
    now = [T0]
    store = MemoryStore(clock=lambda: now[0])
    with store.begin() as tx:
        now[0] += timedelta(seconds=5)
        assert tx.now() == T0
    with store.begin() as tx:
        assert tx.now() == T0 + timedelta(seconds=5)


def test_leases_lapse_by_the_clock() -> None:
    now = [T0]
    store = MemoryStore(clock=lambda: now[0])
    with store.begin() as tx:
        tx.put_worker(WorkerId("w"), "host", 1, 2, 10)
        assert [worker.id for worker in tx.live_workers()] == ["w"]
    now[0] += timedelta(seconds=10)
    with store.begin() as tx:
        assert tx.live_workers() == []
        assert [worker.id for worker in tx.lock_lapsed_workers_skip(5)] == ["w"]


def test_an_exception_undoes_every_table() -> None:
    store = MemoryStore(clock=lambda: T0)
    with store.begin() as tx:
        _run(tx)
        (task_id,) = tx.reserve_task_ids(1)
        tx.insert_tasks([(RunId(1), new_task(task_id))])
    before = store.dump()

    def much(tx: Tx) -> None:
        (task,) = tx.lock_tasks([task_id])
        tx.write_tasks([TaskUpdate.of(task, TaskState.QUEUED)])
        tx.hold_slots([(task_id, PoolUse("default", 1))])
        tx.open_cells([(CellRef(tx.intern_assets(["a"])["a"], "p"), task_id)])
        tx.set_pool(Pool("default", 1))
        _run(tx)

    with pytest.raises(_Failed):
        store.run(_failing(much))
    assert store.dump() == before
    with store.begin() as tx:
        assert [task.id for task in tx.lock_scheduled_skip({Needs((PoolUse("default", 1),)): 5})] == [task_id]


def test_numbers_of_sequences_are_not_given_twice() -> None:
    store = MemoryStore()
    seen: list[TaskId] = []
    for _ in range(2):
        with pytest.raises(_Failed):
            store.run(_failing(lambda tx: seen.extend(tx.reserve_task_ids(2))))
    assert seen == [1, 2, 3, 4]


def test_a_transaction_within_a_transaction_is_an_error_and_not_a_deadlock() -> None:
    store = MemoryStore()
    with store.begin(), pytest.raises(RuntimeError, match="a duty is one transaction"), store.begin():
        pass
    with store.begin() as tx:  # and the store still works
        assert tx.lock_pools_skip(["default"]) == [Pool("default", 128)]


def test_transactions_of_threads_are_serial() -> None:
    store = MemoryStore()
    inside, seen = Event(), []

    def other() -> None:
        inside.wait(60)
        with store.begin() as tx:
            seen.append(tx.lock_pools_skip(["p"]))

    thread = Thread(target=other)
    thread.start()
    with store.begin() as tx:
        inside.set()
        tx.set_pool(Pool("p", 1))
    thread.join(60)
    assert seen == [[Pool("p", 1)]]


def test_a_conflict_cannot_be_swallowed() -> None:
    store = MemoryStore()

    def swallow(tx: Tx) -> None:
        _run(tx)
        with pytest.raises(Violation):
            tx.hold_slots([(TaskId(1), PoolUse("nowhere", 1))])

    with pytest.raises(Conflict, match="nowhere"):
        store.run(swallow)
    assert store.rows("run") == []


def test_listeners_hear_notifications_until_they_stop() -> None:
    store = MemoryStore()
    heard: list[str] = []
    stop = store.listen(heard.append)
    store.notify(["b", "a", "b"])
    stop()
    store.notify(["a"])
    assert heard == ["a", "b"]


def test_it_is_a_store() -> None:
    store: Store = MemoryStore()
    assert store.run(lambda tx: tx.held_slots(["default"])) == {"default": {}}
    assert repr(store) == "MemoryStore({'dynamic_revision': 1, 'lane': 3, 'pool': 1, 'db_pulse': 1})"
