"""One visit of automation: candidates judged by the eager rule, asked for in one run, or held for a person.

Everything happens in the caller's transaction. Order of locks: held requests, ownership of cells (by the launch), then tasks,
as in every launch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from partita.assets import AssetKey
from partita.core.automation.eager import Consumer, Judged, Verdict, judge, upstream_of_cell
from partita.core.automation.held import Asking, Split, cells_of, content_of, decode_cells, split
from partita.core.automation.values import AskedBefore, Limits, Subject, deciding, subject_of
from partita.core.catalog import Catalog, StepKey, resolve_inputs, set_of
from partita.core.catalog.edges import Bools
from partita.core.catalog.names import names_of
from partita.core.duties.launch import LaunchAgain, launch_in
from partita.core.duties.values import Launch, Launched, ResolvedInputs
from partita.core.planner.assemble import assemble
from partita.core.planner.choices import Choice, reason_code
from partita.core.planner.launch import to_launch
from partita.core.planner.partition_words import partitions_text
from partita.core.planner.values import PlanRequest, Reason
from partita.core.store.port import Tx
from partita.core.store.values import AssetId, AutomationRequest, CellRef, NewEvent, TaskId, TaskState
from partita.core.store.values_requests import HeldRequest, RequestState

AUTOMATION_LANE = "automation"
_LISTED = 20
_NOT_STARTED = frozenset({TaskState.NONE, TaskState.SCHEDULED, TaskState.QUEUED, TaskState.UP_FOR_RETRY})

CauseOf = Callable[[Collection[StepKey]], Mapping[str, Any]]
"""The cause to record for a run of these steps."""


@dataclass(slots=True)
class Visit:
    """What one transaction works on. `before` are requests known to have been made for the same state. Without `limits`
    nothing is held: it was asked for and approved before. `moved` are the upstreams that caused it; None: one cause for all."""

    tx: Tx
    catalog: Catalog
    now: datetime
    before: Mapping[CellRef, int]
    limits: Limits | None = None
    moved: Collection[AssetKey] | None = None
    waits: dict[CellRef, CellRef] = field(default_factory=dict)
    """Consumer cell -> the open cell that it waits for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`requested` cells were launched, `held` ones wait for a person."""

    requested: int = 0
    held: int = 0
    launched: Launched | None = None


@dataclass(frozen=True, slots=True)
class StepCells:
    """The candidates of one step: per ordinal its cells."""

    key: StepKey
    cells: Mapping[int, tuple[CellRef, ...]]

    def only(self, ordinals: Collection[int]) -> StepCells:
        return StepCells(self.key, {at: cells for at, cells in self.cells.items() if at in ordinals})


def ask(visit: Visit, candidates: Mapping[StepKey, Bools], cause_of: CauseOf) -> Asked:
    """Ask for those of the candidates that the eager rule asks for, in one run; fills `visit.waits`.

    Raises AskedBefore: roll back and start over with these requests in `visit.before`; Undecidable: start over without its
    subjects.
    """
    steps = steps_of(visit, candidates)
    owners = visit.tx.open_owners(sorted({ref for step in steps for cells in step.cells.values() for ref in cells}))
    free = [step.only([at for at, cells in step.cells.items() if not _any(cells, owners)]) for step in steps]
    asking = judged(visit, [step for step in free if step.cells])
    held = 0
    if visit.limits is not None and asking:
        asking, held = _hold(visit, visit.limits, asking, cause_of)
    launched: Launched | None = None
    requests: list[AutomationRequest] = []
    if asking:
        with deciding(*_subjects(visit, asking)):
            cause = cause_of([one.key for one in asking])
            launched = launch_in(visit.tx, launch_of(visit, asking, cause))
        requests = requests_of(asking, launched, cause)
        new = visit.tx.insert_automation_requests(requests)
        if len(new) < len(requests):
            raise AskedBefore({one.cell: one.state_digest for one in requests if one.cell not in new})
    _wait_for_owners(visit, steps, owners)
    return Asked(len(requests), held, launched)


def steps_of(visit: Visit, candidates: Mapping[StepKey, Bools]) -> list[StepCells]:
    """The candidates as cells, by step in topological order."""
    found = []
    for key in visit.catalog.steps:
        if key in candidates:
            with deciding(subject_of(visit.catalog, key)):
                found.append(_step(visit, key, candidates[key]))
    return found


def judged(visit: Visit, steps: Sequence[StepCells], *, regardless: bool = False) -> list[Asking]:
    """The partitions to ask for, by step in topological order. `regardless` of upstreams that are under way."""
    resolved: dict[StepKey, ResolvedInputs] = {}
    above: dict[StepKey, dict[int, list[CellRef]]] = {}
    for step in steps:
        with deciding(subject_of(visit.catalog, step.key)):
            inputs = resolved[step.key] = _resolve(visit, step)
            above[step.key] = {
                at: [ref for cell in cells for ref in upstream_of_cell(inputs, cell, _members(cells))]
                for at, cells in step.cells.items()
            }
    every = {ref for found in above.values() for refs in found.values() for ref in refs}
    # Ownership first: whatever ends between the two statements brings an event of its own.
    under_way = {} if regardless else visit.tx.open_owners(sorted(every))
    for step in steps:
        for at, refs in above[step.key].items():
            blocker = next((ref for ref in refs if ref in under_way), None)
            if blocker is not None:
                visit.waits.update((cell, blocker) for cell in step.cells[at])
    own = {ref for step in steps for cells in step.cells.values() for ref in cells}
    facts = visit.tx.read_cells(sorted(every | own))
    asked: set[CellRef] = set()
    chosen: list[Asking] = []
    for step in steps:
        found: dict[int, Judged] = {}
        with deciding(subject_of(visit.catalog, step.key)):
            rebuild = _rebuilds(visit.catalog, step.key)
            for at, cells in step.cells.items():
                consumer = Consumer(cells, _absent(visit, step.key, at), rebuild)
                one = judge(consumer, resolved[step.key], facts, under_way.keys(), asked)
                if one.verdict is Verdict.ASK and not any(visit.before.get(cell) == one.state for cell in cells):
                    found[at] = one
                    asked.update(cells)  # at once: a later partition may read this one
        if found:
            chosen.append(Asking(step.key, step.cells, found))
    return chosen


def launch_of(visit: Visit, asking: Sequence[Asking], cause: Mapping[str, Any]) -> Launch:
    """The launch of what is asked for."""
    choices: dict[AssetKey, Choice] = {}
    texts: list[str] = []
    for step in asking:
        for asset in visit.catalog.steps[step.key]:
            space = visit.catalog.space(asset.key, visit.now)
            run = np.zeros(space.size, dtype=np.bool_)
            reason = np.zeros(space.size, dtype=np.uint8)
            unsure = np.zeros(space.size, dtype=np.bool_)
            for at, one in step.judged.items():
                run[at] = True
                reason[at] = reason_code(one.reason)
                # Should the inputs be back at what was consumed when it starts, it needs no attempt.
                unsure[at] = one.reason is not Reason.MISSING
            choices[asset.key] = Choice(run, reason, unsure)
            texts.append(f"{asset.key} {partitions_text(space, set_of(run))}".rstrip())
    selection = ", ".join(f'"{key}"' for key in choices)
    request = PlanRequest(selection=selection, as_of=visit.now, mode=("missing", "stale"), requested_by="automation")
    plan = assemble(visit.catalog, request, choices, ())
    return to_launch(plan, visit.catalog, cause={**cause, "cells": texts[:_LISTED]}, lane=AUTOMATION_LANE)


def requests_of(
    asking: Sequence[Asking], launched: Launched | None, cause: Mapping[str, Any]
) -> list[AutomationRequest]:
    """One per cell and state."""
    run_id = None if launched is None else launched.run_id
    return [
        AutomationRequest(cell, one.state, run_id, cause)
        for step in asking
        for at, one in step.judged.items()
        for cell in step.cells[at]
    ]


# ------------------------------------------------------------------ above the limit


def _hold(visit: Visit, limits: Limits, asking: Sequence[Asking], cause_of: CauseOf) -> tuple[list[Asking], int]:
    """What may go now; the rest is added to the requests that wait for a person."""
    assets = [asset.id for one in asking for asset in visit.catalog.steps[one.key]]
    seen = visit.tx.held_requests(assets)
    found = _split(visit, limits, asking, seen)
    if not found.held:
        return list(found.go), 0
    visit.tx.lock_requests()
    if _revisions(visit.tx.held_requests(assets)) != _revisions(seen):
        raise LaunchAgain  # one was approved, rejected or made meanwhile
    states = {cell: held.state for group, _ in found.held for cell, held in cells_of(group).items()}
    known = visit.tx.known_requests(states)
    if known:
        raise AskedBefore({cell: states[cell] for cell in known})
    for group, limit in found.held:
        with deciding(*_subjects(visit, group)):
            _keep(visit, limits, group, limit, cause_of([one.key for one in group]))
    return list(found.go), len(states)


def _split(visit: Visit, limits: Limits, asking: Sequence[Asking], waiting: Sequence[HeldRequest]) -> Split:
    inside = {cell for one in waiting for cell in decode_cells(one.body)}
    with deciding(*_subjects(visit, asking)):
        return split(visit.catalog, asking, inside, together=visit.moved, limits=limits, as_of=visit.now)


def _revisions(requests: Sequence[HeldRequest]) -> list[tuple[int, int]]:
    return [(one.id, one.revision) for one in requests]


def _keep(visit: Visit, limits: Limits, group: Sequence[Asking], limit: int, cause: Mapping[str, Any]) -> None:
    """One request for these consumers, of all that waits for them."""
    tx, cells = visit.tx, cells_of(group)
    older = tx.held_requests(sorted({cell.asset_id for cell in cells}))
    merged = {cell: held for one in reversed(older) for cell, held in decode_cells(one.body).items()} | cells
    merged = {cell: held for cell, held in merged.items() if cell.asset_id in visit.catalog.by_id}
    content = content_of(
        visit.catalog,
        merged,
        visit.now,
        cell_limit=older[0].cell_limit if older else limit,
        cause=cause,
        merged=1 + sum(one.merged for one in older),
    )
    if not older:
        kept = tx.insert_held_request(content, limits.keep_s)
        tx.audit("automation", "request_hold", {"request": kept, "cells": content.cells, "limit": limit})
    else:
        kept = older[0].id
        if len(older) == 1 and decode_cells(older[0].body) == merged:
            return
        tx.replace_held_request(kept, content, limits.keep_s)
        for one in older[1:]:
            tx.end_held_request(one.id, RequestState.SUPERSEDED, by="automation", reason=f"merged into request {kept}")
            tx.audit("automation", "request_supersede", {"request": one.id, "into": kept})
    tx.append_events([NewEvent("plan", body={"request": kept, "state": RequestState.AWAITING_INPUT.value})])


# ------------------------------------------------------------------ owners and upstreams


def _wait_for_owners(visit: Visit, steps: Sequence[StepCells], owners: Mapping[CellRef, TaskId]) -> None:
    """Owned consumers: a task that has not started reads what is there when it starts; for one that runs, wait.

    The rows are locked to be sure: a claim that is under way has read its inputs but shows no sign of it yet.
    """
    tasks = {task.id: task for task in visit.tx.lock_tasks(sorted(set(owners.values())))}
    runs = {run.id: run.as_of for run in visit.tx.read_runs(sorted({task.run_id for task in tasks.values()}))}
    for step in steps:
        version = visit.catalog.steps[step.key][0].snapshot_id if _rebuilds(visit.catalog, step.key) else None
        for cells in step.cells.values():
            for cell in cells:
                if cell not in owners:
                    continue
                task = tasks.get(owners[cell])
                will_read = (
                    task is not None
                    and task.state in _NOT_STARTED
                    and version in (None, task.snapshot_id)
                    and not _older(visit, runs[task.run_id], step)
                )
                if not will_read:
                    visit.waits.update((other, cell) for other in cells)


def _older(visit: Visit, as_of: datetime, step: StepCells) -> bool:
    """Whether a run that began at `as_of` knows fewer partitions above the step than there are now."""
    return any(
        visit.catalog.space(one.upstream, visit.now).size > visit.catalog.space(one.upstream, as_of).size
        for asset in visit.catalog.steps[step.key]
        for one in asset.inputs
        if not one.external
    )


def _step(visit: Visit, key: StepKey, mask: Bools) -> StepCells:
    members = visit.catalog.steps[key]
    names = names_of(visit.catalog.space(members[0].key, visit.now))
    cells = {at: tuple(CellRef(asset.id, names.key(at)) for asset in members) for at in np.flatnonzero(mask).tolist()}
    return StepCells(key, cells)


def _resolve(visit: Visit, step: StepCells) -> ResolvedInputs:
    return resolve_inputs(visit.catalog, visit.now, [cell for cells in step.cells.values() for cell in cells])


def _absent(visit: Visit, step: StepKey, at: int) -> bool:
    return any(
        asset.unresolved
        or any(
            bool(visit.catalog.edge(asset.key, one, visit.now).absent[at]) and one.upstream != asset.key
            for one in asset.inputs
        )
        for asset in visit.catalog.steps[step]
    )


def _rebuilds(catalog: Catalog, step: StepKey) -> bool:
    return any(asset.spec.on_code_change == "rebuild" for asset in catalog.steps[step])


def _subjects(visit: Visit, asking: Sequence[Asking]) -> list[Subject]:
    return [subject_of(visit.catalog, one.key) for one in asking]


def _members(cells: Sequence[CellRef]) -> set[AssetId]:
    return {cell.asset_id for cell in cells}


def _any(cells: Sequence[CellRef], owners: Mapping[CellRef, TaskId]) -> bool:
    return any(cell in owners for cell in cells)
