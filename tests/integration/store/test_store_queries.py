"""Reading for people: rows by the names of their columns."""

from __future__ import annotations

import pytest

from partita.core.store.postgres import PostgresStore
from partita.core.store.queries.api_read import number, one, rows
from partita.core.store.sql import text


def test_rows_go_by_name(store: PostgresStore) -> None:
    with store.read() as reader:
        listed = text("SELECT n, n * n AS square FROM generate_series(1, CAST(:last AS int)) AS n ORDER BY n")
        assert rows(reader, listed, last=2) == [{"n": 1, "square": 1}, {"n": 2, "square": 4}]
        assert one(reader, listed, last=1) == {"n": 1, "square": 1}
        assert one(reader, listed, last=0) is None
        assert number(reader, text("SELECT sum(n) FROM generate_series(1, 3) AS n")) == 6
        assert number(reader, text("SELECT sum(n) FROM generate_series(1, 0) AS n")) == 0


def test_two_columns_of_one_name_are_refused(store: PostgresStore) -> None:
    with store.read() as reader, pytest.raises(ValueError, match="apart: n, n"):
        rows(reader, text("SELECT 1 AS n, 2 AS n"))
