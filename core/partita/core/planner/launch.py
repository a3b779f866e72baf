"""From a plan to a `Launch`: tasks with cells, reasons, pools, pins and edges. Pure; `duties.launch` writes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from partita.assets import AssetKey, PartitionSpace, RetrySpec, TriggerRule, from_spec
from partita.core.catalog import Catalog, CatalogAsset, StepKey
from partita.core.catalog.names import names_of
from partita.core.catalog.schemes import scheme_hash
from partita.core.catalog.waits import launch_waits
from partita.core.collecting import collector_rests
from partita.core.duties.values import Launch, LaunchCell, LaunchTask, LaunchWait, NewBackfill
from partita.core.planner.launch_columns import chains_below, launch_tasks
from partita.core.planner.pools import asset_caps, named_pools
from partita.core.planner.tasks import PlanTask, plan_tasks
from partita.core.planner.values import Plan, PlannedAsset, PlannedStep
from partita.core.store.values import BackfillId, CellRef, PoolUse, RetryPolicy

COLUMNS_FROM = 1000  # tasks of a launch that are made as columns; of few the arrays cost more than the values
GATE = "(gate)"  # no step can be called that
_Waiter = Callable[[Sequence[LaunchCell]], tuple[LaunchWait, ...]]
_Cells = Mapping[AssetKey, Mapping[int, LaunchCell]]


def to_launch(
    plan: Plan,
    catalog: Catalog,
    *,
    cause: Mapping[str, Any],
    backfill: NewBackfill | None = None,
    lane: str = "interactive",
    priority: int = 0,
    newest_first: bool = False,
    timeout_s: float | None = None,
    retry_of: BackfillId | None = None,
    tags: Mapping[str, str] | None = None,
    max_active: int | None = None,
) -> Launch:
    """The launch of a plan made with this catalog. An empty plan gives a launch without tasks: do not launch it.

    `cause` says who asked and why, as JSON; `lane` and `priority` (higher first) are those of all its tasks. Of tasks that are
    ready at one instant the oldest partitions go first, or the newest. `backfill` is a new one, `retry_of` one that gets a
    further run. At most `max_active` of its tasks are queued or running at once.
    """
    with collector_rests():
        large = plan.task_count >= COLUMNS_FROM and not any(catalog.asset(one.key).spec.wait_for for one in plan.assets)
        tasks = (_columns if large else _tuple)(plan, catalog, newest_first)
    return Launch(
        tasks=tasks,
        request=plan.request.to_json(),
        plan_hash=plan.hash,
        as_of=plan.as_of,
        cause=cause,
        pins=catalog.vector,
        backfill=backfill,
        retry_of=retry_of,
        lane=lane,
        priority=priority,
        params=dict(plan.request.params),
        timeout_s=timeout_s,
        keys_revision=catalog.keys.revision,
        tags=dict(tags or {}),
        max_active=max_active,
        schemes={one.id: scheme_hash(one.spec.partitions) for one in (catalog.asset(each.key) for each in plan.assets)},
    )


def _columns(plan: Plan, catalog: Catalog, newest_first: bool) -> Sequence[LaunchTask]:
    def of_step(step: PlannedStep) -> LaunchTask:
        members = [catalog.assets[key] for key in step.assets]
        return _maker(step.step, members)(rule=members[0].spec.trigger_rule)

    return launch_tasks(plan, catalog, of_step, _gate, newest_first=newest_first)


def _tuple(plan: Plan, catalog: Catalog, newest_first: bool) -> Sequence[LaunchTask]:
    cells = {asset.key: _cells(asset, catalog.space(asset.key, plan.as_of)) for asset in plan.assets}
    return tuple(_tasks(plan_tasks(plan, catalog, newest_first=newest_first), catalog, cells))


def _gate(rule: TriggerRule, behind: StepKey | None) -> LaunchTask:
    # The step's own name makes it count as the step does: a skipped earlier partition satisfies a later one.
    return LaunchTask("gate", GATE if behind is None else behind.id, None, None, rule=rule)


def _tasks(tasks: Sequence[PlanTask], catalog: Catalog, cells: _Cells) -> Iterator[LaunchTask]:
    makers: dict[tuple[AssetKey, ...], Callable[..., LaunchTask]] = {}
    waiters: dict[tuple[AssetKey, ...], _Waiter] = {}
    chains = chains_below([task.upstream for task in tasks], [task.gate for task in tasks])
    for task, chain in zip(tasks, chains, strict=True):
        if task.step is None:
            yield replace(_gate(task.rule, task.behind), upstream=task.upstream, wave=task.wave)
            continue
        make = makers.get(task.assets)
        if make is None:
            members = [catalog.assets[key] for key in task.assets]
            make = makers[task.assets] = _maker(task.step, members)
            waiters[task.assets] = _waiter(members[0], catalog)
        own = tuple([cells[key][ordinal] for key in task.assets for ordinal in task.cells])
        yield make(
            cells=own,
            upstream=task.upstream,
            wave=task.wave,
            conditional=task.conditional,
            rule=task.rule,
            critical_path=chain,
            waits=waiters[task.assets](own),
        )


def _maker(step: StepKey, members: Sequence[CatalogAsset]) -> Callable[..., LaunchTask]:
    """Makes the tasks that make these assets, with what all of them have in common."""
    spec = members[0].spec
    return partial(
        LaunchTask,
        "step",
        step.id,
        step.location_id,
        members[0].snapshot_id,
        pools=tuple(PoolUse(name, slots) for name, slots in named_pools(one.spec for one in members)),
        caps=asset_caps(one.spec for one in members),
        retry=_retry(spec.retries),
        timeout_s=spec.timeout_s,
        deadline_s=spec.deadline_s,
        priority=spec.priority,
        owner=spec.owner or "",
        queue=spec.queue,
    )


def _waiter(asset: CatalogAsset, catalog: Catalog) -> _Waiter:
    """What the tasks of this asset wait for before they start, by their cells; nearly always nothing."""
    specs = asset.spec.wait_for
    if not specs:
        return lambda cells: ()
    scheme = None if asset.spec.partitions is None else from_spec(asset.spec.partitions)
    return lambda cells: tuple(launch_waits(specs, cells, scheme, catalog))


def _cells(asset: PlannedAsset, space: PartitionSpace) -> dict[int, LaunchCell]:
    """The planned cells of an asset by ordinal."""
    names = names_of(space)
    found: dict[int, LaunchCell] = {}
    for reason, cells in asset.by_reason.items():
        for part, conditional in ((cells - asset.conditional, False), (cells & asset.conditional, True)):
            for ordinal, (key, window) in zip(part, names.named(part), strict=True):
                found[ordinal] = LaunchCell(CellRef(asset.asset_id, key), reason.value, window, conditional)
    return found


def _retry(spec: RetrySpec) -> RetryPolicy:
    return RetryPolicy(spec.max_retries, spec.delay_s, spec.backoff, spec.max_delay_s, spec.jitter)
