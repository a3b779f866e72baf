"""The races that READ COMMITTED allows, on real Postgres with transactions paused between statements (DESIGN sections 2, 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from threading import Barrier, Event

import psycopg
import pytest
from tests.integration.store.conftest import Place
from tests.integration.store.pauses import in_thread, until_blocked

from partita.core.duties.admit import admit
from partita.core.store.open import open_store
from partita.core.store.port import Busy, Conflict, Tx
from partita.core.store.postgres import PostgresStore
from partita.core.store.values import (
    AttemptId,
    CellRef,
    Fence,
    Needs,
    NewEvent,
    PoolUse,
    Publication,
    RunId,
    Tally,
    TaskId,
    TaskState,
    TaskUpdate,
)

WAREHOUSE = (PoolUse("warehouse", 1),)


# ---------------------------------------------------------------- admission
def _admit_raw(store: PostgresStore) -> int:
    """The protocol of admission (S-007, S-022): lock, then count, then hold. Returns how many it admitted, -1 when busy."""
    with store.begin(durable=False) as tx:
        pools = tx.lock_pools_skip(["warehouse"])
        if not pools:
            return -1
        room = pools[0].slots - sum(tx.held_slots(["warehouse"])["warehouse"].values())
        tasks = tx.lock_scheduled_skip({Needs(WAREHOUSE): min(room, 30)}) if room > 0 else []
        tx.hold_slots((task.id, use) for task in tasks for use in task.pools)
        tx.write_tasks([TaskUpdate.of(task, TaskState.QUEUED, queued_at=tx.now()) for task in tasks])
        return len(tasks)


def _eight_at_once(work: Callable[[], int]) -> list[int]:
    """Each calls `work` until it admits nothing, all from one moment on."""
    start = Barrier(8)

    def admitter() -> int:
        start.wait(60)
        total = 0
        while (n := work()) != 0:
            total += max(n, 0)
        return total

    return [future.result(120) for future in [in_thread(admitter) for _ in range(8)]]


def _held(url: str) -> tuple[int, int]:
    with psycopg.connect(url) as connection:
        row = connection.execute(
            "SELECT (SELECT sum(slots) FROM pool_slot), (SELECT count(*) FROM task WHERE state = 'queued')"
        ).fetchone()
        assert row is not None
        return row[0], row[1]


def test_eight_admitters_admit_exactly_as_many_as_there_are_slots(
    store: PostgresStore, place: Place, pg_url: str
) -> None:
    with store.begin() as tx:
        place.add_tasks(tx, 300, pool="warehouse")
    admitted = _eight_at_once(lambda: _admit_raw(store))
    assert sum(admitted) == 100
    assert _held(pg_url) == (100, 100)


def test_eight_visits_of_the_admission_duty_admit_exactly_as_many_as_there_are_slots(
    store: PostgresStore, place: Place, pg_url: str
) -> None:
    with store.begin() as tx:
        place.add_tasks(tx, 300, pool="warehouse")

    def visit() -> int:
        admitted = admit(store, 30)
        return -1 if admitted.queued == 0 and admitted.more else admitted.queued

    assert sum(_eight_at_once(visit)) == 100
    assert _held(pg_url) == (100, 100)


def test_a_statement_that_waited_for_a_lock_still_counts_with_its_old_snapshot(
    store: PostgresStore, place: Place, pg_url: str
) -> None:
    """Why counting is a statement of its own: the same count in the locking statement does not see what it waited for."""
    with store.begin() as tx:
        ids = place.add_tasks(tx, 100, pool="warehouse")
    one_statement = """
        WITH locked AS (SELECT name FROM pool WHERE name = 'warehouse' FOR UPDATE)
        SELECT count(*) FROM pool_slot s JOIN locked ON locked.name = s.pool
    """

    def second() -> tuple[int, int]:
        with psycopg.connect(pg_url) as connection:
            waited = connection.execute(one_statement).fetchone()
            after = connection.execute("SELECT count(*) FROM pool_slot").fetchone()
            assert waited is not None
            assert after is not None
            return waited[0], after[0]

    with store.begin() as first:
        assert first.lock_pools_skip(["warehouse"])
        counted = in_thread(second)
        until_blocked(pg_url)
        first.hold_slots((task_id, WAREHOUSE[0]) for task_id in ids)
    assert counted.result(120) == (0, 100)


def test_a_pool_that_another_admitter_holds_is_passed_over(store: PostgresStore, place: Place) -> None:
    """S-121, S-133: with SKIP LOCKED the second scheduler passes over what the first holds, always."""
    with store.begin() as one, store.begin() as two:
        assert [pool.name for pool in one.lock_pools_skip(["warehouse"])] == ["warehouse"]
        assert [pool.name for pool in two.lock_pools_skip(["default", "warehouse"])] == ["default"]


# ---------------------------------------------------------------- one owner per cell
def test_two_launches_of_the_same_cells_agree_on_the_owners(store: PostgresStore, place: Place, pg_url: str) -> None:
    a, b, c, d = (place.cell(key) for key in "abcd")

    def second() -> dict[CellRef, TaskId]:
        with store.begin() as tx:
            return tx.open_cells([(cell, TaskId(20)) for cell in (d, c, b)])

    with store.begin() as first:
        assert first.open_cells([(cell, TaskId(10)) for cell in (a, b, c)]) == {}
        taken = in_thread(second)
        until_blocked(pg_url)
    assert taken.result(120) == {b: 10, c: 10}
    with store.begin() as tx:
        assert tx.open_owners([a, b, c, d]) == {a: 10, b: 10, c: 10, d: 20}


def test_the_cells_of_a_launch_that_rolls_back_go_to_the_one_that_waited(
    store: PostgresStore, place: Place, pg_url: str
) -> None:
    cell = place.cell("a")

    def second() -> dict[CellRef, TaskId]:
        with store.begin() as tx:
            return tx.open_cells([(cell, TaskId(20))])

    class Failed(Exception):
        pass

    def first(tx: Tx) -> None:
        tx.open_cells([(cell, TaskId(10))])
        waiting.append(in_thread(second))
        until_blocked(pg_url)
        raise Failed

    waiting: list[object] = []
    with pytest.raises(Failed):
        store.run(first)
    assert waiting[0].result(120) == {}  # type: ignore[attr-defined]


def test_an_owner_that_ends_between_open_and_read_is_tried_again(store: PostgresStore, place: Place) -> None:
    cell = place.cell("a")
    with store.begin() as tx:
        tx.open_cells([(cell, TaskId(10))])
    with store.begin() as tx:
        reads = tx.open_owners

        def closed_meanwhile(cells: object) -> dict[CellRef, TaskId]:
            with store.begin() as other:
                other.close_cells([TaskId(10)])
            return reads([cell])

        tx.open_owners = closed_meanwhile  # type: ignore[method-assign]
        assert tx.open_cells([(cell, TaskId(20))]) == {}
    with store.begin() as tx:
        assert tx.open_owners([cell]) == {cell: 20}


# ---------------------------------------------------------------- fences
def _publication(cell: CellRef, fence: int, version: str = "v1") -> Publication:
    return Publication(
        cell, Fence(fence), False, version, "f", "d", 1, None, {}, AttemptId(1), RunId(1)
    )  # fmt: skip


def test_a_publication_with_an_old_fence_is_refused(store: PostgresStore, place: Place, pg_url: str) -> None:
    """S-122: a late attempt cannot publish.
    An attempt that lost its lease while it computed (S-010: fencing makes a stale try unable to publish)."""
    with store.begin() as tx:
        (task_id,) = place.add_tasks(tx, 1)
        cell = place.cell(f"k{task_id:03}")
        old = tx.next_fence()
        tx.raise_fences([cell], [old])

    def late() -> None:
        with store.begin() as tx:
            tx.publish_cells([_publication(cell, old, "stale")])

    with store.begin() as claim:  # the second attempt is claiming while the first one publishes
        new = claim.next_fence()
        claim.raise_fences([cell], [new])
        publishing = in_thread(late)
        until_blocked(pg_url)
    with pytest.raises(Conflict):
        publishing.result(120)
    with store.begin() as tx:
        tx.publish_cells([_publication(cell, new, "good")])
        tx.raise_fences([cell], [old])  # fences never sink
        assert (tx.read_cells([cell])[cell].data_version, tx.read_cells([cell])[cell].fence) == ("good", new)
        assert tx.take_cell_changes(10) == {cell}


def test_a_conflict_that_is_swallowed_does_not_commit_either(store: PostgresStore, place: Place) -> None:
    def swallow(tx: Tx) -> None:
        tx.put_location("other")
        with pytest.raises(Conflict):
            tx.publish_cells([_publication(place.cell("never"), 1)])

    with pytest.raises(Conflict):
        store.run(swallow)
    with store.begin() as tx:
        assert len(tx.lock_locations()) == 1


# ---------------------------------------------------------------- events
def test_three_consumers_take_each_event_once(store: PostgresStore, place: Place) -> None:
    with store.begin() as tx:
        tx.append_events(
            [NewEvent("materialized", place.asset_id, f"p{n}", for_consumers=("automation",)) for n in range(25)]
        )
    with store.begin() as one, store.begin() as two, store.begin() as three:
        taken = [event.event_id for tx in (one, two, three) for event in tx.take_todo_skip("automation", 10)]
    assert len(taken) == 25
    assert max(Counter(taken).values()) == 1


def test_events_of_a_consumer_that_fails_are_taken_again(store: PostgresStore, place: Place) -> None:
    with store.begin() as tx:
        tx.append_events([NewEvent("materialized", place.asset_id, "p", for_consumers=("automation",))])

    def fail(tx: Tx) -> None:
        assert len(tx.take_todo_skip("automation", 10)) == 1
        raise KeyError

    with pytest.raises(KeyError):
        store.run(fail)
    with store.begin() as tx:
        assert len(tx.take_todo_skip("automation", 10)) == 1


def test_two_folders_of_tallies_count_each_row_once(store: PostgresStore, place: Place) -> None:
    with store.begin() as tx:
        tx.append_tallies([Tally(place.run_id, TaskState.SUCCESS, 1)] * 9)
    with store.begin() as one, store.begin() as two:
        assert [len(tx.take_tallies(5)) for tx in (one, two)] == [5, 4]


# ---------------------------------------------------------------- tasks
def test_two_completions_decrement_a_dependent_once_each(store: PostgresStore, place: Place, pg_url: str) -> None:
    """The lost decrement: the second completion reads the counter after it has the lock, not before."""
    with store.begin() as tx:
        one, two = place.add_tasks(tx, 2)
        (below,) = place.add_tasks(tx, 1, state=TaskState.NONE, waiting_on=2)
        tx.insert_edges([(one, below), (two, below)])

    def complete(tx: Tx, task_id: TaskId) -> None:
        (dependent,) = tx.lock_dependents([task_id], closure=False)
        left = dependent.waiting_on - 1
        state = TaskState.NONE if left else TaskState.SCHEDULED
        tx.write_tasks([TaskUpdate.of(dependent, state, waiting_on=left)])

    with store.begin() as first:
        complete(first, one)
        second = in_thread(lambda: store.run(lambda tx: complete(tx, two)))
        until_blocked(pg_url)
    second.result(120)
    with store.begin() as tx:
        (task,) = tx.lock_tasks([below])
        assert (task.state, task.waiting_on) == (TaskState.SCHEDULED, 0)


def test_two_claimers_take_disjoint_tasks(store: PostgresStore, place: Place) -> None:
    """S-121: none waits for the other."""
    with store.begin() as tx:
        ids = place.add_tasks(tx, 5)
        tx.write_tasks([TaskUpdate.of(task, TaskState.QUEUED, queued_at=tx.now()) for task in tx.lock_tasks(ids)])
    pins = [(place.location_id, place.snapshot_id)]
    with store.begin() as one, store.begin() as two:
        taken = [[task.id for task in tx.lock_queued_skip(pins, 3)] for tx in (one, two)]
    assert taken == [ids[:3], ids[3:]]


def test_the_victim_of_a_deadlock_runs_again(store: PostgresStore, place: Place) -> None:
    """Duties lock in one order; when something else does not, `run` starts the victim's transaction anew."""
    with store.begin() as tx:
        ids = place.add_tasks(tx, 2)
    both_hold = Barrier(2)
    tries: list[TaskId] = []

    def work(first: TaskId, second: TaskId) -> int:
        def twice(tx: Tx) -> int:
            tx.lock_tasks([first])
            tries.append(first)
            if len(tries) <= 2:
                both_hold.wait(60)
            return len(tx.lock_tasks([second]))

        return store.run(twice)

    results = [in_thread(lambda: work(*ids)), in_thread(lambda: work(*reversed(ids)))]
    assert [future.result(120) for future in results] == [1, 1]
    assert len(tries) >= 3


def test_a_lock_that_takes_too_long_is_busy_and_writes_nothing(store: PostgresStore, place: Place, pg_url: str) -> None:
    with store.begin() as tx:
        ids = place.add_tasks(tx, 1)
    hasty = open_store(pg_url, lock_timeout_s=0.05)
    with store.begin() as first:
        first.lock_tasks(ids)
        with pytest.raises(Busy):
            hasty.run(lambda tx: tx.lock_tasks(ids))
    hasty.close()


# ---------------------------------------------------------------- interning
def test_two_transactions_that_intern_the_same_text_agree(store: PostgresStore, pg_url: str) -> None:
    go = Event()

    def second() -> dict[str, int]:
        go.wait(60)
        with store.begin() as tx:
            return tx.intern(["a", "b"])

    waiting = in_thread(second)
    with store.begin() as first:
        ids = first.intern(["b", "c"])
        go.set()
        until_blocked(pg_url)
    assert waiting.result(120)["b"] == ids["b"]


def test_a_text_interned_by_a_transaction_that_rolled_back_is_interned_again(store: PostgresStore) -> None:
    def fail(tx: Tx) -> None:
        tx.intern(["a"])
        raise KeyError

    with pytest.raises(KeyError):
        store.run(fail)
    with store.begin() as tx:
        ids = tx.intern(["a"])
    with store.begin() as tx, psycopg.connect(store.url.replace("+psycopg", "")) as connection:
        assert tx.intern(["a"]) == ids
        assert connection.execute("SELECT id FROM fingerprint WHERE text = 'a'").fetchone() == (ids["a"],)
