"""The lake on real Parquet and DuckDB: splitting by cell, data versions, strays (S-037, S-038)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partita.assets import (
    AssetKey,
    Daily,
    Hourly,
    Multi,
    PartitaError,
    PartitionsDef,
    Static,
    space_of,
)
from partita.assets.locations import joined_location
from partita.sdk import InputCell, Lake, Relation
from partita.sdk.inprocess import target_cell
from partita.sdk.io.base import PerCell, ReadContext, WriteContext, Written
from partita.sdk.io.lake import parse_location, read_relation

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
KEY = AssetKey("raw/orders")


def context(
    scheme: PartitionsDef | None, keys: str | None = None, *, columns: Any = None, attempt: str = "a1"
) -> WriteContext:
    space = space_of(scheme, AS_OF)
    chosen = space.all() if keys is None else space.select(keys)
    cells = tuple(target_cell(KEY, space, one) for one in chosen)
    return WriteContext(KEY, attempt, 1, cells, scheme, columns)


def read(lake: Lake, written: list[Written], kind: Any = Relation) -> Any:
    cells = tuple(InputCell(one.partition, one.data_version, one.location) for one in written)
    return lake.read(ReadContext(KEY, cells, kind, "a test"))


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(root=tmp_path / "lake")


def test_one_cell_is_one_file_without_a_hidden_column(lake: Lake, tmp_path: Path) -> None:
    (cell,) = lake.write(context(None), Relation.from_rows([{"a": 1}, {"a": 2}]))
    assert cell.rows == 2
    assert cell.location == f"lake:{(tmp_path / 'lake/raw/orders/a1.parquet').as_uri()}"
    assert read(lake, [cell]).columns == {"a": "BIGINT"}
    assert [file.name for file in (tmp_path / "lake/raw/orders").iterdir()] == ["a1.parquet"]


def test_a_task_of_several_cells_shares_a_file_and_reads_cell_by_cell(lake: Lake) -> None:
    scheme = Multi(hour=Hourly("2013-11-03", end="2013-11-04", tz="America/New_York"), origin=Static("EWR", "JFK"))
    first = datetime(2013, 11, 3, 4, tzinfo=UTC)
    rows = [{"at": first + timedelta(hours=n), "origin": "EWR", "n": n} for n in range(25)]
    written = lake.write(context(scheme, columns={"hour": "at", "origin": "origin"}), Relation.from_rows(rows))
    assert len(written) == 50
    assert sum(one.rows for one in written) == 25
    assert [one.rows for one in written if "JFK" in one.partition] == [0] * 25
    assert len({parse_location(one.location)[0] for one in written}) == 1
    twice = [one for one in written if "T01:00" in one.partition and "EWR" in one.partition]
    assert [read(lake, [one]).sql("select n from self").scalar() for one in twice] == [1, 2]
    assert read(lake, written).count() == 25
    assert "__cell" not in read(lake, written).columns
    empty = next(one for one in written if "JFK" in one.partition)
    assert list(read(lake, [empty]).columns) == ["at", "origin", "n"]


@pytest.mark.parametrize(
    "value",
    [datetime(2013, 1, 2, 3, 30), datetime(2013, 1, 2, 3, 30, tzinfo=UTC), date(2013, 1, 2)],  # noqa: DTZ001 - naive is UTC
    ids=["naive", "aware", "date"],
)
def test_a_time_column_falls_in_its_window(lake: Lake, value: object) -> None:
    written = lake.write(context(Daily("2013-01-01", end="2013-01-04"), columns="at"), [{"at": value}])
    assert [one.rows for one in written] == [0, 1, 0]


def test_a_date_is_a_local_date_of_the_assets_zone(lake: Lake) -> None:
    scheme = Daily("2013-01-01", end="2013-01-03", tz="Pacific/Auckland")
    assert [one.rows for one in lake.write(context(scheme, columns="d"), [{"d": date(2013, 1, 2)}])] == [0, 1]


def test_rows_of_no_cell_are_refused_with_a_count_and_an_example_and_nothing_is_left(
    lake: Lake, tmp_path: Path
) -> None:
    rows = [{"at": datetime(2013, 1, day, tzinfo=UTC)} for day in (1, 2, 3)] + [{"at": None}]
    with pytest.raises(PartitaError, match=r"2 of its rows belong to no partition .* at=(2013-01-03|None)") as caught:
        lake.write(context(Daily("2013-01-01", end="2013-01-03"), columns="at"), Relation.from_rows(rows))
    assert "asset 'raw/orders'" in str(caught.value)
    assert list((tmp_path / "lake").rglob("*.*")) == []


def test_several_cells_need_to_be_told_apart(lake: Lake) -> None:
    with pytest.raises(PartitaError, match="made 2 partitions in one task and returned one value"):
        lake.write(context(Static("a", "b")), [{"x": 1}])
    with pytest.raises(PartitaError, match="partition column 'k' is not in what was returned"):
        lake.write(context(Static("a", "b"), columns="k"), [{"x": 1}])


def test_values_by_cell_and_any_text_as_key(lake: Lake) -> None:
    """Law 9: no code splits keys on a separator."""
    keys = ["a|b", "a/b", "ü#%?", "it's"]
    values = PerCell({key: [{"x": number}] for number, key in enumerate(keys)})
    written = lake.write(context(Static(*keys)), values)
    assert [read(lake, [one]).scalar() for one in written] == [0, 1, 2, 3]
    assert [read(lake, [one], list[dict[str, Any]]) for one in written[:1]] == [[{"x": 0}]]


def test_the_value_may_be_any_table_and_be_asked_for_as_any(lake: Lake) -> None:
    import pyarrow

    written = lake.write(context(None), pyarrow.table({"x": [1, 2]}))
    assert read(lake, written, pyarrow.Table).to_pylist() == [{"x": 1}, {"x": 2}]
    assert read(lake, written, list[Path]) == [parse_location(written[0].location)[0]]
    with pytest.raises(PartitaError, match="is annotated <class 'int'>"):
        read(lake, written, int)
    with pytest.raises(PartitaError, match="returned a int"):
        lake.write(context(None, attempt="a2"), 3)


def test_versions_follow_rows_and_schema_not_order_nor_files(lake: Lake) -> None:
    def version(rows: Any, attempt: str) -> str:
        return lake.write(context(None, attempt=attempt), rows)[0].data_version

    rows = [{"a": n, "b": str(n)} for n in range(100)]
    one = version(rows, "a1")
    assert version(list(reversed(rows)), "a2") == one
    assert version(rows[:-1], "a3") != one
    assert version([*rows[:-1], rows[0]], "a4") != one
    assert version([{"a": n, "c": str(n)} for n in range(100)], "a5") != one
    assert version(Relation.from_rows(rows).sql("select a::integer as a, b from self"), "a6") != one


def test_a_version_is_pinned(lake: Lake) -> None:
    """Data versions are compared over releases of partita and DuckDB: the same rows must keep theirs."""
    rows = [
        {
            "i": 1, "f": 0.1, "t": "ü", "n": None, "b": b"\x00\xff", "d": date(2013, 1, 1), "m": Decimal("1.50"),
            "at": datetime(2013, 1, 1, 5, tzinfo=UTC), "wall": datetime(2013, 1, 1), "l": [1, None], "o": True,  # noqa: DTZ001
        }
    ]  # fmt: skip
    assert lake.write(context(None), rows)[0].data_version == "9a9ec5a7ef3ec2d7-1"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.none() | st.text(max_size=3), st.none() | st.text(max_size=3)), min_size=1, max_size=4),
    st.randoms(),
)
def test_equal_versions_mean_equal_bags_of_rows(lake: Lake, rows: list[tuple[Any, Any]], random: Any) -> None:
    plain = [{"a": a, "b": b} for a, b in rows]
    swapped = [{"a": b, "b": a} for a, b in rows]
    schema = {"a": "VARCHAR", "b": "VARCHAR"}
    shuffled = random.sample(plain, len(plain))
    versions = [
        lake.write(context(None, attempt=f"x{number}"), Relation.from_rows(one, schema=schema))[0].data_version
        for number, one in enumerate((plain, shuffled, swapped))
    ]
    assert versions[0] == versions[1]
    same = sorted(map(repr, rows)) == sorted(repr((b, a)) for a, b in rows)
    assert (versions[0] == versions[2]) == same


def test_dots_are_no_folders(lake: Lake) -> None:
    with pytest.raises(PartitaError, match="cannot be stored in the lake"):
        lake.write(WriteContext(AssetKey("../up"), "a", 1, context(None).cells), [{"x": 1}])


def test_sums_stay_whole_numbers(lake: Lake) -> None:
    big = 2**53 + 1
    (cell,) = lake.write(
        context(None), Relation.from_sql(f"select sum(x)::hugeint as total from (values ({big})) v(x)")
    )
    assert read(lake, [cell]).columns == {"total": "BIGINT"}
    assert read(lake, [cell]).scalar() == big
    with pytest.raises(Exception, match="out of range"):
        lake.write(context(None, attempt="a2"), Relation.from_rows([{"n": 2**70}]))


def test_tools_read_by_location(lake: Lake) -> None:
    cells = [lake.write(context(None, attempt=f"a{n}"), [{"n": n}])[0].location for n in range(3)]
    assert sorted(read_relation(cells).fetchall()) == [(0,), (1,), (2,)]
    assert read_relation(cells[:1]).scalar() == 0


def test_files_with_other_columns_are_matched_by_name(lake: Lake) -> None:
    one = lake.write(context(None, attempt="a1"), [{"a": 1, "b": "x"}])
    other = lake.write(context(None, attempt="a2"), [{"b": "y", "c": 2.5}])
    rows = read(lake, one + other).sql("from self order by b")
    assert rows.dicts() == [{"a": 1, "b": "x", "c": None}, {"a": None, "b": "y", "c": 2.5}]


def test_a_joined_location_is_read_as_the_union_of_its_parts(lake: Lake) -> None:
    """What a change of the partition scheme derived: a week of days, two of them in one file (ADR 10)."""
    days = Daily("2025-12-01", end="2025-12-04")
    alone = lake.write(
        context(days, "2025-12-01", attempt="a1"), Relation.from_rows([{"day": date(2025, 12, 1), "n": 1}])
    )
    shared = [{"day": date(2025, 12, 2), "n": 2}, {"day": date(2025, 12, 3), "n": 3}]
    both = lake.write(context(days, "2025-12-02..2025-12-03", columns="day", attempt="a2"), Relation.from_rows(shared))
    first_two = Written("w", joined_location([alone[0].location, both[0].location]), "derived:1", 2)
    assert sorted(read(lake, [first_two]).fetchall()) == [(date(2025, 12, 1), 1), (date(2025, 12, 2), 2)]
    whole = Written("w", joined_location([first_two.location, both[1].location]), "derived:2", 3)
    assert read(lake, [whole]).sql("select sum(n)::int from self").scalar() == 6
    assert len(read(lake, [whole], list[Path])) == 2
