"""One DuckDB file as a store: a table for each asset, replaced partition by partition.

Owns the file, its fence table and the lock beside it. DuckDB admits one writer and partita does not version such a file, so
(1) every attempt that writes takes the one slot of the pool `duckdb:NAME`, (2) rows wait in a staging table until the checks
have passed, and (3) the transaction that replaces a partition compares the fence of the cell first: an attempt that was
given up for lost cannot overwrite a newer one. The store commits before the control plane's pointer flips.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from partita.assets import PartitaError
from partita.sdk import engine
from partita.sdk.io.assign import CELL_COLUMN, with_cells
from partita.sdk.io.base import IOManager, PerCell, ReadContext, WriteContext, Written
from partita.sdk.io.convert import check_reading, check_writing, from_relation, to_relation
from partita.sdk.io.digest import data_version, row_hash
from partita.sdk.relation import Relation

_SCHEME = "duckdb:"
_PARTITION = "__partition"
_FENCES = "__partita_fence"
_STAGE = "__partita_stage/"
_ALIAS = "partita_file"


@dataclass(frozen=True)
class DuckDBFile(IOManager):
    """The DuckDB file at `path`, known to the location as `name`: a table for each asset, replaced partition by
    partition.

    DuckDB has one writer, so every attempt that writes takes the one slot of the pool `duckdb:NAME`. Raises
    PartitaError when a newer attempt has already replaced the partition.

    >>> shop = DuckDBFile("shop", "shop.duckdb")
    >>> @asset(io=shop)
    ... def orders() -> Relation: ...
    >>> shop.pools
    {'duckdb:shop': 1}
    """

    name: str
    path: str

    @property
    def pools(self) -> Mapping[str, int]:
        """The pool of one slot that stands for the one writer."""
        return {f"duckdb:{self.name.removeprefix('duckdb:')}": 1}

    def preload(self) -> None:
        """Import DuckDB, where it is installed."""
        engine.preload()

    def check_reading(self, annotation: Any, reader: str) -> None:
        """Rows as one of the known types."""
        check_reading(annotation, reader)

    def check_writing(self, annotation: Any, owner: str) -> None:
        """Anything that may be rows."""
        check_writing(annotation, owner)

    def write(self, ctx: WriteContext, value: Any) -> list[Written]:
        """Put the rows in a staging table of this attempt; the published partitions stay as they are."""
        owner = f"asset {ctx.asset!r}"
        rows = _by_partition(ctx, value, owner)
        stage = _stage(ctx)
        with _attached(Path(self.path), write=True) as file:
            engine.connection().execute(f"create or replace table {file}.{stage} as from {rows.name}")
            return _describe(ctx, f"{file}.{stage}", self._location, _STAGE + ctx.attempt_id)

    def commit(self, ctx: WriteContext, written: Sequence[Written]) -> list[Written]:
        """Replace the partitions in one transaction, unless a newer attempt has already done so."""
        con = engine.connection()
        final = []
        with _attached(Path(self.path), write=True) as file:
            con.execute("begin")
            try:
                _make_tables(file, ctx)
                for one in written:
                    _refuse_stale_fence(file, ctx, one.partition)
                    _replace(file, ctx, one)
                    location = self._location(ctx, one.partition, "")
                    final.append(Written(one.partition, location, one.data_version, one.rows, one.metadata))
                con.execute(f"drop table {file}.{_stage(ctx)}")
                con.execute("commit")
            except BaseException:
                con.execute("rollback")
                raise
        return final

    def discard(self, ctx: WriteContext, written: Sequence[Written]) -> None:
        """Drop the staging table."""
        with _attached(Path(self.path), write=True) as file:
            engine.connection().execute(f"drop table if exists {file}.{_stage(ctx)}")

    def read(self, ctx: ReadContext) -> Any:
        """Copy the cells, so that the file is free again before the step starts."""
        wanted = [parse_location(cell.location) for cell in ctx.cells]
        if not wanted:
            raise PartitaError(
                f"{ctx.reader}: {ctx.asset!r} has no partition to read here, so its columns are not known",
                rule="an input holds one published partition or more",
                fix="change the mapping, or materialize the upstream",
            )
        tables: dict[str, list[str]] = {}  # several, when the asset was renamed since some of its cells were made
        for one in wanted:
            tables.setdefault(one.table, []).append(one.partition)
        with _attached(wanted[0].path, write=False) as file:
            query = " union all by name ".join(
                f"select * exclude ({_PARTITION}) from {file}.{engine.identifier(table)} where {_PARTITION} = any(?)"  # noqa: S608
                for table in tables
            )
            relation = Relation(engine.table(query, list(tables.values())))
        return from_relation(relation, ctx.annotation, ctx.reader)

    def _location(self, ctx: WriteContext, partition: str, stage: str) -> str:
        table = stage or ctx.asset
        place = json.dumps([table, partition], ensure_ascii=False, separators=(",", ":"))
        return f"{_SCHEME}{Path(self.path).absolute().as_uri()}#{quote(place, safe='')}"


@dataclass(frozen=True, slots=True)
class _Place:
    path: Path
    table: str
    partition: str


def parse_location(location: str) -> _Place:
    """File, table and partition of a cell."""
    parts = urlsplit(location.removeprefix(_SCHEME))
    table, partition = json.loads(unquote(parts.fragment))
    return _Place(Path(unquote(parts.path)), table, partition)


def _stage(ctx: WriteContext) -> str:
    return engine.identifier(f"{_STAGE}{ctx.attempt_id}")


def _by_partition(ctx: WriteContext, value: Any, owner: str) -> Relation:
    """The rows with the key of their partition."""
    con = engine.connection()
    keys = {number: engine.literal(cell.partition) for number, cell in enumerate(ctx.cells)}
    if isinstance(value, PerCell):
        parts = {number: to_relation(value.values[cell.partition], owner) for number, cell in enumerate(ctx.cells)}
        stacked = " union all by name ".join(
            f"select *, {keys[number]} as {_PARTITION} from {one.name}"  # noqa: S608
            for number, one in parts.items()
        )
        return Relation(engine.view(stacked), parts.values())
    relation = to_relation(value, owner)
    if len(ctx.cells) == 1 and ctx.partition_columns is None:
        return relation.sql(f"select *, {keys[0]} as {_PARTITION} from self")  # noqa: S608
    if ctx.partition_columns is None or ctx.partitions is None:
        raise PartitaError(
            f"{owner} made {len(ctx.cells)} partitions in one task and returned one value",
            rule="the rows must say which partition they belong to",
            fix="say partition_columns=..., or yield Output(value, partition=key) for each",
        )
    columns = relation.columns
    query = with_cells(relation.name, columns, ctx.cells, ctx.partitions, ctx.partition_columns, owner)
    assigned = Relation(engine.table(query))
    found = con.execute(f"select count(*) from {assigned.name} where {CELL_COLUMN} is null").fetchone()  # noqa: S608
    if found is not None and found[0]:
        raise PartitaError(
            f"{owner}: {found[0]:,} of its rows belong to no partition of this task",
            rule="a row belongs where its partition columns say",
            fix="select only the rows of the task's partitions",
        )
    named = " ".join(f"when {number} then {key}" for number, key in keys.items())
    return assigned.sql(f"select * exclude ({CELL_COLUMN}), case {CELL_COLUMN} {named} end as {_PARTITION} from self")  # noqa: S608


def _describe(ctx: WriteContext, table: str, location: Any, stage: str) -> list[Written]:
    con = engine.connection()
    described = con.execute(f"describe from {table}").fetchall()
    columns = {row[0]: row[1] for row in described if row[0] != _PARTITION}
    sums = con.execute(
        f"select {_PARTITION}, count(*), sum({row_hash(columns)}::hugeint) from {table} group by all"  # noqa: S608
    ).fetchall()
    found = {partition: (rows, total) for partition, rows, total in sums}
    return [
        Written(
            partition=cell.partition,
            location=location(ctx, cell.partition, stage),
            data_version=data_version(columns, *found.get(cell.partition, (0, 0))),
            rows=found.get(cell.partition, (0, 0))[0],
        )
        for cell in ctx.cells
    ]


def _make_tables(file: str, ctx: WriteContext) -> None:
    con = engine.connection()
    table = f"{file}.{engine.identifier(ctx.asset)}"
    con.execute(f"create table if not exists {table} as from {file}.{_stage(ctx)} limit 0")
    con.execute(
        f"create table if not exists {file}.{_FENCES} "
        "(asset varchar, partition varchar, fence ubigint, attempt_id varchar, primary key (asset, partition))"
    )
    known = {row[0] for row in con.execute(f"describe from {table}").fetchall()}
    for column, kind, *_ in con.execute(f"describe from {file}.{_stage(ctx)}").fetchall():
        if column not in known:
            con.execute(f"alter table {table} add column {engine.identifier(column)} {kind}")


def _refuse_stale_fence(file: str, ctx: WriteContext, partition: str) -> None:
    newest = (
        engine.connection()
        .execute(f"select fence from {file}.{_FENCES} where asset = ? and partition = ?", [ctx.asset, partition])  # noqa: S608
        .fetchone()
    )
    if newest is not None and newest[0] > ctx.fence:
        raise PartitaError(
            f"asset {ctx.asset!r} partition {partition!r}: attempt {ctx.attempt_id} holds fence {ctx.fence}, "
            f"the store has seen {newest[0]}",
            rule="an attempt that was given up must not overwrite a newer one",
            fix="nothing: the newer attempt's data stands",
        )


def _replace(file: str, ctx: WriteContext, one: Written) -> None:
    con = engine.connection()
    table = f"{file}.{engine.identifier(ctx.asset)}"
    con.execute(f"delete from {table} where {_PARTITION} = ?", [one.partition])  # noqa: S608
    con.execute(
        f"insert into {table} by name from {file}.{_stage(ctx)} where {_PARTITION} = ?",
        [one.partition],
    )
    con.execute(
        f"insert or replace into {file}.{_FENCES} values (?, ?, ?, ?)",  # noqa: S608
        [ctx.asset, one.partition, ctx.fence, ctx.attempt_id],
    )


@contextmanager
def _attached(path: Path, *, write: bool) -> Iterator[str]:
    """The file, attached under an alias. Other processes are waited for: DuckDB itself would refuse at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX if write else fcntl.LOCK_SH)
        con = engine.connection()
        mode = "" if write else " (read_only)"
        con.execute(f"attach {engine.literal(str(path))} as {_ALIAS}{mode}")
        try:
            yield _ALIAS
        finally:
            con.execute(f"detach {_ALIAS}")
    finally:
        os.close(lock)  # releases the lock
