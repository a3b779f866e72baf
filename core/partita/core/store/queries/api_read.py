"""Running the `api_*` statements on a reader. Rows are mappings whose names are the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import TextClause

from partita.core.store.queries.reader import Reader

Row = Mapping[str, Any]
Rows = Sequence[Row]


def rows(reader: Reader, statement: TextClause, **parameters: Any) -> Rows:
    """All rows of one statement."""
    return cast(Rows, reader._connection.execute(statement, parameters).mappings().fetchall())


def one(reader: Reader, statement: TextClause, **parameters: Any) -> Row | None:
    """The first row, or None."""
    return cast(Row | None, reader._connection.execute(statement, parameters).mappings().first())


def number(reader: Reader, statement: TextClause, **parameters: Any) -> int:
    """The one number that a statement gives."""
    return int(reader._connection.execute(statement, parameters).scalar_one() or 0)


def now(reader: Reader) -> datetime:
    """The instant of the reader's snapshot, on the database's clock."""
    return reader.now()
