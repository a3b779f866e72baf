"""Statements as the driver takes them, for those that run on its own cursor: operations, and readers of large answers."""

from __future__ import annotations

from functools import cache

from sqlalchemy import TextClause
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

_DIALECT = PGDialect_psycopg()  # type: ignore[no-untyped-call]


@cache
def driver_sql(statement: TextClause) -> bytes:
    """The statement with the driver's parameter marks."""
    return str(statement.compile(dialect=_DIALECT)).encode()
