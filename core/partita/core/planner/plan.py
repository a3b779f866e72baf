"""`plan`: from a request to a Plan; `replan`: the same request again, refused when its content differs.

Pure given what the readers say. `plan` never looks at times to decide; the clock enters as the request's `as_of` only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from partita.assets import AssetKey, PartitaError
from partita.assets.queues import ALL_QUEUES, DEFAULT_QUEUE
from partita.core.catalog import Catalog, StepKey
from partita.core.catalog.dynamic import KeysAt
from partita.core.catalog.edges import nothing
from partita.core.catalog.upstreams import upstream_cells
from partita.core.cells.status import Statuses
from partita.core.cells.values import CellDetail, CellsReader
from partita.core.cells.why import moved_upstreams
from partita.core.planner.assemble import assemble
from partita.core.planner.choices import Decided
from partita.core.planner.decide import decide
from partita.core.planner.estimate import Durations, estimate
from partita.core.planner.pools import CREATED_SLOTS, pool_demand
from partita.core.planner.targets import find_targets, targets_of_cells
from partita.core.planner.values import Plan, PlannedAsset, PlanRequest, Pressure, Reason
from partita.core.store.values import CellRef

if TYPE_CHECKING:
    from partita.core.planner.diff import PlanDiff


@dataclass(frozen=True, slots=True)
class PoolLoad:
    """A pool: its slots, and how many are held now."""

    slots: int
    held: int


class TargetsReader(CellsReader, Protocol):
    """What a request's targets are read from beside its texts."""

    def unmade_of_backfill(self, backfill_id: int) -> Sequence[CellRef]:
        """The cells whose last task in the backfill did not make them."""


class PlanReader(TargetsReader, Protocol):
    """What a preview reads beside the cells: pools, capacity and history. All of it stays outside the hash."""

    def pools(self, names: Collection[str]) -> Mapping[str, PoolLoad]:
        """These pools; unknown ones are left out."""

    def served_queues(self) -> Collection[str]:
        """The queues that live workers serve."""

    def capacity(self) -> int:
        """How many attempts the live workers run at once."""

    def durations(self, steps: Collection[StepKey]) -> Mapping[StepKey, Durations]:
        """The mean duration of recent successful attempts by step."""


class PlanChanged(PartitaError):
    """The plan that was confirmed is not what would run now; `fresh` is what would, `difference` what changed."""

    def __init__(
        self,
        what: str,
        *,
        rule: str = "",
        fix: str = "",
        fresh: Plan | None = None,
        difference: PlanDiff | None = None,
    ) -> None:
        super().__init__(what, rule=rule, fix=fix)
        self.fresh = fresh
        self.difference = difference


def plan(catalog: Catalog, reader: PlanReader, request: PlanRequest) -> Plan:
    """The plan of a request, with estimate (seconds) and pool pressure; raises SelectionError, UnknownPartition, UnknownAsset.

    Pure but for what `reader` reads; the same content gives the same `hash`.

    >>> from datetime import UTC, datetime
    >>> from partita.assets import AssetSpec, Daily, Snapshot, StepSpec, to_spec
    >>> from partita.core.catalog import StoredSnapshot
    >>> from partita.core.planner.memory import MemoryCells
    >>> from partita.core.store.values import AssetId, LocationId, SnapshotId
    >>> orders = AssetSpec(key="orders", step="orders", partitions=to_spec(Daily("2026-03-01")))
    >>> step = StepSpec(id="orders", assets=["orders"], function="shop:orders")
    >>> shop = Snapshot(location="shop", assets=[orders], steps=[step])
    >>> catalog = Catalog([StoredSnapshot(LocationId(1), "shop", SnapshotId(1), "v1", shop)], {orders.key: AssetId(1)})
    >>> cells = MemoryCells()
    >>> cells.publish(CellRef(AssetId(1), "2026-03-02"), "v1")
    >>> found = plan(catalog, cells, PlanRequest("orders", as_of=datetime(2026, 3, 4, tzinfo=UTC)))
    >>> found.cells_by_wave()
    ({'orders': <PartitionSet 2: 0, 2>},)
    """
    statuses = Statuses(catalog, reader, request.as_of)
    found, decided = _content(catalog, statuses, reader, request)
    found = replace(found, because=_because(statuses, reader, found), joined=_joined(statuses, decided))
    pools = _pressure(catalog, reader, found)
    sizes = {one.name: CREATED_SLOTS if one.slots is None else one.slots for one in pools}
    history = reader.durations(list(found.by_step()))
    found = replace(found, pools=pools, unserved=_unserved(catalog, reader, found))
    return replace(found, estimate=estimate(found, catalog, history, slots=reader.capacity(), pools=sizes))


def replan(catalog: Catalog, reader: TargetsReader, confirmed: Plan, shown: KeysAt | None = None) -> Plan:
    """The plan of the same request `as_of` the same instant; raises PlanChanged, with the difference, when it differs.

    `shown` are the dynamic keys that the confirmed plan was made with, to tell which came and went.
    """
    statuses = Statuses(catalog, reader, confirmed.as_of)
    fresh, _ = _content(catalog, statuses, reader, confirmed.request)
    if fresh.hash == confirmed.hash:
        return replace(
            fresh,
            because=confirmed.because,
            pools=confirmed.pools,
            estimate=confirmed.estimate,
            joined=confirmed.joined,
            unserved=confirmed.unserved,
        )
    from partita.core.planner.diff import compare  # only a plan that moved needs them
    from partita.core.planner.diff_keys import keys_difference

    keys = [] if shown is None else keys_difference(shown, catalog.keys)
    difference = compare(confirmed, fresh, catalog, keys)
    raise PlanChanged(
        f"the plan changed since it was shown: {difference.text}",
        rule="what runs is what was shown",
        fix="look at the new plan and confirm it",
        fresh=fresh,
        difference=difference,
    )


def _content(catalog: Catalog, statuses: Statuses, reader: TargetsReader, request: PlanRequest) -> tuple[Plan, Decided]:
    if request.retry_of is None:
        targets = find_targets(catalog, statuses, request)
    else:
        targets = targets_of_cells(catalog, statuses, reader.unmade_of_backfill(request.retry_of), request.mode)
    decided = decide(catalog, statuses, targets)
    return assemble(catalog, request, decided.choices, decided.blocked), decided


def _joined(statuses: Statuses, decided: Decided) -> int:
    """Cells that an open task owns already."""
    under_way = (
        (choice, statuses.direct(key)) for key, choice in decided.choices.items() if statuses.held(key).any_open
    )
    return sum(int(np.count_nonzero(choice.run & status.open)) for choice, status in under_way)


def _because(statuses: Statuses, reader: CellsReader, found: Plan) -> dict[AssetKey, AssetKey]:
    """Per asset with stale data, the upstream that moved for its first such cell, or that is planned above it."""
    planned = {asset.key for asset in found.assets}
    stale = [one for one in found.assets if Reason.STALE_DATA in one.by_reason]
    first = {one.key: at for one in stale if (at := _first_stale(statuses, one)) is not None}
    moved = _moved(statuses, reader, first)
    named: dict[AssetKey, AssetKey] = {}
    for one in stale:
        inputs = statuses.catalog.assets[one.key].inputs
        above = moved.get(one.key) or next((up.upstream for up in inputs if up.upstream in planned), None)
        if above is not None:
            named[one.key] = above
    return named


def _first_stale(statuses: Statuses, one: PlannedAsset) -> int | None:
    """The first cell that is planned because its inputs moved already."""
    stale = statuses.stale_data(statuses.catalog.assets[one.key])
    moved = [] if stale is nothing(len(stale)) else np.flatnonzero(stale).tolist()
    return next((at for at in moved if at in one.by_reason[Reason.STALE_DATA]), None)


def _moved(statuses: Statuses, reader: CellsReader, first: Mapping[AssetKey, int]) -> dict[AssetKey, AssetKey]:
    """Per asset the upstream that moved last for this cell; read in two statements, however many assets there are."""
    if not first:
        return {}
    assets = statuses.catalog.assets
    refs = {key: CellRef(assets[key].id, statuses.space(key).key_at(at)) for key, at in first.items()}
    own = reader.details(list(refs.values()))
    above = {
        ref
        for key, at in first.items()
        if refs[key] in own
        for cells in upstream_cells(statuses.catalog, assets[key], statuses.as_of, at).values()
        for ref in cells
    }
    known = _Known(reader.details(list(above)) if above else {})
    named = {key: moved_upstreams(statuses, known, assets[key], at, own.get(refs[key])) for key, at in first.items()}
    return {key: cells[0][0] for key, cells in named.items() if cells}


@dataclass(frozen=True, slots=True)
class _Known:
    """Details that were read before."""

    known: Mapping[CellRef, CellDetail]

    def details(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellDetail]:
        return {cell: self.known[cell] for cell in cells if cell in self.known}


def _unserved(catalog: Catalog, reader: PlanReader, found: Plan) -> tuple[str, ...]:
    """Queues of its steps that no live worker serves. The default one is not told of while no worker at all is alive, for that is
    told elsewhere, of everything."""
    wanted = {catalog.assets[key].spec.queue for step in found.steps for key in step.assets}
    served = set(reader.served_queues()) if wanted else set()
    if ALL_QUEUES in served:
        return ()
    return tuple(sorted(wanted - served - (set() if served else {DEFAULT_QUEUE})))


def _pressure(catalog: Catalog, reader: PlanReader, found: Plan) -> tuple[Pressure, ...]:
    asked: Counter[str] = Counter()
    for step in found.steps:
        for name, slots in pool_demand(catalog.assets[key].spec for key in step.assets):
            asked[name] += slots * len(step.batches)
    pools = reader.pools(list(asked)) if asked else {}
    return tuple(
        Pressure(name, pools[name].slots, pools[name].held, wanted)
        if name in pools
        else Pressure(name, None, 0, wanted)
        for name, wanted in sorted(asked.items())
    )
