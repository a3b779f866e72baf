"""The lake: Parquet files, one for each asset and attempt, written and read through DuckDB.

Owns files under its root. A file is never changed once it has its name: an attempt writes under a name of its own, and the
publication of a cell is the control plane's pointer to it. Several cells of one attempt share a file, told apart by the
hidden column `__cell`. A cell that was derived from cells of another partition scheme points to their files.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from partita.assets import PartitaError
from partita.assets.locations import location_parts
from partita.sdk import engine
from partita.sdk.io.assign import CELL_COLUMN, with_cells
from partita.sdk.io.base import IOManager, PerCell, ReadContext, WriteContext, Written
from partita.sdk.io.convert import check_reading, check_writing, from_relation, to_relation, wants_paths
from partita.sdk.io.digest import data_version, row_hash
from partita.sdk.relation import Relation

_SCHEME = "lake:"
_CELL = "cell="


@dataclass(frozen=True)
class Lake(IOManager):
    """Parquet under `root`; None: the folder in PARTITA_LAKE, else `.partita/lake` below the current folder.

    Every asset is stored here (as `io="lake"`) unless it says otherwise; name a second one to keep data elsewhere.

    >>> from pathlib import Path
    >>> @asset(io=Lake("archive", Path("/mnt/archive")))
    ... def orders() -> Relation: ...
    >>> Lake("archive", Path("/mnt/archive")) == Lake("archive", Path("/mnt/archive"))
    True
    """

    name: str = field(default="lake")
    root: Path | None = None

    def preload(self) -> None:
        """Import DuckDB, where it is installed."""
        engine.preload()

    def check_reading(self, annotation: Any, reader: str) -> None:
        """Rows as one of the known types, or the files themselves."""
        if not wants_paths(annotation):
            check_reading(annotation, reader)

    def check_writing(self, annotation: Any, owner: str) -> None:
        """Anything that may be rows."""
        check_writing(annotation, owner)

    def write(self, ctx: WriteContext, value: Any) -> list[Written]:
        """Write one file; every row must belong to a cell of the task."""
        owner = f"asset {ctx.asset!r}"
        rows = _storable(_rows_with_cells(ctx, value, owner))
        file = self._file(ctx)
        file.parent.mkdir(parents=True, exist_ok=True)
        unnamed = file.with_name(f".{file.name}.{os.getpid()}.tmp")
        try:
            _copy(rows, unnamed)
            _refuse_strays(ctx, unnamed, rows, owner)
            written = _describe(ctx, unnamed, file)
            _keep(unnamed, file)
        finally:
            unnamed.unlink(missing_ok=True)
        return written

    def read(self, ctx: ReadContext) -> Any:
        """The union of the cells, columns matched by name."""
        cells_by_file: dict[Path, list[int] | None] = {}
        for location in (part for cell in ctx.cells for part in location_parts(cell.location)):
            file, number = parse_location(location)
            if number is None:
                cells_by_file[file] = None
            else:
                numbers = cells_by_file.setdefault(file, [])
                if numbers is not None:
                    numbers.append(number)
        if wants_paths(ctx.annotation):
            return list(cells_by_file)
        if not cells_by_file:
            raise PartitaError(
                f"{ctx.reader}: {ctx.asset!r} has no partition to read here, so its columns are not known",
                rule="an input holds one published partition or more",
                fix="change the mapping, or materialize the upstream",
            )
        return from_relation(_union(cells_by_file), ctx.annotation, ctx.reader)

    def _file(self, ctx: WriteContext) -> Path:
        root = self.root or Path(os.environ.get("PARTITA_LAKE") or ".partita/lake")
        folders = ctx.asset.split("/")
        if any(set(one) == {"."} for one in [*folders, ctx.attempt_id]) or "/" in ctx.attempt_id:
            raise PartitaError(
                f"asset {ctx.asset!r} cannot be stored in the lake",
                rule="its key becomes folders, and '.' and '..' are no names of folders",
                fix="rename the asset",
            )
        return root.absolute().joinpath(*folders, f"{ctx.attempt_id}.parquet")


def parse_location(location: str) -> tuple[Path, int | None]:
    """The file of a cell, and its number in the file when it shares it."""
    if not location.startswith(_SCHEME):
        raise PartitaError(f"{location!r} is no location in the lake", rule="it begins with 'lake:file:'")
    parts = urlsplit(location[len(_SCHEME) :])
    number = int(parts.fragment[len(_CELL) :]) if parts.fragment.startswith(_CELL) else None
    return Path(unquote(parts.path)), number


def remove_file(location: str) -> bool:
    """Remove a file of the lake that nothing points to any more. True also when it is not there; False when its folder is not,
    so that nobody here can say. Raises OSError.
    """
    file, _ = parse_location(location)
    if not file.parent.is_dir():
        return False
    file.unlink(missing_ok=True)
    return True


def _rows_with_cells(ctx: WriteContext, value: Any, owner: str) -> Relation:
    """The rows to write: as they are for one cell, else with their `__cell`."""
    if isinstance(value, PerCell):
        if len(ctx.cells) == 1:
            return to_relation(value.values[ctx.cells[0].partition], owner)
        return _stacked(ctx, value, owner)
    relation = to_relation(value, owner)
    if CELL_COLUMN in relation.columns:
        raise PartitaError(f"{owner} returned a column {CELL_COLUMN!r}", rule="that name is the lake's own")
    if ctx.partition_columns is None:
        if len(ctx.cells) > 1:
            raise PartitaError(
                f"{owner} made {len(ctx.cells)} partitions in one task and returned one value",
                rule="the rows must say which partition they belong to",
                fix="say partition_columns=..., or yield Output(value, partition=key) for each",
            )
        return relation
    assert ctx.partitions is not None
    query = with_cells(relation.name, relation.columns, ctx.cells, ctx.partitions, ctx.partition_columns, owner)
    return Relation(engine.view(query), [relation])


def _stacked(ctx: WriteContext, value: PerCell, owner: str) -> Relation:
    parts = {number: to_relation(value.values[cell.partition], owner) for number, cell in enumerate(ctx.cells)}
    query = " union all by name ".join(
        f"select *, {number}::integer as {CELL_COLUMN} from {one.name}"  # noqa: S608 - our own names
        for number, one in parts.items()
    )
    return Relation(engine.view(query), parts.values())


def _storable(rows: Relation) -> Relation:
    """The rows in types that Parquet has. DuckDB would store the HUGEINT of sum(BIGINT) as DOUBLE without a word."""
    wide = [engine.identifier(name) for name, kind in rows.columns.items() if kind in ("HUGEINT", "UHUGEINT")]
    if not wide:
        return rows
    narrowed = ", ".join(f"{column}::bigint as {column}" for column in wide)  # too large a value is an error
    return rows.sql(f"select * replace ({narrowed}) from self")  # noqa: S608 - quoted names


def _copy(rows: Relation, file: Path) -> None:
    target = engine.literal(str(file))
    engine.connection().execute(f"copy (from {rows.name}) to {target} (format parquet, compression zstd)")


def _refuse_strays(ctx: WriteContext, file: Path, rows: Relation, owner: str) -> None:
    if ctx.partition_columns is None:
        return
    columns = ctx.partition_columns
    named = [columns] if isinstance(columns, str) else list(columns.values())
    shown = ", ".join(f"{engine.identifier(one)}::varchar" for one in named)
    source = f"from read_parquet({engine.literal(str(file))}) where {CELL_COLUMN} is null"
    strays = Relation.from_sql(f"select count(*) {source}").scalar()
    if not strays:
        return
    first = Relation.from_sql(f"select {shown} {source} limit 1").fetchall()[0]
    example = ", ".join(f"{name}={value}" for name, value in zip(named, first, strict=True))
    raise PartitaError(
        f"{owner}: {strays:,} of its rows belong to no partition of this task, for example {example}",
        rule=f"the task makes {_span(ctx)}; a row belongs where its partition columns say",
        fix="select only the rows of the task's partitions",
    )


def _describe(ctx: WriteContext, file: Path, final: Path) -> list[Written]:
    """The cells as they stand in the file: rows and digests are computed from what was stored."""
    stored = Relation.from_parquet(file)
    columns = {name: kind for name, kind in stored.columns.items() if name != CELL_COLUMN}
    numbered = CELL_COLUMN in stored.columns
    number = CELL_COLUMN if numbered else "0"
    sums = stored.sql(
        f"select {number}, count(*), sum({row_hash(columns)}::hugeint) from self group by 1"  # noqa: S608
    ).fetchall()
    found = {cell: (rows, total) for cell, rows, total in sums}
    size = file.stat().st_size
    uri = final.as_uri()
    return [
        Written(
            partition=cell.partition,
            location=f"{_SCHEME}{uri}#{_CELL}{position}" if numbered else f"{_SCHEME}{uri}",
            data_version=data_version(columns, *found.get(position, (0, 0))),
            rows=found.get(position, (0, 0))[0],
            metadata={} if numbered else {"bytes": size},
        )
        for position, cell in enumerate(ctx.cells)
    ]


def _keep(unnamed: Path, file: Path) -> None:
    """Give the file its name once its bytes are on disk; a crash leaves no half file under a published name."""
    for path in (unnamed, unnamed.parent):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if path is unnamed:
            unnamed.replace(file)


def _union(cells_by_file: dict[Path, list[int] | None]) -> Relation:
    whole = [file for file, numbers in cells_by_file.items() if numbers is None]
    parts: list[Relation] = [Relation.from_parquet(*whole)] if whole else []
    for file, numbers in cells_by_file.items():
        if numbers is not None:
            chosen = ", ".join(str(number) for number in sorted(set(numbers)))
            rows = f"read_parquet({engine.literal(str(file))}) where {CELL_COLUMN} in ({chosen})"
            parts.append(Relation(engine.view(f"select * exclude ({CELL_COLUMN}) from {rows}")))  # noqa: S608
    if len(parts) == 1:
        return parts[0]
    return Relation(engine.view(" union all by name ".join(f"from {one.name}" for one in parts)), parts)


def _span(ctx: WriteContext) -> str:
    first, last = ctx.cells[0].partition, ctx.cells[-1].partition
    return first if first == last else f"{len(ctx.cells)} partitions, {first} to {last}"


def read_relation(cells: Sequence[str]) -> Relation:
    """The rows at these lake locations, for tools that hold locations and no attempt."""
    from partita.assets import AssetKey
    from partita.sdk.runtime_values import InputCell

    inputs = tuple(InputCell("", "", location) for location in cells)
    found = Lake().read(ReadContext(AssetKey("lake"), inputs, Relation, "read_relation"))
    assert isinstance(found, Relation)
    return found
