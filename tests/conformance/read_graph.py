"""Cases of execution that the model and the planner answer: waves, the critical path, the makespan."""

from __future__ import annotations

from typing import Any

from partita.assets import All, AssetGraph, AssetKey, AssetSpec, InputSpec, asset_key, mapping_to_spec
from partita.core.planner.estimate import Work, makespan

OPERATIONS = ("waves", "critical_path", "makespan")


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Ask the graph, or the simulation."""
    tasks, when = case["given"]["tasks"], case["when"]
    order = sorted(tasks)
    if when["op"] == "makespan":
        # Of ready tasks the first in the list starts, and these are taken in name order.
        place = {name: index for index, name in enumerate(order)}
        work = [Work(tasks[name]["minutes"], tuple(place[up] for up in tasks[name]["up"])) for name in order]
        return {"minutes": makespan(work, when["slots"])}
    # Names such as process[0] are no asset keys: numbers in the order of names stand for them.
    keys = {name: asset_key(f"t{index:06}") for index, name in enumerate(order)}
    names = {key: name for name, key in keys.items()}
    graph = AssetGraph(_spec(keys[name], [keys[up] for up in tasks[name]["up"]]) for name in tasks)
    if when["op"] == "waves":
        return {"waves": [[names[key] for key in wave] for wave in graph.waves()]}
    found = graph.critical_path({keys[name]: task["minutes"] for name, task in tasks.items()})
    return {"minutes": found.length, "path": [names[key] for key in found.path]}


def _spec(key: AssetKey, upstream: list[AssetKey]) -> AssetSpec:
    return AssetSpec(
        key=key, inputs=tuple(InputSpec(name=up, upstream=up, mapping=mapping_to_spec(All())) for up in upstream)
    )
