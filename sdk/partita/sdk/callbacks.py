"""`on_failure=` and `on_success=` of assets: functions that are told when a task has ended, after its commit.

Owns what they are told, their declaration, and which of them are told again. They are sensors, and run as these do: told of the
events that were written by the transactions which ended the tasks. Nothing they do touches the task.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from partita.assets import DefinitionError
from partita.assets.evaluator_specs import EvaluatorSpec, TaskEnd
from partita.sdk.option_types import check_function, description_of

if TYPE_CHECKING:
    from partita.sdk.collector import CallSite, Collector

EVERY_S = 5.0
"""Looking for news costs a few small statements, for each function of each module."""
TIMEOUT_S = 60.0
TRIES = 5
_FIRST_PAUSE_S = 10.0

Callback = Callable[["TaskEnded"], Any]
"""A function, plain or `async`, that is told of a task; what it returns is not looked at."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TaskEnded:
    """A task ended: what a callback is told.

    `key` is the same whenever it is told of this end: it may come again, so give it to what you call. `state` is "success" or
    "failed" (after all retries); `assets` and `partitions` are those of the task, `attempt` is the number of its last attempt,
    `error` the first line of why it failed, `at` the instant (aware, UTC) of the commit.

    >>> end = datetime(2026, 3, 2, tzinfo=UTC)
    >>> TaskEnded("task-7-failed", "failed", ("orders",), ("2026-03-01",), 3, 7, 4, "ValueError: no", end).error
    'ValueError: no'
    """

    key: str
    state: str
    assets: tuple[str, ...]
    partitions: tuple[str, ...]
    run_id: int
    task_id: int
    attempt: int
    error: str
    at: datetime

    @staticmethod
    def of(told: Mapping[str, Any]) -> TaskEnded:
        """From the JSON of `core/automation/handing.py`."""
        names = ("key", "state", "run_id", "task_id", "attempt", "error")
        return TaskEnded(
            assets=tuple(told["assets"]),
            partitions=tuple(told["partitions"]),
            at=datetime.fromisoformat(told["at"]),
            **{name: told[name] for name in names},
        )


def declare_callbacks(
    collector: Collector, site: CallSite, step: str, owner: str, callbacks: Mapping[TaskEnd, Callback | None]
) -> None:
    """Register what is told of the ends of a step's tasks. A function that several assets of a module name is one callback."""
    from partita.sdk.evaluators import EvaluatorDef

    for state, function in callbacks.items():
        if function is None:
            continue
        option = "on_failure" if state == "failed" else "on_success"
        _check(function, f"{owner}: {option}")
        path = f"{function.__module__}:{function.__qualname__}"
        name = f"{option} {path} of {site.place.module}"
        known = collector.evaluators.get(name)
        steps = (*(known.spec.steps if known is not None else ()), step)
        spec = EvaluatorSpec(
            name=name,
            kind="sensor",
            function=path,
            description=description_of(function),
            owner=collector.defaults_for(site).owner,
            every_s=EVERY_S,
            timeout_s=TIMEOUT_S,
            tasks=(state,),
            steps=tuple(dict.fromkeys(steps)),
            module=site.place.module,
        )
        made = EvaluatorDef(spec, function, None, {}, site.place)
        if known is None:
            collector.add_evaluator(made)
        else:
            collector.evaluators[name] = made


def tell(function: Callback, given: Mapping[str, Any]) -> tuple[str | None, str]:
    """Tell it of each task by itself: the cursor to keep (those to tell again, None when there are none), and what went wrong."""
    now = datetime.fromisoformat(given["now"])
    again: Sequence[Mapping[str, Any]] = json.loads(given["cursor"])["again"] if given.get("cursor") else ()
    left: list[Mapping[str, Any]] = []
    wrong: list[str] = []
    for told in (*again, *given.get("tasks", ())):
        try:
            found = function(TaskEnded.of(told))
            if isawaitable(found):
                asyncio.run(_awaited(found))
        except Exception as error:
            tries = told.get("tries", 0) + 1
            last = " (given up)" if tries >= TRIES else ""
            wrong.append(f"{told['key']}: {type(error).__name__}: {error}{last}")
            _log.exception("%s was told of %s the %d. time", function.__qualname__, told["key"], tries)
            if not last:
                left.append({**told, "tries": tries})
    if not left:
        return None, "; ".join(wrong)
    pause = timedelta(seconds=_FIRST_PAUSE_S * 2 ** (max(one["tries"] for one in left) - 1))
    return json.dumps({"again": left, "at": (now + pause).isoformat()}), "; ".join(wrong)


async def _awaited(result: Any) -> None:
    await result


def _check(function: object, what: str) -> None:
    check_function(function, what)
    assert callable(function)
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        raise DefinitionError(
            f"{what}={getattr(function, '__name__', function)!r} does not take one argument",
            rule="a callback is told of a TaskEnded",
            fix="write def tell(ended: TaskEnded) -> None",
        ) from None
