"""Cases of execution that the planner answers: waves by planning, the critical path and the makespan by its simulation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from partita.assets import All, AssetGraph, AssetKey, AssetSpec, InputSpec, Snapshot, StepSpec, asset_key, to_spec
from partita.core.catalog import Catalog, StoredSnapshot
from partita.core.planner import PlanRequest, Work, critical_path, makespan, plan
from partita.core.planner.memory import MemoryCells
from partita.core.store.values import AssetId, LocationId, SnapshotId

OPERATIONS = ("waves", "critical_path", "makespan")


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Ask the planner."""
    tasks, when = case["given"]["tasks"], case["when"]
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


def _work(tasks: dict[str, Any], order: list[str]) -> list[Work]:
    place = {name: index for index, name in enumerate(order)}
    return [Work(tasks[name]["minutes"], tuple(place[up] for up in tasks[name]["up"])) for name in order]


def _spec(key: AssetKey, upstream: list[AssetKey]) -> AssetSpec:
    return AssetSpec(
        key=key, step=key, inputs=tuple(InputSpec(name=up, upstream=up, mapping=to_spec(All())) for up in upstream)
    )


def _catalog(specs: list[AssetSpec]) -> Catalog:
    steps = tuple(StepSpec(id=spec.step, assets=(spec.key,), function="m:f") for spec in specs)
    snapshot = Snapshot(location="cases", assets=tuple(specs), steps=steps)
    ids = {spec.key: AssetId(index) for index, spec in enumerate(specs, start=1)}
    return Catalog([StoredSnapshot(LocationId(1), "cases", SnapshotId(1), "v", snapshot)], ids)
