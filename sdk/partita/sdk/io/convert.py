"""Between Relation and the types that user code asks for or returns.

Owns the closed list of types. Refuses to import pandas, polars or pyarrow to find out: it looks at names of modules.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args, get_origin

from partita.assets import PartitaError
from partita.sdk.relation import Relation

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
        rule="a store of rows takes a Relation, a list of dicts, or an Arrow, pandas or polars table",
        fix="return one of these, or say io=None and store the value in the function",
    )


def from_relation(relation: Relation, annotation: Any, reader: str) -> Any:
    """Rows as the annotated type."""
    if annotation in (Relation, Any):
        return relation
    origin = get_origin(annotation) or annotation
    if origin is list and (not get_args(annotation) or (get_origin(get_args(annotation)[0]) or dict) is dict):
        return relation.dicts()
    method = _FRAMES.get(_library(annotation)) if isinstance(annotation, type) else None
    if method is not None:
        return getattr(relation, method)()
    raise PartitaError(
        f"{reader} is annotated {annotation!r}",
        rule="rows are handed over as Relation, list[dict[str, Any]], pandas.DataFrame, polars.DataFrame or pyarrow.Table",
        fix="annotate it Relation and convert in the function",
    )


def wants_paths(annotation: Any) -> bool:
    """Whether a step asks for the files themselves: list[Path]."""
    return get_origin(annotation) is list and get_args(annotation) == (Path,)


def _library(kind: type) -> str:
    return kind.__module__.partition(".")[0]
