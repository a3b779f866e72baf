"""What sensors and callbacks are told of: events after a position, of the kinds, assets, steps and states that they ask for."""

from __future__ import annotations

from typing import Any

import pytest

from partita.core.store.memory import MemoryStore
from partita.core.store.port import Store
from partita.core.store.postgres import PostgresStore
from partita.core.store.values import AssetId, NewEvent, RunId, TaskId


@pytest.fixture(params=["memory", "postgres"])
def either(request: pytest.FixtureRequest) -> Store:
    if request.param == "memory":
        return MemoryStore()
    postgres: PostgresStore = request.getfixturevalue("store")
    return postgres


def task(task_id: int, step: str, state: str) -> NewEvent:
    return NewEvent("task", run_id=RunId(1), task_id=TaskId(task_id), body={"step": step, "state": state})


def told(store: Store, position: str, kinds: list[str], limit: int = 100, **more: Any) -> tuple[list[Any], str]:
    with store.begin() as tx:
        found, after = tx.read_news(position, kinds, [AssetId(1)], limit, **more)
    return [(one.kind, one.task_id or one.asset_id) for one in found], after


def test_each_is_told_once_of_what_it_asked_for_and_of_nothing_else(either: Store) -> None:
    with either.begin() as tx:
        tx.append_events([task(1, "orders", "failed")])
    with either.begin() as tx:
        before, start = tx.read_news(None, ["task"], [], 10, steps=["orders"], states=["failed"])
    assert before == [], "of what was there before nobody is told"
    with either.begin() as tx:
        tx.append_events(
            [
                task(2, "orders", "failed"),
                task(3, "orders", "success"),
                task(4, "refunds", "failed"),
                NewEvent("materialized", asset_id=AssetId(1), partition="a"),
                NewEvent("materialized", asset_id=AssetId(2), partition="a"),
                task(5, "orders", "failed"),
            ]
        )
    failed: dict[str, Any] = {"steps": ["orders"], "states": ["failed"]}
    assert told(either, start, ["task"], **failed)[0] == [("task", 2), ("task", 5)]
    first, after = told(either, start, ["task"], 1, **failed)
    rest, end = told(either, after, ["task"], **failed)
    assert (first, rest) == ([("task", 2)], [("task", 5)])
    assert told(either, end, ["task"], **failed)[0] == []
    assert told(either, start, ["task"])[0] == [], "without steps and states of none"
    assert told(either, start, ["materialized"])[0] == [("materialized", 1)]
