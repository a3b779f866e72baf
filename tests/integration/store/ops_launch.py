"""Random launches on both stores: runs, backfills, tasks with their edges, cells and owners."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from tests.integration.store.differential_world import AS_OF, KEYS, POOL_SETS, Op, World

from partita.core.store.port import Tx
from partita.core.store.values import (
    CellCause,
    CellRef,
    NewRun,
    NewTask,
    NewTaskCell,
    RetryPolicy,
    TaskId,
    TaskState,
)


def insert_runs(w: World) -> Op:
    runs = [_new_run(w) for _ in range(w.random.randint(0, 3))]
    return lambda tx: tx.insert_runs(runs)


def _new_run(w: World) -> NewRun:
    backfills = sorted(w.db.backfill.rows)
    pins = dict(w.pins())
    return NewRun(
        backfill_id=w.one(backfills) if backfills and w.maybe() else None,
        lane="interactive",
        priority=w.random.randint(-1, 1),
        cause={"kind": "person", "by": w.text()},
        request={"selection": "*", "n": [1, 2.5, None, True]},
        plan_hash="h",
        as_of=AS_OF,
        params={"x": float("nan") if w.maybe(0.2) else 1},
        task_count=3,
        pins=tuple(pins.items()),
        keys_revision=w.one([0, 7]),
    )


def insert_backfill(w: World) -> Op:
    cap, name = w.one([None, 1, 5]), w.text()
    return lambda tx: tx.insert_backfill(name, {"from": "a"}, cap, "me")


def _new_task(w: World, task_id: TaskId, first: bool) -> NewTask:
    pin = w.one([*w.pins(), (None, None)])
    return NewTask(
        id=task_id,
        kind="gate" if pin[0] is None else "step",
        step=w.one(KEYS),
        location_id=pin[0],
        snapshot_id=pin[1],
        state=TaskState.SCHEDULED if first else TaskState.NONE,
        waiting_on=0 if first else 1,
        pools=w.one(POOL_SETS),
        lane="interactive",
        priority=w.random.randint(-1, 2),
        wave=0,
        retry=RetryPolicy(w.random.randint(0, 3), 1.5, "exponential", w.one([None, 60.0]), 0.1),
        timeout_s=w.one([None, 30.0]),
        cell_count=1,
        conditional=w.maybe(),
        rule=w.one(["all_success", "all_done"]),
    )


def launch_tasks(w: World) -> Op:
    """Tasks with edges and cells, as a launch makes them (several operations: their results are compared together)."""
    runs = sorted(w.db.run.rows)
    if not runs:
        return insert_runs(w)
    n, seed = w.random.randint(1, 5), w.random.getrandbits(32)
    window = (AS_OF, AS_OF + timedelta(days=1))
    shapes = [(w.one(runs), _new_task(w, TaskId(0), place == 0)) for place in range(n)]
    run_id = shapes[0][0]
    cells = [w.cells() for _ in range(n)]

    def launch(tx: Tx) -> Any:
        random = Random(seed)
        ids = tx.reserve_task_ids(n)
        tx.insert_tasks([(run, replace(shape, id=task_id)) for (run, shape), task_id in zip(shapes, ids, strict=True)])
        edges = [(ids[at], ids[random.randrange(at + 1, n)]) for at in range(n - 1)]
        tx.insert_edges(edges + edges[:1])
        owned: dict[CellRef, TaskId] = {}
        for task_id, own in zip(ids, cells, strict=True):
            for cell in own:
                owned.setdefault(cell, task_id)
        taken = tx.open_cells(owned.items())
        new = [
            NewTaskCell(
                task_id, cell, "missing", window if random.random() < 0.5 else None, conditional=random.random() < 0.3
            )
            for cell, task_id in owned.items()
            if cell not in taken
        ]
        tx.insert_task_cells(new)
        tx.insert_causes([CellCause(cell, owner, run_id, random.random() < 0.5) for cell, owner in taken.items()])
        return ids, taken

    return launch


def bad_edge(w: World) -> Op:
    return lambda tx: tx.insert_edges([(TaskId(7), TaskId(7))])


def open_twice(w: World) -> Op:
    cell = w.cell()
    return lambda tx: tx.open_cells([(cell, TaskId(1)), (cell, TaskId(2))])


def open_owners(w: World) -> Op:
    cells = w.known_cells(8)
    return lambda tx: tx.open_owners(cells)


def take_waiting_causes(w: World) -> Op:
    tasks = w.tasks(3)
    return lambda tx: tx.take_waiting_causes(tasks)
