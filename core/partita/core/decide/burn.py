"""How fast an error budget burns, and when to say so. Pure.

The algorithm is that of "multiwindow, multi-burn-rate alerts": Google, The Site Reliability Workbook, chapter 5, "Alerting on
SLOs" (2018), with its figures: two per cent of the budget of 30 days within an hour, five within six hours, ten within three
days; each is confirmed by a window of a twelfth, so that an alert ends soon after its cause. The part of the budget is kept over
other periods, so the rates scale with them. A pair that says less than "faster than it may", or that lateness alone cannot reach
(its rate times the budget is above one), is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from partita.core.decide.freshness import Span

_HOUR_S = 3_600.0
_SOON = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """`part` of the budget within `long_s`, and as fast within `short_s`."""

    name: str
    long_s: float
    short_s: float
    part: float

    def limits_s(self, objective: float, over_s: float) -> tuple[float, float]:
        """So many seconds late within each of its windows are too many."""
        long = self.part * budget_s(objective, over_s)
        return long, long * self.short_s / self.long_s


_PAIRS = (
    Pair("1 h", _HOUR_S, _HOUR_S / 12, 0.02),
    Pair("6 h", 6 * _HOUR_S, _HOUR_S / 2, 0.05),
    Pair("3 d", 72 * _HOUR_S, 6 * _HOUR_S, 0.10),
)


def budget_s(objective: float, over_s: float) -> float:
    """How long it may be late.

    >>> round(budget_s(0.99, 30 * 86_400) / 3_600, 1)
    7.2
    """
    return (1 - objective) * over_s


def pairs_of(objective: float, over_s: float) -> list[Pair]:
    """The pairs of windows that mean something for an objective, the fastest first.

    >>> [pair.name for pair in pairs_of(0.99, 30 * 86_400)], [pair.name for pair in pairs_of(0.9, 30 * 86_400)]
    (['1 h', '6 h', '3 d'], ['6 h', '3 d'])
    """
    return [
        pair
        for pair in _PAIRS
        if pair.part * over_s >= pair.long_s and pair.limits_s(objective, over_s)[0] <= pair.long_s
    ]


def late_s(spans: Iterable[Span], start: datetime, end: datetime) -> float:
    """For how long it was late between two instants."""
    return sum(
        max(0.0, (min(end, until or end) - max(start, begin)).total_seconds()) for begin, until in spans
    )  # fmt: skip


def burning(spans: Sequence[Span], objective: float, over_s: float, now: datetime) -> str | None:
    """The window within which the budget burns too fast; None: it does not."""
    for pair in pairs_of(objective, over_s):
        long, short = pair.limits_s(objective, over_s)
        if _late_within(spans, pair.long_s, now) >= long and _late_within(spans, pair.short_s, now) >= short:
            return pair.name
    return None


def next_change(spans: Sequence[Span], objective: float, over_s: float, now: datetime) -> datetime | None:
    """The next instant at which `burning` may say something else, should the state stay as it is; None: at none."""
    found = [
        crossing
        for pair in pairs_of(objective, over_s)
        for window_s, limit_s in zip((pair.long_s, pair.short_s), pair.limits_s(objective, over_s), strict=True)
        for crossing in _crossings(spans, window_s, limit_s, now)
    ]
    return max(min(found), now + _SOON) if found else None


def _late_within(spans: Sequence[Span], window_s: float, at: datetime) -> float:
    return late_s(spans, at - timedelta(seconds=window_s), at)


def _crossings(spans: Sequence[Span], window_s: float, limit_s: float, now: datetime) -> list[datetime]:
    """When the time late within a window crosses a limit: between two edges it grows or shrinks evenly, or stays."""
    window = timedelta(seconds=window_s)
    edges = {
        edge for begin, until in spans for one in (begin, until) if one is not None for edge in (one, one + window)
    }
    ahead = sorted(edge for edge in edges if edge > now)
    ahead.append((ahead[-1] if ahead else now) + window)  # of an open span it grows for as long as the window is
    found = []
    start, had = now, _late_within(spans, window_s, now)
    for end in ahead:
        has = _late_within(spans, window_s, end)
        if (had < limit_s) != (has < limit_s):
            share = (limit_s - had) / (has - had)
            found.append(start + (end - start) * share + timedelta(microseconds=1))
        start, had = end, has
    return found
