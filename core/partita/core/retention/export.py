"""Files of exported history: `FOLDER/TABLE/YYYY-MM-DD.parquet`, or `.csv.gz` where DuckDB is not installed.

Each is written under another name, flushed to the disk, and renamed: whoever reads a file reads a whole one. Owns the files;
what is in them is `store.queries.archive_read`'s.
"""

from __future__ import annotations

import gzip
import os
import shutil
import uuid
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path

from partita.core.store.pool import Connection
from partita.core.store.postgres.retention import day_bounds
from partita.core.store.postgres.store import PostgresStore
from partita.core.store.queries.archive_read import HISTORY, Column, columns_of, copy_day

# The type of a column in a Parquet file by its number in Postgres; all others, JSON among them, are text.
_TYPES = {20: "BIGINT", 23: "INTEGER", 701: "DOUBLE", 16: "BOOLEAN", 1184: "TIMESTAMPTZ"}


@dataclass(frozen=True, slots=True)
class WrittenDay:
    """The files of a day in a folder of their own, with the names that they are to take."""

    folder: Path
    files: dict[Path, Path]
    rows: dict[str, int]

    def publish(self) -> None:
        for now, then in self.files.items():
            then.parent.mkdir(parents=True, exist_ok=True)
            now.replace(then)
            _flush(then.parent)

    def discard(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class Archive:
    """Exports of one deployment, below a folder that all its schedulers share."""

    def __init__(self, store: PostgresStore, folder: Path) -> None:
        self._store = store
        self.folder = folder

    def export(self, day: date) -> WrittenDay:
        """Writes what the database has of a day, all tables as of one instant."""
        making = self.folder / f".making-{day}-{uuid.uuid4().hex[:12]}"
        making.mkdir(parents=True)
        files: dict[Path, Path] = {}
        rows: dict[str, int] = {}
        try:
            with self._store.read() as reader:
                connection = reader.connection
                connection.execute("SET LOCAL statement_timeout = 0")  # a day may be much, and holds up nobody
                for table in HISTORY:
                    made, rows[table] = _write(connection, table, day, making)
                    files[made] = self.folder / table / f"{day}{made.name.removeprefix(table)}"
        except BaseException:
            shutil.rmtree(making, ignore_errors=True)
            raise
        return WrittenDay(making, files, rows)


def _write(connection: Connection, table: str, day: date, folder: Path) -> tuple[Path, int]:
    made = folder / f"{table}.csv.gz"
    lower, upper = day_bounds(day)
    with gzip.open(made, "wb", compresslevel=3) as out:
        rows = copy_day(connection, table, lower, upper, out.write)
    if find_spec("duckdb") is not None:
        made = _as_parquet(made, folder / f"{table}.parquet", columns_of(connection, table))
    with made.open("rb") as file:
        os.fsync(file.fileno())
    return made, rows


def _as_parquet(source: Path, target: Path, columns: list[Column]) -> Path:
    import duckdb

    types = {name: _TYPES.get(code, "VARCHAR") for name, code in columns}
    with duckdb.connect() as engine:
        engine.execute("SET TimeZone = 'UTC'")
        read = engine.read_csv(
            str(source),
            header=True,
            columns=types,
            allow_quoted_nulls=False,
            compression="gzip",
            quotechar='"',
            escapechar='"',
        )
        read.write_parquet(str(target), compression="zstd")
    source.unlink()
    return target


def _flush(folder: Path) -> None:
    """What was renamed in it survives a loss of power."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
