"""Relation: rows in DuckDB, named but not loaded. What steps are given, and what they return.

Owns a thin face over SQL. Importing it loads no DuckDB; the first relation does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from partita.assets import PartitaError
from partita.sdk import engine

if TYPE_CHECKING:
    import pyarrow

Rows = Sequence[Mapping[str, Any]]


class Relation:
    """Rows with named, typed columns. Nothing is read before the rows are asked for.

    Relations of one process can be joined: `flights.sql("select ... from self join weather using (origin)",
    weather=weather)`.

    >>> orders = Relation.from_rows([{"shop": "EWR", "amount": 3}, {"shop": "JFK", "amount": 4}])
    >>> shops = Relation.from_rows([{"shop": "EWR", "city": "Newark"}, {"shop": "JFK", "city": "New York"}])
    >>> joined = orders.sql("select city, amount from self join shops using (shop) order by city", shops=shops)
    >>> joined.columns, joined.fetchall()
    ({'city': 'VARCHAR', 'amount': 'BIGINT'}, [('New York', 4), ('Newark', 3)])
    """

    __slots__ = ("__weakref__", "_parents", "name")

    def __init__(self, name: str, parents: Iterable[object] = ()) -> None:
        self.name = name
        """Its name in the DuckDB of this process."""
        self._parents = tuple(parents)  # what a view reads must live as long
        engine.forget_with(self, name)

    @classmethod
    def from_sql(cls, query: str, /, **relations: Relation) -> Relation:
        """The rows of a query, which may name `relations` by their keywords."""
        if not relations:
            return cls(engine.view(_inner(query)))
        named = ", ".join(f"{engine.identifier(key)} as (from {one.name})" for key, one in relations.items())
        return cls(engine.view(f"with {named} select * from ({_inner(query)})"), relations.values())  # noqa: S608

    @classmethod
    def from_parquet(cls, *files: str | Path) -> Relation:
        """The rows of Parquet files (globs are allowed), columns matched by name."""
        listed = ", ".join(engine.literal(str(file)) for file in files)
        return cls(engine.view(f"from read_parquet([{listed}], union_by_name = true)"))

    @classmethod
    def from_rows(cls, rows: Rows, *, schema: Mapping[str, str] | None = None) -> Relation:
        """Rows as dicts, kept in memory. Every row has the same columns.

        `schema` gives the SQL type of columns ("BIGINT", "TIMESTAMPTZ"); others follow from the values: int is BIGINT,
        aware datetime TIMESTAMPTZ, naive datetime TIMESTAMP. Without rows the schema must be given.
        """
        types = _column_types(rows, schema or {})
        struct = ", ".join(f"{engine.identifier(name)} {kind}" for name, kind in types.items())
        plain = [{name: row[name] for name in types} for row in rows]
        made = f"select s.* from (select unnest(cast(? as struct({struct})[])) as s)"  # noqa: S608 - quoted names
        return cls(engine.table(made, [plain]))

    @classmethod
    def from_table(cls, data: object) -> Relation:
        """An Arrow table, a pandas or a polars frame, copied."""
        con = engine.connection()
        con.register("partita_frame", data)
        try:
            return cls(engine.table("from partita_frame"))
        finally:
            con.unregister("partita_frame")

    def sql(self, query: str, /, **relations: Relation) -> Relation:
        """The rows of a query over `self` and further relations, named by their keywords."""
        if "self" in relations:
            raise PartitaError("sql(self=...)", rule="`self` is the relation itself", fix="use another name")
        return Relation.from_sql(query, **{"self": self, **relations})

    def holding(self, owner: object) -> Relation:
        """The same rows, keeping `owner` (say, of a temporary folder) alive."""
        return Relation(engine.view(f"from {self.name}"), [self, owner])

    @property
    def columns(self) -> dict[str, str]:
        """Names and SQL types of the columns, in order."""
        described = engine.connection().execute(f"describe from {self.name}").fetchall()
        return {row[0]: row[1] for row in described}

    def count(self) -> int:
        """The number of rows."""
        found = engine.connection().execute(f"select count(*) from {self.name}").fetchone()  # noqa: S608
        assert found is not None
        return int(found[0])

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows as tuples."""
        return engine.connection().execute(f"from {self.name}").fetchall()

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row, or None."""
        found: tuple[Any, ...] | None = engine.connection().execute(f"from {self.name}").fetchone()
        return found

    def scalar(self) -> Any:
        """The one value of a relation with one row and one column."""
        rows = self.fetchall()
        if len(rows) != 1 or len(rows[0]) != 1:
            raise PartitaError(
                f"{self!r} is no single value", rule="scalar() is for one row with one column", fix="select one value"
            )
        return rows[0][0]

    def dicts(self) -> list[dict[str, Any]]:
        """All rows as dicts."""
        names = list(self.columns)
        return [dict(zip(names, row, strict=True)) for row in self.fetchall()]

    def arrow(self) -> pyarrow.Table:
        """An Arrow table."""
        return engine.connection().sql(f"from {self.name}").to_arrow_table()

    def df(self) -> Any:
        """A pandas frame."""
        return engine.connection().execute(f"from {self.name}").df()

    def pl(self) -> Any:
        """A polars frame."""
        return import_module("polars").from_arrow(self.arrow())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchall())

    def __repr__(self) -> str:
        return f"<Relation {', '.join(f'{name} {kind}' for name, kind in self.columns.items())}>"


def _inner(query: str) -> str:
    """A query that can stand in parentheses, also when it ends in a semicolon or in a comment."""
    return query.rstrip().rstrip(";") + "\n"


_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "BOOLEAN"),
    (float, "DOUBLE"),
    (str, "VARCHAR"),
    (bytes, "BLOB"),
    (date, "DATE"),
    (time, "TIME"),
    (timedelta, "INTERVAL"),
    (UUID, "UUID"),
)


def _column_types(rows: Rows, schema: Mapping[str, str]) -> dict[str, str]:
    if not rows:
        if not schema:
            raise PartitaError(
                "from_rows() has no rows", rule="then the columns are not known", fix='give schema={"column": "TYPE"}'
            )
        return dict(schema)
    names = list(rows[0])
    for position, row in enumerate(rows):
        if set(row) != set(names):
            odd = sorted(set(row) ^ set(names))
            raise PartitaError(
                f"row {position} of from_rows() differs in the columns {', '.join(odd)}",
                rule="every row has the same columns",
                fix="fill absent values with None",
            )
    return {name: schema.get(name) or _sql_type(name, [row[name] for row in rows]) for name in names}


def _sql_type(name: str, values: Iterable[Any]) -> str:
    kinds = {_kind(name, value) for value in values if value is not None}
    if kinds == {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    if len(kinds) > 1 and all(kind in ("BIGINT", "HUGEINT") for kind in kinds):
        return "HUGEINT"
    if len(kinds) > 1:
        raise PartitaError(
            f"column {name!r} of from_rows() mixes {' and '.join(sorted(kinds))}",
            rule="a column has one type",
            fix=f'convert the values, or give schema={{"{name}": "TYPE"}}',
        )
    return kinds.pop() if kinds else "VARCHAR"


def _kind(name: str, value: Any) -> str:
    if isinstance(value, datetime):
        return "TIMESTAMP" if value.tzinfo is None else "TIMESTAMPTZ"
    if isinstance(value, Decimal):
        return "DECIMAL(38, 9)"
    if isinstance(value, int) and not isinstance(value, bool):
        return "BIGINT" if -(2**63) <= value < 2**63 else "HUGEINT"
    if isinstance(value, list | tuple):
        inner = [one for one in value if one is not None]
        return f"{_sql_type(name, inner)}[]"
    if isinstance(value, dict):
        fields = ", ".join(f"{engine.identifier(key)} {_sql_type(name, [one])}" for key, one in value.items())
        return f"STRUCT({fields})"
    for kind, sql_type in _TYPES:
        if isinstance(value, kind):
            return sql_type
    raise PartitaError(
        f"column {name!r} of from_rows() holds a {type(value).__name__}",
        rule="values are numbers, texts, bytes, dates, times, lists and dicts of these",
        fix="convert the value first",
    )
