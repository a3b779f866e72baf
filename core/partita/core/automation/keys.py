"""The duty of new keys: a key added to a dynamic scheme is an event for the eager assets that are sliced by it.

Their cells of the key go by the eager rule, as after a publication: asked for when all that they need is there, waiting while
that is being made, and left to the publication of what is missing otherwise. Above the limit they wait for a person, and what
cannot be decided is set aside, as there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from partita.assets import AssetKey, PartitionSet
from partita.core.automation.again import until_decided
from partita.core.automation.faults import SetAside, read_set_aside
from partita.core.automation.values import (
    EVENTS,
    ActiveCatalog,
    Automated,
    Limits,
    deciding,
    subject_of,
)
from partita.core.automation.visit import Visit, ask
from partita.core.catalog import CatalogAsset, StepKey
from partita.core.catalog.dynamic import cells_of_keys
from partita.core.catalog.edges import Bools, mask_of
from partita.core.duties.values import KEYS
from partita.core.store.port import Store, Tx
from partita.core.store.values import CellRef, TodoEvent
from partita.core.store.values_requests import FaultKind

_LISTED = 20


def run_new_keys(
    store: Store, catalogs: ActiveCatalog, limit: int = EVENTS, *, limits: Limits | None = None
) -> Automated:
    """Take new keys of eager assets and ask for their cells."""
    done = until_decided(store, lambda tx, before: _visit(tx, catalogs, limit, limits or Limits(), before))
    return Automated(more=True) if done is None else done


def _visit(tx: Tx, catalogs: ActiveCatalog, limit: int, limits: Limits, before: Mapping[CellRef, int]) -> Automated:
    taken = tx.take_todo_skip(KEYS, limit)
    if not taken:
        return Automated()
    visit = Visit(tx, catalogs.active(), tx.now(), before, limits)
    aside = read_set_aside(tx, FaultKind.ASSET)
    events = _not_set_aside(visit, aside, taken)
    cells = _cells(visit, events)
    asked = ask(visit, _steps(visit, cells), lambda steps: _cause(visit, events, steps))
    tx.clear_faults(
        [one for one in aside.due if one in {subject_of(visit.catalog, key) for key in _steps(visit, cells)}]
    )
    waiting = [event for event in events if _waits(visit, event)]
    tx.put_back_todo(KEYS, waiting)
    return Automated(
        taken=len(taken),
        requested=asked.requested,
        held=asked.held,
        waiting=len(waiting),
        set_aside=len(taken) - len(events),
        run_id=asked.run_id,
        more=len(taken) == limit and len(waiting) < len(events),
        channels=asked.channels,
    )


def _not_set_aside(visit: Visit, aside: SetAside, events: Sequence[TodoEvent]) -> list[TodoEvent]:
    """The events that can be decided now; the others are put back until they are to be tried."""
    live = []
    for event in events:
        asset = visit.catalog.by_id.get(event.cell.asset_id)
        until = None if asset is None else aside.of_consumer(subject_of(visit.catalog, asset.step))
        if until is None:
            live.append(event)
        else:
            visit.tx.put_back_todo(KEYS, [event], until=until)
    return live


def _cells(visit: Visit, events: Sequence[TodoEvent]) -> dict[AssetKey, PartitionSet]:
    """The cells of eager assets with these keys. A key that is gone again has none."""
    keys: dict[AssetKey, list[str]] = {}
    for event in events:
        asset = visit.catalog.by_id.get(event.cell.asset_id)
        if asset is not None and asset.automated:
            keys.setdefault(asset.key, []).append(event.cell.partition)
    cells: dict[AssetKey, PartitionSet] = {}
    for key, found in keys.items():
        asset = visit.catalog.assets[key]
        with deciding(subject_of(visit.catalog, asset.step)):
            cells[key] = _of_keys(visit, asset, found)
    return cells


def _of_keys(visit: Visit, asset: CatalogAsset, keys: Sequence[str]) -> PartitionSet:
    space = visit.catalog.space(asset.key, visit.now)
    found = PartitionSet.empty()
    for name, scheme in visit.catalog.dynamic_schemes.items():
        if asset.key in scheme.assets:
            found = found | cells_of_keys(space, name, keys)
    return found


def _steps(visit: Visit, cells: Mapping[AssetKey, PartitionSet]) -> dict[StepKey, Bools]:
    steps: dict[StepKey, Bools] = {}
    for key, chosen in cells.items():
        if chosen:
            step = visit.catalog.assets[key].step
            mask = mask_of(chosen, visit.catalog.space(key, visit.now).size)
            steps[step] = np.logical_or(steps[step], mask) if step in steps else mask
    return steps


def _waits(visit: Visit, event: TodoEvent) -> bool:
    """Whether a cell of this key waits for one that is under way."""
    asset = visit.catalog.by_id.get(event.cell.asset_id)
    if asset is None or not visit.waits:
        return False
    space = visit.catalog.space(asset.key, visit.now)
    cells = _of_keys(visit, asset, [event.cell.partition])
    return any(CellRef(asset.id, space.key_at(ordinal)) in visit.waits for ordinal in cells)


def _cause(visit: Visit, events: Sequence[TodoEvent], steps: Collection[StepKey]) -> dict[str, Any]:
    """ "customers acme, globex were added": the keys that these steps are asked for."""
    chosen = {asset.id for step in steps for asset in visit.catalog.steps[step]}
    taken = [event for event in events if event.cell.asset_id in chosen] or list(events)
    keys = list(dict.fromkeys(event.cell.partition for event in taken))
    more = f" and {len(keys) - _LISTED} more" if len(keys) > _LISTED else ""
    verb = "was" if len(keys) == 1 else "were"
    return {
        "kind": "eager",
        "by": "automation",
        "text": f"{', '.join(keys[:_LISTED])}{more} {verb} added",
        "events": [event.event_id for event in taken[:_LISTED]],
    }
