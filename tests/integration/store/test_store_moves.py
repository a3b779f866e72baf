"""The store refuses every move that the deciders' table does not list, in memory and in Postgres (S-106)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product

import pytest
from tests.unit.store.tasks import new_task

from partita.core.store.memory import MemoryStore
from partita.core.store.port import Store, Tx, Violation
from partita.core.store.postgres import PostgresStore
from partita.core.store.values import Fence, NewRun, RunId, TaskId, TaskState, TaskUpdate
from partita.core.store.values_moves import MOVES

ALL = list(product(TaskState, TaskState))
ILLEGAL = [(source, target) for source, target in ALL if target not in MOVES.get(source, ())]


@pytest.fixture(params=["memory", "postgres"])
def either(request: pytest.FixtureRequest, store: PostgresStore) -> Store:
    return MemoryStore() if request.param == "memory" else store


class _Undo(Exception):
    """Ends a transaction that is not to be kept."""


def _update(task_id: TaskId, source: TaskState, target: TaskState) -> Callable[[Tx], None]:
    def write(tx: Tx) -> None:
        (task,) = tx.lock_tasks([task_id])
        tx.write_tasks([TaskUpdate.of(task, target)._replace(expect_state=source)])

    return write


def test_no_move_past_the_table_is_written(either: Store) -> None:
    """Not even by a writer that knows the state and the fence of the row, and asks for nothing else."""
    with either.begin() as tx:
        (task_id,) = tx.reserve_task_ids(1)
        tx.insert_tasks([(_run(tx), new_task(task_id))])
    assert len(ILLEGAL) > 100
    for source, target in ILLEGAL:
        with (
            pytest.raises(Violation, match=f"no task moves from {source.value} to {target.value}"),
            either.begin() as tx,
        ):
            _update(task_id, source, target)(tx)
    with either.begin() as tx:
        (task,) = tx.lock_tasks([task_id])
    assert (task.state, task.fence) == (TaskState.SCHEDULED, Fence(0))


def test_one_refused_move_takes_the_whole_write_along(either: Store) -> None:
    with either.begin() as tx:
        ids = tx.reserve_task_ids(2)
        run_id = _run(tx)
        tx.insert_tasks([(run_id, new_task(task_id)) for task_id in ids])

    def both(tx: Tx) -> None:
        good, bad = tx.lock_tasks(ids)
        tx.write_tasks([TaskUpdate.of(good, TaskState.QUEUED), TaskUpdate.of(bad, TaskState.RUNNING)])

    with pytest.raises(Violation):
        either.run(both)
    with either.begin() as tx:
        assert {task.state for task in tx.lock_tasks(ids)} == {TaskState.SCHEDULED}


def _run(tx: Tx) -> RunId:
    run = NewRun(None, "interactive", 0, {}, {}, "h", datetime(2026, 1, 1, tzinfo=UTC), {}, 1, ())
    (run_id,) = tx.insert_runs([run])
    return run_id
