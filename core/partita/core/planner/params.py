"""Params against the models of what is planned: refused when they are asked for, not when an attempt fails on them.

The model's JSON schema comes with the snapshot, so no user code is needed. Every planned asset is given all params of a request
and takes those of its model, so each model must take them as they are. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match

from partita.assets import AssetKey, PartitaError, suggest

Schemas = Mapping[AssetKey, Mapping[str, Any] | None]


class ParamsRefused(PartitaError):
    """Params that the planned assets do not take; `field` is the path to what is wrong."""

    def __init__(self, what: str, *, rule: str = "", fix: str = "", field: str = "") -> None:
        super().__init__(what, rule=rule, fix=fix)
        self.field = field


def check_params(schemas: Schemas, params: Mapping[str, Any]) -> None:
    """Raise ParamsRefused, naming the field, unless every planned asset can be made with these params.

    `schemas` are the JSON schemas of the planned assets' params models; None for an asset that takes none.

    >>> model = {"properties": {"floor": {"type": "integer", "minimum": 0}}, "required": ["floor"]}
    >>> check_params({AssetKey("delays"): model, AssetKey("flights"): None}, {"floor": 3})
    >>> check_params({AssetKey("delays"): model}, {"floor": "three"})
    Traceback (most recent call last):
        ...
    partita.core.planner.params.ParamsRefused: asset 'delays' does not take floor='three'; 'three' is not of type 'integer'; ...
    """
    _refuse_unknown(schemas, params)
    for key, schema in sorted(schemas.items()):
        if schema is not None:
            validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
            error = best_match(validator.iter_errors(dict(params)))
            if error is not None:
                raise _refused(key, schema, error, params)


def taken(schemas: Schemas, params: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the params that one of these assets takes.

    >>> taken({AssetKey("delays"): {"properties": {"floor": {}}}, AssetKey("flights"): None}, {"floor": 3, "days": 7})
    {'floor': 3}
    """
    names = {name for schema in schemas.values() for name in _properties(schema)}
    return {name: value for name, value in params.items() if name in names}


def _refuse_unknown(schemas: Schemas, params: Mapping[str, Any]) -> None:
    """A parameter that no planned asset takes is a mistake, not a wish."""
    taken = {name for schema in schemas.values() for name in _properties(schema)}
    for name in params:
        if name not in taken:
            raise ParamsRefused(
                f"no planned asset takes the parameter {name!r}",
                rule=f"they take {', '.join(sorted(taken)) or 'none'}",
                fix=suggest(name, taken),
                field=name,
            )


def _refused(
    key: AssetKey, schema: Mapping[str, Any], error: ValidationError, params: Mapping[str, Any]
) -> ParamsRefused:
    field = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "required" and not field:
        missing = [name for name in schema.get("required", ()) if name not in params]
        return ParamsRefused(
            f"asset {key!r} needs the parameter {missing[0]!r}",
            rule="a field of its params model without a default is given with the request",
            fix=f"give it: --param {missing[0]}=VALUE",
            field=missing[0],
        )
    what = f"{field}={error.instance!r}" if field else f"these params: {error.message}"
    return ParamsRefused(
        f"asset {key!r} does not take {what}",
        rule=error.message if field else "its params model allows no others",
        fix=_expected(error, field),
        field=field,
    )


def _expected(error: ValidationError, field: str) -> str:
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    wanted = {name: schema[name] for name in ("type", "enum", "format", "minimum", "maximum") if name in schema}
    said = ", ".join(f"{name} {value}" for name, value in wanted.items())
    return f"{field} is: {said}" if said else "correct it; the asset's page shows the schema of its params"


def _properties(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found = (schema or {}).get("properties", {})
    return found if isinstance(found, Mapping) else {}
