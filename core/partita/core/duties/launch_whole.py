"""Launching a large plan whole, from columns: when nobody owns any of its cells and none of its assets is paused.

What is written is what `launch.py` writes of the same plan, in the same order of locks; a test compares the two. A plan of which
others own a part is for `launch.py`, which joins and waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from partita.core.collecting import collector_rests
from partita.core.decide.shares import fair_key
from partita.core.duties.deadlines import deadlines_of
from partita.core.duties.launch_parts import (
    LaunchRefused,
    PlanOutdated,
    SchemeMoved,
    backfill_of,
    check_schemes,
    insert_runs,
    lock_retried,
    make_pools,
    tell,
    worth_waking,
)
from partita.core.duties.launch_rows import PoolSets
from partita.core.duties.launch_tasks import LaunchTasks
from partita.core.duties.values import Launch, LaunchCell, Launched, LaunchTask
from partita.core.store.port import Store, Tx
from partita.core.store.values import BackfillId, TaskId, TaskState
from partita.core.store.values_tables import CellTable, EdgeTable, Ints, TaskShape, TaskTable


class _NotWhole(Exception):
    """Others own some of its cells, or some of its assets are paused. Rolls back."""


def launch_whole(store: Store, launch: Launch) -> Launched | None:
    """Makes a run of a plan whose tasks are columns; None when it has to be launched by values. Raises `PlanOutdated`, and
    `LaunchRefused` for one that contradicts itself."""
    tasks = launch.tasks
    if not isinstance(tasks, LaunchTasks):
        return None
    above, below = tasks.edges()
    if not len(tasks) or np.any(above >= below):
        raise LaunchRefused(
            f"plan {launch.plan_hash} has no tasks, or not in the order of their dependencies; plan again"
        )
    try:
        with collector_rests():
            return store.run(lambda tx: _write(tx, launch, tasks, above, below))
    except _NotWhole:
        return None
    except SchemeMoved as moved:
        raise PlanOutdated(str(moved)) from None


def _write(tx: Tx, launch: Launch, tasks: LaunchTasks, above: Ints, below: Ints) -> Launched:
    check_schemes(tx, [launch])
    retried = lock_retried(tx, [launch])
    ids = np.array(tx.reserve_task_ids(len(tasks)), dtype=np.int64)
    cells = _owned(tasks, ids).in_lock_order()
    if not tx.open_whole(cells):
        raise _NotWhole
    backfill_id = backfill_of(tx, launch, retried)
    limits = tx.running_caps()
    if tx.pauses():
        raise _NotWhole
    (run,) = insert_runs(tx, [launch], [backfill_id], [len(tasks)])
    run_id, pools_of = run.run_id, PoolSets(run, limits)
    shapes = tuple(_shape(launch, kind, pools_of, backfill_id) for kind in tasks.kinds)
    make_pools(tx, (use for shape in shapes for use in shape.pools))
    heeded = ~np.array([shape.rule == "always" for shape in shapes])[tasks.kind[below]]
    above, below = above[heeded], below[heeded]
    table = _table(tasks, ids, shapes, above, below)
    tx.insert_tables(run_id, table, EdgeTable(ids[above], ids[below]), cells)
    tx.insert_deadlines(deadlines_of(run_id, _with_deadline(tasks, ids), tx.now()))
    if launch.tags:
        tx.tag_runs({run_id: launch.tags})
    tell(tx, [(launch, run_id, len(tasks), len(cells))])
    states = {TaskState.SCHEDULED} if np.any(table.waiting_on == 0) else set()
    return Launched(run_id, backfill_id, tuple(map(TaskId, ids.tolist())), 0, 0, worth_waking(states))


def _owned(tasks: LaunchTasks, ids: Ints) -> CellTable:
    """The cells with the ids of their tasks. One is conditional also with its task."""
    cells = tasks.cells
    return replace(cells, task=ids[cells.task], conditional=cells.conditional | tasks.conditional[cells.task])


def _shape(launch: Launch, kind: LaunchTask, pools_of: PoolSets, backfill_id: BackfillId | None) -> TaskShape:
    return TaskShape(
        kind=kind.kind,
        step=kind.step,
        location_id=kind.location_id,
        snapshot_id=kind.snapshot_id,
        rule=kind.rule,
        pools=pools_of(kind),
        lane=launch.lane,
        fair_key=fair_key(launch.cause, kind.owner, backfill_id),
        priority=launch.priority + kind.priority,
        retry=kind.retry,
        timeout_s=kind.timeout_s,
        queue=kind.queue,
    )


def _table(tasks: LaunchTasks, ids: Ints, shapes: tuple[TaskShape, ...], above: Ints, below: Ints) -> TaskTable:
    steps = {step: at for at, step in enumerate({shape.step for shape in shapes})}
    step = np.array([steps[shape.step] for shape in shapes])[tasks.kind]
    is_step = np.array([shape.kind == "step" for shape in shapes])[tasks.kind]
    past = is_step[below] & is_step[above] & (step[above] == step[below])
    n = len(tasks)
    return TaskTable(
        ids=ids,
        shapes=shapes,
        shape=tasks.kind,
        waiting_on=np.bincount(below, minlength=n),
        past=np.bincount(below[past], minlength=n),
        wave=tasks.wave,
        critical_path=tasks.critical_path,
        cell_count=np.bincount(tasks.cells.task, minlength=n),
        conditional=tasks.conditional,
    )


def _with_deadline(tasks: LaunchTasks, ids: Ints) -> Iterator[tuple[LaunchTask, TaskId, tuple[LaunchCell, ...]]]:
    """The cells that have a deadline, one by one."""
    late = np.array([kind.deadline_s is not None for kind in tasks.kinds])[tasks.kind]
    if not np.any(late):
        return
    places = tasks.cells.task.tolist()
    for at, new, window in zip(places, tasks.cells.rows(), tasks.cells.windows(), strict=True):
        if late[at]:
            cell = LaunchCell(new.cell, new.reason, window, new.conditional)
            yield tasks.kinds[tasks.kind[at]], TaskId(int(ids[at])), (cell,)
