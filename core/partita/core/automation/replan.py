"""The replan duty: requests that found a cell in progress are planned again when that ends (DESIGN section 6).

The cell is asked for again only when the request's mode still wants it: the attempt that it waited for may have read all
that the request was about. A request that was cancelled meanwhile asks for nothing. What an eager request waited for goes
by the eager rule again. What is to be made of cells that the same request makes, or has planned again, waits until these are
there. A run whose cells cannot be planned again is set aside; the others go on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from partita.assets import AssetKey
from partita.core.automation.again import until_decided
from partita.core.automation.faults import read_set_aside
from partita.core.automation.reading import is_apart
from partita.core.automation.values import EVENTS, ActiveCatalog, Automated, Undecidable, deciding
from partita.core.automation.visit import Asked, Visit, ask
from partita.core.catalog import Catalog, CatalogAsset, StepKey
from partita.core.catalog.edges import Bools
from partita.core.catalog.names import names_of
from partita.core.cells.pages import block_of
from partita.core.cells.status import Statuses
from partita.core.cells.values import CellBlock, CellDetail, CellRow, OpenCell
from partita.core.duties.launch import launch_in
from partita.core.duties.values import REPLAN
from partita.core.planner.assemble import assemble
from partita.core.planner.decide import decide
from partita.core.planner.launch import to_launch
from partita.core.planner.targets import Targets
from partita.core.planner.values import DEFAULT_MODE, PlanRequest
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, CellRef, Run, RunId, RunState, TodoEvent
from partita.core.store.values_requests import FaultKind


def run_replans(store: Store, catalogs: ActiveCatalog, limit: int = EVENTS) -> Automated:
    """Take the cells whose owners ended and launch what is still wanted of them."""
    passed: set[RunId] = set()
    while True:
        done, waits = _visit(store, catalogs, limit, frozenset(passed))
        if waits is None or not done.more:
            return done
        # It comes again when what it waits for ends; the requests of others must not stand behind it until then.
        passed.add(waits)


def _visit(
    store: Store, catalogs: ActiveCatalog, limit: int, passed: Collection[RunId]
) -> tuple[Automated, RunId | None]:
    """One launch at most, for the first run that was not passed over; and that run, when all it did was to wait on."""
    done = until_decided(store, lambda tx, before: _replan(tx, catalogs, limit, before, passed))
    return (Automated(more=True), None) if done is None else done


def _replan(
    tx: Tx, catalogs: ActiveCatalog, limit: int, before: Mapping[CellRef, int], passed: Collection[RunId]
) -> tuple[Automated, RunId | None]:
    events = tx.take_todo_skip(REPLAN, limit)
    if not events:
        return Automated(), None
    runs = {run.id: run for run in tx.read_runs(sorted({event.run_id for event in events if event.run_id is not None}))}
    aside = read_set_aside(tx, FaultKind.RUN)
    groups: dict[RunId, list[TodoEvent]] = {}
    for event in events:
        run = runs.get(event.run_id) if event.run_id is not None else None
        if run is not None and not run.cancel_requested and run.state is not RunState.CANCELLED:
            later = aside.of([(FaultKind.RUN, int(run.id))])
            if later is not None:
                tx.put_back_todo(REPLAN, [event], until=later)
            else:
                groups.setdefault(run.id, []).append(event)
    # One launch a visit at most: a second one would claim cells while the first holds tasks, against the order of locks.
    in_turn = sorted(groups, key=lambda run_id: (run_id in passed, run_id))
    if not in_turn or in_turn[0] in passed:
        tx.put_back_todo(REPLAN, [event for found in groups.values() for event in found])
        return Automated(taken=len(events)), None
    run_id, *others = in_turn
    rest = [event for other in others for event in groups[other]]
    tx.put_back_todo(REPLAN, rest)
    visit = Visit(tx, catalogs.active(), tx.now(), before)
    try:
        with deciding((FaultKind.RUN, int(run_id))):
            asked = _again(visit, runs[run_id], groups[run_id])
    except Undecidable as error:  # whatever it was about: it is this run that waits
        raise Undecidable(((FaultKind.RUN, int(run_id)),), error.why) from error
    tx.clear_faults([one for one in aside.due if one[1] in (run_id, *(run for run in runs if run not in groups))])
    waiting = [event for event in groups[run_id] if event.cell in visit.waits]
    tx.put_back_todo(REPLAN, waiting)
    done = Automated(
        taken=len(events) - len(rest),
        requested=asked.requested,
        waiting=len(waiting),
        run_id=asked.run_id,
        more=bool(rest),
        channels=asked.channels,
    )
    return done, run_id if not asked.launched and waiting else None


def _again(visit: Visit, run: Run, events: Sequence[TodoEvent]) -> Asked:
    tx, catalog, now = visit.tx, visit.catalog, visit.now
    cells = _masks(catalog, now, events)
    if not cells:
        return Asked()
    cause = {
        "kind": "replan",
        "by": run.cause.get("by", ""),
        "text": f"asked for by run {run.id}, which did not make it; planned again",
        "run": run.id,
        "roots": list(run.cause.get("roots") or [run.id]),
    }
    if run.cause.get("kind") in ("eager", "rebuild"):
        return _by_eager_rule(visit, cells, {**cause, "kind": run.cause["kind"]})
    cells = _in_turn(visit, run, cells)
    if not cells:
        return Asked()
    targets = Targets(cells, tuple(run.request.get("mode", DEFAULT_MODE)))
    statuses = Statuses(catalog, TxCells(tx, needed_cells(catalog, now, cells)), now)
    decided = decide(catalog, statuses, targets)
    if not decided.choices:
        return Asked()
    selection = ", ".join(f'"{key}"' for key in decided.choices)
    request = PlanRequest(
        selection=selection,
        as_of=now,
        mode=targets.mode,
        params=run.params,
        requested_by=str(run.cause.get("by", "")),
    )
    plan = assemble(catalog, request, decided.choices, decided.blocked)
    launch = to_launch(plan, catalog, cause=cause, lane=run.lane, max_active=run.max_active)
    return Asked(plan.cell_count, 0, (launch_in(tx, launch),))


def _in_turn(visit: Visit, run: Run, cells: Mapping[AssetKey, Bools]) -> dict[AssetKey, Bools]:
    """Those that read nothing that the request of `run` still makes; the others are in `visit.waits` afterwards."""
    catalog, now = visit.catalog, visit.now
    open_above = _made_for(visit, run, cells)
    left = dict(cells)
    for step, members in catalog.steps.items():
        asked = [asset for asset in members if asset.key in cells and open_above]
        behind = {asset.key: _behind(catalog, now, asset, cells[asset.key], open_above) for asset in asked}
        if behind and not is_apart(catalog, step):  # made together, they wait together
            together = np.logical_or.reduce(list(behind.values()))
            behind = {key: np.logical_and(together, cells[key]) for key in behind}
        for asset in asked:
            late = behind[asset.key]
            left[asset.key] = np.logical_and(cells[asset.key], ~late)
            open_above[asset.key] = np.logical_or(open_above.get(asset.key, False), late)  # others may read it
            names = names_of(catalog.space(asset.key, now))
            refs = [CellRef(asset.id, names.key(at)) for at in np.flatnonzero(late).tolist()]
            visit.waits.update((ref, ref) for ref in refs)
    return {key: mask for key, mask in left.items() if mask.any()}


def _made_for(visit: Visit, run: Run, cells: Mapping[AssetKey, Bools]) -> dict[AssetKey, Bools]:
    """Of what these cells read: what open tasks of the run, or of one that plans for it again, make."""
    catalog, now = visit.catalog, visit.now
    read = [ref for refs in needed_cells(catalog, now, cells).values() for ref in refs]
    owners = visit.tx.open_owners(sorted(read))
    if not owners:
        return {}
    runs = visit.tx.runs_of_tasks(sorted(set(owners.values())))
    found = visit.tx.read_runs(sorted(set(runs.values())))
    own = {one.id for one in found if run.id in (one.id, one.cause.get("run"))}
    marked: dict[AssetKey, Bools] = {}
    for ref, owner in owners.items():
        asset = catalog.by_id.get(ref.asset_id)
        if asset is None or runs.get(owner) not in own:
            continue
        space = catalog.space(asset.key, now)
        at = space.find(ref.partition)
        if at is not None:
            marked.setdefault(asset.key, np.zeros(space.size, dtype=np.bool_))[at] = True
    return marked


def _behind(
    catalog: Catalog, now: datetime, asset: CatalogAsset, wanted: Bools, open_above: Mapping[AssetKey, Bools]
) -> Bools:
    """Which of the wanted partitions read something open, or one of themselves that does."""
    late = np.zeros_like(wanted)
    while True:
        found = late.copy()
        for one in asset.inputs:
            above = open_above.get(one.upstream)
            if one.upstream == asset.key:
                above = late if above is None else np.logical_or(above, late)
            if above is not None and not one.external:
                found |= np.logical_and(wanted, catalog.edge(asset.key, one, now).any(above))
        if np.array_equal(found, late):
            return late
        late = found


def _by_eager_rule(visit: Visit, cells: Mapping[AssetKey, Bools], cause: Mapping[str, object]) -> Asked:
    steps: dict[StepKey, Bools] = {}
    for key, mask in cells.items():
        step = visit.catalog.assets[key].step
        steps[step] = np.logical_or(steps[step], mask) if step in steps else mask
    return ask(visit, steps, lambda _: cause)


def _masks(catalog: Catalog, now: datetime, events: Sequence[TodoEvent]) -> dict[AssetKey, Bools]:
    found: dict[AssetKey, Bools] = {}
    for event in events:
        asset = catalog.by_id.get(event.cell.asset_id)
        if asset is None or asset.external:
            continue
        space = catalog.space(asset.key, now)
        at = space.find(event.cell.partition)
        if at is not None:
            found.setdefault(asset.key, np.zeros(space.size, dtype=np.bool_))[at] = True
    return found


def needed_cells(catalog: Catalog, now: datetime, cells: Mapping[AssetKey, Bools]) -> dict[AssetId, list[CellRef]]:
    """The cells that deciding these ones reads: themselves, what their step makes beside them, and their upstreams."""
    wanted: dict[AssetKey, Bools] = {}
    for key, mask in cells.items():
        for member in catalog.steps[catalog.assets[key].step]:
            wanted[member.key] = np.logical_or(wanted[member.key], mask) if member.key in wanted else mask
            for one in member.inputs:
                if not one.external:
                    above = catalog.edge(member.key, one, now).needed(mask)
                    known = wanted.get(one.upstream)
                    wanted[one.upstream] = above if known is None else np.logical_or(known, above)
    return {
        catalog.assets[key].id: [
            CellRef(catalog.assets[key].id, catalog.space(key, now).key_at(at)) for at in np.flatnonzero(mask).tolist()
        ]
        for key, mask in wanted.items()
    }


@dataclass(frozen=True, slots=True)
class TxCells:
    """A `CellsReader` over some cells, inside a transaction of the store port. All other cells look as if never made."""

    tx: Tx
    wanted: Mapping[AssetId, Sequence[CellRef]]

    def blocks(self, assets: Collection[AssetId]) -> Mapping[AssetId, Sequence[CellBlock]]:
        """One block per asset."""
        facts = self.tx.read_cells([cell for asset_id in assets for cell in self.wanted.get(asset_id, ())])
        texts = {
            text for fact in facts.values() for text in (fact.fingerprint, fact.dependency_hash) if text is not None
        }
        ids = self.tx.intern(texts)
        rows: dict[AssetId, list[CellRow]] = {}
        for cell, fact in facts.items():
            rows.setdefault(cell.asset_id, []).append(
                CellRow(
                    cell.partition,
                    fact.data_version,
                    None if fact.fingerprint is None else ids[fact.fingerprint],
                    None if fact.dependency_hash is None else ids[fact.dependency_hash],
                    fact.consumed_digest,
                    fact.last_outcome,
                )
            )
        return {asset_id: [block_of(found)] for asset_id, found in rows.items()}

    def open_cells(self, assets: Collection[AssetId]) -> Mapping[AssetId, Mapping[str, OpenCell]]:
        """Planning does not go by open cells; the launch joins them."""
        return {}

    def fingerprint_ids(self, texts: Collection[str]) -> Mapping[str, int]:
        """The interned ids of these fingerprints."""
        return self.tx.intern(texts)

    def details(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellDetail]:
        """Nothing is explained here."""
        return {}
