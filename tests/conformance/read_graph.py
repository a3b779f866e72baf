"""Cases of execution that the planner answers: waves by planning, the critical path and the makespan by its simulation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from partita.assets import (
    All,
    AssetGraph,
    AssetKey,
    AssetSpec,
    DefinitionError,
    Dynamic,
    InputSpec,
    PartitionsDef,
    Snapshot,
    StepSpec,
    asset_key,
    to_spec,
)
from partita.assets.partitions.dynamic import check_fan_out
from partita.core.catalog import Catalog, StoredSnapshot
from partita.core.catalog.dynamic import KeysAt
from partita.core.planner import Plan, PlanRequest, Work, critical_path, makespan, plan
from partita.core.planner.memory import MemoryCells
from partita.core.store.values import AssetId, LocationId, SnapshotId

OPERATIONS = ("waves", "critical_path", "makespan", "expand")


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Ask the planner."""
    tasks, when = case["given"]["tasks"], case["when"]
    if when["op"] == "expand":
        return _expanded(tasks, when)
    if when["op"] == "makespan":
        # Of ready tasks the first in the list starts, and these are taken in name order.
        return {"minutes": makespan(_work(tasks, sorted(tasks)), when["slots"])}
    # Names such as process[0] are no asset keys: numbers in the order of names stand for them.
    keys = {name: asset_key(f"t{index:06}") for index, name in enumerate(sorted(tasks))}
    names = {key: name for name, key in keys.items()}
    specs = [_spec(keys[name], [keys[up] for up in tasks[name]["up"]]) for name in tasks]
    if when["op"] == "waves":
        planned = plan(_catalog(specs), MemoryCells(), PlanRequest("*", datetime(2024, 1, 1, tzinfo=UTC)))
        return {"waves": [[names[key] for key in sorted(wave)] for wave in planned.cells_by_wave()]}
    order = [names[key] for key in AssetGraph(specs).order]
    path, length = critical_path(_work(tasks, order))
    return {"minutes": length, "path": [order[index] for index in path]}


def _expanded(tasks: dict[str, Any], when: dict[str, Any]) -> dict[str, Any]:
    """The node is an asset of dynamic partitions; its items are keys that are added at run time, under the cap."""
    items = Dynamic("items")
    keys = [f"{index}" for index in range(when["items"])]
    try:
        check_fan_out(items, keys, when["max_items"])
    except DefinitionError:
        return {"error": True}
    specs = [
        _spec(asset_key(name), [asset_key(up) for up in tasks[name]["up"]], items if name == when["node"] else None)
        for name in tasks
    ]
    catalog = _catalog(specs).with_keys(KeysAt(1, {items.name: keys}))
    planned = plan(catalog, MemoryCells(), PlanRequest("*", datetime(2024, 1, 1, tzinfo=UTC)))
    spread = {when["node"]: [f"{when['node']}[{key}]" for key in keys]}
    return {"waves": [sorted(name for key in wave for name in spread.get(key, [key])) for wave in _waves(planned)]}


def _waves(planned: Plan) -> list[list[str]]:
    """The assets of each wave, once for all their cells."""
    return [sorted({str(key) for key in wave}) for wave in planned.cells_by_wave()]


def _work(tasks: dict[str, Any], order: list[str]) -> list[Work]:
    place = {name: index for index, name in enumerate(order)}
    return [Work(tasks[name]["minutes"], tuple(place[up] for up in tasks[name]["up"])) for name in order]


def _spec(key: AssetKey, upstream: list[AssetKey], partitions: PartitionsDef | None = None) -> AssetSpec:
    inputs = tuple(InputSpec(name=up, upstream=up, mapping=to_spec(All())) for up in upstream)
    scheme = None if partitions is None else to_spec(partitions)
    return AssetSpec(key=key, step=key, inputs=inputs, partitions=scheme)


def _catalog(specs: list[AssetSpec]) -> Catalog:
    steps = tuple(StepSpec(id=spec.step, assets=(spec.key,), function="m:f") for spec in specs)
    snapshot = Snapshot(location="cases", assets=tuple(specs), steps=steps)
    ids = {spec.key: AssetId(index) for index, spec in enumerate(specs, start=1)}
    return Catalog([StoredSnapshot(LocationId(1), "cases", SnapshotId(1), "v", snapshot)], ids)
