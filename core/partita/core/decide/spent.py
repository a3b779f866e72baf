"""What consumed the time until a cell was there: its upstreams, slots, workers, its code, or that nobody asked. Pure.

The time is divided up by what happened to the tasks that owned the cell: every second is somebody's, and nobody's twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from operator import itemgetter

from partita.core.store.values_freshness import AttemptStory, TaskStory
from partita.core.store.values_tasks import TaskState


class Spender(StrEnum):
    UPSTREAM = "upstream"  # what it reads was not there
    UNASKED = "unasked"  # it could have been made, and nobody asked
    OUTSIDE = "outside"  # a wait for something outside: `wait_for`, `defer`
    POOL = "pool"  # ready, without slots, or paused
    WORKER = "worker"  # had its slots, and no worker took it
    CODE = "code"  # an attempt ran
    RETRY = "retry"  # between attempts


_WORDS = {
    Spender.UPSTREAM: "waiting for upstreams",
    Spender.UNASKED: "nobody asked for it",
    Spender.OUTSIDE: "waiting for something outside",
    Spender.POOL: "waiting for slots",
    Spender.WORKER: "waiting for a worker",
    Spender.CODE: "running its code",
    Spender.RETRY: "waiting for a retry",
}

_Mark = tuple[datetime, Spender]


def spent_on(
    tasks: Sequence[TaskStory], start: datetime, end: datetime, *, above_at: datetime | None = None
) -> dict[str, float]:
    """Seconds between two instants by who took them, those who took none left out. `tasks` owned the cell, oldest first;
    `above_at` is when the last of what it reads was there (later than `end`: not yet; None: it reads nothing, or nobody knows).
    """
    marks = sorted(_marks(tasks, start, above_at), key=itemgetter(0))  # stable: of one instant the later mark holds
    found: dict[str, float] = {}
    current, at = Spender.UNASKED, start
    for instant, spender in [*marks, (end, Spender.UNASKED)]:
        until = min(max(instant, start), end)
        if until > at:
            found[current.value] = found.get(current.value, 0.0) + (until - at).total_seconds()
            at = until
        current = spender
    return found


def said(spent: Mapping[str, float]) -> str:
    """The most of it first.

    >>> said({"code": 600.0, "upstream": 9_600.0})
    '2 h 40 min waiting for upstreams, 10 min running its code'
    """
    known = {word.value: word for word in Spender}
    parts = sorted(spent.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{_span(took)} {_WORDS[known[name]]}" for name, took in parts if name in known and took >= 0.5)


def most(spent: Mapping[str, float]) -> str | None:
    """Who took the most."""
    return max(spent.items(), key=lambda one: (one[1], one[0]), default=(None, 0.0))[0]


def _marks(tasks: Iterable[TaskStory], start: datetime, above_at: datetime | None) -> Iterator[_Mark]:
    """From when on the time is whose."""
    if above_at is not None and above_at > start:
        yield start, Spender.UPSTREAM
        yield above_at, Spender.UNASKED
    for task in tasks:
        yield task.created_at, Spender.UPSTREAM
        if task.ready_at is not None:
            yield task.ready_at, Spender.POOL
        for since, until in task.outside:
            yield since, Spender.OUTSIDE
            if until is not None:
                yield until, Spender.POOL
        for attempt in task.attempts:
            yield from _of_attempt(attempt, task)
        if task.finished_at is not None:
            yield task.finished_at, Spender.UNASKED


def _of_attempt(attempt: AttemptStory, task: TaskStory) -> Iterator[_Mark]:
    if attempt.queued_at is not None:
        yield attempt.queued_at, Spender.WORKER
    yield attempt.started_at, Spender.CODE
    if attempt.finished_at is not None:
        waits = attempt.outcome == "deferred"
        pool = attempt is task.attempts[-1] and task.state in (TaskState.SCHEDULED, TaskState.QUEUED)
        yield attempt.finished_at, Spender.OUTSIDE if waits else Spender.POOL if pool else Spender.RETRY


def _span(took_s: float) -> str:
    minutes, hours = int(took_s // 60), int(took_s // 3600)
    if hours:
        return f"{hours} h {minutes % 60} min" if minutes % 60 else f"{hours} h"
    return f"{minutes} min" if minutes else f"{took_s:.0f} s"
