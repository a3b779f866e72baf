"""Cases of execution that the model answers: waves and the critical path."""

from __future__ import annotations

from typing import Any

from partita.assets import All, AssetGraph, AssetSpec, InputSpec, asset_key, mapping_to_spec

CASES = "execution"
_OPERATIONS = {"waves", "critical_path"}


def test_execution_case(case: dict[str, Any], judge: Any) -> None:
    """The product orders as the case says (S-101, S-102)."""
    judge(case, answer, due_later)


def due_later(case: dict[str, Any]) -> list[str]:
    """Operations of the scheduler, which have readers of their own later."""
    operation = case["when"]["op"]
    return [] if operation in _OPERATIONS else [f"operation {operation}"]


def answer(case: dict[str, Any]) -> dict[str, Any]:
    """Ask the graph."""
    tasks = case["given"]["tasks"]
    graph = AssetGraph(
        AssetSpec(
            key=asset_key(name),
            inputs=tuple(
                InputSpec(name=up, upstream=asset_key(up), mapping=mapping_to_spec(All())) for up in task["up"]
            ),
        )
        for name, task in tasks.items()
    )
    if case["when"]["op"] == "waves":
        return {"waves": [list(wave) for wave in graph.waves()]}
    found = graph.critical_path({asset_key(name): task["minutes"] for name, task in tasks.items()})
    return {"minutes": found.length, "path": list(found.path)}
