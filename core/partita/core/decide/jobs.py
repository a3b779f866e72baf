"""When a named job runs, and what pausing one means. Pure.

A tick is the newest fire time that has come: after an outage, or a pause that ends with `latest`, one request is made for all
that passed, since each of them would ask for what is missing now.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from partita.assets import PartitaError, check_cron, next_fires, previous_fires
from partita.core.store.values_jobs import Job

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_SOON = timedelta(microseconds=1)
_COUNTED = 1_000


class JobRefused(PartitaError):
    """A job that cannot be kept so, or that is not there."""


@dataclass(frozen=True, slots=True)
class Tick:
    """`at` is the fire time that is heeded now, `missed` how many before it are not (at most a thousand are counted)."""

    at: datetime
    missed: int
    next_at: datetime | None


def check_job(name: str, cron: str | None, tz: str | None) -> None:
    """Raises JobRefused, and DefinitionError for a cron or a zone that is not legal."""
    if not _NAME.fullmatch(name):
        raise JobRefused(
            f"{name!r} is no name of a job",
            rule="it begins with a letter or digit, and has letters, digits, `_`, `.` and `-`, at most 100",
            fix="for example nightly-report",
        )
    if (cron is None) != (tz is None):
        raise JobRefused(
            f"job {name} has {'a cron without its zone' if tz is None else 'a zone without a cron'}",
            rule="a cron means instants only with the zone of its wall clock",
            fix='give both: --cron "0 6 * * *" --tz Europe/Berlin',
        )
    if cron is not None and tz is not None:
        check_cron(cron, tz)


def next_tick(job: Job, after: datetime) -> datetime | None:
    """The first fire time after an instant; None for one that is paused or goes by hand."""
    if job.cron is None or job.tz is None or job.paused_by is not None:
        return None
    return next(iter(next_fires(job.cron, job.tz, after)), None)


def fires(job: Job, after: datetime, count: int) -> list[datetime]:
    """The next fire times, whether or not it is paused."""
    return [] if job.cron is None or job.tz is None else next_fires(job.cron, job.tz, after, count)


def tick(job: Job, now: datetime) -> Tick:
    """Of a job whose `next_at` has come."""
    assert job.next_at is not None
    assert job.cron is not None
    assert job.tz is not None
    newest = next(iter(previous_fires(job.cron, job.tz, now + _SOON)), job.next_at)
    at = max(newest, job.next_at) if newest <= now else job.next_at
    missed = sum(one < at for one in previous_fires(job.cron, job.tz, at, _COUNTED) if one >= job.next_at)
    return Tick(at, missed, next_tick(job, now))


def pause(job: Job, *, who: str, reason: str, now: datetime) -> Job:
    """Raises JobRefused for one that is paused: the first one counts."""
    if job.paused_by is not None:
        raise JobRefused(f"job {job.name} is paused by {job.paused_by} already", rule="the first one counts")
    return replace(job, paused_by=who, paused_at=now, pause_reason=reason.strip(), next_at=None)


def missed_by_pause(job: Job, now: datetime) -> int:
    """How many ticks passed while it was paused; at most a thousand are counted."""
    if job.cron is None or job.tz is None or job.paused_at is None:
        return 0
    return sum(one > job.paused_at for one in previous_fires(job.cron, job.tz, now + _SOON, _COUNTED))


def resume(job: Job, *, now: datetime, latest: bool) -> Job:
    """`latest`: the newest tick that passed while it was paused is heeded at once; else none of them is."""
    if job.paused_by is None:
        raise JobRefused(f"job {job.name} is not paused", rule="resuming ends a pause", fix="partita jobs list")
    free = replace(job, paused_by=None, paused_at=None, pause_reason=None)
    due = latest and missed_by_pause(job, now) > 0
    return replace(free, next_at=now if due else next_tick(free, now))
