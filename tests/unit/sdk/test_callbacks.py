"""on_failure= and on_success=: what is declared, what they are told, and what is told again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from partita.assets import DefinitionError
from partita.sdk import TaskEnded, asset, multi_asset
from partita.sdk.callbacks import TRIES
from partita.sdk.evaluate import Evaluated, evaluate
from partita.sdk.evaluators import EvaluatorDef
from partita.sdk.testing import definitions

NOW = datetime(2026, 3, 2, 5, tzinfo=UTC)


def told(task: int, state: str = "failed") -> dict[str, Any]:
    where = {"assets": ["orders"], "partitions": ["2026-03-01"], "run_id": 3, "task_id": task, "attempt": 2}
    return {"key": f"task-{task}-{state}", "state": state, "error": "ValueError: no", "at": NOW.isoformat(), **where}


def declared(**callbacks: Any) -> list[EvaluatorDef]:
    with definitions() as collector:

        @asset(io=None, **callbacks)
        def orders() -> None: ...

        @multi_asset(outs=["a", "b"], **callbacks)
        def both() -> dict[str, int]:
            return {}

        return list(collector.evaluators.values())


def tell_of(function: Any, *tasks: dict[str, Any], cursor: str | None = None, at: datetime = NOW) -> Evaluated:
    (callback,) = declared(on_failure=function)
    return evaluate(callback, {"now": at.isoformat(), "cursor": cursor, "tasks": list(tasks)})


def test_a_function_that_several_assets_name_is_one_callback() -> None:
    def tell(ended: TaskEnded) -> None:
        """Page the team."""

    failure, success = declared(on_failure=tell, on_success=tell)
    assert failure.spec.steps == ("orders", "a+b")
    assert (failure.spec.tasks, success.spec.tasks) == (("failed",), ("success",))
    assert failure.spec.description == "Page the team."
    assert failure.spec.name != success.spec.name


def test_it_is_told_of_each_task_by_itself() -> None:
    seen: list[TaskEnded] = []
    done = tell_of(seen.append, told(1), told(2))
    assert (done.error, done.broke, done.cursor) == ("", "", None)
    assert [one.key for one in seen] == ["task-1-failed", "task-2-failed"]
    assert (seen[0].assets, seen[0].partitions, seen[0].attempt) == (("orders",), ("2026-03-01",), 2)
    assert (seen[0].error, seen[0].at) == ("ValueError: no", NOW)


def test_an_async_function_is_awaited() -> None:
    seen: list[str] = []

    async def tell(ended: TaskEnded) -> None:
        seen.append(ended.key)

    assert not tell_of(tell, told(1)).broke
    assert seen == ["task-1-failed"]


def test_what_went_wrong_is_told_again_alone_later_and_given_up_after_five_times() -> None:
    seen: list[str] = []

    def tell(ended: TaskEnded) -> None:
        seen.append(ended.key)
        if ended.task_id == 1:
            raise ConnectionError("the pager is down")

    done = tell_of(tell, told(1), told(2))
    assert done.broke == "task-1-failed: ConnectionError: the pager is down"
    assert seen == ["task-1-failed", "task-2-failed"]
    assert done.cursor is not None
    assert json.loads(done.cursor)["at"] == (NOW + timedelta(seconds=10)).isoformat()
    for n in range(2, TRIES):
        done = tell_of(tell, cursor=done.cursor)
        assert seen[2:] == ["task-1-failed"] * (n - 1)
    assert done.cursor is not None
    last = tell_of(tell, told(3), cursor=done.cursor)
    assert last.broke.endswith("(given up)")
    assert last.cursor is None
    assert seen[-1] == "task-3-failed"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (lambda: None, "does not take one argument; a callback is told of a TaskEnded"),
        ("tell", "on_failure is no function"),
        (int, "on_failure is a class"),
    ],
)
def test_what_is_no_callback_is_refused(bad: Any, why: str) -> None:
    with pytest.raises(DefinitionError, match=why):
        declared(on_failure=bad)
