"""What moves while a consumer runs is not lost for conditions that ask what was updated (law 3, S-219, S-224)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.read_events import answer


def played(condition: Any, *events: tuple[int, str], run_s: int = 10) -> list[tuple[int, list[str]]]:
    """The runs, as (instant, events); events are (instant, asset), named e1, e2, ..."""
    named = [{"t": at, "asset": asset, "id": f"e{n}"} for n, (at, asset) in enumerate(events, 1)]
    told = answer({"given": {"condition": condition, "max_active": 1, "run_s": run_s, "events": named}})
    return [(one["t"], one["events"]) for one in told["runs"]]


BOTH = {"all": ["a", "b"]}


def test_both_moved_while_it_ran() -> None:
    assert played(BOTH, (0, "a"), (0, "b"), (3, "a"), (4, "b")) == [(0, ["e1", "e2"]), (10, ["e3", "e4"])]


def test_one_moved_while_it_ran_and_the_other_later() -> None:
    assert played(BOTH, (0, "a"), (0, "b"), (3, "a"), (14, "b")) == [(0, ["e1", "e2"]), (14, ["e3", "e4"])]


@pytest.mark.parametrize("condition", [{"any": ["a", "b"]}, {"any": [BOTH, "b"]}])
def test_any_of_them_moved_while_it_ran(condition: Any) -> None:
    assert played(condition, (0, "b"), (3, "b")) == [(0, ["e1"]), (10, ["e2"])]


def test_what_it_read_itself_asks_for_nothing_more() -> None:
    assert played(BOTH, (1, "a"), (5, "b"), (7, "a"), run_s=0) == [(5, ["e1", "e2"])]
