"""Random launches on both stores: runs, backfills, tasks with their edges, cells and owners."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta
from random import Random
from typing import Any

import numpy as np
from tests.integration.store.differential_world import AS_OF, KEYS, POOL_SETS, QUEUES, Op, World

from partita.core.store.port import Conflict, Tx
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
from partita.core.store.values_tables import NO_WINDOW, CellTable, EdgeTable, TaskShape, TaskTable


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
        timeout_s=w.one([None, -1.0, 3600.0]),
        max_active=w.one([None, None, 1, 4]),
    )


def insert_backfill(w: World) -> Op:
    cap, name, priority, newest = w.one([None, 1, 5]), w.text(), w.one([0, 0, -3, 7]), w.maybe()
    return lambda tx: tx.insert_backfill(name, {"from": "a"}, cap, "me", priority=priority, newest_first=newest)


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
        lane=w.one(["interactive", "Backfill", "ä"]),
        priority=w.random.randint(-1, 2),
        wave=0,
        retry=RetryPolicy(w.random.randint(0, 3), 1.5, "exponential", w.one([None, 60.0]), 0.1),
        timeout_s=w.one([None, 30.0]),
        cell_count=1,
        conditional=w.maybe(),
        rule=w.one(["all_success", "all_done"]),
        fair_key=w.one(["", "by:ada", "owner:Ö"]),
        critical_path=w.random.randint(0, 2),
        queue="default" if pin[0] is None else w.one(QUEUES),
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


def launch_whole(w: World) -> Op:
    """As `launch_tasks`, from columns: nothing is joined, so that it is refused when a cell has an owner."""
    runs = sorted(w.db.run.rows)
    if not runs:
        return insert_runs(w)
    n, run_id = w.random.randint(1, 5), w.one(runs)
    shapes = tuple(_shape(_new_task(w, TaskId(0), first=True)) for _ in range(w.random.randint(1, 3)))
    shape = np.array([w.random.randrange(len(shapes)) for _ in range(n)])
    flags = np.array([[w.maybe(), w.maybe(), w.maybe()] for _ in range(n)])
    cells = sorted({cell: place for place in range(n) for cell in w.cells()}.items(), key=lambda _: w.random.random())
    windows = [(0, 86_400) if w.maybe() else (NO_WINDOW, NO_WINDOW) for _ in cells]

    def launch(tx: Tx) -> Any:
        ids = np.array(tx.reserve_task_ids(n))
        table = CellTable(
            task=ids[np.array([place for _, place in cells], dtype=np.int64)],
            asset=np.array([cell.asset_id for cell, _ in cells], dtype=np.int64),
            partition=[cell.partition for cell, _ in cells],
            reasons=("missing", "stale_code"),
            reason=np.arange(len(cells)) % 2,
            conditional=np.array([flags[place][0] for _, place in cells], dtype=bool),
            start=np.array([start for start, _ in windows], dtype=np.int64),
            end=np.array([end for _, end in windows], dtype=np.int64),
        )
        if not tx.open_whole(table):
            raise Conflict("somebody owns one of them")
        waiting = np.array([0, *(1 + flags[1:, 1])])
        past = np.where(flags[:, 2], waiting, 0)
        count = np.bincount(np.array([place for _, place in cells], dtype=np.int64), minlength=n)
        tasks = TaskTable(ids, shapes, shape, waiting, past, shape, shape + 1, count, flags[:, 0])
        tx.insert_tables(run_id, tasks, EdgeTable(ids[:-1], ids[1:]), table)
        return ids.tolist()

    return launch


def _shape(task: NewTask) -> TaskShape:
    return TaskShape(**{one.name: getattr(task, one.name) for one in fields(TaskShape)})
