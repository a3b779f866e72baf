"""Which params a request may give: the fields of the params models of the assets that it selects, for a form. Pure but for the
catalog; what is given is judged by the planner (`planner/params.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from partita.assets import AssetKey
from partita.assets.selection import select_assets
from partita.core.catalog import Catalog
from partita.ui.api.models import ParamField, ParamFields, PlanRequest

Schema = Mapping[str, Any]
_PLAIN = ("string", "integer", "number", "boolean")


def param_fields(catalog: Catalog, request: PlanRequest) -> ParamFields:
    """By name, those without a default first; of two models with one name the first asset's. Raises SelectionError."""
    fields: dict[str, ParamField] = {}
    takers: dict[str, list[str]] = {}
    for key in sorted(_assets(catalog, request)):
        for one in _of(catalog.assets[key].spec.params_schema or {}):
            fields.setdefault(one.name, one)
            takers.setdefault(one.name, []).append(key)
    found = [one.model_copy(update={"assets": takers[one.name]}) for one in fields.values()]
    return ParamFields(fields=sorted(found, key=lambda one: (not one.required, one.name)))


def _assets(catalog: Catalog, request: PlanRequest) -> set[AssetKey]:
    """All that the request may plan, whatever their cells hold."""
    selected = set(select_assets(catalog.graph, request.selection))
    if request.upstream:
        selected |= catalog.graph.ancestors(*selected)
    if request.downstream:
        selected |= catalog.graph.descendants(*selected)
    return selected


def _of(schema: Schema) -> Iterator[ParamField]:
    required = schema.get("required", ())
    for name, one in (schema.get("properties") or {}).items():
        field = _resolved(one, schema)
        choices = field.get("enum")
        yield ParamField(
            name=name,
            type=field["type"] if field.get("type") in _PLAIN else "json",
            required=name in required,
            default=one.get("default"),
            description=str(one.get("description") or field.get("description") or ""),
            choices=[str(value) for value in choices] if choices and field.get("type") == "string" else None,
            assets=[],
        )


def _resolved(field: Schema, schema: Schema) -> Schema:
    """A field that is a reference (an enum) is what it refers to."""
    name = str(field.get("$ref", "")).rpartition("/")[2]
    found = (schema.get("$defs") or {}).get(name)
    return found if isinstance(found, Mapping) else field
