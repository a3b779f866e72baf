"""Which cell of a task each row belongs to, by its columns.

Owns the SQL that finds the cell. A time dimension takes a timestamp that falls in the window (a naive one is UTC; a DATE
is a local date of the asset's zone), any other dimension a value whose text equals the key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

from partita.assets import MultiPartitions, PartitaError, PartitionsDef, TimePartitions, split_key
from partita.sdk import engine
from partita.sdk.definitions import PartitionColumns
from partita.sdk.runtime_values import TargetCell

CELL_COLUMN = "__cell"


def with_cells(
    relation: str,
    columns: Mapping[str, str],
    cells: Sequence[TargetCell],
    partitions: PartitionsDef,
    by: PartitionColumns,
    owner: str,
) -> str:
    """A query: the rows of `relation` with the position of their cell in `cells` as `__cell`; NULL when none fits."""
    schemes = dict(partitions.dims) if isinstance(partitions, MultiPartitions) else {"": partitions}
    named = {"": by} if isinstance(by, str) else dict(by)
    for column in named.values():
        if column not in columns:
            raise PartitaError(
                f"{owner}: partition column {column!r} is not in what was returned",
                rule=f"its columns are {', '.join(columns)}",
                fix="return the column, or correct partition_columns=",
            )
    lookup = _cell_table(cells, schemes)
    conditions = [
        _condition(f"d.{engine.identifier(named[name])}", columns[named[name]], position, scheme, owner)
        for position, (name, scheme) in enumerate(schemes.items())
    ]
    return (
        f"select d.*, c.n as {CELL_COLUMN} from {relation} d "  # noqa: S608 - names are ours or quoted
        f"left join {lookup} c on {' and '.join(conditions)}"
    )


def _cell_table(cells: Sequence[TargetCell], schemes: Mapping[str, PartitionsDef]) -> str:
    rows = []
    for number, cell in enumerate(cells):
        keys = split_key(cell.partition) if len(schemes) > 1 else (cell.partition,)
        assert keys is not None
        row: dict[str, object] = {"n": number, "us0": cell.window_start_us, "us1": cell.window_end_us}
        for position, (key, scheme) in enumerate(zip(keys, schemes.values(), strict=True)):
            row[f"k{position}"] = key
            if isinstance(scheme, TimePartitions) and cell.window is not None:
                start, end = (one.astimezone(ZoneInfo(scheme.tz)).replace(tzinfo=None) for one in cell.window)
                row.update(wall0=start, wall1=end)
        rows.append(row)
    keys_sql = ", ".join(f"k{position} varchar" for position in range(len(schemes)))
    struct = f"struct(n integer, us0 bigint, us1 bigint, {keys_sql}, wall0 timestamp, wall1 timestamp)"
    whole = [{"wall0": None, "wall1": None, **row} for row in rows]
    return engine.table(f"select s.* from (select unnest(cast(? as {struct}[])) as s)", [whole])  # noqa: S608


def _condition(column: str, kind: str, position: int, scheme: PartitionsDef, owner: str) -> str:
    if not isinstance(scheme, TimePartitions):
        return f"{column}::varchar = c.k{position}"
    if kind == "DATE":
        return f"{column}::timestamp >= c.wall0 and {column}::timestamp < c.wall1"
    if kind.startswith("TIMESTAMP"):
        return f"epoch_us({column}) >= c.us0 and epoch_us({column}) < c.us1"
    raise PartitaError(
        f"{owner}: partition column {column.removeprefix('d.')} is {kind}",
        rule="a time dimension needs a timestamp or a date",
        fix="convert the column",
    )
