"""Between Relation and the types that user code asks for or returns.

Owns the closed list of types. Refuses to import pandas, polars or pyarrow to find out: it looks at names of modules.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from partita.assets import PartitaError
from partita.sdk.outcomes import Output
from partita.sdk.relation import Relation

_ROWS_RULE = "a store of rows takes a Relation, a list of dicts, or an Arrow, pandas or polars table"
_NEVER_ROWS = (int, float, complex, bool, str, bytes, date, datetime, timedelta, Decimal, set, Path)
_FRAMES = {"pandas": "df", "polars": "pl", "pyarrow": "arrow"}


def to_relation(value: object, owner: str) -> Relation:
    """What a step returned, as rows."""
    if isinstance(value, Relation):
        return value
    if isinstance(value, list | tuple) and all(isinstance(row, dict) for row in value):
        return Relation.from_rows(list(value))
    if _library(type(value)) in _FRAMES:
        return Relation.from_table(value)
    raise PartitaError(
        f"{owner} returned {'nothing' if value is None else f'a {type(value).__name__}'}",
        rule=_ROWS_RULE,
        fix="return one of these, or say io=None and store the value in the function",
    )


def from_relation(relation: Relation, annotation: Any, reader: str) -> Any:
    """Rows as the annotated type."""
    if annotation in (Relation, Any):
        return relation
    if _is_rows(annotation):
        return relation.dicts()
    method = _FRAMES.get(_library(annotation)) if isinstance(annotation, type) else None
    if method is not None:
        return getattr(relation, method)()
    raise _not_handed_over(annotation, reader)


def check_reading(annotation: Any, reader: str) -> None:
    """Raise PartitaError when rows can never be handed over as this type."""
    if annotation in (Relation, Any) or _is_rows(annotation):
        return
    if not isinstance(annotation, type) or _library(annotation) not in _FRAMES:
        raise _not_handed_over(annotation, reader)


def check_writing(annotation: Any, owner: str) -> None:
    """Raise PartitaError when a step says that it returns what is never rows; what is not said is seen at run time."""
    for one in _members(annotation):
        if one in _NEVER_ROWS:
            raise PartitaError(
                f"{owner} returns {one.__name__}",
                rule=_ROWS_RULE,
                fix="return one of these, or say io=None and store the value in the function",
            )


def _members(annotation: Any) -> list[Any]:
    """What is inside of `X | None`, Output[X] and Iterator[Output[X]]."""
    inner = [one for one in get_args(annotation) if one is not type(None)]
    union = get_origin(annotation) in (Union, UnionType)
    if union or get_origin(annotation) in (Output, Iterator, Iterable, Generator):
        return [member for one in (inner if union else inner[:1]) for member in _members(one)]
    return [annotation]


def _is_rows(annotation: Any) -> bool:
    origin = get_origin(annotation) or annotation
    return origin is list and (not get_args(annotation) or (get_origin(get_args(annotation)[0]) or dict) is dict)


def _not_handed_over(annotation: Any, reader: str) -> PartitaError:
    return PartitaError(
        f"{reader} is annotated {annotation!r}",
        rule="rows are handed over as Relation, list[dict[str, Any]], pandas.DataFrame, polars.DataFrame or pyarrow.Table",
        fix="annotate it Relation and convert in the function",
    )


def wants_paths(annotation: Any) -> bool:
    """Whether a step asks for the files themselves: list[Path]."""
    return get_origin(annotation) is list and get_args(annotation) == (Path,)


def _library(kind: type) -> str:
    return kind.__module__.partition(".")[0]
