"""A write of many rows that agree in most of what they write: that crosses once, as one value in place of an array of it.

Of five hundred tasks that are admitted together twenty of twenty-five columns are the same in all rows; as arrays they were a
third of the processor time of that write, the server's and the client's. Owns how such a form is made of the statement that takes
arrays, which stays the one place where the write is told. What a statement compares with stays an array: a constant there could
make the planner go by another index. And few rows stay whole, so that small writes are one statement, which is prepared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from partita.core.store.sql import Statement, text

MANY_ROWS = 32
"""From so many on it pays: a form that was not prepared yet costs half a millisecond."""

_ROWS = re.compile(r"unnest\((?P<arrays>.*?)\)\s+(?:WITH ORDINALITY\s+)?AS u\((?P<names>.*?)\)", re.DOTALL)
_ARRAY = re.compile(r"CAST\(:(\w+) AS (\w+)\[\]\)")


def narrow(statement: Statement, columns: Mapping[str, Sequence[Any]]) -> tuple[Statement, Mapping[str, Any]]:
    """The statement and its parameters, of which all are `columns` of rows, with what all rows agree in as one value."""
    rows = len(next(iter(columns.values())))
    if rows < MANY_ROWS:
        return statement, columns
    once = frozenset(name for name in may_be_one(statement) if _agree(columns[name], rows))
    if not once:
        return statement, columns
    values = {name: _one(column[0]) if name in once else column for name, column in columns.items()}
    return narrowed(statement, once), values


@lru_cache(maxsize=512)
def narrowed(statement: Statement, once: frozenset[str]) -> Statement:
    """The statement that takes one value, as text, for each of the marks `once`, and arrays for its others.

    >>> sets = text("UPDATE t SET a = u.a FROM unnest(CAST(:ids AS bigint[]), CAST(:all AS text[])) AS u(id, a)")
    >>> str(narrowed(sets, frozenset({"all"})))
    'UPDATE t SET a = CAST(:all AS text) FROM unnest(CAST(:ids AS bigint[])) AS u(id)'
    """
    source = str(statement)
    rows = _rows_of(statement)
    arrays = _ARRAY.findall(rows["arrays"])
    names = [name.strip() for name in rows["names"].split(",")]
    kept = [(mark, of, name) for (mark, of), name in zip(arrays, names, strict=False) if mark not in once]
    placed = names[len(arrays) :]  # by WITH ORDINALITY
    for (mark, of), name in zip(arrays, names, strict=False):
        if mark in once:
            source = re.sub(rf"\bu\.{name}\b", f"CAST(:{mark} AS {of})", source)
    source = source.replace(rows["arrays"], ", ".join(f"CAST(:{mark} AS {of}[])" for mark, of, _ in kept))
    source = source.replace(f"u({rows['names']})", f"u({', '.join([*(name for *_, name in kept), *placed])})")
    return replace(text(source), whole=statement)


@lru_cache(maxsize=64)
def may_be_one(statement: Statement) -> tuple[str, ...]:
    """The marks of arrays that are written and nothing else."""
    rows = _rows_of(statement)
    after = str(statement)[rows.end() :]
    names = [name.strip() for name in rows["names"].split(",")]
    return tuple(
        mark
        for (mark, _), name in zip(_ARRAY.findall(rows["arrays"]), names, strict=False)
        if re.search(rf"\bu\.{name}\b", after) is None
    )


def _rows_of(statement: Statement) -> re.Match[str]:
    found = _ROWS.search(str(statement))
    assert found is not None, f"no rows AS u(...) in {statement}"
    return found


def _agree(column: Sequence[Any], rows: int) -> bool:
    first = column[0]
    return bool(first == column[-1]) and column.count(first) == rows


def _one(value: Any) -> str | None:
    """As text, of no type until the statement casts it: so one form is one prepared statement, whatever the values are."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "t" if value else "f"
    return value.isoformat() if isinstance(value, datetime) else repr(value)
