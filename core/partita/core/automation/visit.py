"""One visit of automation: candidates judged by their conditions, asked for in one run, or held for a person.

Everything happens in the caller's transaction. Order of locks: held requests, ownership of cells (by the launch), then tasks,
as in every launch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np

from partita.assets import AssetKey
from partita.core.automation.held import (
    Above,
    Asking,
    Caused,
    Split,
    cells_of,
    content_of,
    counts_of,
    decode_cells,
    split,
)
from partita.core.automation.judge import Judged, Verdict, rebuilds
from partita.core.automation.members import read_by, verdicts
from partita.core.automation.pacing import Portion, as_catch_up, portions
from partita.core.automation.reading import Candidate, StepCells, is_apart, read_candidates, step_cells
from partita.core.automation.timing import line_of
from partita.core.automation.values import AskedBefore, Limits, Subject, deciding, subject_of
from partita.core.catalog import Catalog, CatalogAsset, StepKey, set_of
from partita.core.catalog.edges import Bools
from partita.core.duties.channels import Channel
from partita.core.duties.launch import LaunchAgain, launch_all_in
from partita.core.duties.values import Launch, Launched
from partita.core.planner.assemble import assemble
from partita.core.planner.choices import Choice, reason_code
from partita.core.planner.launch import to_launch
from partita.core.planner.partition_words import partitions_text
from partita.core.planner.values import PlanRequest, Reason
from partita.core.store.port import Tx
from partita.core.store.values import AutomationRequest, CellRef, NewEvent, RunId, TaskId, TaskState, TodoEvent
from partita.core.store.values_requests import HeldRequest, RequestState

AUTOMATION_LANE = "scheduled"
_LISTED = 20
_ROOTS = 200  # runs that a cause names: those of a burst of small ones need no limit
_none: frozenset[RunId] = frozenset()
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
    roots: Mapping[CellRef, frozenset[RunId]] = field(default_factory=dict)
    """Published cell -> the runs that its publication goes back to."""
    waits: dict[CellRef, CellRef] = field(default_factory=dict)
    """Consumer cell -> the open cell that it waits for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`requested` cells were launched, `held` ones wait for a person."""

    requested: int = 0
    held: int = 0
    launched: tuple[Launched, ...] = ()

    @property
    def run_id(self) -> RunId | None:
        """The run of what went, of several the first."""
        return self.launched[0].run_id if self.launched else None

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Whom to wake."""
        if not self.launched:
            return (Channel.EVENT,) if self.held else ()
        return tuple(sorted({channel for one in self.launched for channel in one.channels}))


def ask(visit: Visit, candidates: Mapping[StepKey, Bools], cause_of: CauseOf) -> Asked:
    """Ask for those of the candidates whose condition holds, in one run, and a past that is paced in backfills; fills
    `visit.waits`.

    Raises AskedBefore: roll back and start over with these requests in `visit.before`; Undecidable: start over without its
    subjects.
    """
    steps = steps_of(visit, candidates)
    owners = visit.tx.open_owners(sorted({ref for step in steps for cells in step.cells.values() for ref in cells}))
    free = [without_owned(visit, step, owners) for step in steps]
    asking = judged(visit, [step for step in free if step.cells])
    held = 0
    counts: Mapping[Caused, int] = {}
    caused: Mapping[Caused, int] = {}
    if visit.limits is not None and asking:
        counts = counts_of(asking)
        caused = visit.tx.caused_cells(counts)
        asking, held = _hold(visit, visit.limits, asking, caused, cause_of)
    launched: tuple[Launched, ...] = ()
    requests: list[AutomationRequest] = []
    if asking:
        with deciding(*_subjects(visit, asking)):
            parts = portions(visit.catalog, asking, visit.now)
            causes = [_cause_of(part, cause_of) for part in parts]
            launched = tuple(launch_all_in(visit.tx, list(map(partial(_launch, visit), parts, causes))))
        for part, one, cause in zip(parts, launched, causes, strict=True):
            requests += requests_of(part.asking, one, cause)
        new = visit.tx.insert_automation_requests(requests)
        if len(new) < len(requests):
            raise AskedBefore({one.cell: one.state_digest for one in requests if one.cell not in new})
    _wait_for_owners(visit, steps, owners)
    if counts:  # last: whoever waits for these rows holds all others already
        _count(visit, counts, caused)
    return Asked(len(requests), held, launched)


def steps_of(visit: Visit, candidates: Mapping[StepKey, Bools]) -> list[StepCells]:
    """The candidates as cells, by step in topological order."""
    found = []
    for key in visit.catalog.steps:
        if key in candidates:
            with deciding(subject_of(visit.catalog, key)):
                found.append(step_cells(visit.catalog, visit.now, key, np.flatnonzero(candidates[key]).tolist()))
    return found


def judged(visit: Visit, steps: Sequence[StepCells], *, regardless: bool = False) -> list[Asking]:
    """The partitions to ask for, by step in topological order. `regardless` of upstreams that are under way."""
    chosen: dict[StepKey, tuple[dict[int, Mapping[CellRef, Judged]], dict[int, frozenset[RunId]]]] = {}
    roots = dict(visit.roots)
    settled: set[tuple[StepKey, tuple[int, ...]]] = set()
    for one in read_candidates(visit.tx, visit.catalog, visit.now, steps, regardless=regardless):
        line = _line(visit, one)
        if line in settled:
            continue  # a newer one is asked for, or will be: this one is skipped
        with deciding(subject_of(visit.catalog, one.step.key)):
            found = verdicts(one, visit.before)
        asked = {cell: verdict for cell, verdict in found.items() if verdict.verdict is Verdict.ASK}
        if asked:
            own, own_roots = chosen.setdefault(one.step.key, ({}, {}))
            own[one.at] = asked
            if roots:
                back = own_roots[one.at] = _none.union(*(roots[ref] for ref in read_by(one, asked) if ref in roots))
                roots.update(dict.fromkeys(asked, back))
        if line is not None and any(verdict.verdict is not Verdict.REST for verdict in found.values()):
            settled.add(line)
        for cell, verdict in found.items():
            if verdict.verdict is Verdict.WAIT:
                above = [*read_by(one, [cell]), *one.above]
                visit.waits[cell] = next(ref for ref in above if ref in one.world.under_way)
    return [Asking(key, cells, back) for key, (cells, back) in chosen.items()]


def _line(visit: Visit, one: Candidate) -> tuple[StepKey, tuple[int, ...]] | None:
    """Of a step that keeps the latest, what it has one newest partition of: its place in all dimensions but time."""
    members = visit.catalog.steps[one.step.key]
    if not any(asset.keeps_latest for asset in members):
        return None
    return one.step.key, line_of(visit.catalog.space(members[0].key, visit.now), one.at)


def roots_of(tx: Tx, events: Sequence[TodoEvent]) -> dict[CellRef, frozenset[RunId]]:
    """Published cell -> the runs that its publication goes back to: its own, or those that automation followed with it."""
    ids = sorted({event.run_id for event in events if event.run_id is not None})
    back = {run.id: frozenset(run.cause.get("roots") or (run.id,)) for run in tx.read_runs(ids)}
    found: dict[CellRef, frozenset[RunId]] = {}
    for event in events:
        if event.run_id in back:
            found[event.cell] = found.get(event.cell, _none) | back[event.run_id]
    return found


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
            for at, one in _asked_of(step, asset):
                run[at] = True
                reason[at] = reason_code(one.reason)
                # Should the inputs be back at what was consumed when it starts, it needs no attempt.
                unsure[at] = one.reason not in (Reason.MISSING, Reason.FORCED)
            if not run.any():
                continue  # a member that the group does without
            choices[asset.key] = Choice(run, reason, unsure)
            if len(texts) < _LISTED:
                texts.append(f"{asset.key} {partitions_text(space, set_of(run))}".rstrip())
    selection = ", ".join(f'"{key}"' for key in choices)
    request = PlanRequest(selection=selection, as_of=visit.now, mode=("missing", "stale"), requested_by="automation")
    plan = assemble(visit.catalog, request, choices, ())
    return to_launch(plan, visit.catalog, cause={**cause, "cells": texts}, lane=AUTOMATION_LANE)


def _launch(visit: Visit, part: Portion, cause: Mapping[str, Any]) -> Launch:
    launch = launch_of(visit, part.asking, cause)
    return launch if part.pace is None else as_catch_up(launch, visit.now, pace=part.pace, by="automation")


def _cause_of(part: Portion, cause_of: CauseOf) -> Mapping[str, Any]:
    cause = _with_roots(cause_of([one.key for one in part.asking]), part.asking)
    if part.pace is None:
        return cause
    return {**cause, "text": f"{cause['text']}; the past of it, {part.pace} tasks at a time", "pace": part.pace}


def _asked_of(step: Asking, asset: CatalogAsset) -> list[tuple[int, Judged]]:
    return [(at, one) for at, cells in step.cells.items() for cell, one in cells.items() if cell.asset_id == asset.id]


def requests_of(
    asking: Sequence[Asking], launched: Launched | None, cause: Mapping[str, Any]
) -> list[AutomationRequest]:
    """One per cell and state."""
    run_id = None if launched is None else launched.run_id
    return [
        AutomationRequest(cell, one.state, run_id, cause, None if one.tree is None else one.tree.to_json())
        for step in asking
        for cells in step.cells.values()
        for cell, one in cells.items()
    ]


# ------------------------------------------------------------------ above the limit


def _with_roots(cause: Mapping[str, Any], asking: Sequence[Asking]) -> Mapping[str, Any]:
    """What follows from the run that is launched goes back to the same runs."""
    roots = sorted({root for one in asking for at in one.cells for root in one.roots.get(at, ())})
    return {**cause, "roots": roots[-_ROOTS:]} if roots else cause


def _count(visit: Visit, counts: Mapping[Caused, int], seen: Mapping[Caused, int]) -> None:
    """What waits for a person counts, too: nothing of its cause goes past it."""
    if visit.tx.add_caused_cells(counts) != {one: seen.get(one, 0) + count for one, count in counts.items()}:
        raise LaunchAgain  # another scheduler asked because of the same run meanwhile: the limit is of both


def _hold(
    visit: Visit, limits: Limits, asking: Sequence[Asking], caused: Mapping[Caused, int], cause_of: CauseOf
) -> tuple[list[Asking], int]:
    """What may go now; the rest is added to the requests that wait for a person."""
    assets = [asset.id for one in asking for asset in visit.catalog.steps[one.key]]
    seen = visit.tx.held_requests(assets)
    found = _split(visit, limits, asking, seen, caused)
    if not found.held:
        return list(found.go), 0
    visit.tx.lock_requests()
    if _revisions(visit.tx.held_requests(assets)) != _revisions(seen):
        raise LaunchAgain  # one was approved, rejected or made meanwhile
    states = {cell: held.state for group, _ in found.held for cell, held in cells_of(group).items()}
    known = visit.tx.known_requests(states)
    if known:
        raise AskedBefore({cell: states[cell] for cell in known})
    for group, above in found.held:
        with deciding(*_subjects(visit, group)):
            cause = _with_roots(cause_of([one.key for one in group]), group)
            _keep(visit, limits, group, above, cause)
    return list(found.go), len(states)


def _split(
    visit: Visit,
    limits: Limits,
    asking: Sequence[Asking],
    waiting: Sequence[HeldRequest],
    caused: Mapping[Caused, int],
) -> Split:
    inside = {cell for one in waiting for cell in decode_cells(one.body)}
    with deciding(*_subjects(visit, asking)):
        return split(visit.catalog, asking, inside, together=visit.moved, limits=limits, as_of=visit.now, caused=caused)


def _revisions(requests: Sequence[HeldRequest]) -> list[tuple[int, int]]:
    return [(one.id, one.revision) for one in requests]


def _keep(visit: Visit, limits: Limits, group: Sequence[Asking], above: Above, cause: Mapping[str, Any]) -> None:
    """One request for these consumers, of all that waits for them."""
    tx, cells, limit = visit.tx, cells_of(group), above.limit
    older = tx.held_requests(sorted({cell.asset_id for cell in cells}))
    before = older[0].cause.get("before", 0) if older else above.before
    cause = {**cause, "before": before} if before else cause
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
        version = visit.catalog.steps[step.key][0].snapshot_id if rebuilds(visit.catalog, step.key) else None
        apart = is_apart(visit.catalog, step.key)
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
                    visit.waits.update((other, cell) for other in ([cell] if apart else cells))


def _older(visit: Visit, as_of: datetime, step: StepCells) -> bool:
    """Whether a run that began at `as_of` knows fewer partitions above the step than there are now."""
    return any(
        visit.catalog.space(one.upstream, visit.now).size > visit.catalog.space(one.upstream, as_of).size
        for asset in visit.catalog.steps[step.key]
        for one in asset.inputs
        if not one.external
    )


def _subjects(visit: Visit, asking: Sequence[Asking]) -> list[Subject]:
    return [subject_of(visit.catalog, one.key) for one in asking]


def without_owned(visit: Visit, step: StepCells, owners: Mapping[CellRef, TaskId]) -> StepCells:
    """Without what an open task makes: of a subsettable group its cells, of others the partitions in which it makes any."""
    if not is_apart(visit.catalog, step.key):
        return step.only([at for at, cells in step.cells.items() if not _any(cells, owners)])
    free = {at: tuple(cell for cell in cells if cell not in owners) for at, cells in step.cells.items()}
    return StepCells(step.key, {at: cells for at, cells in free.items() if cells})


def _any(cells: Sequence[CellRef], owners: Mapping[CellRef, TaskId]) -> bool:
    return any(cell in owners for cell in cells)
