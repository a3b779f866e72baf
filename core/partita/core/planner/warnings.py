"""What a person should know before a launch: much work on something outside that nothing limits (S-150), and tasks that no live
worker takes (S-148). Pure.

Owns which launches are large and which assets touch the outside; a warning holds nothing back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from partita.assets import AssetKey, AssetSpec
from partita.assets.queues import DEFAULT_QUEUE
from partita.core.catalog import Catalog
from partita.core.planner.pools import DEFAULT_POOL, asset_caps, named_pools
from partita.core.planner.values import Plan

LARGE = 50
"""Tasks from which on a launch can be too much for what it works on."""
_NAMED = 3


@dataclass(frozen=True, slots=True)
class PlanWarning:
    """`resource` is the class of the resource that is used, "" for what reads from outside by itself; `queue` is the one without
    a worker, "" where it is about a resource. `assets`: those of most tasks first. `fix` is a sentence of its own."""

    resource: str
    assets: tuple[AssetKey, ...]
    tasks: int
    text: str
    fix: str
    queue: str = ""


def warnings_of(plan: Plan, catalog: Catalog) -> tuple[PlanWarning, ...]:
    """Those of `unserved_warnings`; then one for each resource of which `LARGE` tasks or more make use without a pool or a
    `max_active`, by name; one for all assets that read from outside without a resource. Assets that were retired since the plan
    was made are left out."""
    tasks: Counter[str] = Counter()
    assets: dict[str, Counter[AssetKey]] = {}
    for step in plan.steps:
        specs = [catalog.assets[key].spec for key in step.assets if key in catalog.assets]
        if named_pools(specs) or asset_caps(specs):
            continue
        for resource in _touched(specs, catalog):
            tasks[resource] += len(step.batches)
            assets.setdefault(resource, Counter()).update(dict.fromkeys(step.assets, len(step.batches)))
    large = (
        _warning(resource, tuple(key for key, _ in assets[resource].most_common()), tasks[resource], plan)
        for resource in sorted(tasks)
        if tasks[resource] >= LARGE
    )
    return (*unserved_warnings(plan, catalog), *large)


def unserved_warnings(plan: Plan, catalog: Catalog) -> tuple[PlanWarning, ...]:
    """One for each queue of its tasks that no live worker serves."""
    return tuple(_unserved(queue, plan, catalog) for queue in plan.unserved)


def _unserved(queue: str, plan: Plan, catalog: Catalog) -> PlanWarning:
    assets: Counter[AssetKey] = Counter()
    tasks = 0
    for step in plan.steps:
        if any(key in catalog.assets and catalog.assets[key].spec.queue == queue for key in step.assets):
            tasks += len(step.batches)
            assets.update(dict.fromkeys(step.assets, len(step.batches)))
    named = tuple(key for key, _ in assets.most_common())
    option = "" if queue == DEFAULT_QUEUE else f" --queues {queue}"
    need = "task of {} needs" if tasks == 1 else "tasks of {} need"
    text = f"{tasks:,} {need.format(_named(named))} a worker of queue {queue}, and none is alive"
    return PlanWarning("", named, tasks, text, f"Start one: partita worker{option}", queue)


def _touched(specs: list[AssetSpec], catalog: Catalog) -> Iterator[str]:
    """The resources that a step uses; "" for one that reads from outside without any."""
    named = {resource for spec in specs for resource in spec.resources}
    yield from named
    outside = any(not spec.inputs or any(_external(one.upstream, catalog) for one in spec.inputs) for spec in specs)
    if not named and outside:
        yield ""


def _external(key: AssetKey, catalog: Catalog) -> bool:
    return key in catalog.assets and catalog.assets[key].external


def _warning(resource: str, assets: tuple[AssetKey, ...], tasks: int, plan: Plan) -> PlanWarning:
    named = _named(assets)
    does = f"use {resource}" if resource else "read from outside"
    return PlanWarning(
        resource,
        assets,
        tasks,
        f"{tasks:,} tasks of {named} {does}, and no pool or max_active limits them: {_at_once(tasks, plan)}",
        'To limit them give the assets pool="NAME" or max_active=, or launch a backfill with --max-active',
    )


def _named(assets: tuple[AssetKey, ...]) -> str:
    return ", ".join(assets[:_NAMED]) + (f" and {len(assets) - _NAMED} more" if len(assets) > _NAMED else "")


def _at_once(tasks: int, plan: Plan) -> str:
    """What limits them all the same: the default pool, and the slots of the workers that are up now."""
    default = next((one.slots for one in plan.pools if one.name == DEFAULT_POOL), None)
    workers = plan.estimate.slots if plan.estimate is not None and plan.estimate.slots else None
    limits = [one for one in (default, workers) if one is not None]
    return f"up to {min([tasks, *limits]):,} of them run at once" if limits else "as many run at once as workers take"
