"""Running the `api_*` statements on a reader. Rows are mappings whose names are the columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from psycopg import Cursor

from partita.core.store.queries.reader import Reader
from partita.core.store.sql import Statement

Row = Mapping[str, Any]
Rows = Sequence[Row]


def rows(reader: Reader, statement: Statement, **parameters: Any) -> Rows:
    """All rows of one statement."""
    with reader._connection.cursor(row_factory=_named) as cursor:
        return cursor.execute(statement.driver, parameters).fetchall()


def one(reader: Reader, statement: Statement, **parameters: Any) -> Row | None:
    """The first row, or None."""
    with reader._connection.cursor(row_factory=_named) as cursor:
        return cursor.execute(statement.driver, parameters).fetchone()


def number(reader: Reader, statement: Statement, **parameters: Any) -> int:
    """The one number that a statement gives."""
    ((found,),) = reader._connection.execute(statement.driver, parameters).fetchall()
    return int(found or 0)


def now(reader: Reader) -> datetime:
    """The instant of the reader's snapshot, on the database's clock."""
    return reader.now()


def _named(cursor: Cursor[Any]) -> Callable[[Sequence[Any]], Row]:
    """Rows as mappings. Raises ValueError for two columns of one name: the second would hide the first."""
    names = [column.name for column in cursor.description or ()]
    if len(set(names)) != len(names):
        raise ValueError(f"name the columns of the statement apart: {', '.join(names)}")
    return lambda values: dict(zip(names, values, strict=True))
