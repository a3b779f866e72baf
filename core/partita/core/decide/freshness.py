"""Whether an asset keeps its freshness policy, and when it did not. Pure, given what is due and what is there.

Lateness counts from the instant at which data was due, and ends with the one at which it came, whenever somebody looks: a
scheduler that was away changes no figure. What was due before the policy held blames nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from partita.core.store.values_freshness import FreshState

Span = tuple[datetime, datetime | None]


@dataclass(frozen=True, slots=True)
class Answer:
    """Something is due at an instant; `met_at` is when it came (before or after), None: it has not."""

    due_at: datetime
    met_at: datetime | None


@dataclass(frozen=True, slots=True)
class Known:
    """What the last look left."""

    state: FreshState
    state_since: datetime
    since: datetime


@dataclass(frozen=True, slots=True)
class Verdict:
    """`spans` in which it was late, the first of them the one that was open; the last one is open when it is late."""

    state: FreshState
    state_since: datetime
    due_at: datetime | None
    spans: tuple[Span, ...]


def judge(known: Known, answers: Sequence[Answer], now: datetime) -> Verdict:
    """`answers` are what was due by `now`, oldest first: the newest one of before the last look, and all since. What answers a
    later one answers the earlier ones, too."""
    newest = answers[-1] if answers else None
    before = known.state is FreshState.LATE
    if newest is None or (newest.met_at is None and newest.due_at <= known.since):
        ended = ((known.state_since, now),) if before else ()
        since = known.state_since if known.state is FreshState.UNKNOWN else now
        return Verdict(FreshState.UNKNOWN, since, None if newest is None else newest.due_at, ended)
    spans = _late(known, answers)
    if newest.met_at is None:
        start = spans[-1][0]
        return Verdict(FreshState.LATE, start, newest.due_at, tuple(spans))
    since = known.state_since
    if known.state is not FreshState.FRESH or spans:
        since = (spans[-1][1] if spans else None) or max(newest.met_at, known.since)
    return Verdict(FreshState.FRESH, min(since, now), newest.due_at, tuple(spans))


def _late(known: Known, answers: Sequence[Answer]) -> list[Span]:
    """Where something was due and not there, put together."""
    found: list[Span] = []
    met: datetime | None = None
    open_ended = True  # of the newest ones that have not come
    parts: list[tuple[datetime, datetime | None]] = []
    for one in reversed(answers):
        if one.met_at is not None:
            met = one.met_at if open_ended or met is None else min(met, one.met_at)
            open_ended = False
        came = None if open_ended else met
        if one.due_at > known.since and (came is None or came > one.due_at):
            parts.append((one.due_at, came))
    parts.reverse()
    if known.state is FreshState.LATE:
        came = _first_met(answers)
        parts.insert(0, (known.state_since, came if came is None else max(came, known.state_since)))
    for start, end in parts:
        if found and (found[-1][1] is None or start <= found[-1][1]):
            last = found[-1]
            found[-1] = (last[0], None if last[1] is None or end is None else max(last[1], end))
        else:
            found.append((start, end))
    return found


def _first_met(answers: Sequence[Answer]) -> datetime | None:
    return min((one.met_at for one in answers if one.met_at is not None), default=None)
