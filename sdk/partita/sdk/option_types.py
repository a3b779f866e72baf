"""What each option of a decorator takes: the check at decoration for those who do without a type checker.

Owns one rule an option, in words that say what to write instead. Refuses to know whether options fit each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import getdoc, isasyncgenfunction, isclass
from typing import Any

from partita.assets import DefinitionError, PartitaError, suggest
from partita.assets.metadata import checked_metadata
from partita.sdk.automation import Automation
from partita.sdk.io.base import IOManager
from partita.sdk.policies import Batch
from partita.sdk.references import HasKey, Remote


@dataclass(frozen=True, slots=True)
class _Option:
    """`fits` is asked for every value but None, which is left to `optional`."""

    fits: Callable[[Any], bool]
    rule: str
    fix: Callable[[Any], str]
    optional: bool = True


def check_options(given: Mapping[str, object], owner: str) -> None:
    """Raise DefinitionError, naming `owner`, the option and what it takes, for the first value of a wrong kind."""
    for name, value in given.items():
        option = _OPTIONS.get(name)
        if option is None or (value is None and option.optional) or (value is not None and option.fits(value)):
            continue
        raise DefinitionError(f"{owner}: {name}={value!r}", rule=f"{name} is {option.rule}", fix=option.fix(value))
    metadata = given.get("metadata")
    if isinstance(metadata, Mapping):
        try:
            checked_metadata(metadata)
        except PartitaError as refused:
            raise DefinitionError(f"{owner}: {refused.what}", rule=refused.rule, fix=refused.fix) from None


def check_function(function: object, owner: str) -> None:
    """Raise DefinitionError unless a step or check is a function (`def`, `async def`, or a generator of outputs)."""
    if isclass(function):
        kind, fix = "a class", "decorate a function; what it needs comes from its parameters, such as a Resource"
    elif isasyncgenfunction(function):
        kind, fix = "an async generator", "collect what it yields, and return it"
    elif not callable(function):
        kind, fix = "no function", "put the decorator above a function"
    else:
        return
    raise DefinitionError(f"{owner} is {kind}", rule="a step is a function, `def` or `async def`", fix=fix)


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)


def _table_of_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(one, str) for pair in value.items() for one in pair)


def _number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _pool(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _number(slots) for name, slots in value.items())
    return isinstance(value, str)


def _upstreams(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str | Remote | HasKey) for one in value)


def _as_text(value: Any) -> str:
    return f'write "{value}"' if isinstance(value, int | float) else "write a text"


def _as_list(value: Any) -> str:
    return f"write [{value!r}]" if isinstance(value, str) else "write a list of texts"


def _called(word: str) -> Callable[[Any], str]:
    """`eager` where `eager()` is meant is the usual slip."""

    def fix(value: Any) -> str:
        name = getattr(value, "__name__", "")
        return f"write {name}()" if callable(value) and name else f"write for example {word}"

    return fix


def _manager(value: Any) -> str:
    return f"write {value.__name__}(...), an object" if isinstance(value, type) else 'write "lake", or leave it out'


def _tags(value: Any) -> str:
    if isinstance(value, Mapping):
        return "write the values as texts"
    return 'write for example {"layer": "raw"}'


_OPTIONS: Mapping[str, _Option] = {
    "key": _Option(_text, "a text such as raw/orders", _as_text),
    "deps": _Option(
        _upstreams,
        "a list of assets, keys as text, or remote(...)",
        lambda value: "put it in a list: deps=[...]" if isinstance(value, str | HasKey) else "name the assets",
        optional=False,
    ),
    "io": _Option(
        lambda value: isinstance(value, str | IOManager),
        '"lake", "duckdb:PATH", an IOManager object, or None',
        _manager,
    ),
    "pool": _Option(_pool, "a name, or {name: slots} with whole numbers", lambda value: 'write for example {"db": 1}'),
    "max_active": _Option(
        lambda value: _number(value) and value > 0,
        "a whole number of tasks, at least one",
        lambda value: "leave it out for no cap",
    ),
    "priority": _Option(_number, "a whole number, higher first", lambda value: "write for example 10", optional=False),
    "batch": _Option(
        lambda value: isinstance(value, Batch),
        "made by up_to(), any_size() or per()",
        lambda value: f"write up_to({value})" if _number(value) else _called("up_to(30)")(value),
        optional=False,
    ),
    "automation": _Option(
        lambda value: isinstance(value, Automation), "made by one of the automation words", _called("eager()")
    ),
    "code_version": _Option(_text, "a text", _as_text),
    "group": _Option(_text, "a text", _as_text),
    "owner": _Option(_text, "a text such as team:shop", _as_text),
    "tags": _Option(_table_of_texts, "texts by name", _tags),
    "kinds": _Option(_texts, "a list of texts", _as_list, optional=False),
    "description": _Option(_text, "a text", _as_text),
    "metadata": _Option(
        lambda value: isinstance(value, Mapping), "JSON values by name", lambda value: 'write {"name": value}'
    ),
    "isolation": _Option(
        lambda value: value in ("fork", "spawn"),
        '"fork" or "spawn"',
        lambda value: suggest(str(value), ("fork", "spawn")) or 'leave it out for "fork"',
        optional=False,
    ),
    "observe": _Option(lambda value: value == "push", '"push", or left out', lambda value: 'write observe="push"'),
    "blocking": _Option(
        lambda value: isinstance(value, bool), "True or False", lambda value: "write True", optional=False
    ),
    "subsettable": _Option(
        lambda value: isinstance(value, bool), "True or False", lambda value: "write True", optional=False
    ),
    "name": _Option(_text, "a text", _as_text),
}


def description_of(function: Callable[..., Any], given: str | None = None) -> str:
    """What `description=` says, or else the docstring of the function, without its indentation."""
    return given if given is not None else getdoc(function) or ""
