"""A set write of many rows sends what all rows agree in once; what it compares with stays an array."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from partita.core.store.narrow import MANY_ROWS, narrow
from partita.core.store.sql import text

_SET = text("""
    UPDATE task t SET state = u.state, at = coalesce(u.at, t.at), sure = u.sure
    FROM unnest(CAST(:ids AS bigint[]), CAST(:states AS text[]), CAST(:was AS text[]), CAST(:ats AS timestamptz[]),
                CAST(:sures AS boolean[])) WITH ORDINALITY AS u(id, state, was, at, sure, place)
    WHERE t.id = u.id AND t.state = u.was
""")
_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def _columns(rows: int, **others: list[Any]) -> dict[str, list[Any]]:
    same: dict[str, list[Any]] = {
        "states": ["queued"] * rows,
        "was": ["scheduled"] * rows,
        "ats": [_NOON] * rows,
        "sures": [True] * rows,
    }
    return {"ids": list(range(rows)), **same, **others}


def test_what_all_rows_agree_in_crosses_once() -> None:
    statement, sent = narrow(_SET, _columns(MANY_ROWS))
    assert "SET state = CAST(:states AS text), at = coalesce(CAST(:ats AS timestamptz), t.at)" in str(statement)
    assert "FROM unnest(CAST(:ids AS bigint[]), CAST(:was AS text[])) WITH ORDINALITY AS u(id, was, place)" in str(
        statement
    )
    assert (sent["states"], sent["ats"], sent["sures"]) == ("queued", _NOON.isoformat(), "t")
    assert statement.whole is _SET


def test_what_it_compares_with_stays_an_array() -> None:
    """`was` is the same in all rows: as a constant it could lead the planner to another index."""
    _, sent = narrow(_SET, _columns(MANY_ROWS))
    assert sent["was"] == ["scheduled"] * MANY_ROWS
    assert sent["ids"] == list(range(MANY_ROWS))


@pytest.mark.parametrize("at", [0, 1, MANY_ROWS - 1])
def test_one_row_that_differs_keeps_the_array(at: int) -> None:
    states = ["queued"] * MANY_ROWS
    states[at] = "running"
    statement, sent = narrow(_SET, _columns(MANY_ROWS, states=states))
    assert sent["states"] == states
    assert "SET state = u.state, at = coalesce(CAST(:ats" in str(statement)


def test_nothing_at_all_is_one_value_too() -> None:
    _, sent = narrow(_SET, _columns(MANY_ROWS, ats=[None] * MANY_ROWS))
    assert sent["ats"] is None


def test_few_rows_stay_one_statement() -> None:
    columns = _columns(MANY_ROWS - 1)
    assert narrow(_SET, columns) == (_SET, columns)
