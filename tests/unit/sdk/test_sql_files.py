"""SQL files: nothing is rendered but what is named, and what is named must be there (S-212, S-213)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from partita.assets import DefinitionError, PartitaError
from partita.sdk import SqlFile
from partita.sdk.load import load_location


@pytest.fixture
def sql(tmp_path: Path) -> Callable[[str], SqlFile]:
    def made(text: str) -> SqlFile:
        (tmp_path / "q.sql").write_text(text)
        return SqlFile(str(tmp_path / "q.sql"))

    return made


@pytest.mark.parametrize(
    "value",
    ["it's -- 'x' {{ y }}", 3, -2.5, Decimal("1.10"), True, None, date(2026, 3, 1), time(6, 30)],
)
def test_a_value_comes_back_from_the_database_as_it_went_in(sql: Callable[[str], SqlFile], value: Any) -> None:
    [(found,)] = duckdb.execute(sql("select {{ value }}").render(value=value)).fetchall()
    assert found == value


def test_instants_carry_their_offset_and_lists_are_for_in(sql: Callable[[str], SqlFile]) -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    query = sql("select {{ window.start }} = timestamptz '2026-03-01 13:00+01:00' and 'b' in {{ regions }}")
    assert query.names == ("window.start", "regions")
    text = query.render(window=SimpleNamespace(start=at), regions=["a", "b"])
    assert duckdb.execute(text).fetchall() == [(True,)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("select {{ dya }}", "{{ dya }} is not handed in; render() was given day, window; did you mean 'day'?"),
        ("select {{ other }}", "is not handed in; render() was given day, window; render(other=...)"),
        ("select {{ window.begin }}", "window has no 'begin'; it has start"),
        ("select {{ window }}", "is SimpleNamespace"),
    ],
)
def test_an_unresolved_name_is_an_error_that_tells_the_known_ones(
    sql: Callable[[str], SqlFile], text: str, says: str
) -> None:
    with pytest.raises(PartitaError) as refused:
        sql(text).render(day=date(2026, 3, 1), window=SimpleNamespace(start=1))
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("select 1\nwhere {{ a + 1 }}", "q.sql:2: '{{ a + 1 }}' is no placeholder"),
        ("{% if a %} select 1", "'{%' is no placeholder"),
        ("select {{ a", "'{{' is no placeholder"),
        ("select 1 }}", "'}}' is no placeholder"),
        ("select '{{ a }}'", "a placeholder stands inside quotes"),
    ],
)
def test_what_looks_like_a_template_and_is_none_breaks_the_load(
    sql: Callable[[str], SqlFile], text: str, says: str
) -> None:
    with pytest.raises(DefinitionError) as refused:
        sql(text)
    assert says in str(refused.value)


def test_single_braces_and_comments_stay_as_they_are(sql: Callable[[str], SqlFile]) -> None:
    text = "select {'a': 1} -- {{ not this }}\n/* {{ nor\nthis }} */"
    assert sql(text).render() == text


def test_an_empty_list_is_refused(sql: Callable[[str], SqlFile]) -> None:
    with pytest.raises(PartitaError, match="without items"):
        sql("select 1 where 1 in {{ ids }}").render(ids=[])


MODULE = """
from partita.sdk import Context, SqlFile, asset
ORDERS = SqlFile("orders.sql")

@asset(io=None)
def orders(context: Context) -> None:
    ORDERS.render(run=context.run_id)

@asset(io=None)
def other() -> None:
    pass
"""


def test_the_text_is_a_part_of_the_code_of_what_uses_it(tmp_path: Path) -> None:
    """Changing the file makes what it made stale, and nothing else."""
    (tmp_path / "sqlshop.py").write_text(MODULE)

    def prints(text: str) -> dict[str, str]:
        (tmp_path / "orders.sql").write_text(text)
        found = load_location("shop", tmp_path, ["sqlshop"]).snapshot
        assert [one.error for one in found.modules] == [None]
        return {one.key: one.fingerprint for one in found.assets}

    try:
        before, after = prints("select {{ run }}"), prints("select {{ run }} + 1")
        assert before["orders"] != after["orders"]
        assert before["other"] == after["other"]
        (tmp_path / "orders.sql").unlink()
        broken = load_location("shop", tmp_path, ["sqlshop"]).snapshot.modules[0]
        assert not broken.ok
        assert "SQL file 'orders.sql' cannot be read" in str(broken.error)
    finally:
        sys.path.remove(str(tmp_path))
