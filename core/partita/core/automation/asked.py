"""The duty of requests: what schedules and sensors asked for is planned and launched, each in the transaction that ends it.

A request is planned as a person's would be, at the instant when it is taken, and asks once, however many schedulers look. One
that cannot be planned is refused with the reason; one that asks for nothing that is missing, failed or stale ends so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from partita.assets import AssetKey, PartitaError
from partita.core.automation.again import TRIES
from partita.core.automation.evaluating import by
from partita.core.automation.replan import TxCells, needed_cells
from partita.core.automation.values import ActiveCatalog, Automated, Limits
from partita.core.automation.visit import AUTOMATION_LANE
from partita.core.catalog import Catalog
from partita.core.catalog.edges import Bools
from partita.core.cells.status import Statuses
from partita.core.cells.values import CellBlock, CellDetail, OpenCell
from partita.core.duties.launch import LaunchAgain, launch_in
from partita.core.planner import Plan, PlanRequest, to_launch
from partita.core.planner.assemble import assemble
from partita.core.planner.decide import decide
from partita.core.planner.params import check_params
from partita.core.planner.targets import find_targets
from partita.core.store.port import Busy, Conflict, Store, Tx, Unavailable
from partita.core.store.values import AssetId, CellRef
from partita.core.store.values_evaluators import Asked, AskedState, AskedUpdate

_AGAIN_S = 60.0
_ERROR_CHARS = 2_000


def run_asked(store: Store, catalogs: ActiveCatalog, *, limits: Limits | None = None) -> Automated:
    """Take one request and launch what it asks for."""
    for _ in range(TRIES):
        failed: list[tuple[Asked, str]] = []
        try:
            return store.run(lambda tx: _take(tx, catalogs, limits or Limits(), failed))  # noqa: B023 - run at once
        except LaunchAgain:
            continue
        except (Busy, Unavailable, Conflict, OSError, MemoryError):
            raise
        except Exception:
            if not failed:
                raise
            asked, why = failed[-1]
            store.run(lambda tx: _put_back(tx, asked, why))  # noqa: B023 - run at once
            return Automated(taken=1, set_aside=1, more=True)
    return Automated(more=True)


def _take(tx: Tx, catalogs: ActiveCatalog, limits: Limits, failed: list[tuple[Asked, str]]) -> Automated:
    taken = tx.take_asked_skip(1)
    if not taken:
        return Automated()
    (asked,) = taken
    try:
        return _launch(tx, catalogs.active(), asked, limits)
    except LaunchAgain:
        raise
    except Exception as error:  # it must not stand before the others
        failed.append((asked, f"{type(error).__name__}: {error}"[:_ERROR_CHARS]))
        raise


def _put_back(tx: Tx, asked: Asked, why: str) -> None:
    until = tx.now() + timedelta(seconds=_AGAIN_S)
    tx.end_asked([AskedUpdate(asked.id, AskedState.OPEN, error=why, until=until)])


def _launch(tx: Tx, catalog: Catalog, asked: Asked, limits: Limits) -> Automated:
    one = tx.read_evaluator(asked.evaluator_id)
    who = "an evaluation" if one is None else by(one)
    try:
        plan = planned(tx, catalog, asked.request, who)
        _check(catalog, plan, limits)
    except PartitaError as refused:
        tx.end_asked([AskedUpdate(asked.id, AskedState.REFUSED, error=str(refused)[:_ERROR_CHARS])])
        return Automated(taken=1, more=True)
    if plan.empty:
        tx.end_asked([AskedUpdate(asked.id, AskedState.NOTHING, error=_why_nothing(plan))])
        return Automated(taken=1, more=True)
    cause = {
        "kind": "schedule" if one is not None and one.kind == "schedule" else "sensor",
        "by": who,
        "text": f"asked for by {who}" + ("" if asked.key is None else f" as {asked.key!r}"),
        "evaluator": asked.evaluator_id,
        "evaluation": asked.token,
    }
    tags = {str(name): str(value) for name, value in asked.request.get("tags", {}).items()}
    launched = launch_in(tx, to_launch(plan, catalog, cause=cause, lane=AUTOMATION_LANE, tags=tags))
    tx.end_asked([AskedUpdate(asked.id, AskedState.LAUNCHED, launched.run_id)])
    return Automated(taken=1, requested=plan.cell_count, run_id=launched.run_id, more=True, channels=launched.channels)


def planned(tx: Tx, catalog: Catalog, request: Mapping[str, Any], who: str) -> Plan:
    """The plan of a request as it is asked for now. Raises PartitaError for what cannot be planned."""
    now = tx.now()
    wanted = PlanRequest(
        selection=str(request["selection"]),
        as_of=now,
        partitions=request.get("partitions"),
        mode=tuple(request.get("mode") or ("missing", "failed", "stale")),
        params=dict(request.get("params") or {}),
        requested_by=who,
    )
    targets = find_targets(catalog, Statuses(catalog, _EveryCell(tx, catalog, now), now), wanted)
    cells: dict[AssetKey, Bools] = {key: mask for key, mask in targets.cells.items() if np.any(mask)}
    statuses = Statuses(catalog, TxCells(tx, needed_cells(catalog, now, cells)), now)
    decided = decide(catalog, statuses, targets)
    return assemble(catalog, wanted, decided.choices, decided.blocked)


def _check(catalog: Catalog, plan: Plan, limits: Limits) -> None:
    if plan.empty:
        return
    check_params(
        {one.key: catalog.assets[one.key].spec.params_schema for one in plan.assets}, dict(plan.request.params)
    )
    if plan.cell_count > limits.max_cells:
        asked = plan.request
        part = "" if asked.partitions is None else f" --partitions {asked.partitions!r}"
        raise PartitaError(
            f"it asks for {plan.cell_count:,} cells",
            rule=f"an automatic request of more than {limits.max_cells:,} cells is a person's to make",
            fix=f"partita backfill {asked.selection!r}{part}",
        )


def _why_nothing(plan: Plan) -> str:
    if not plan.blocked:
        return "everything that it asks for is fresh"
    first = plan.blocked[0]
    return f"{first.key} is blocked: {first.reason} ({first.upstream})"


class _EveryCell:
    """A `CellsReader` of all cells of an asset, when its status is asked for: requests say "missing" of partitions now and
    then."""

    def __init__(self, tx: Tx, catalog: Catalog, now: datetime) -> None:
        self._tx = tx
        self._catalog = catalog
        self._now = now

    def blocks(self, assets: Collection[AssetId]) -> Mapping[AssetId, Sequence[CellBlock]]:
        """One block per asset."""
        wanted: dict[AssetId, list[CellRef]] = {}
        for asset_id in assets:
            space = self._catalog.space(self._catalog.by_id[asset_id].key, self._now)
            wanted[asset_id] = [CellRef(asset_id, key) for key in space.keys(space.all())]
        return TxCells(self._tx, wanted).blocks(assets)

    def open_cells(self, assets: Collection[AssetId]) -> Mapping[AssetId, Mapping[str, OpenCell]]:
        """As when planning again: the launch joins them."""
        return {}

    def fingerprint_ids(self, texts: Collection[str]) -> Mapping[str, int]:
        """The interned ids of these fingerprints."""
        return self._tx.intern(texts)

    def details(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellDetail]:
        """Nothing is explained here."""
        return {}
