"""What consumed the time: every second is somebody's, and nobody's twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.core.decide.spent import most, said, spent_on
from partita.core.store.values import TaskId, TaskState
from partita.core.store.values_freshness import AttemptStory, TaskStory

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def at(minute: float) -> datetime:
    return NOON + timedelta(minutes=minute)


def task(created: float, ready: float | None = None, *attempts: AttemptStory, **more: object) -> TaskStory:
    values: dict[str, object] = {"finished_at": None, "state": TaskState.RUNNING} | more
    return TaskStory(
        id=TaskId(1), created_at=at(created), ready_at=None if ready is None else at(ready), attempts=attempts, **values  # type: ignore[arg-type]
    )  # fmt: skip


def attempt(queued: float, started: float, finished: float | None = None, outcome: str | None = None) -> AttemptStory:
    return AttemptStory(at(queued), at(started), None if finished is None else at(finished), outcome)


def minutes(spent: dict[str, float]) -> dict[str, float]:
    return {name: took / 60 for name, took in spent.items()}


def test_a_night_told_in_full() -> None:
    """The window closed at noon; its upstream came at 12:40, somebody asked at 12:45; slots at 13:00; a failure, a retry."""
    story = task(45, 45, attempt(60, 62, 70, "failed"), attempt(75, 75, 90, "success"), finished_at=at(90))
    spent = minutes(spent_on([story], at(0), at(90), above_at=at(40)))
    assert spent == {"upstream": 40, "unasked": 5, "pool": 15, "worker": 2, "code": 23, "retry": 5}
    assert most(spent) == "upstream"


def test_a_task_that_waits_for_its_upstream_tasks() -> None:
    assert minutes(spent_on([task(0)], at(0), at(30))) == {"upstream": 30}


def test_what_is_not_there_yet_above_it_takes_all_of_the_time() -> None:
    assert minutes(spent_on([], at(0), at(30), above_at=at(10_000))) == {"upstream": 30}
    assert minutes(spent_on([], at(0), at(30), above_at=at(-10))) == {"unasked": 30}


def test_waiting_for_something_outside() -> None:
    story = task(0, 0, attempt(40, 41), outside=((at(0), at(40)),))
    assert minutes(spent_on([story], at(0), at(50))) == {"outside": 40, "worker": 1, "code": 9}
    still = task(0, 0, outside=((at(0), None),), state=TaskState.DEFERRED)
    assert minutes(spent_on([still], at(0), at(50))) == {"outside": 50}


def test_words() -> None:
    assert said({"code": 600.0, "upstream": 9_600.0}) == "2 h 40 min waiting for upstreams, 10 min running its code"
    assert said({}) == ""
    assert most({}) is None


@given(
    st.lists(st.tuples(*[st.integers(-50, 150)] * 6).map(sorted), max_size=3),
    st.integers(-20, 60),
    st.integers(0, 100),
    st.none() | st.integers(-30, 160),
)
def test_every_second_is_somebodys(stories: list[list[int]], start: int, length: int, above: int | None) -> None:
    tasks = [task(one[0], one[1], attempt(one[2], one[3], one[4], "failed"), finished_at=at(one[5])) for one in stories]
    spent = spent_on(tasks, at(start), at(start + length), above_at=None if above is None else at(above))
    assert sum(spent.values()) == pytest.approx(length * 60)
    assert all(took > 0 for took in spent.values())
