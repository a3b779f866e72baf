"""The eager duty: materialized events become requests and one run, in the transaction that takes the events.

No wake-up is lost: an event is deleted only in the transaction that acted on it or found that nothing is to be done; while
an upstream or the consumer itself runs it is put back. Nothing is asked twice for one cause, whatever the number of
schedulers: a request is unique per cell and state of its inputs, and an owned cell is not asked for again.

Order of locks: ownership of cells (by the launch), then tasks, as in every launch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from partita.assets import AssetKey, PartitionSet
from partita.core.automation.eager import Consumer, Judged, Verdict, judge, upstream_of_cell
from partita.core.automation.values import EVENTS, ActiveCatalog, Automated
from partita.core.catalog import Catalog, StepKey, resolve_inputs, set_of
from partita.core.catalog.edges import Bools
from partita.core.catalog.names import names_of
from partita.core.duties.launch import LaunchAgain, launch_in
from partita.core.duties.values import AUTOMATION, Launch, Launched, ResolvedInputs
from partita.core.planner.assemble import assemble
from partita.core.planner.decide import Choice, reason_code
from partita.core.planner.launch import to_launch
from partita.core.planner.partition_words import partitions_text
from partita.core.planner.values import PlanRequest, Reason
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, AutomationRequest, CellRef, TaskId, TaskState, TodoEvent

_TRIES = 20
_LISTED = 20
_RANGES = 2
_NOT_STARTED = frozenset({TaskState.NONE, TaskState.SCHEDULED, TaskState.QUEUED, TaskState.UP_FOR_RETRY})

# Per store, what each waiting event waits for. A hint only: it saves working out a thousand waits anew at every wake-up.
_hints: WeakKeyDictionary[Store, dict[int, CellRef]] = WeakKeyDictionary()

_Asked = dict[CellRef, int]
CauseOf = Callable[[Collection[StepKey]], Mapping[str, Any]]
"""The cause to record for a run of these steps."""


class AskedBefore(Exception):
    """Some of the requests were made before, for the same state of their inputs: start over without them."""

    def __init__(self, again: _Asked) -> None:
        super().__init__(f"{len(again)} requests were made before")
        self.again = again


@dataclass(slots=True)
class Visit:
    """What one transaction works on. `before` are requests known to have been made for the same state."""

    tx: Tx
    catalog: Catalog
    now: datetime
    before: Mapping[CellRef, int]
    hints: dict[int, CellRef]
    waits: dict[CellRef, CellRef] = field(default_factory=dict)
    """Consumer cell -> the open cell that it waits for."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The candidates of one step: per ordinal its cells."""

    key: StepKey
    cells: Mapping[int, tuple[CellRef, ...]]


def run_automation(store: Store, catalogs: ActiveCatalog, limit: int = EVENTS) -> Automated:
    """Take events of upstreams with eager consumers and ask for what follows; see the module."""
    before: _Asked = {}
    hints = _hints.setdefault(store, {})
    for _ in range(_TRIES):
        try:
            return store.run(lambda tx: _automate(tx, catalogs, limit, dict(before), hints))
        except LaunchAgain:
            continue
        except AskedBefore as known:
            before.update(known.again)
    return Automated(more=True)


def _automate(
    tx: Tx, catalogs: ActiveCatalog, limit: int, before: Mapping[CellRef, int], hints: dict[int, CellRef]
) -> Automated:
    events = tx.take_todo_skip(AUTOMATION, limit)
    if not events:
        hints.clear()
        return Automated()
    # Only now: an idle visit is one statement.
    visit = Visit(tx, catalogs.active(), tx.now(), before, hints)
    still, live = _still_waiting(visit, events)
    touched = _touched(visit, live)
    asked, launched = ask(visit, touched, partial(_cause, visit, live))
    waiting = [*still, *(event for event in live if _waits(visit, event))]
    visit.tx.put_back_todo(AUTOMATION, waiting)
    return Automated(
        taken=len(events),
        requested=asked,
        waiting=len(waiting),
        run_id=None if launched is None else launched.run_id,
        more=len(events) == limit and len(waiting) < len(events),
        channels=() if launched is None else launched.channels,
    )


def ask(visit: Visit, candidates: Mapping[StepKey, Bools], cause_of: CauseOf) -> tuple[int, Launched | None]:
    """Ask for those of the candidates that the eager rule asks for, in one run; fills `visit.waits`.

    Raises AskedBefore: roll back and start over with these requests in `visit.before`.
    """
    steps = [_step(visit, key, candidates[key]) for key in visit.catalog.steps if key in candidates]
    owners = visit.tx.open_owners(sorted({ref for step in steps for cells in step.cells.values() for ref in cells}))
    free = [
        _Step(step.key, {at: cells for at, cells in step.cells.items() if not _any(cells, owners)}) for step in steps
    ]
    chosen = _judged(visit, [step for step in free if step.cells])
    launched: Launched | None = None
    requests: list[AutomationRequest] = []
    if chosen:
        cause = cause_of([step.key for step, _ in chosen])
        launched = launch_in(visit.tx, _launch_of(visit, chosen, cause))
        requests = [
            AutomationRequest(cell, judged.state, launched.run_id, cause)
            for step, found in chosen
            for at, judged in found.items()
            for cell in step.cells[at]
        ]
        new = visit.tx.insert_automation_requests(requests)
        if len(new) < len(requests):
            raise AskedBefore({one.cell: one.state_digest for one in requests if one.cell not in new})
    _wait_for_owners(visit, steps, owners)
    return len(requests), launched


def _judged(visit: Visit, steps: Sequence[_Step]) -> list[tuple[_Step, dict[int, Judged]]]:
    """The partitions to ask for, by step in topological order."""
    resolved = {step.key: _resolve(visit, step) for step in steps}
    above = {
        step.key: {
            at: [ref for cell in cells for ref in upstream_of_cell(resolved[step.key], cell, _members(cells))]
            for at, cells in step.cells.items()
        }
        for step in steps
    }
    every = {ref for found in above.values() for refs in found.values() for ref in refs}
    # Ownership first: whatever ends between the two statements brings an event of its own.
    under_way = visit.tx.open_owners(sorted(every))
    for step in steps:
        for at, refs in above[step.key].items():
            blocker = next((ref for ref in refs if ref in under_way), None)
            if blocker is not None:
                visit.waits.update((cell, blocker) for cell in step.cells[at])
    own = {ref for step in steps for cells in step.cells.values() for ref in cells}
    facts = visit.tx.read_cells(sorted(every | own))
    asked: set[CellRef] = set()
    chosen: list[tuple[_Step, dict[int, Judged]]] = []
    for step in steps:
        found: dict[int, Judged] = {}
        for at, cells in step.cells.items():
            consumer = Consumer(cells, _absent(visit, step.key, at))
            one = judge(consumer, resolved[step.key], facts, under_way.keys(), asked)
            if one.verdict is Verdict.ASK and not any(visit.before.get(cell) == one.state for cell in cells):
                found[at] = one
                asked.update(cells)  # at once: a later partition may read this one
        if found:
            chosen.append((step, found))
    return chosen


def _launch_of(visit: Visit, chosen: Sequence[tuple[_Step, Mapping[int, Judged]]], cause: Mapping[str, Any]) -> Launch:
    choices: dict[AssetKey, Choice] = {}
    texts: list[str] = []
    for step, found in chosen:
        for asset in visit.catalog.steps[step.key]:
            space = visit.catalog.space(asset.key, visit.now)
            run = np.zeros(space.size, dtype=np.bool_)
            reason = np.zeros(space.size, dtype=np.uint8)
            unsure = np.zeros(space.size, dtype=np.bool_)
            for at, judged in found.items():
                run[at] = True
                reason[at] = reason_code(Reason.MISSING if judged.missing else Reason.STALE_DATA)
                # Should the inputs be back at what was consumed when it starts, it needs no attempt.
                unsure[at] = not judged.missing
            choices[asset.key] = Choice(run, reason, unsure)
            texts.append(f"{asset.key} {partitions_text(space, set_of(run))}".rstrip())
    selection = ", ".join(f'"{key}"' for key in choices)
    request = PlanRequest(selection=selection, as_of=visit.now, mode=("missing", "stale"), requested_by="automation")
    plan = assemble(visit.catalog, request, choices, ())
    return to_launch(plan, visit.catalog, cause={**cause, "cells": texts[:_LISTED]}, lane="automation")


def _wait_for_owners(visit: Visit, steps: Sequence[_Step], owners: Mapping[CellRef, TaskId]) -> None:
    """Owned consumers: a task that has not started reads what is there when it starts; for one that runs, wait.

    The rows are locked to be sure: a claim that is under way has read its inputs but shows no sign of it yet.
    """
    tasks = {task.id: task for task in visit.tx.lock_tasks(sorted(set(owners.values())))}
    runs = {run.id: run.as_of for run in visit.tx.read_runs(sorted({task.run_id for task in tasks.values()}))}
    for step in steps:
        for cells in step.cells.values():
            for cell in cells:
                if cell not in owners:
                    continue
                task = tasks.get(owners[cell])
                will_read = (
                    task is not None and task.state in _NOT_STARTED and not _older(visit, runs[task.run_id], step)
                )
                if not will_read:
                    visit.waits.update((other, cell) for other in cells)


def _older(visit: Visit, as_of: datetime, step: _Step) -> bool:
    """Whether a run that began at `as_of` knows fewer partitions above the step than there are now."""
    return any(
        visit.catalog.space(one.upstream, visit.now).size > visit.catalog.space(one.upstream, as_of).size
        for asset in visit.catalog.steps[step.key]
        for one in asset.inputs
        if not one.external
    )


def _step(visit: Visit, key: StepKey, mask: Bools) -> _Step:
    members = visit.catalog.steps[key]
    names = names_of(visit.catalog.space(members[0].key, visit.now))
    cells = {at: tuple(CellRef(asset.id, names.key(at)) for asset in members) for at in np.flatnonzero(mask).tolist()}
    return _Step(key, cells)


def _resolve(visit: Visit, step: _Step) -> ResolvedInputs:
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


def _touched(visit: Visit, events: Iterable[TodoEvent]) -> dict[StepKey, Bools]:
    """Per step with eager members, the partitions that the events map to; nothing else is ever looked at (S-082)."""
    moved: dict[AssetKey, Bools] = {}
    for event in events:
        asset = visit.catalog.by_id.get(event.cell.asset_id)
        if asset is None:
            continue
        space = visit.catalog.space(asset.key, visit.now)
        at = space.find(event.cell.partition)
        if at is not None:
            moved.setdefault(asset.key, np.zeros(space.size, dtype=np.bool_))[at] = True
    touched: dict[StepKey, Bools] = {}
    for key, mask in moved.items():
        for consumer, one in visit.catalog.consumers.get(key, ()):
            if consumer.eager:
                below = visit.catalog.edge(consumer.key, one, visit.now).any(mask)
                known = touched.get(consumer.step)
                touched[consumer.step] = below if known is None else np.logical_or(known, below)
    return {step: mask for step, mask in touched.items() if mask.any()}


def _still_waiting(visit: Visit, events: Sequence[TodoEvent]) -> tuple[list[TodoEvent], list[TodoEvent]]:
    """Events whose known blocker is still under way, and the others."""
    known = {event.event_id: visit.hints[event.event_id] for event in events if event.event_id in visit.hints}
    blocked = visit.tx.open_owners(sorted(set(known.values()))) if known else {}
    still, live = [], []
    for event in events:
        if known.get(event.event_id) in blocked:
            still.append(event)
        else:
            visit.hints.pop(event.event_id, None)
            live.append(event)
    return still, live


def _waits(visit: Visit, event: TodoEvent) -> bool:
    """Whether a consumer cell of this event waits; remembers what for."""
    asset = visit.catalog.by_id.get(event.cell.asset_id)
    if asset is None or not visit.waits:
        return False
    space = visit.catalog.space(asset.key, visit.now)
    at = space.find(event.cell.partition)
    if at is None:
        return False
    mask = np.zeros(space.size, dtype=np.bool_)
    mask[at] = True
    for consumer, one in visit.catalog.consumers.get(asset.key, ()):
        if not consumer.eager:
            continue
        down = names_of(visit.catalog.space(consumer.key, visit.now))
        for ordinal in np.flatnonzero(visit.catalog.edge(consumer.key, one, visit.now).any(mask)).tolist():
            blocker = visit.waits.get(CellRef(consumer.id, down.key(ordinal)))
            if blocker is not None:
                visit.hints[event.event_id] = blocker
                return True
    return False


def _cause(visit: Visit, taken: Sequence[TodoEvent], steps: Collection[StepKey]) -> dict[str, Any]:
    """What of it these steps read, by asset: "flights 2013-01-02, weather 2013-01-02 × EWR, JFK were materialized"."""
    chosen = {asset.key for step in steps for asset in visit.catalog.steps[step]}
    read = {
        visit.catalog.assets[key].id
        for key, consumers in visit.catalog.consumers.items()
        if key in visit.catalog.assets and any(consumer.key in chosen for consumer, _ in consumers)
    }
    events = [event for event in taken if event.cell.asset_id in read] or taken
    found: dict[AssetId, list[str]] = {}
    for event in events:
        found.setdefault(event.cell.asset_id, []).append(event.cell.partition)
    names = [_named(visit, asset_id, keys) for asset_id, keys in islice(found.items(), _LISTED)]
    more = f" and {len(found) - len(names)} more assets" if len(found) > len(names) else ""
    verb = "was" if len(events) == 1 else "were"
    return {
        "kind": "eager",
        "by": "automation",
        "text": f"{', '.join(names)}{more} {verb} materialized",
        "events": [event.event_id for event in events[:_LISTED]],
    }


def _named(visit: Visit, asset_id: AssetId, keys: Sequence[str]) -> str:
    asset = visit.catalog.by_id.get(asset_id)
    if asset is None:
        return f"an asset that is gone ({asset_id})"
    space = visit.catalog.space(asset.key, visit.now)
    cells = PartitionSet.from_ordinals(at for at in space.ordinals_of(keys) if at >= 0)
    return f"{asset.key} {partitions_text(space, cells, _RANGES)}".rstrip()


def _members(cells: Sequence[CellRef]) -> set[AssetId]:
    return {cell.asset_id for cell in cells}


def _any(cells: Sequence[CellRef], owners: Mapping[CellRef, TaskId]) -> bool:
    return any(cell in owners for cell in cells)
