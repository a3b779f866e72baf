"""Fire times of a cron in a zone: the next, the previous, how many. Instants are aware UTC datetimes.

Next is strictly after, previous strictly before. The policy of clock changes is `grid.py`'s.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from partita.assets.errors import DefinitionError
from partita.assets.partitions.cron import parse_cron, recurring_cron
from partita.assets.partitions.definitions import zone
from partita.assets.partitions.grid import TimeGrid, time_grid
from partita.assets.partitions.zones import from_epoch, has_fraction, to_epoch


def next_fires(cron: str, tz: str, after: datetime, count: int = 1) -> list[datetime]:
    """The first `count` fire times strictly after an aware instant, as UTC datetimes; fewer when the cron fires no more.

    Raises DefinitionError for a cron or a zone that is not legal. A time inside a spring gap moves to the first
    instant after it.

    >>> [one.isoformat() for one in next_fires("30 2 * * *", "Europe/Berlin", datetime(2026, 3, 28, 12, tzinfo=UTC), 2)]
    ['2026-03-29T01:00:00+00:00', '2026-03-30T00:30:00+00:00']
    """
    return list(_next(cron, tz, to_epoch(after), count))


def previous_fires(cron: str, tz: str, before: datetime, count: int = 1) -> list[datetime]:
    """The last `count` fire times strictly before an aware instant, newest first, as UTC datetimes; fewer when there are
    no more.

    Raises DefinitionError for a cron or a zone that is not legal.

    >>> monday = datetime(2026, 3, 9, tzinfo=UTC)
    >>> [one.isoformat() for one in previous_fires("0 9 * * 1-5", "America/New_York", monday, 2)]
    ['2026-03-06T14:00:00+00:00', '2026-03-05T14:00:00+00:00']
    """
    return list(_previous(cron, tz, to_epoch(before) - (0 if has_fraction(before) else 1), count))


def count_fires(cron: str, tz: str, start: datetime, end: datetime) -> int:
    """How many fire times lie in [start, end), two aware instants; by arithmetic, not by listing them. Raises
    DefinitionError.

    >>> count_fires("0 * * * *", "America/New_York", datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
    8760
    """
    grid = _grid(cron, tz)
    if grid is None:
        return 0
    first, stop = (grid.index_from(to_epoch(one) + has_fraction(one)) for one in (start, end))
    return max(stop - first, 0)


def check_cron(cron: str, tz: str) -> None:
    """Raises DefinitionError for a cron or a zone that is not legal, and for a cron that never fires.

    >>> check_cron("0 6 31 2 *", "UTC")
    Traceback (most recent call last):
        ...
    partita.assets.errors.DefinitionError: cron '0 6 31 2 *' never fires; no date matches its day and month fields; ...
    """
    recurring_cron(cron)
    zone(tz)


# Thousands of assets with the same cron are looked at at the same instant.
@lru_cache(maxsize=4_096)
def _next(cron: str, tz: str, second: int, count: int) -> tuple[datetime, ...]:
    grid = _grid(cron, tz)
    if grid is None:
        return ()
    first = grid.index_from(second + 1)
    return _ticks(grid, range(first, first + count))


@lru_cache(maxsize=4_096)
def _previous(cron: str, tz: str, second: int, count: int) -> tuple[datetime, ...]:
    grid = _grid(cron, tz)
    if grid is None:
        return ()
    last = grid.index_until(second)
    return _ticks(grid, range(last, last - count, -1))


def _grid(cron: str, tz: str) -> TimeGrid | None:
    parsed = parse_cron(cron)
    zone(tz)
    return time_grid(parsed.text, tz) if parsed.days.ever else None


def _ticks(grid: TimeGrid, indexes: range) -> tuple[datetime, ...]:
    found: list[datetime] = []
    for index in indexes:
        try:
            found.append(from_epoch(grid.tick(index)))
        except DefinitionError:  # the end of the calendar
            break
    return tuple(found)
