"""The DuckDB of this process: in memory, opened at first use, never inherited over a fork.

Owns the connection and the names of relations in it. Refuses to reach the network: extensions are not downloaded.
"""

from __future__ import annotations

import itertools
import os
import weakref
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from partita.assets import PartitaError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_connections: dict[int, DuckDBPyConnection] = {}
"""By process id: a connection that a fork inherited holds locks of threads that do not exist in the child."""
_numbers = itertools.count(1)
_unused: list[tuple[int, str]] = []
"""Views of relations that nobody holds any more. A finalizer may run anywhere, so it only notes the name."""


def connection() -> DuckDBPyConnection:
    """The connection of this process."""
    pid = os.getpid()
    if pid not in _connections:
        # One that a fork inherited stays where it is: closing it would wait for threads that only the parent has.
        _connections[pid] = _open()
    return _connections[pid]


def preload() -> None:
    """Import DuckDB if it is there. It starts no thread before a connection is opened, so a fork may follow."""
    with suppress(ImportError):
        import_module("duckdb")


def view(query: str) -> str:
    """Name a query; the view costs nothing until it is read."""
    name = f"r{next(_numbers)}"
    con = connection()
    _drop_unused(con)
    con.execute(f"create temp view {name} as {query}")
    return name


def table(query: str, parameters: list[Any] | None = None) -> str:
    """Keep the rows of a query in memory under a name."""
    name = f"t{next(_numbers)}"
    con = connection()
    _drop_unused(con)
    con.execute(f"create temp table {name} as {query}", parameters or [])
    return name


def forget_with(owner: object, name: str) -> None:
    """Drop the view or table `name` some time after `owner` is gone."""
    weakref.finalize(owner, _unused.append, (os.getpid(), name)).atexit = False


def identifier(name: str) -> str:
    """`name` quoted as an SQL identifier; any text is legal."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` quoted as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def _open() -> DuckDBPyConnection:
    try:
        import duckdb
    except ImportError:
        raise PartitaError(
            "DuckDB is not installed in this environment",
            rule="the lake, DuckDB files and Relation are read and written through DuckDB",
            fix="install partita[lake]",
        ) from None
    con = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    # One zone everywhere: texts of timestamps, and with them data versions, must not depend on the machine.
    con.execute("set TimeZone = 'UTC'")
    con.execute("set parquet_metadata_cache = true")
    con.execute("set enable_progress_bar = false")  # it would be printed into the step's log
    threads = os.environ.get("PARTITA_DUCKDB_THREADS")
    if threads:
        con.execute("set threads = ?", [int(threads)])
    return con


def _drop_unused(con: DuckDBPyConnection) -> None:
    while _unused:
        pid, name = _unused.pop()
        if pid == os.getpid():
            con.execute(f"drop {'view' if name.startswith('r') else 'table'} if exists {name}")
