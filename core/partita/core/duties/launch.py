"""Launching a plan: a run, its tasks, edges and cells, all in one transaction or not at all.

One owner per cell: a cell that a non-terminal task of another run owns is taken out of the new task. If that task has not
started, this request joins it; if it runs (or would not make what this request asks for, or not of what the request makes
above it), the request waits and is planned again when it ends. In both cases a gate that depends on the owner stands in for
the cell in the new run, so that the run's state and its dependents follow what becomes of it.

The order of locks: owners of cells first (inserting ownership waits for launches that claim the same cells), then the owning
tasks in id order. A launch that has to try again starts a new transaction: it never claims cells while it holds tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from partita.core.collecting import collector_rests
from partita.core.decide.caps import cap_of
from partita.core.decide.rules import RULES
from partita.core.decide.transitions import wait_first
from partita.core.decide.waits import waits_at_launch
from partita.core.duties.deadlines import deadlines_of
from partita.core.duties.launch_parts import (
    LaunchAgain,
    LaunchRefused,
    PlanOutdated,
    SchemeMoved,
    StillCancelling,
    backfill_of,
    check_schemes,
    insert_runs,
    lock_retried,
    make_pools,
    tell,
    worth_waking,
)
from partita.core.duties.launch_rows import Made, Placed, held, place, task_count, tasks_and_edges
from partita.core.duties.launch_whole import launch_whole
from partita.core.duties.values import BATCH_TASKS, Launch, LaunchCell, Launched, LaunchTask
from partita.core.store.port import Store, Tx
from partita.core.store.values import (
    WAITING,
    BackfillId,
    CellCause,
    CellRef,
    NewTask,
    NewTaskCell,
    RunId,
    Task,
    TaskId,
    TaskState,
)

__all__ = ["LaunchAgain", "LaunchRefused", "PlanOutdated", "launch", "launch_all", "launch_all_in", "launch_in"]

_TRIES = 20  # owners that end, or are launched, while we look at them; each try finds others
_STARTED = frozenset({TaskState.RUNNING, TaskState.DEFERRED, TaskState.AWAITING_INPUT})


def launch(store: Store, launch: Launch) -> Launched:
    """Makes a run of a plan. Raises `PlanOutdated`, and `LaunchRefused` for one that contradicts itself."""
    whole = launch_whole(store, launch)
    if whole is not None:
        return whole
    (launched,) = launch_all(store, [launch])
    return launched


def launch_all(store: Store, launches: Sequence[Launch]) -> list[Launched]:
    """Makes a run of each plan, many in one transaction: what is due at one instant costs statements by the batch.

    A plan that asks for a cell of an earlier one joins it, as if they had come one after the other. Raises `LaunchRefused`
    for one that contradicts itself, before anything is written; a batch is written whole or not at all.
    """
    for one in launches:
        _check(one)
    found: list[Launched] = []
    for batch in _batches(launches):
        found += _again_and_again(store, batch)
    return found


def _again_and_again(store: Store, batch: Sequence[Launch]) -> list[Launched]:
    for _ in range(_TRIES):
        try:
            return store.run(lambda tx: _launch(tx, batch))
        except SchemeMoved as moved:
            raise PlanOutdated(str(moved)) from None
        except StillCancelling as busy:
            raise LaunchRefused(str(busy)) from None
        except LaunchAgain:
            continue
    raise LaunchRefused(
        f"plan {batch[0].plan_hash}: the owners of its cells changed {_TRIES} times while it was launched; plan again"
    )


def launch_in(tx: Tx, launch: Launch) -> Launched:
    """`launch` as a part of a larger transaction, which must hold no task or cell yet. Raises `LaunchAgain`: roll back and
    start over in a new transaction."""
    (launched,) = launch_all_in(tx, [launch])
    return launched


def launch_all_in(tx: Tx, launches: Sequence[Launch]) -> list[Launched]:
    """`launch_in` of several that share no cell."""
    for one in launches:
        _check(one)
    return _launch(tx, launches)


def _batches(launches: Sequence[Launch]) -> Iterator[list[Launch]]:
    """In order, bounded by tasks. No cell twice in one: the second to ask must find the first one's task committed."""
    if len(launches) == 1:
        yield list(launches)
        return
    batch: list[Launch] = []
    cells: set[CellRef] = set()
    size = 0
    for one in launches:
        own = {cell.cell for task in one.tasks for cell in task.cells}
        if batch and (size + len(one.tasks) > BATCH_TASKS or not own.isdisjoint(cells)):
            yield batch
            batch, cells, size = [], set(), 0
        batch.append(one)
        cells |= own
        size += len(one.tasks)
    if batch:
        yield batch


def _check(launch: Launch) -> None:
    if not launch.tasks:
        raise LaunchRefused(f"plan {launch.plan_hash} has no tasks: there is nothing to run; ask before launching")
    seen: dict[CellRef, int] = {}
    for index, task in enumerate(launch.tasks):
        what = f"task {index} ({task.step}) of plan {launch.plan_hash}"
        if any(not 0 <= up < index for up in task.upstream):
            raise LaunchRefused(f"{what} depends on {task.upstream}: upstream tasks come earlier in the list")
        if task.rule not in RULES:
            raise LaunchRefused(f"{what} has the trigger rule {task.rule!r}: one of {', '.join(RULES)}")
        if task.kind == "gate" and (task.cells or task.pools):
            raise LaunchRefused(f"{what} is a gate and has cells or pools: a gate only counts")
        if task.kind == "step" and (not task.cells or task.location_id is None or task.snapshot_id is None):
            raise LaunchRefused(
                f"{what} needs cells, a location and a snapshot: a step runs somewhere and makes something"
            )
        for use in task.pools:
            if use.slots < 1 or cap_of(use.name) is not None:
                raise LaunchRefused(
                    f"{what} wants {use.slots} slots of {use.name!r}: at least one, of a pool of your own"
                )
        for cell in task.cells:
            if seen.setdefault(cell.cell, index) != index:
                raise LaunchRefused(f"{what} makes {cell.cell}, which task {seen[cell.cell]} makes: one owner per cell")


@dataclass(frozen=True, slots=True)
class _Draft:
    """A launch with the ids of its tasks: (of the gate that may stand beside it, its own)."""

    launch: Launch
    ids: list[tuple[TaskId, TaskId]]

    def wanted(self) -> Iterator[tuple[CellRef, TaskId]]:
        for task, (_, task_id) in zip(self.launch.tasks, self.ids, strict=True):
            for cell in task.cells:
                yield cell.cell, task_id

    def placed(self, taken: Mapping[CellRef, TaskId]) -> list[Placed]:
        return [place(task, *pair, taken) for task, pair in zip(self.launch.tasks, self.ids, strict=True)]


def _launch(tx: Tx, launches: Sequence[Launch]) -> list[Launched]:
    with collector_rests():
        return _write(tx, launches)


def _write(tx: Tx, launches: Sequence[Launch]) -> list[Launched]:
    check_schemes(tx, launches)
    retried = lock_retried(tx, launches)
    new = iter(tx.reserve_task_ids(2 * sum(len(one.tasks) for one in launches)))
    drafts = [_Draft(one, [(next(new), next(new)) for _ in one.tasks]) for one in launches]
    taken = tx.open_cells(owner for draft in drafts for owner in draft.wanted())
    owners = _lock_owners(tx, taken, drafts[0].ids[0][0])
    parts = [draft.placed(taken) for draft in drafts]
    backfills = [backfill_of(tx, one, retried) for one in launches]
    limits, pauses = tx.running_caps(), tx.pauses()
    runs = insert_runs(tx, launches, backfills, [task_count(part) for part in parts])
    made = [tasks_and_edges(*each, limits) for each in zip(launches, parts, runs, strict=True)]
    if pauses:
        made = [held(*each, pauses) for each in zip(made, parts, strict=True)]
    sets = {task.pools for tasks, _ in made for task in tasks}
    make_pools(tx, (use for pools in sets for use in pools))
    ids = [run.run_id for run in runs]
    tx.insert_tasks([(run_id, task) for run_id, (tasks, _) in zip(ids, made, strict=True) for task in tasks])
    tx.insert_edges(edge for _, edges in made for edge in edges)
    tx.insert_task_cells(
        NewTaskCell(p.task_id, c.cell, c.reason, c.window, p.source.conditional or c.conditional)
        for part in parts
        for p in part
        for c in p.cells
    )
    tx.insert_deadlines(
        deadline
        for run_id, part in zip(ids, parts, strict=True)
        for deadline in deadlines_of(run_id, ((p.source, p.task_id, p.cells) for p in part), tx.now())
    )
    _insert_waits(tx, parts, made)
    unsure = _unsure_owned(tx, launches, taken)
    causes = [
        [] if one.into is not None else _causes(run_id, part, taken, owners, unsure)
        for one, run_id, part in zip(launches, ids, parts, strict=True)
    ]
    tx.insert_causes(cause for own in causes for cause in own)
    if any(one.tags for one in launches):
        tx.tag_runs({run_id: one.tags for run_id, one in zip(ids, launches, strict=True)})
    cells = [sum(len(task.cells) for task in one.tasks) for one in launches]
    told = zip(launches, ids, made, cells, strict=True)
    tell(tx, [(one, run, len(own), n) for one, run, (own, _), n in told if one.into is None])
    return [
        _launched(run_id, backfill, tasks, own)
        for run_id, backfill, (tasks, _), own in zip(ids, backfills, made, causes, strict=True)
    ]


def _insert_waits(tx: Tx, parts: Sequence[Sequence[Placed]], made: Sequence[Made]) -> None:
    """What tasks wait for before they start; those without upstream begin to wait now."""
    waiting = [placed for part in parts for placed in part if placed.stands and placed.source.waits]
    if waiting:
        tx.put_waits(new for placed in waiting for new in waits_at_launch(placed.task_id, placed.source))
        tx.open_waits([task.id for tasks, _ in made for task in tasks if task.state in WAITING])


def _launched(
    run_id: RunId, backfill_id: BackfillId | None, tasks: Sequence[NewTask], causes: Sequence[CellCause]
) -> Launched:
    waiting = sum(cause.waits for cause in causes)
    channels = worth_waking({task.state for task in tasks})
    return Launched(run_id, backfill_id, tuple(task.id for task in tasks), len(causes) - waiting, waiting, channels)


def _lock_owners(tx: Tx, taken: Mapping[CellRef, TaskId], first_id: TaskId) -> dict[TaskId, Task]:
    """The owning tasks, locked: none of them can end before the edges and causes that we add are there for it to see."""
    owners = {task.id: task for task in tx.lock_tasks(sorted(set(taken.values())))}
    for owner in set(taken.values()):
        # Ended between the two statements: its cells are free now. Or launched meanwhile: edges must rise, and new ids do.
        if owner not in owners or owners[owner].state.terminal or owner > first_id:
            raise LaunchAgain
    of_owners = sorted({owner.run_id for owner in owners.values()})
    for run in tx.read_runs(of_owners) if of_owners else ():
        if run.cancelled_from is not None:
            # To join what is about to be cancelled would be to fail with it.
            raise StillCancelling(
                f"run {run.id} is being cancelled and still owns cells that this plan makes; launch again when it has ended"
            )
    return owners


def _causes(
    run_id: RunId,
    placed: Sequence[Placed],
    taken: Mapping[CellRef, TaskId],
    owners: Mapping[TaskId, Task],
    unsure: AbstractSet[CellRef],
) -> list[CellCause]:
    causes: list[CellCause] = []
    moved: list[bool] = []
    """Of each task whether the request makes cells of it, or has them planned again."""
    for part in placed if taken else ():
        # What this very request makes above is not there yet when the owner starts.
        above = part.source.rule != "always" and any(moved[index] for index in part.source.upstream)
        joined = [
            CellCause(cell.cell, owner.id, run_id, waits=above or _waits(part.source, cell, owner, unsure))
            for cell in part.source.cells
            if cell.cell in taken
            for owner in (owners[taken[cell.cell]],)
        ]
        moved.append(bool(part.cells) or any(one.waits for one in joined) or (part.source.kind == "gate" and above))
        causes += joined
    return causes


def _unsure_owned(tx: Tx, launches: Sequence[Launch], taken: Mapping[CellRef, TaskId]) -> frozenset[CellRef]:
    """Of the owned cells that these launches force: those that their owner may leave without an attempt."""
    asked = (cell for one in launches for task in one.tasks for cell in task.cells)
    forced = {cell.cell for cell in asked if _forced(cell) and cell.cell in taken} if taken else set()
    if not forced:
        return frozenset()
    found = tx.task_cells(sorted({taken[cell] for cell in forced}))
    return frozenset(own.cell for own in found if own.conditional and own.cell in forced)


def _forced(cell: LaunchCell) -> bool:
    """Made again whatever it holds; a fresh member that comes along with its atomic group is not."""
    return cell.reason == "forced" and not cell.conditional


def _waits(source: LaunchTask, cell: LaunchCell, owner: Task, unsure: AbstractSet[CellRef]) -> bool:
    """Whether the owner's outcome cannot be taken for what this request asks: then it is planned again when that ends."""
    if owner.state in _STARTED and wait_first(owner.waits) is None:
        return True  # it has read its inputs already
    if owner.snapshot_id != source.snapshot_id:
        return True  # it will run other code
    # It may end without an attempt.
    return _forced(cell) and (owner.conditional or cell.cell in unsure)
