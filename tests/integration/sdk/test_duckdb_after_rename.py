"""A DuckDB file whose asset was renamed: cells of both names are read together."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

from partita.assets import AssetKey
from partita.sdk import DuckDBFile, Relation, engine
from partita.sdk.io.base import ReadContext
from partita.sdk.runtime_values import InputCell


def test_cells_of_the_former_table_are_read_with_those_of_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "s.duckdb"
    con = engine.connection()
    con.execute(f"attach {engine.literal(str(file))} as made")
    con.execute("create table made.orders as select 'a' as __partition, 1 as n union all select 'b', 2")
    con.execute("""create table made."raw/orders" as select 'c' as __partition, 4 as n union all select 'b', 8""")
    con.execute("detach made")

    def cell(table: str, partition: str) -> InputCell:
        return InputCell("", "", f"duckdb:{file.as_uri()}#{quote(json.dumps([table, partition]), safe='')}")

    cells = (cell("orders", "a"), cell("raw/orders", "c"), cell("raw/orders", "b"))
    found = DuckDBFile("shop", str(file)).read(ReadContext(AssetKey("raw/orders"), cells, Relation, "reader"))
    assert sorted(row[0] for row in found.fetchall()) == [1, 4, 8]
