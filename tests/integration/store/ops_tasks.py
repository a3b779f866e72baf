"""Random operations on tasks and their cells on both stores: selections, locks, compare-and-set writes."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from tests.integration.store.differential_world import POOL_SETS, QUEUES, WORKERS, Op, World

from partita.core.store.port import Tx
from partita.core.store.values import (
    AttemptId,
    CellRef,
    CellState,
    Fence,
    Needs,
    RunId,
    TaskCellUpdate,
    TaskId,
    TaskState,
    TaskUpdate,
    WaitReason,
)
from partita.core.store.values_moves import MOVES


def lock_tasks(w: World) -> Op:
    ids = [*w.tasks(), TaskId(10**9)]
    return lambda tx: (tx.lock_tasks(ids), tx.runs_of_tasks(ids))


def lock_dependents(w: World) -> Op:
    ids, closure = w.tasks(3), w.maybe()
    return lambda tx: (tx.lock_dependents(ids, closure=closure), tx.edges_from(ids), tx.waiting_among(ids))


def selections(w: World) -> Op:
    needs, limit, pins = Needs(w.one(POOL_SETS), w.one(QUEUES)), w.random.randint(1, 4), w.some(w.pins(), 3)
    queues = w.some(QUEUES)
    runs = sorted(w.db.run.rows) or [RunId(1)]
    run_id, workers, worker = w.one(runs), w.some(WORKERS), w.one(WORKERS)
    return w.op(
        [
            lambda tx: tx.lock_scheduled_skip({needs: limit, Needs(POOL_SETS[1]): limit}),
            lambda tx: tx.lock_open_gates_skip(limit),
            lambda tx: tx.running_parties(worker),
            lambda tx: tx.lock_queued_skip(pins, limit),
            lambda tx: tx.lock_queued_skip(pins, limit, queues),
            lambda tx: tx.lock_due_retries_skip(limit),
            lambda tx: tx.lock_tasks_of_workers(workers),
            lambda tx: tx.lock_open_tasks_of_run(run_id),
            lambda tx: tx.lock_open_tasks_of_run(run_id, below=TaskId(25), limit=2),
            lambda tx: tx.scheduled_needs(),
            lambda tx: tx.cancelled_tasks_of_worker(worker),
            lambda tx: tx.queued_pins(),
        ]
    )


def _update(w: World, tx: Tx, task_id: TaskId) -> TaskUpdate:
    (task,) = tx.lock_tasks([task_id])
    now = tx.now()
    state = w.one(sorted(MOVES[task.state])) if w.maybe(0.97) else w.one(TaskState)
    update = TaskUpdate.of(
        task,
        state,
        fence=Fence(w.one([task.fence, task.fence + 1])),
        waiting_on=max(0, task.waiting_on - w.random.randint(0, 1)),
        good_upstream=task.good_upstream + 2,
        bad_upstream=task.bad_upstream + 1,
        not_before=now + timedelta(seconds=w.one([-5, 500])) if state is TaskState.UP_FOR_RETRY else None,
        worker_id=w.one(WORKERS) if state is TaskState.RUNNING else None,
        cancel_requested=w.maybe(0.3),
        queued_at=now if state is TaskState.QUEUED else task.queued_at,
        reason=w.one([None, *WaitReason]),
        reason_detail=w.one([None, {"pool": w.text()}]),
        error=w.one([None, w.text()]),
        started_at=w.one([None, now]),
        finished_at=now if state.terminal else None,
        outcome=w.one([None, "published"]),
    )
    if w.maybe(0.04):
        update = update._replace(expect_fence=Fence(update.expect_fence + 7))
    if w.maybe(0.02):
        update = update._replace(waiting_on=-1)
    return update


def write_tasks(w: World) -> Op:
    ids, seed = w.open_tasks(5), w.random.getrandbits(32)

    def write(tx: Tx) -> None:
        random = World(Random(seed), w.db)
        tx.write_tasks([_update(random, tx, task_id) for task_id in ids])

    return write


def write_terminal(w: World) -> Op:
    ids = [row["id"] for row in w.db.task if TaskState(row["state"]).terminal][:1]

    def write(tx: Tx) -> None:
        tx.write_tasks([TaskUpdate.of(task, TaskState.SCHEDULED) for task in tx.lock_tasks(ids)])

    return write


def write_task_cells(w: World) -> Op:
    keys = w.some(sorted(w.db.task_cell.rows))
    updates = [
        TaskCellUpdate(
            key[0],
            CellRef(key[1], key[2]),
            w.one(CellState),
            w.one([None, "v"]),
            w.one([None, w.text()]),
            w.one([None, AttemptId(7)]),
        )
        for key in keys
    ]
    if w.maybe(0.03):
        updates.append(TaskCellUpdate(TaskId(10**9), CellRef(w.one(w.assets()), "none"), CellState.FAILED))
    return lambda tx: tx.write_task_cells(updates)


def task_cells(w: World) -> Op:
    ids = w.tasks()
    return lambda tx: tx.task_cells(ids)


def close_cells(w: World) -> Op:
    ids = w.tasks(3)
    return lambda tx: tx.close_cells(ids)
