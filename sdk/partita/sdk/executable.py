"""A step that can be run, and what would keep it from ever running: types that no store hands over, params that nobody gives.

Owns the refusals at load of what an attempt would refuse later. Refuses to resolve names: it is given what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from partita.assets import AssetKey, DefinitionError, ManualSpec, PartitaError
from partita.sdk.definitions import StepDef
from partita.sdk.inputs import wants_cells
from partita.sdk.io.base import IOManager
from partita.sdk.resolve import ResolvedCheck, ResolvedInput


@dataclass(frozen=True, slots=True)
class StepHandle:
    """A step that can be run."""

    step: StepDef
    inputs: tuple[ResolvedInput, ...]
    checks: tuple[ResolvedCheck, ...]
    io: Mapping[AssetKey, IOManager | None]
    """The manager that stores each asset; None: the step stores it itself."""


def check_handed_over(handle: StepHandle, stored_by: Callable[[AssetKey], IOManager | None]) -> None:
    """Raise DefinitionError for an input, a result or a checked cell of a type that its store can never give or take.

    `stored_by` names the manager of an asset of this location; None when it is not known here.
    """
    step = handle.step
    owner = f"asset {step.id!r}"
    by_name = {one.name: one.upstream for one in handle.inputs}
    for param in step.signature.inputs:
        _check_reading(stored_by(by_name[param.name]), param.annotation, f"{owner}: input {param.name!r}")
    if len(step.assets) == 1:
        manager = handle.io[step.assets[0].key]
        if manager is not None:
            _as_definition(lambda: manager.check_writing(step.signature.returns, owner))
    for check in handle.checks:
        for param in check.definition.signature.inputs:
            key = check.asset if param.name in check.checked else by_name[param.name]
            name = f"check {check.definition.name!r}: parameter {param.name!r}"
            _check_reading(stored_by(key), param.annotation, name)


def check_params_model(step: StepDef) -> None:
    """Raise DefinitionError for a params model without a JSON form, or with required fields that automation cannot give."""
    schema = params_schema(step)
    required = (schema or {}).get("required")
    if required and not isinstance(step.options.automation.spec, ManualSpec):
        raise DefinitionError(
            f"asset {step.id!r}: the params {', '.join(map(repr, required))} have no default",
            rule="what runs without a person runs with the defaults of its params",
            fix="give them defaults, or leave automation= out",
        )


def params_schema(step: StepDef) -> dict[str, Any] | None:
    """The JSON schema of the params of a step; None when it takes none. Raises DefinitionError when there is no such form."""
    if step.signature.params is None:
        return None
    from pydantic import PydanticUserError

    name, model = step.signature.params
    try:
        return model.model_json_schema()
    except PydanticUserError as refused:
        raise DefinitionError(
            f"asset {step.id!r}: params model {model.__name__} has no JSON form: {refused.message}",
            rule="params are given as JSON",
            fix=f"annotate the fields of {name!r} with numbers, texts, dates, lists, models",
        ) from None


def _check_reading(manager: IOManager | None, annotation: Any, reader: str) -> None:
    if manager is None or wants_cells(annotation):
        return
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
    others = [one for one in members if one is not NoneType]
    plain = others[0] if len(others) == 1 and len(others) < len(members) else annotation  # X | None is handed over as X
    _as_definition(lambda: manager.check_reading(plain, reader))


def _as_definition(ask: Callable[[], None]) -> None:
    try:
        ask()
    except DefinitionError:
        raise
    except PartitaError as refused:
        raise DefinitionError(refused.what, rule=refused.rule, fix=refused.fix) from refused
