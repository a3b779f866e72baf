"""The committed schema is the API's; its names are stable and complete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from partita.ui.api.app import openapi_schema

COMMITTED = Path(__file__).parents[3] / "ui" / "openapi.json"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return openapi_schema()


def test_the_committed_schema_is_current(schema: dict[str, Any]) -> None:
    assert json.loads(COMMITTED.read_text(encoding="utf-8")) == schema, "run scripts/export_openapi.py"


def test_every_operation_has_a_name_of_its_own(schema: dict[str, Any]) -> None:
    names = [operation["operationId"] for path in schema["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))
    assert all(name.isidentifier() and "_" not in name for name in names)


def test_keys_stand_in_queries_and_bodies_never_in_paths(schema: dict[str, Any]) -> None:
    """Law 9: keys are data; only numeric ids and location names are path parts."""
    parts = {part for path in schema["paths"] for part in path.split("/") if part.startswith("{")}
    ids = {
        "run_id",
        "task_id",
        "acceptance_id",
        "attempt_id",
        "plan_id",
        "backfill_id",
        "request_id",
        "entry",
        "alert_id",
        "maintenance_id",
        "evaluator_id",
    }
    assert parts == {f"{{{name}}}" for name in (*ids, "name")}


def test_fields_of_answers_are_all_required(schema: dict[str, Any]) -> None:
    """Absent is an explicit null, so that the generated types have no `undefined`."""
    models = schema["components"]["schemas"]
    answers = _named([one["responses"] for path in schema["paths"].values() for one in path.values()], models)
    assert len(answers) > 100
    for name in answers - {"HTTPValidationError", "ValidationError"}:
        if models[name].get("type") == "object":
            assert set(models[name].get("required", [])) == set(models[name].get("properties", {})), name


def _named(part: Any, models: dict[str, Any]) -> set[str]:
    """The models that a part of the schema names, and those that they name."""
    found: set[str] = set()
    open_parts = [part]
    while open_parts:
        match open_parts.pop():
            case {"$ref": str(path)}:
                name = path.rpartition("/")[2]
                if name not in found:
                    found.add(name)
                    open_parts.append(models[name])
            case dict() as inner:
                open_parts.extend(inner.values())
            case list() as inner:
                open_parts.extend(inner)
            case _:
                pass
    return found
