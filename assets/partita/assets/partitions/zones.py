"""The clock changes of time zones, as integers.

A zone's data is the IANA database as `zoneinfo` gives it. All arithmetic is on epoch seconds (UTC) and on wall
seconds (epoch seconds of the wall clock read as if it were UTC), so that no `fold` is ever guessed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from partita.assets.errors import DefinitionError
from partita.assets.partitions.definitions import zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_S = 86_400
EPOCH_DAY = EPOCH.toordinal()
_WALL_EPOCH = EPOCH.replace(tzinfo=None)
_STEP_S = 3 * DAY_S
"""The looks for changes are this far apart; the shortest stay of any zone is four days (Freetown, 1939)."""
_NEVER_CHANGES = frozenset({"UTC", "Etc/UTC", "Etc/GMT", "GMT", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT"})
LARGEST_GAP_S = 3 * 3600
"""Skipped times are made up for in gaps under this; larger jumps are changes of the date line."""


class Change(NamedTuple):
    """At `at` (epoch seconds) the offset from UTC goes from `before` to `after` (seconds)."""

    at: int
    before: int
    after: int


def to_epoch(instant: datetime) -> int:
    """Epoch seconds of an aware datetime, rounded down; raises DefinitionError when it is naive."""
    if instant.tzinfo is None:
        raise DefinitionError(
            f"instant {instant.isoformat()} has no time zone",
            rule="instants are aware datetimes",
            fix="use datetime(..., tzinfo=UTC)",
        )
    return (instant - EPOCH) // timedelta(seconds=1)


def has_fraction(instant: datetime) -> bool:
    """True when the instant lies between two seconds."""
    return instant.microsecond != 0


def from_epoch(second: int) -> datetime:
    """The aware UTC datetime of epoch seconds."""
    return EPOCH + timedelta(seconds=second)


def to_wall(wall: datetime) -> int:
    """Wall seconds of a naive wall time, rounded up to the next second."""
    return -((_WALL_EPOCH - wall) // timedelta(seconds=1))


def from_wall(second: int) -> datetime:
    """The naive wall time of wall seconds."""
    return _WALL_EPOCH + timedelta(seconds=second)


def year_of(second: int) -> int:
    """The UTC year of epoch seconds, held within years 2 to 9998."""
    if second < _FIRST_SECOND:
        return 2
    return from_epoch(second).year if second < _LAST_SECOND else 9998


def offset_at(tz: str, second: int) -> int:
    """The zone's offset from UTC (seconds) at an instant."""
    return _offset(zone(tz), second)


@lru_cache(maxsize=65_536)
def changes_in(tz: str, year: int) -> tuple[Change, ...]:
    """The changes of a zone's offset within one UTC year, in order."""
    if tz in _NEVER_CHANGES:
        return ()
    place = zone(tz)
    at = _year_start(year) - 1
    end = _year_start(year + 1) - 1
    found: list[Change] = []
    offset = _offset(place, at)
    while at < end:
        step = min(at + _STEP_S, end)
        if _offset(place, step) != offset:
            step = _first_other(place, at, step, offset)
            after = _offset(place, step)
            found.append(Change(step, offset, after))
            offset = after
        at = step
    return tuple(found)


def instants_of(tz: str, wall: int) -> tuple[int, ...]:
    """The epoch seconds at which the zone's clock shows `wall`: none in a gap, two in an overlap."""
    changes = _near(tz, wall)
    if not changes:
        return (wall - offset_at(tz, wall),)
    return instants_among(changes, wall)


def instants_among(changes: tuple[Change, ...], wall: int) -> tuple[int, ...]:
    """`instants_of`, given all changes near the wall time (at least one)."""
    found = [wall - changes[0].before] if wall - changes[0].before < changes[0].at else []
    for this, following in zip(changes, (*changes[1:], None), strict=True):
        second = wall - this.after
        if this.at <= second and (following is None or second < following.at):
            found.append(second)
    return tuple(found)


def gap_among(changes: tuple[Change, ...], wall: int) -> Change | None:
    """The change that skipped `wall`."""
    for one in changes:
        if one.at + one.before <= wall < one.at + one.after:
            return one
    return None


def offset_among(changes: tuple[Change, ...], second: int) -> int:
    """The offset at an instant, given all changes near it (at least one)."""
    return next((one.after for one in reversed(changes) if one.at <= second), changes[0].before)


def resolve_wall(tz: str, wall: int) -> int:
    """The instant of a wall time: the first pass of a repeated one, the first after the gap for a skipped one."""
    instants = instants_of(tz, wall)
    if instants:
        return instants[0]
    gap = gap_among(_near(tz, wall), wall)
    if gap is None:
        raise AssertionError(f"wall time {from_wall(wall)} of {tz} is neither shown nor skipped")
    return gap.at


def highest_wall(tz: str, second: int) -> int:
    """The highest time (wall seconds) that the clock has shown by an instant: it stands still while a time is repeated."""
    wall = second + offset_at(tz, second)
    near = _near(tz, wall)
    return max([wall, *(one.at + one.before for one in near if one.at <= second)])


def _near(tz: str, wall: int) -> tuple[Change, ...]:
    years = sorted({year_of(wall - 2 * DAY_S), year_of(wall + 2 * DAY_S)})
    return tuple(
        one for year in years for one in changes_in(tz, year) if wall - 2 * DAY_S <= one.at <= wall + 2 * DAY_S
    )


def _first_other(place: ZoneInfo, low: int, high: int, offset: int) -> int:
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(place, middle) == offset:
            low = middle
        else:
            high = middle
    return high


def _offset(place: ZoneInfo, second: int) -> int:
    moved = place.fromutc((_WALL_EPOCH + timedelta(seconds=second)).replace(tzinfo=place))
    offset = moved.utcoffset()
    return 0 if offset is None else offset // timedelta(seconds=1)


def _year_start(year: int) -> int:
    return to_epoch(datetime(year, 1, 1, tzinfo=UTC))


_FIRST_SECOND = _year_start(3)
_LAST_SECOND = _year_start(9998)
