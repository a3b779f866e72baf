"""When a named job ticks: zones, outages, pauses (S-201)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from partita.assets import DefinitionError
from partita.core.decide.jobs import JobRefused, check_job, fires, missed_by_pause, next_tick, pause, resume, tick
from partita.core.store.values_jobs import Job

NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)
JOB = Job(
    "nightly", {"selection": "a", "mode": ["missing"]}, "scheduled", "ada", NOON, cron="30 2 * * *", tz="Europe/Berlin"
)


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def test_a_job_ticks_on_the_wall_clock_of_its_zone() -> None:
    assert next_tick(JOB, NOON) == at(29, 1), "02:30 is in the gap of spring: the first instant after it"
    assert fires(JOB, NOON, 2) == [at(29, 1), at(30, 0, 30)]
    by_hand = replace(JOB, cron=None, tz=None)
    assert (next_tick(by_hand, NOON), fires(by_hand, NOON, 2)) == (None, [])


def test_a_tick_is_the_newest_that_has_come_and_counts_those_that_passed() -> None:
    due = replace(JOB, next_at=at(29, 1))
    once = tick(due, at(29, 1, 5))
    assert (once.at, once.missed, once.next_at) == (at(29, 1), 0, at(30, 0, 30))
    late = tick(due, at(31, 12))
    assert (late.at, late.missed) == (at(31, 0, 30), 2)
    assert late.next_at == datetime(2026, 4, 1, 0, 30, tzinfo=UTC)


def test_a_resumed_job_that_caught_up_heeds_the_newest_tick_once() -> None:
    paused = pause(JOB, who="bob", reason=" the source lies ", now=NOON)
    assert (paused.next_at, paused.pause_reason, next_tick(paused, NOON)) == (None, "the source lies", None)
    assert missed_by_pause(paused, at(31, 12)) == 3
    assert resume(paused, now=at(31, 12), latest=False).next_at == datetime(2026, 4, 1, 0, 30, tzinfo=UTC)
    caught_up = resume(paused, now=at(31, 12), latest=True)
    assert caught_up.next_at == at(31, 12)
    assert tick(caught_up, at(31, 12, 1)).missed == 0
    assert resume(paused, now=at(28, 13), latest=True).next_at == at(29, 1), "nothing passed: it waits for its time"
    with pytest.raises(JobRefused, match="paused by bob already"):
        pause(paused, who="ada", reason="", now=NOON)
    with pytest.raises(JobRefused, match="is not paused"):
        resume(JOB, now=NOON, latest=False)


def test_names_crons_and_zones_are_refused_with_the_fix() -> None:
    check_job("nightly.report-2", "0 6 * * *", "UTC")
    for name, cron, tz, error in [
        ("a b", None, None, JobRefused),
        ("", None, None, JobRefused),
        ("a", "0 6 * * *", None, JobRefused),
        ("a", None, "UTC", JobRefused),
        ("a", "0 25 * * *", "UTC", DefinitionError),
        ("a", "0 6 * * *", "Mars/Olympus", DefinitionError),
    ]:
        with pytest.raises(error):
            check_job(name, cron, tz)
