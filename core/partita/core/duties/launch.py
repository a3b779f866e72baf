"""Launching a plan: a run, its tasks, edges and cells, all in one transaction or not at all.

One owner per cell: a cell that a non-terminal task of another run owns is taken out of the new task. If that task has not
started, this request joins it; if it runs (or would not make what this request asks for), the request waits and is planned
again when it ends. In both cases a gate that depends on the owner stands in for the cell in the new run, so that the run's
state and its dependents follow what becomes of it.

The order of locks: owners of cells first (inserting ownership waits for launches that claim the same cells), then the owning
tasks in id order. A launch that has to try again starts a new transaction: it never claims cells while it holds tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from partita.core.decide.caps import backfill_pool, cap_of
from partita.core.decide.rules import RULES
from partita.core.duties.values import BATCH_TASKS, Channel, Launch, LaunchCell, Launched, LaunchTask
from partita.core.store.port import Store, Tx
from partita.core.store.values import (
    BackfillId,
    CellCause,
    CellRef,
    LocationId,
    NewEvent,
    NewRun,
    NewTask,
    NewTaskCell,
    Pool,
    PoolUse,
    RunId,
    Task,
    TaskId,
    TaskState,
)

DEFAULT_POOL = "default"
_Made = tuple[list[NewTask], list[tuple[TaskId, TaskId]]]
_TRIES = 20  # owners that end, or are launched, while we look at them; each try finds others
_STARTED = frozenset({TaskState.RUNNING, TaskState.DEFERRED, TaskState.AWAITING_INPUT})


class LaunchRefused(ValueError):
    """The launch itself is wrong; nothing was written."""


class LaunchAgain(Exception):
    """An owner ended, or has an id above ours: start over in a new transaction with new ids. Rolls back."""


class PlanOutdated(LaunchRefused):
    """An asset has another partition scheme than the plan was made with: its keys may mean other windows now. Nothing was
    written; plan again."""


class SchemeMoved(LaunchAgain):
    """As `PlanOutdated`, for a part of a larger transaction: it plans again when it starts over."""


def launch(store: Store, launch: Launch) -> Launched:
    """Makes a run of a plan. Raises `PlanOutdated`, and `LaunchRefused` for one that contradicts itself."""
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
        except LaunchAgain:
            continue
    raise LaunchRefused(
        f"plan {batch[0].plan_hash}: the owners of its cells changed {_TRIES} times while it was launched; plan again"
    )


def launch_in(tx: Tx, launch: Launch) -> Launched:
    """`launch` as a part of a larger transaction, which must hold no task or cell yet. Raises `LaunchAgain`: roll back and
    start over in a new transaction."""
    _check(launch)
    (launched,) = _launch(tx, [launch])
    return launched


def _batches(launches: Sequence[Launch]) -> Iterator[list[Launch]]:
    """In order, bounded by tasks. No cell twice in one: the second to ask must find the first one's task committed."""
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
class _Placed:
    """A launch task with its ids. `gate_id` is below `task_id`, so that both kinds of edges rise."""

    source: LaunchTask
    gate_id: TaskId
    task_id: TaskId
    cells: tuple[LaunchCell, ...]  # those that it keeps
    owners: tuple[TaskId, ...]  # of those it does not

    @property
    def stands(self) -> bool:
        return self.source.kind == "gate" or bool(self.cells)

    @property
    def ids(self) -> tuple[TaskId, ...]:
        """What its dependents depend on."""
        gate = (self.gate_id,) if self.owners else ()
        return (*gate, self.task_id) if self.stands else gate


@dataclass(frozen=True, slots=True)
class _Draft:
    """A launch with the ids of its tasks: (of the gate that may stand beside it, its own)."""

    launch: Launch
    ids: list[tuple[TaskId, TaskId]]

    def wanted(self) -> Iterator[tuple[CellRef, TaskId]]:
        for task, (_, task_id) in zip(self.launch.tasks, self.ids, strict=True):
            for cell in task.cells:
                yield cell.cell, task_id

    def placed(self, taken: Mapping[CellRef, TaskId]) -> list[_Placed]:
        return [_place(task, *pair, taken) for task, pair in zip(self.launch.tasks, self.ids, strict=True)]


def _place(task: LaunchTask, gate_id: TaskId, task_id: TaskId, taken: Mapping[CellRef, TaskId]) -> _Placed:
    kept = tuple(cell for cell in task.cells if cell.cell not in taken)
    owners = sorted({taken[cell.cell] for cell in task.cells if cell.cell in taken})
    return _Placed(task, gate_id, task_id, kept, tuple(owners))


def _launch(tx: Tx, launches: Sequence[Launch]) -> list[Launched]:
    _check_schemes(tx, launches)
    ids = iter(tx.reserve_task_ids(2 * sum(len(one.tasks) for one in launches)))
    drafts = [_Draft(one, [(next(ids), next(ids)) for _ in one.tasks]) for one in launches]
    taken = tx.open_cells(owner for draft in drafts for owner in draft.wanted())
    owners = _lock_owners(tx, taken, drafts[0].ids[0][0])
    parts = [draft.placed(taken) for draft in drafts]
    backfills = [_insert_backfill(tx, one) for one in launches]
    limits = tx.running_caps()
    made = [_tasks_and_edges(*each, limits) for each in zip(launches, parts, backfills, strict=True)]
    pools = {use.name for tasks, _ in made for task in tasks for use in task.pools if cap_of(use.name) is None}
    tx.ensure_pools([Pool(name, 1) for name in sorted(pools)], automatic=True)
    runs = tx.insert_runs(
        [
            _new_run(one, backfill, len(tasks))
            for one, backfill, (tasks, _) in zip(launches, backfills, made, strict=True)
        ]
    )
    tx.insert_tasks([(run_id, task) for run_id, (tasks, _) in zip(runs, made, strict=True) for task in tasks])
    tx.insert_edges(edge for _, edges in made for edge in edges)
    tx.insert_task_cells(
        NewTaskCell(p.task_id, c.cell, c.reason, c.window, p.source.conditional or c.conditional)
        for part in parts
        for p in part
        for c in p.cells
    )
    unsure = _unsure_owned(tx, launches, taken)
    causes = [_causes(*each, taken, owners, unsure) for each in zip(runs, parts, strict=True)]
    tx.insert_causes(cause for own in causes for cause in own)
    _tell(tx, launches, runs, made)
    return [
        _launched(run_id, backfill, tasks, own)
        for run_id, backfill, (tasks, _), own in zip(runs, backfills, made, causes, strict=True)
    ]


def _check_schemes(tx: Tx, launches: Sequence[Launch]) -> None:
    """Before anything else is locked, as activations do: either the activation finds our tasks, or we find its scheme."""
    now = tx.lock_schemes({asset_id for one in launches for asset_id in one.schemes})
    for one in launches:
        moved = [asset_id for asset_id, hash in one.schemes.items() if now.get(asset_id, hash) != hash]
        if moved:
            raise SchemeMoved(
                f"plan {one.plan_hash}: asset {moved[0]} got another partition scheme since it was made, so that its keys may "
                "mean other windows; plan again"
            )


def _tell(tx: Tx, launches: Sequence[Launch], runs: Sequence[RunId], made: Sequence[_Made]) -> None:
    started = list(zip(launches, runs, made, strict=True))
    tx.append_events(
        [
            NewEvent("run", run_id=run_id, body={"state": "running", "tasks": len(tasks)})
            for _, run_id, (tasks, _) in started
        ]
    )
    for one, run_id, _ in started:
        by = str(one.cause.get("by", one.cause.get("kind", "")))
        tx.audit(by, "launch", {"run": run_id, "plan": one.plan_hash})


def _launched(
    run_id: RunId, backfill_id: BackfillId | None, tasks: Sequence[NewTask], causes: Sequence[CellCause]
) -> Launched:
    waiting = sum(cause.waits for cause in causes)
    ready = any(task.state is TaskState.SCHEDULED for task in tasks)
    channels = (Channel.SCHEDULED, Channel.EVENT) if ready else (Channel.EVENT,)
    return Launched(run_id, backfill_id, tuple(task.id for task in tasks), len(causes) - waiting, waiting, channels)


def _lock_owners(tx: Tx, taken: Mapping[CellRef, TaskId], first_id: TaskId) -> dict[TaskId, Task]:
    """The owning tasks, locked: none of them can end before the edges and causes that we add are there for it to see."""
    owners = {task.id: task for task in tx.lock_tasks(sorted(set(taken.values())))}
    for owner in set(taken.values()):
        # Ended between the two statements: its cells are free now. Or launched meanwhile: edges must rise, and new ids do.
        if owner not in owners or owners[owner].state.terminal or owner > first_id:
            raise LaunchAgain
    return owners


def _insert_backfill(tx: Tx, launch: Launch) -> BackfillId | None:
    if launch.backfill is None:
        return None
    new = launch.backfill
    backfill_id = tx.insert_backfill(new.name, launch.request, new.max_active, new.created_by)
    if new.max_active is not None:
        # The cap is a pool: then admission counts it under the same lock as everything else, exact for any number of admitters.
        tx.ensure_pools([Pool(backfill_pool(backfill_id), new.max_active)], automatic=True)
    return backfill_id


def _tasks_and_edges(
    launch: Launch, placed: Sequence[_Placed], backfill_id: BackfillId | None, limits: Mapping[LocationId | None, str]
) -> _Made:
    capped = launch.backfill is not None and launch.backfill.max_active is not None and backfill_id is not None
    cap = (backfill_pool(backfill_id),) if capped and backfill_id is not None else ()
    tasks: list[NewTask] = []
    edges: list[tuple[TaskId, TaskId]] = []
    for part in placed:
        if part.owners:
            tasks.append(_join_gate(launch, part))
            edges += [(owner, part.gate_id) for owner in part.owners]
        if part.stands:
            upstream = _waits_for(part.source, placed)
            tasks.append(_new_task(launch, part, len(upstream), _caps(part.source, cap, limits)))
            edges += [(up, part.task_id) for up in upstream]
    return tasks, edges


def _waits_for(source: LaunchTask, placed: Sequence[_Placed]) -> list[TaskId]:
    if source.rule == "always":
        return []
    return sorted({up for index in source.upstream for up in placed[index].ids})


def _join_gate(launch: Launch, part: _Placed) -> NewTask:
    source = part.source
    return NewTask(
        id=part.gate_id,
        kind="gate",
        step=source.step,
        location_id=None,
        snapshot_id=None,
        state=TaskState.NONE,
        waiting_on=len(part.owners),
        pools=(),
        lane=launch.lane,
        priority=launch.priority + source.priority,
        wave=source.wave,
        retry=source.retry,
        timeout_s=None,
        cell_count=0,
    )


def _new_task(launch: Launch, part: _Placed, waiting_on: int, caps: Sequence[str]) -> NewTask:
    source = part.source
    return NewTask(
        id=part.task_id,
        kind=source.kind,
        step=source.step,
        location_id=source.location_id,
        snapshot_id=source.snapshot_id,
        state=TaskState.NONE if waiting_on else TaskState.SCHEDULED,
        waiting_on=waiting_on,
        pools=_pools(source, caps),
        lane=launch.lane,
        priority=launch.priority + source.priority,
        wave=source.wave,
        retry=source.retry,
        timeout_s=source.timeout_s,
        cell_count=len(part.cells),
        conditional=source.conditional,
        rule=source.rule,
    )


def _caps(source: LaunchTask, of_backfill: tuple[str, ...], limits: Mapping[LocationId | None, str]) -> tuple[str, ...]:
    of_all = tuple(limits[of] for of in (None, source.location_id) if of in limits)
    return (*of_all, *of_backfill, *source.caps)


def _pools(source: LaunchTask, caps: Sequence[str]) -> tuple[PoolUse, ...]:
    if source.kind == "gate":
        return ()
    slots: dict[str, int] = {}
    for use in source.pools or (PoolUse(DEFAULT_POOL, 1),):
        slots[use.name] = max(slots.get(use.name, 0), use.slots)
    slots |= dict.fromkeys(caps, 1)
    return tuple(PoolUse(name, slots[name]) for name in sorted(slots))


def _new_run(launch: Launch, backfill_id: BackfillId | None, task_count: int) -> NewRun:
    return NewRun(
        backfill_id=backfill_id,
        lane=launch.lane,
        priority=launch.priority,
        cause=launch.cause,
        request=launch.request,
        plan_hash=launch.plan_hash,
        as_of=launch.as_of,
        params=launch.params,
        task_count=task_count,
        pins=launch.pins,
        keys_revision=launch.keys_revision,
    )


def _causes(
    run_id: RunId,
    placed: Sequence[_Placed],
    taken: Mapping[CellRef, TaskId],
    owners: Mapping[TaskId, Task],
    unsure: AbstractSet[CellRef],
) -> list[CellCause]:
    return [
        CellCause(cell.cell, owner.id, run_id, waits=_waits(part.source, cell, owner, unsure))
        for part in placed
        for cell in part.source.cells
        if cell.cell in taken
        for owner in (owners[taken[cell.cell]],)
    ]


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
    if owner.state in _STARTED:
        return True  # it has read its inputs already
    if owner.snapshot_id != source.snapshot_id:
        return True  # it will run other code
    # It may end without an attempt.
    return _forced(cell) and (owner.conditional or cell.cell in unsure)
