"""From chosen cells to a plan: batches, waves and the hash. Pure.

A task's wave is the earliest in which all that its cells read from this plan is done, so cells whose upstreams are fresh
start at once, whatever their asset waits for elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from partita.assets import AssetKey
from partita.core.catalog import Catalog, CatalogAsset, StepKey, set_of
from partita.core.catalog.edges import Bools, EdgeMap, Ints, Levels, in_order, levels_of
from partita.core.planner.batches import batches_of, one_level_each
from partita.core.planner.decide import REASONS, Choice
from partita.core.planner.encode import plan_hash
from partita.core.planner.values import Blocked, Plan, PlannedAsset, PlannedStep, PlanRequest


def assemble(
    catalog: Catalog, request: PlanRequest, choices: Mapping[AssetKey, Choice], blocked: Sequence[Blocked]
) -> Plan:
    """The plan of these choices; `because`, pools, estimate and `joined` are still empty."""
    steps: list[PlannedStep] = []
    wave_of: dict[AssetKey, Levels] = {}
    for step, members in catalog.steps.items():
        if members[0].key in choices:
            steps.append(_planned_step(catalog, request.as_of, step, members, choices, wave_of))
    assets = tuple(
        _planned_asset(catalog, catalog.assets[key], choices[key]) for key in catalog.graph.order if key in choices
    )
    snapshots = _snapshots(catalog, [*choices, *(one.key for one in blocked)])
    found = _ordered(catalog, blocked)
    return Plan(
        request=request,
        snapshots=snapshots,
        assets=assets,
        steps=tuple(steps),
        blocked=found,
        hash=plan_hash(request, snapshots, assets, tuple(steps)),
    )


def _planned_asset(catalog: Catalog, asset: CatalogAsset, choice: Choice) -> PlannedAsset:
    by_reason = {reason: set_of(np.equal(choice.reason, code)) for code, reason in enumerate(REASONS, start=1)}
    return PlannedAsset(
        key=asset.key,
        asset_id=asset.id,
        size=len(choice.run),
        by_reason={reason: cells for reason, cells in by_reason.items() if cells},
        conditional=set_of(choice.conditional),
        keys=catalog.keys_digest(asset.key),
    )


def _planned_step(
    catalog: Catalog,
    as_of: datetime,
    step: StepKey,
    members: Sequence[CatalogAsset],
    choices: Mapping[AssetKey, Choice],
    wave_of: dict[AssetKey, Levels],
) -> PlannedStep:
    run = choices[members[0].key].run
    own = [
        catalog.edge(asset.key, one, as_of) for asset in members for one in asset.inputs if one.upstream == asset.key
    ]
    batches = batches_of(members[0].spec.batch, catalog.space(members[0].key, as_of), set_of(run))
    if own:
        batches = one_level_each(batches, levels_of(own))
    task_of = np.full(len(run), -1, dtype=np.int64)
    for index, batch in enumerate(batches):
        for start, stop in batch.ranges:
            task_of[start:stop] = index
    waves = _waves(catalog, as_of, members, run, task_of, len(batches), wave_of)
    _wait_for_own(own, run, task_of, waves)
    here = np.where(run, waves[task_of], -1).astype(np.int32)
    for asset in members:
        wave_of[asset.key] = here
    sure = np.logical_or.reduce([~choices[asset.key].conditional for asset in members]) & run
    surely = np.zeros(len(batches), dtype=np.bool_)
    surely[task_of[sure]] = True
    return PlannedStep(
        step=step,
        assets=tuple(asset.key for asset in members),
        batches=batches,
        waves=tuple(waves.tolist()),
        conditional=tuple((~surely).tolist()),
    )


def _waves(
    catalog: Catalog,
    as_of: datetime,
    members: Sequence[CatalogAsset],
    run: Bools,
    task_of: Ints,
    tasks: int,
    wave_of: Mapping[AssetKey, Levels],
) -> Ints:
    after = np.full(len(run), -1, dtype=np.int32)
    for asset in members:
        for one in asset.inputs:
            if one.upstream in wave_of:
                after = np.maximum(after, catalog.edge(asset.key, one, as_of).highest(wave_of[one.upstream]))
    waves = np.zeros(tasks, dtype=np.int64)
    np.maximum.at(waves, task_of[run], after[run] + 1)
    return waves


def _wait_for_own(own: Sequence[EdgeMap], run: Bools, task_of: Ints, waves: Ints) -> None:
    """Put each task after those of the earlier partitions that it reads of its own assets. Changes `waves`."""
    for ordinal in in_order(own, run) if own else ():
        task = task_of[ordinal]
        for edge in own:
            for start, stop in edge.ranges_of(ordinal):
                before = np.unique(task_of[start:stop])
                before = before[before >= 0]
                if len(before):
                    waves[task] = max(waves[task], int(waves[before].max()) + 1)


def _snapshots(catalog: Catalog, keys: Sequence[AssetKey]) -> tuple[tuple[str, str], ...]:
    """(location, version) of what the plan touches; a reload elsewhere does not make a plan another one."""
    return tuple(sorted({(catalog.assets[key].location, catalog.assets[key].version) for key in keys}))


def _ordered(catalog: Catalog, blocked: Sequence[Blocked]) -> tuple[Blocked, ...]:
    return tuple(sorted(blocked, key=lambda one: (catalog.order[one.key], one.upstream, one.reason)))
