"""The clock duty: what time makes true, in one look for all assets that are due.

A clock is locked by the look that heeds it, and moved in the same transaction as the requests that it caused: a tick is neither
lost nor heeded twice, whatever the number of schedulers. After an outage one look heeds all that passed. What waits for an
upstream that is under way is looked at again soon: that may end without an event.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from partita.assets import PartitionSet
from partita.assets.conditions import policy_text
from partita.core.automation.again import until_decided
from partita.core.automation.faults import read_set_aside
from partita.core.automation.judge import condition_of_step
from partita.core.automation.timing import due_partitions, next_look
from partita.core.automation.values import ActiveCatalog, Automated, Limits, deciding, subject_of
from partita.core.automation.visit import Asked, Visit, ask
from partita.core.catalog import CatalogAsset, StepKey, mask_of
from partita.core.collecting import collector_rests
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, CellRef
from partita.core.store.values_clocks import Clock, ClockUpdate
from partita.core.store.values_requests import FaultKind

CLOCKS = 500
"""Clocks that one look takes: a transaction of a second or so."""
_AGAIN_S = 15.0
_LISTED = 20


def run_clocks(
    store: Store, catalogs: ActiveCatalog, limit: int = CLOCKS, *, limits: Limits | None = None
) -> Automated:
    """Take the clocks that are due and ask for what their conditions ask for."""
    with collector_rests():
        done = until_decided(store, lambda tx, before: _look(tx, catalogs, limit, limits or Limits(), before))
    return Automated(more=True) if done is None else done


def _look(tx: Tx, catalogs: ActiveCatalog, limit: int, limits: Limits, before: Mapping[CellRef, int]) -> Automated:
    taken = tx.take_due_clocks_skip(limit)
    if not taken:
        return Automated()
    # Each asset is a cause of its own: thousands that are due at one instant are not one request.
    visit = Visit(tx, catalogs.active(), tx.now(), before, limits, moved=frozenset())
    aside = read_set_aside(tx, FaultKind.ASSET)
    updates: dict[AssetId, ClockUpdate] = {}
    looked: list[tuple[CatalogAsset, Clock]] = []
    steps: dict[StepKey, PartitionSet] = {}
    for clock in taken:
        asset = visit.catalog.by_id.get(clock.asset_id)
        if asset is None or not asset.timed:
            updates[clock.asset_id] = ClockUpdate(clock.asset_id, clock.looked_at, None)
            continue
        subject = subject_of(visit.catalog, asset.step)
        until = aside.of_consumer(subject)
        if until is not None:
            updates[clock.asset_id] = ClockUpdate(clock.asset_id, clock.looked_at, until, keep=True)
            continue
        with deciding(subject):
            condition = condition_of_step(visit.catalog, asset.step)
            due = due_partitions(visit.catalog, asset, condition, clock, visit.now) | _gathered(visit, asset, clock)
            updates[clock.asset_id] = ClockUpdate(
                clock.asset_id, visit.now, next_look(visit.catalog, asset, condition, visit.now)
            )
        looked.append((asset, clock))
        steps[asset.step] = steps.get(asset.step, PartitionSet.empty()) | due
    masks = {
        key: mask_of(due, visit.catalog.space(visit.catalog.steps[key][0].key, visit.now).size)
        for key, due in steps.items()
        if due
    }
    asked = ask(visit, masks, partial(_cause, visit))
    waits = {cell.asset_id for cell in visit.waits}
    waiting = [(asset, clock) for asset, clock in looked if asset.id in waits]
    for asset, clock in waiting:
        again = visit.now + timedelta(seconds=_AGAIN_S)
        updates[asset.id] = ClockUpdate(asset.id, clock.looked_at, again, keep=True)
    tx.write_clocks(list(updates.values()))
    tx.clear_faults([one for one in aside.due if one in {subject_of(visit.catalog, key) for key in steps}])
    return _told(asked, len(taken), len(waiting), more=len(taken) == limit)


def _gathered(visit: Visit, asset: CatalogAsset, clock: Clock) -> PartitionSet:
    """What publications touched; a key that is gone again has no partition."""
    space = visit.catalog.space(asset.key, visit.now)
    return PartitionSet.from_ordinals(at for at in space.ordinals_of(clock.pending) if at >= 0)


def _told(asked: Asked, taken: int, waiting: int, *, more: bool) -> Automated:
    return Automated(
        taken=taken,
        requested=asked.requested,
        held=asked.held,
        waiting=waiting,
        run_id=asked.run_id,
        more=more,
        channels=asked.channels,
    )


def _cause(visit: Visit, steps: Collection[StepKey]) -> dict[str, Any]:
    """ "the time came for daily_sales: on_close(lag='15m')"."""
    assets = [asset for step in steps for asset in visit.catalog.steps[step] if asset.timed]
    return {"kind": "clock", "by": "automation", "text": _text(assets)}


def _text(assets: Sequence[CatalogAsset]) -> str:
    shown = [f"{asset.key}: {policy_text(asset.spec.automation)}" for asset in assets[:_LISTED]]
    more = f" and {len(assets) - _LISTED} more" if len(assets) > _LISTED else ""
    return f"the time came for {'; '.join(shown)}{more}"
