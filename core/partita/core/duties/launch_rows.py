"""The rows of a launch: its tasks with their ids, counters, pools and edges, once it is known who owns which cell. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from partita.core.decide.caps import backfill_pool, run_pool
from partita.core.decide.pause import binding, with_pauses
from partita.core.decide.shares import fair_key
from partita.core.decide.transitions import wait_first
from partita.core.decide.waits import first_stage
from partita.core.duties.values import Into, Launch, LaunchCell, LaunchTask
from partita.core.store.values import (
    AssetId,
    CellRef,
    LocationId,
    NewTask,
    PoolUse,
    TaskId,
    TaskState,
)
from partita.core.store.values_actions import Pause

DEFAULT_POOL = "default"
Made = tuple[list[NewTask], list[tuple[TaskId, TaskId]]]


@dataclass(frozen=True, slots=True)
class Placed:
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


def place(task: LaunchTask, gate_id: TaskId, task_id: TaskId, taken: Mapping[CellRef, TaskId]) -> Placed:
    if not taken:
        return Placed(task, gate_id, task_id, task.cells, ())
    kept = tuple(cell for cell in task.cells if cell.cell not in taken)
    owners = sorted({taken[cell.cell] for cell in task.cells if cell.cell in taken})
    return Placed(task, gate_id, task_id, kept, tuple(owners))


def task_count(placed: Iterable[Placed]) -> int:
    """How many tasks `tasks_and_edges` makes of them."""
    return sum(part.stands + bool(part.owners) for part in placed)


def tasks_and_edges(
    launch: Launch, placed: Sequence[Placed], run: Into, limits: Mapping[LocationId | None, str]
) -> Made:
    """`run` is the one that they are for."""
    tasks: list[NewTask] = []
    edges: list[tuple[TaskId, TaskId]] = []
    pools_of = PoolSets(run, limits)
    steps = {part.task_id: part.source.step for part in placed if part.source.kind == "step"}
    for part in placed:
        if part.owners:
            tasks.append(_join_gate(launch, part))
            edges += [(owner, part.gate_id) for owner in part.owners]
        if part.stands:
            upstream = _waits_for(part.source, placed)
            key = fair_key(launch.cause, part.source.owner, run.backfill_id)
            made = _new_task(launch, part, len(upstream), pools_of(part.source), key)
            past = sum(steps.get(up) == part.source.step for up in upstream) if part.source.kind == "step" else 0
            tasks.append(replace(made, past=past) if past else made)
            edges += [(up, part.task_id) for up in upstream]
    return tasks, edges


def held(made: Made, placed: Sequence[Placed], pauses: Mapping[AssetId, Pause]) -> Made:
    """The same, with the tasks of paused assets wanting what only a resume gives."""
    assets = {part.task_id: {cell.cell.asset_id for cell in part.cells} for part in placed if part.cells}
    tasks = [
        replace(task, pools=with_pauses(task.pools, [one.asset_id for one in binding(pauses, assets[task.id])]))
        if task.id in assets
        else task
        for task in made[0]
    ]
    return tasks, made[1]


def _waits_for(source: LaunchTask, placed: Sequence[Placed]) -> list[TaskId]:
    if source.rule == "always" or not source.upstream:
        return []
    return sorted({up for index in source.upstream for up in placed[index].ids})


def _join_gate(launch: Launch, part: Placed) -> NewTask:
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


def _new_task(launch: Launch, part: Placed, waiting_on: int, pools: tuple[PoolUse, ...], key: str) -> NewTask:
    source = part.source
    stage = first_stage(source.waits)
    first = wait_first(stage)
    return NewTask(
        id=part.task_id,
        kind=source.kind,
        step=source.step,
        location_id=source.location_id,
        snapshot_id=source.snapshot_id,
        state=TaskState.NONE if waiting_on else first[0] if first is not None else TaskState.SCHEDULED,
        waiting_on=waiting_on,
        pools=pools,
        lane=launch.lane,
        priority=launch.priority + source.priority,
        wave=source.wave,
        retry=source.retry,
        timeout_s=source.timeout_s,
        cell_count=len(part.cells),
        conditional=source.conditional,
        rule=source.rule,
        fair_key=key,
        critical_path=source.critical_path,
        waits=stage,
        queue=source.queue,
    )


class PoolSets:
    """The pools of each task, worked out once for all that name the same."""

    def __init__(self, run: Into, limits: Mapping[LocationId | None, str]) -> None:
        of_backfill = () if run.backfill_id is None else (backfill_pool(run.backfill_id),)
        self._of_run = (*of_backfill, run_pool(run.run_id)) if run.limited else of_backfill
        self._limits = limits
        self._known: dict[tuple[object, ...], tuple[PoolUse, ...]] = {}

    def __call__(self, source: LaunchTask) -> tuple[PoolUse, ...]:
        if source.kind == "gate":
            return ()
        named = (source.pools, source.caps, source.location_id)
        known = self._known.get(named)
        if known is None:
            known = self._known[named] = self._of(source)
        return known

    def _of(self, source: LaunchTask) -> tuple[PoolUse, ...]:
        slots: dict[str, int] = {}
        for use in source.pools or (PoolUse(DEFAULT_POOL, 1),):
            slots[use.name] = max(slots.get(use.name, 0), use.slots)
        of_all = tuple(self._limits[of] for of in (None, source.location_id) if of in self._limits)
        slots |= dict.fromkeys((*of_all, *self._of_run, *source.caps), 1)
        return tuple(PoolUse(name, slots[name]) for name in sorted(slots))
