"""Statements: named marks as the driver takes them, and nothing else touched."""

from __future__ import annotations

import pytest

from partita.core.store.sql import Statement, text


@pytest.mark.parametrize(
    ("written", "driver"),
    [
        ("SELECT :one, :two_2", b"SELECT %(one)s, %(two_2)s"),
        ("SELECT CAST(:ids AS bigint[])", b"SELECT CAST(%(ids)s AS bigint[])"),
        ("SELECT :n::int, now()::date", b"SELECT %(n)s::int, now()::date"),
        ("SELECT to_char(t, 'HH24:MI:SS')", b"SELECT to_char(t, 'HH24:MI:SS')"),
        ("SELECT a[1:2]", b"SELECT a[1:2]"),
        ("SELECT n % 2, key LIKE '%x'", b"SELECT n %% 2, key LIKE '%%x'"),
        ("SELECT U&'schl\u00fcssel', ':)'", "SELECT U&'schl\u00fcssel', ':)'".encode()),
    ],
)
def test_marks_become_the_drivers(written: str, driver: bytes) -> None:
    statement = text(written)
    assert statement.driver == driver
    assert str(statement) == written


def test_statements_are_values() -> None:
    assert text("SELECT 1") == Statement("SELECT 1")
    assert text("SELECT 1") != text("SELECT 2")
