"""Ticks for people: which of them fall on a day on which the clocks change. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo


def clock_changes(tz: str, ticks: Iterable[datetime]) -> list[datetime]:
    """Those of the ticks whose local day has a clock change: it is longer or shorter than others, and so is what they wait for.

    >>> from datetime import UTC
    >>> [f"{at:%d}" for at in clock_changes("Europe/Berlin", [datetime(2026, 3, day, 4, tzinfo=UTC) for day in (28, 29, 30)])]
    ['29']
    """
    return [tick for tick in ticks if _changes(tz, tick)]


def _changes(tz: str, tick: datetime) -> bool:
    local = tick.astimezone(ZoneInfo(tz)).replace(hour=0, minute=0, second=0, microsecond=0)
    return local.utcoffset() != (local + timedelta(days=1)).utcoffset()
