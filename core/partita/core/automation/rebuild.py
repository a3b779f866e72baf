"""The rebuild duty: assets that say `on_code_change="rebuild"` follow their own code, too.

The activation of a version puts one todo row for each such asset whose code or dependencies are other ones (`changed_rebuilds`);
here the published cells that were made otherwise are asked for as by an eager asset, under the same limit, once per state; what
tasks of the version before are at is looked at again when they have ended. All
other assets keep their history as it is: automation never makes it again (DESIGN section 5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np

from partita.assets import AssetSpec
from partita.core.automation.again import until_decided
from partita.core.automation.faults import read_set_aside
from partita.core.automation.values import (
    ActiveCatalog,
    Automated,
    Limits,
    deciding,
    subject_of,
)
from partita.core.automation.view import made_otherwise
from partita.core.automation.visit import Visit, ask
from partita.core.catalog import CatalogAsset, StepKey
from partita.core.catalog.edges import Bools
from partita.core.catalog.names import names_of
from partita.core.duties.values import REBUILD
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, CellRef, NewEvent, TodoEvent
from partita.core.store.values_requests import FaultKind

_ASSETS = 500
_AGAIN_S = 5.0  # cells of which something is under way: there may be no event when that ends


def changed_rebuilds(
    before: Iterable[AssetSpec], after: Iterable[AssetSpec], ids: Mapping[str, AssetId]
) -> list[NewEvent]:
    """The todo rows of an activation: assets that rebuild, and whose code, dependencies or policy are not what they were."""
    known = {spec.key: _basis(spec) for spec in before}
    return [
        NewEvent("location", asset_id=ids[spec.key], partition="", body={"rebuild": True}, for_consumers=(REBUILD,))
        for spec in after
        if spec.on_code_change == "rebuild" and known.get(spec.key) != _basis(spec)
    ]


def _basis(spec: AssetSpec) -> tuple[str, str, str]:
    return spec.fingerprint, spec.dependency_hash, spec.on_code_change


def run_rebuilds(store: Store, catalogs: ActiveCatalog, *, limits: Limits | None = None) -> Automated:
    """Take the assets whose code changed and ask for what was made with other code."""
    done = until_decided(store, lambda tx, before: _rebuild(tx, catalogs, limits or Limits(), before))
    return Automated(more=True) if done is None else done


def _rebuild(tx: Tx, catalogs: ActiveCatalog, limits: Limits, before: Mapping[CellRef, int]) -> Automated:
    events = tx.take_todo_skip(REBUILD, _ASSETS)
    if not events:
        return Automated()
    visit = Visit(tx, catalogs.active(), tx.now(), before, limits)
    aside = read_set_aside(tx, FaultKind.ASSET)
    steps: dict[StepKey, Bools] = {}
    named: dict[int, tuple[StepKey, TodoEvent]] = {}
    for event in events:
        asset = visit.catalog.by_id.get(event.cell.asset_id)
        if asset is None or asset.spec.on_code_change != "rebuild":
            continue
        subject = subject_of(visit.catalog, asset.step)
        named[event.event_id] = (asset.step, event)
        until = aside.of_consumer(subject)
        if until is not None:
            tx.put_back_todo(REBUILD, [event], until=until)
            continue
        with deciding(subject):
            mask = _made_otherwise(visit, asset)
        steps[asset.step] = np.logical_or(steps[asset.step], mask) if asset.step in steps else mask
    wanted = {key: mask for key, mask in steps.items() if mask.any()}
    asked = ask(visit, wanted, partial(_cause, visit))
    waiting = _waiting(visit, [event for step, event in named.values() if step in steps])
    tx.put_back_todo(REBUILD, waiting, until=visit.now + timedelta(seconds=_AGAIN_S))
    tx.clear_faults([one for one in aside.due if one in {subject_of(visit.catalog, key) for key in steps}])
    return Automated(
        taken=len(events),
        requested=asked.requested,
        held=asked.held,
        waiting=len(waiting),
        run_id=asked.run_id,
        more=len(events) == _ASSETS,
        channels=asked.channels,
    )


def _made_otherwise(visit: Visit, asset: CatalogAsset) -> Bools:
    """The published partitions that were made with other code or other dependencies, and those that a task is at: it may be
    pinned to the version before, and publish what that makes."""
    space = visit.catalog.space(asset.key, visit.now)
    names = names_of(space)
    refs = [CellRef(asset.id, names.key(at)) for at in range(space.size)]
    facts, owners = visit.tx.read_cells(refs), visit.tx.open_owners(refs)
    spec = asset.spec
    return np.array(
        [ref in owners or made_otherwise(facts.get(ref), spec.fingerprint, spec.dependency_hash) for ref in refs],
        dtype=np.bool_,
    )


def _waiting(visit: Visit, events: Sequence[TodoEvent]) -> list[TodoEvent]:
    waits = {cell.asset_id for cell in visit.waits}
    return [event for event in events if event.cell.asset_id in waits]


def _cause(visit: Visit, steps: Collection[StepKey]) -> dict[str, Any]:
    keys = [str(asset.key) for step in steps for asset in visit.catalog.steps[step]]
    shown = ", ".join(keys[:5]) + (f" and {len(keys) - 5} more" if len(keys) > 5 else "")
    return {"kind": "rebuild", "by": "automation", "text": f"the code or the dependencies of {shown} changed"}
