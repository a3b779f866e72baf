"""Fan-out at run time: a run goes on over the keys that one of its tasks found.

The end of such a task is told to nobody in the transaction that adds the keys. Here, in one transaction, the tasks over the new
keys are launched into the same run, with what they feed, as far as the run's request covers it, and then its dependents and its
run hear of the end: nothing below it can have started, and the run cannot have ended. What collects the new cells and waits in
this run already waits for them, too: for the word of a gate behind them, which is passed on when that has ended.

A run sees the keys of one revision. Where one of those that it was planned with was removed since, tasks of it may still be about
that key: it goes on as it is, and what was found is a run of its own, which both runs say. A run that is over, was cancelled, or
cannot be planned goes on as it was; its events say why.

Order of locks: the row, its run, owners of cells, tasks.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import numpy as np

from partita.assets import AssetKey
from partita.assets.selection import select_assets
from partita.core.automation.replan import TxCells, needed_cells
from partita.core.automation.values import Undecidable, deciding
from partita.core.catalog import Catalog
from partita.core.catalog.dynamic import cells_of_keys
from partita.core.catalog.edges import Bools, mask_of
from partita.core.cells.status import Statuses
from partita.core.decide.settle import Ended, settle
from partita.core.decide.transitions import Actor, move
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Written, below, write
from partita.core.duties.launch import LaunchAgain, launch_in
from partita.core.duties.values import REPLAN, Into, LaunchTask
from partita.core.planner.assemble import assemble
from partita.core.planner.decide import decide
from partita.core.planner.launch import GATE, to_launch
from partita.core.planner.targets import Targets
from partita.core.planner.values import PlanRequest
from partita.core.store.port import Store, Tx
from partita.core.store.values import (
    CellRef,
    NewEvent,
    Run,
    RunId,
    RunState,
    Tally,
    Task,
    TaskId,
    TaskState,
    TaskUpdate,
    waits_for,
)
from partita.core.store.values_fan_out import FanOut
from partita.core.store.values_requests import FaultKind

log = logging.getLogger(__name__)

_TRIES = 20
_NAMED = 5
_Masks = dict[AssetKey, Bools]


class RunCatalogs(Protocol):
    """Where the definitions of runs come from (`CatalogCache`)."""

    def of_run_at(self, run_id: RunId, keys_revision: int, /) -> Catalog:
        """What the run is pinned to, with the keys of this revision."""


@dataclass(frozen=True, slots=True)
class FannedOut:
    """`cells` were added to a run, in `tasks`."""

    taken: int = 0
    cells: int = 0
    tasks: int = 0
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.taken


def run_fan_outs(store: Store, catalogs: RunCatalogs) -> FannedOut:
    """Take one task that added keys, or one whose gate has ended."""
    given_up: dict[RunId, str] = {}
    for _ in range(_TRIES):
        try:
            return store.run(lambda tx: _visit(tx, catalogs, given_up))
        except LaunchAgain:
            continue
        except Undecidable as error:
            log.error("run %s does not go on over the keys that it found: %s", error.subjects[0][1], error.why)
            given_up[RunId(error.subjects[0][1])] = error.why
    return FannedOut(more=True)


def _visit(tx: Tx, catalogs: RunCatalogs, given_up: Mapping[RunId, str]) -> FannedOut:
    owed = tx.take_fan_out_skip()
    if owed is None:
        return FannedOut()
    if owed.gate_id is not None:
        return _pass_on(tx, owed)
    grown = FannedOut()
    runs = tx.lock_runs([owed.run_id])
    if owed.run_id in given_up:
        _say(tx, owed, "fan_out_refused", {"why": given_up[owed.run_id]})
    elif runs and runs[0].state is RunState.RUNNING and not runs[0].cancel_requested:
        with deciding((FaultKind.RUN, int(owed.run_id))):
            growth = _growth(tx, catalogs, runs[0], owed)
        if growth is not None:
            grown, owed = _launch(tx, growth, runs[0], owed)
    written = _release(tx, owed)
    channels = tuple(sorted({*grown.channels, *written.channels(), Channel.EVENT}))
    return replace(grown, taken=1, more=True, channels=channels)


# ------------------------------------------------------------------ what is added


@dataclass(frozen=True, slots=True)
class _Growth:
    """`cells`: those with a new key, and those below them. `above`: what they need and others are making. `gone` are keys that
    the run was planned with and that exist no more."""

    catalog: Catalog
    request: PlanRequest
    cells: Mapping[AssetKey, Bools]
    above: Mapping[AssetKey, Bools]
    gone: Sequence[str]


def _growth(tx: Tx, catalogs: RunCatalogs, run: Run, owed: FanOut) -> _Growth | None:
    revision = max(run.keys_revision, owed.revision)
    catalog, before = catalogs.of_run_at(run.id, revision), catalogs.of_run_at(run.id, run.keys_revision)
    now = catalog.keys.keys
    gone = [key for scheme, keys in before.keys.keys.items() for key in keys if key not in set(now.get(scheme, ()))]
    request = PlanRequest.from_json(run.request)
    covered = _covered(catalog, request)
    made: _Masks = {}
    for own in tx.task_cells([owed.task_id]):
        _mark(made, catalog, run.as_of, own.cell)
    fresh: _Masks = {}
    for key, mask in _down(catalog, run.as_of, made, None).items():
        space = catalog.space(key, run.as_of)
        for scheme, names in owed.keys.items():
            chosen = mask & mask_of(cells_of_keys(space, scheme, names), space.size)
            if key in covered and chosen.any():
                fresh[key] = np.logical_or(fresh[key], chosen) if key in fresh else chosen
    if not fresh:
        return None
    cells = _down(catalog, run.as_of, fresh, covered) | fresh
    return _Growth(catalog, request, cells, _under_way_above(tx, catalog, run.as_of, cells), gone)


def _covered(catalog: Catalog, request: PlanRequest) -> set[AssetKey]:
    """The assets that the run's request is about."""
    found = set(select_assets(catalog.graph, request.selection))
    more: set[AssetKey] = set()
    if request.upstream:
        more |= set(catalog.graph.ancestors(*found))
    if request.downstream:
        more |= set(catalog.graph.descendants(*found))
    return {key for key in found | more if not catalog.assets[key].external}


def _mark(masks: _Masks, catalog: Catalog, as_of: datetime, cell: CellRef) -> None:
    asset = catalog.by_id.get(cell.asset_id)
    at = None if asset is None else catalog.space(asset.key, as_of).find(cell.partition)
    if asset is not None and at is not None:
        masks.setdefault(asset.key, np.zeros(catalog.space(asset.key, as_of).size, dtype=np.bool_))[at] = True


def _down(catalog: Catalog, as_of: datetime, marked: Mapping[AssetKey, Bools], within: set[AssetKey] | None) -> _Masks:
    """What the marked cells feed, however far below; with `within` along these assets only."""
    found: _Masks = {}
    for key in catalog.graph.sort(catalog.graph.descendants(*marked)):
        for one in catalog.assets[key].inputs:
            above = [masks[one.upstream] for masks in (marked, found) if one.upstream in masks]
            if not above or one.upstream == key or (within is not None and key not in within):
                continue
            fed = catalog.edge(key, one, as_of).any(np.logical_or.reduce(above))
            if fed.any():
                found[key] = np.logical_or(found[key], fed) if key in found else fed
    return found


def _under_way_above(tx: Tx, catalog: Catalog, as_of: datetime, cells: Mapping[AssetKey, Bools]) -> _Masks:
    """What these cells need and open tasks are making, and what that needs in turn: to be waited for."""
    found: _Masks = {}
    for key in reversed(catalog.graph.sort({*cells, *catalog.graph.ancestors(*cells)})):
        asked = [masks[key] for masks in (cells, found) if key in masks]
        for one in catalog.assets[key].inputs if asked else ():
            if one.external or one.upstream == key:
                continue
            needed = catalog.edge(key, one, as_of).needed(np.logical_or.reduce(asked))
            if one.upstream in cells:
                needed = needed & ~cells[one.upstream]
            for cell in tx.open_owners(_refs(catalog, as_of, {one.upstream: needed})):
                _mark(found, catalog, as_of, cell)
    return found


def _refs(catalog: Catalog, as_of: datetime, masks: Mapping[AssetKey, Bools]) -> list[CellRef]:
    return [
        CellRef(catalog.assets[key].id, catalog.space(key, as_of).key_at(at))
        for key, mask in masks.items()
        for at in np.flatnonzero(mask).tolist()
    ]


# ------------------------------------------------------------------ how it is added


def _launch(tx: Tx, growth: _Growth, run: Run, owed: FanOut) -> tuple[FannedOut, FanOut]:
    catalog, as_of = growth.catalog, run.as_of
    with deciding((FaultKind.RUN, int(run.id))):
        targets = Targets(dict(growth.cells), growth.request.mode, dict(growth.above))
        every = {
            key: np.logical_or.reduce([masks[key] for masks in (growth.cells, growth.above) if key in masks])
            for key in {**growth.cells, **growth.above}
        }
        statuses = Statuses(catalog, TxCells(tx, needed_cells(catalog, as_of, every)), as_of)
        decided = decide(catalog, statuses, targets)
        if not decided.choices:
            return FannedOut(), owed
        plan = assemble(catalog, growth.request, decided.choices, decided.blocked)
        cause = _apart(run, owed, growth.gone) if growth.gone else run.cause
        launch = to_launch(plan, catalog, cause=cause, lane=run.lane)
    owners = tx.open_owners(sorted(cell.cell for task in launch.tasks for cell in task.cells))
    below_ours = set(_refs(catalog, as_of, growth.cells)) & owners.keys()
    tasks = list(launch.tasks)
    free = _free(tasks, owners)
    if below_ours and free:
        tasks.append(
            LaunchTask("gate", GATE, None, None, upstream=tuple(free), wave=1 + max(one.wave for one in tasks))
        )
    cells = sum(cell.cell not in owners for task in launch.tasks for cell in task.cells)
    said: dict[str, Any] = {"cells": cells, "keys": sum(map(len, owed.keys.values()))}
    if growth.gone:
        apart = replace(launch, tasks=tuple(tasks), retry_of=run.backfill_id, max_active=run.max_active)
        launched = launch_in(tx, apart)
        _say(tx, owed, "fan_out", said | {"into": launched.run_id, "why": cause["text"]})
    else:
        into = Into(run.id, run.backfill_id, run.max_active is not None)
        launched = launch_in(tx, replace(launch, tasks=tuple(tasks), into=into))
        tx.grow_run(run.id, len(launched.task_ids), max(run.keys_revision, owed.revision))
        _say(tx, owed, "fan_out", said | {"tasks": len(launched.task_ids)})
    if below_ours and free:
        collects = {cell: owners[cell] for cell in below_ours}
        owed = _hold(tx, run, owed, collects, launched.task_ids[-1], apart=bool(growth.gone))
    return FannedOut(cells=cells, tasks=len(launched.task_ids), channels=launched.channels), owed


def _apart(run: Run, owed: FanOut, gone: Sequence[str]) -> Mapping[str, Any]:
    found = [key for keys in owed.keys.values() for key in keys]
    why = f"{_named(gone)} {'was' if len(gone) == 1 else 'were'} removed since it was planned"
    text = f"run {run.id} found {_named(found)}, and does not grow itself: {why}"
    return {"kind": "fan_out", "by": run.cause.get("by", ""), "text": text, "run": run.id}


def _named(keys: Sequence[str]) -> str:
    shown = ", ".join(keys[:_NAMED])
    return shown if len(keys) <= _NAMED else f"{shown} and {len(keys) - _NAMED:,} more"


def _say(tx: Tx, owed: FanOut, action: str, said: Mapping[str, Any]) -> None:
    """In the audit, and to whoever follows the run."""
    tx.audit("scheduler", action, {"run": owed.run_id, "task": owed.task_id, **said})
    tx.append_events([NewEvent("run", run_id=owed.run_id, body={"state": "running", "action": action, **said})])


def _free(tasks: Sequence[LaunchTask], owners: Mapping[CellRef, TaskId]) -> list[int]:
    """The new tasks that wait for nothing which others make: a gate behind the rest might wait for who waits for it."""
    behind: set[int] = set()
    for index, task in enumerate(tasks):
        if any(cell.cell in owners for cell in task.cells) or not behind.isdisjoint(task.upstream):
            behind.add(index)
    return [index for index, task in enumerate(tasks) if index not in behind and task.kind == "step"]


def _hold(
    tx: Tx, run: Run, owed: FanOut, collects: Mapping[CellRef, TaskId], gate_id: TaskId, *, apart: bool
) -> FanOut:
    """What waits in this run and collects the new cells waits for the gate, by an edge from the task that found the keys; what
    cannot any more, or is of a run that does not see the keys, is planned again at its end."""
    if apart:
        return replace(owed, gate_id=gate_id, again=tuple(sorted(collects)))
    tasks = {task.id: task for task in tx.lock_tasks(sorted(set(collects.values())))}
    held = [
        task
        for task in tasks.values()
        if task.run_id == run.id and task.state is TaskState.NONE and task.id > owed.task_id
    ]
    known = {down for _, down in tx.edges_from([owed.task_id])}
    more = [task for task in held if task.id not in known]
    tx.insert_edges((owed.task_id, task.id) for task in more)
    tx.write_tasks([_one_more(task) for task in more])
    waits = {task.id for task in held}
    again = sorted(cell for cell, owner in collects.items() if owner not in waits)
    return replace(owed, gate_id=gate_id, held=tuple(sorted(waits)), again=tuple(again))


def _one_more(task: Task) -> TaskUpdate:
    past = (task.reason_detail or {}).get("past", 0)
    reason, detail = waits_for(task.waiting_on + 1, past)
    return move(
        task, TaskState.NONE, Actor.FAN_OUT, waiting_on=task.waiting_on + 1, reason=reason, reason_detail=detail
    )


# ------------------------------------------------------------------ who hears of it


def _release(tx: Tx, owed: FanOut) -> Written:
    """The end of the task that found the keys: its run and its dependents hear of it, but for those that are held."""
    (task,) = tx.lock_tasks([owed.task_id])
    written = _tell(tx, Ended.of(task, task.state), owed, held=False)
    tx.append_tallies([Tally(owed.run_id, task.state, 1)])
    if owed.gate_id is not None:
        tx.put_fan_out(owed)
    return written


def _pass_on(tx: Tx, owed: FanOut) -> FannedOut:
    """The end of the gate behind the new tasks."""
    gate = next(iter(tx.lock_tasks([owed.gate_id] if owed.gate_id is not None else [])), None)
    state = TaskState.SUCCESS if gate is None else gate.state
    written = _tell(tx, Ended(state, GATE, "gate", owed.run_id), owed, held=True)
    again = [
        NewEvent(
            "plan",
            asset_id=cell.asset_id,
            partition=cell.partition,
            run_id=owed.run_id,
            task_id=owed.task_id,
            body={"fan_out": owed.task_id},
            for_consumers=(REPLAN,),
        )
        for cell in owed.again
    ]
    tx.append_events(again)
    todo = (Channel.TODO,) if owed.again else ()
    return FannedOut(taken=1, more=True, channels=tuple(sorted({*written.channels(), *todo, Channel.EVENT})))


def _tell(tx: Tx, end: Ended, owed: FanOut, *, held: bool) -> Written:
    """Settle what is below the task as after this end: its held dependents, or all others."""
    source = owed.task_id if not held or owed.gate_id is None else owed.gate_id
    dependents, edges = below(tx, [owed.task_id], whole=True)
    chosen = [
        (source if up == owed.task_id else up, down)
        for up, down in edges
        if up != owed.task_id or (down in owed.held) is held
    ]
    settlement = settle({source: end}, chosen, dependents, whole=True, now=tx.now())
    return write(tx, [], settlement)
