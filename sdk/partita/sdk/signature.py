"""Reads a step's signature: which parameter is the context, a resource, the params model, an input.

Owns the roles of parameters and the errors about annotations. Refuses to know which assets exist.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from partita.assets import DefinitionError
from partita.sdk.context import Context
from partita.sdk.references import From
from partita.sdk.resources import Resource

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class InputParam:
    """A parameter that reads an asset: its own name unless `reference` says which."""

    name: str
    annotation: Any
    """The type to hand over, without `Annotated`."""
    reference: From | None


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a step by role."""

    inputs: tuple[InputParam, ...]
    contexts: tuple[str, ...]
    resources: tuple[tuple[str, type[Resource]], ...]
    params: tuple[str, type[BaseModel]] | None
    returns: Any


def signature_of(
    function: Callable[..., Any], *, owner: str, local_names: Mapping[str, Any] | None = None
) -> Signature:
    """The roles of the parameters of `function`. Raises DefinitionError, naming `owner` and the parameter.

    `local_names` are the local variables around the definition, for annotations of functions made in factories.
    """
    from pydantic import BaseModel

    hints = _hints(function, owner, dict(local_names or {}))
    inputs: list[InputParam] = []
    contexts: list[str] = []
    resources: list[tuple[str, type[Resource]]] = []
    params: list[tuple[str, type[BaseModel]]] = []
    for parameter in inspect.signature(function).parameters.values():
        annotation, reference = _unwrap(_annotation(parameter, hints, owner))
        if isinstance(annotation, type) and reference is None:
            if issubclass(annotation, Context):
                contexts.append(parameter.name)
                continue
            if issubclass(annotation, Resource):
                if annotation is Resource:
                    raise _bad(owner, parameter.name, "is annotated Resource", fix="name a subclass of Resource")
                resources.append((parameter.name, annotation))
                continue
            if issubclass(annotation, BaseModel):
                params.append((parameter.name, annotation))
                continue
        if parameter.default is not parameter.empty:
            raise _bad(
                owner,
                parameter.name,
                "has a default value",
                rule="an input is always handed in",
                fix="remove the default",
            )
        inputs.append(InputParam(parameter.name, annotation, reference))
    if len(params) > 1:
        raise DefinitionError(
            f"{owner}: {params[0][0]!r} and {params[1][0]!r} are both params models",
            rule="a step has at most one",
            fix="join them in one model",
        )
    return Signature(
        tuple(inputs), tuple(contexts), tuple(resources), params[0] if params else None, hints.get("return", Any)
    )


def returns_nothing(signature: Signature) -> bool:
    """Whether the function says that it returns None."""
    return signature.returns in (None, NoneType)


def _hints(function: Callable[..., Any], owner: str, local_names: dict[str, Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function, localns=local_names, include_extras=True)
    except NameError as error:
        raise DefinitionError(
            f"{owner}: the annotation {error.name!r} is not known at run time",
            rule="annotations decide what a step is given, so their names are looked up when the module is imported",
            fix=f"import {error.name!r} outside of TYPE_CHECKING, and above the function",
        ) from None
    except (TypeError, SyntaxError, AttributeError) as error:
        raise DefinitionError(
            f"{owner}: an annotation does not evaluate: {error}",
            rule="annotations decide what a step is given",
            fix="write a type, or Annotated[type, From(...)]",
        ) from None


def _annotation(parameter: inspect.Parameter, hints: Mapping[str, Any], owner: str) -> Any:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise _bad(
            owner,
            parameter.name,
            f"is {parameter.kind.description}",
            rule="inputs are found by their names",
            fix="name each parameter",
        )
    if parameter.name not in hints:
        raise _bad(
            owner,
            parameter.name,
            "has no annotation",
            rule="the annotation says what it is given: Context, a Resource, a params model, or the type of an input",
            fix=f"write for example `{parameter.name}: Relation`",
        )
    return hints[parameter.name]


def _unwrap(annotation: Any) -> tuple[Any, From | None]:
    if get_origin(annotation) is not Annotated:
        return annotation, None
    plain, *extras = get_args(annotation)
    return plain, next((one for one in extras if isinstance(one, From)), None)


def _bad(owner: str, name: str, why: str, *, rule: str = "", fix: str = "") -> DefinitionError:
    return DefinitionError(f"{owner}: parameter {name!r} {why}", rule=rule, fix=fix)
