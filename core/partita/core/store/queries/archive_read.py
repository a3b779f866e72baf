"""The history of one day, as CSV from the server, for exports. Each statement reads what `delete_history` deletes of the day."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from psycopg import sql

from partita.core.store.pool import Connection

_RUNS = "r.finished_at >= {lower} AND r.finished_at < {upper}"
_OF_RUNS = "JOIN run r ON r.id = h.run_id WHERE " + _RUNS
_OF_TASKS = "JOIN task t ON t.id = h.task_id JOIN run r ON r.id = t.run_id WHERE " + _RUNS
_OF_ATTEMPTS = "JOIN attempt a ON a.id = h.attempt_id " + _OF_TASKS.replace("h.task_id", "a.task_id")
_WRITTEN = "WHERE h.at >= {lower} AND h.at < {upper}"

# By table how its rows of a day are found. Edges between tasks, tallies that were folded and joined requests are not kept.
HISTORY = {
    "run": "WHERE " + _RUNS.replace("r.", "h."),
    "run_pin": _OF_RUNS,
    "run_tag": _OF_RUNS,
    "task": _OF_RUNS,
    "task_cell": _OF_TASKS,
    "wait": _OF_TASKS,
    "attempt": _OF_TASKS,
    "check_result": _OF_ATTEMPTS,
    "automation_request": _WRITTEN + " AND h.run_id IS NOT NULL",
    "event": _WRITTEN,
}

Write = Callable[[bytes | bytearray | memoryview], object]
Column = tuple[str, int]
"""Name, and the number of the type in Postgres."""


def columns_of(connection: Connection, table: str) -> list[Column]:
    """The columns of a table."""
    found = connection.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(sql.Identifier(table))).description or []
    return [(column.name, column.type_code) for column in found]


def copy_day(connection: Connection, table: str, lower: datetime, upper: datetime, write: Write) -> int:
    """Writes the rows of a day as CSV with a head; returns how many there were. Absent values are empty, empty texts quoted."""
    rows = sql.SQL("SELECT h.* FROM {} h " + HISTORY[table]).format(  # noqa: S608 - of constants of this module
        sql.Identifier(table), lower=sql.Literal(lower), upper=sql.Literal(upper)
    )
    with connection.cursor() as cursor:
        with cursor.copy(sql.SQL("COPY ({}) TO STDOUT WITH (FORMAT csv, HEADER)").format(rows)) as copy:
            for part in copy:
                write(part)
        return cursor.rowcount
