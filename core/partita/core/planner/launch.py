"""From a plan to a `Launch`: tasks with cells, reasons, pools, pins and edges. Pure; `duties.launch` writes it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from partita.assets import AssetKey, PartitionSet, PartitionSpace, RetrySpec
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.catalog.names import names_of
from partita.core.catalog.schemes import scheme_hash
from partita.core.duties.values import Launch, LaunchCell, LaunchTask, NewBackfill
from partita.core.planner.pools import asset_caps, named_pools
from partita.core.planner.tasks import PlanTask, plan_tasks
from partita.core.planner.values import Plan, Reason
from partita.core.store.values import CellRef, PoolUse, RetryPolicy

_Reasons = Mapping[AssetKey, Mapping[int, Reason]]


def to_launch(
    plan: Plan,
    catalog: Catalog,
    *,
    cause: Mapping[str, Any],
    backfill: NewBackfill | None = None,
    lane: str = "interactive",
    priority: int = 0,
) -> Launch:
    """The launch of a plan made with this catalog. An empty plan gives a launch without tasks: do not launch it.

    `cause` says who asked and why, as JSON; `lane` and `priority` (higher first) are those of all its tasks.
    """
    reasons: _Reasons = {
        asset.key: {ordinal: reason for reason, cells in asset.by_reason.items() for ordinal in cells}
        for asset in plan.assets
    }
    unsure = {asset.key: asset.conditional for asset in plan.assets}
    return Launch(
        tasks=tuple(_task(one, plan.as_of, catalog, reasons, unsure) for one in plan_tasks(plan, catalog)),
        request=plan.request.to_json(),
        plan_hash=plan.hash,
        as_of=plan.as_of,
        cause=cause,
        pins=catalog.vector,
        backfill=backfill,
        lane=lane,
        priority=priority,
        params=dict(plan.request.params),
        keys_revision=catalog.keys.revision,
        schemes={asset.id: scheme_hash(asset.spec.partitions) for asset in map(catalog.asset, reasons)},
    )


def _task(
    task: PlanTask, as_of: datetime, catalog: Catalog, reasons: _Reasons, unsure: Mapping[AssetKey, PartitionSet]
) -> LaunchTask:
    if task.step is None:
        return LaunchTask("gate", "gate", None, None, upstream=task.upstream, wave=task.wave, rule=task.rule)
    members = [catalog.assets[key] for key in task.assets]
    spec = members[0].spec
    return LaunchTask(
        kind="step",
        step=task.step.id,
        location_id=task.step.location_id,
        snapshot_id=members[0].snapshot_id,
        cells=tuple(
            cell
            for asset in members
            for cell in _cells(asset, catalog.space(asset.key, as_of), task, reasons[asset.key], unsure[asset.key])
        ),
        upstream=task.upstream,
        pools=tuple(PoolUse(name, slots) for name, slots in named_pools(one.spec for one in members)),
        caps=asset_caps(one.spec for one in members),
        retry=_retry(spec.retries),
        timeout_s=spec.timeout_s,
        priority=spec.priority,
        wave=task.wave,
        conditional=task.conditional,
        rule=task.rule,
    )


def _cells(
    asset: CatalogAsset,
    space: PartitionSpace,
    task: PlanTask,
    reasons: Mapping[int, Reason],
    unsure: PartitionSet,
) -> list[LaunchCell]:
    names = names_of(space)
    return [
        LaunchCell(
            CellRef(asset.id, names.key(ordinal)), reasons[ordinal].value, names.window(ordinal), ordinal in unsure
        )
        for ordinal in task.cells
    ]


def _retry(spec: RetrySpec) -> RetryPolicy:
    return RetryPolicy(spec.max_retries, spec.delay_s, spec.backoff, spec.max_delay_s, spec.jitter)
