"""Time spaces: the windows of a time scheme that exist at an instant.

A window exists when it has closed, `horizon` windows earlier or later, never past `end`. Every answer is
arithmetic on the grid of the cron; no list of windows is ever made. Keys are as short as is unambiguous: `2026`,
`2026-03`, `2026-03-01`, or `2026-11-01T01:00-04:00` when the cron fires more than once a day.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple

from partita.assets.errors import SelectionError, UnknownPartition
from partita.assets.keys import PartitionKey
from partita.assets.partitions.cron import Cron
from partita.assets.partitions.definitions import TimePartitions
from partita.assets.partitions.grid import TimeGrid, time_grid
from partita.assets.partitions.sets import PartitionSet
from partita.assets.partitions.space import PartitionSpace, Window
from partita.assets.partitions.zones import (
    DAY_S,
    EPOCH_DAY,
    from_epoch,
    has_fraction,
    instants_of,
    resolve_wall,
    to_epoch,
    to_wall,
)

_PERIOD = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?|-W(?P<week>\d\d))?")
_MINUTE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d(?::\d\d)?(?P<offset>Z|[+-]\d\d:\d\d(?::\d\d)?)?")


class _Bounds(NamedTuple):
    base: int
    """Grid index of the first window."""
    windows: int | None
    """How many windows end at or before `end`; None without end."""


class TimeSpace(PartitionSpace):
    """Windows numbered from the first at or after `start`."""

    __slots__ = ("_length", "base", "grid")

    definition: TimePartitions

    def __init__(self, definition: TimePartitions, as_of: datetime) -> None:
        self.definition = definition
        self.grid: TimeGrid = time_grid(definition.cron, definition.tz)
        self._length = _key_length(self.grid.cron)
        bounds = _bounds(definition)
        self.base = bounds.base
        closed = self.grid.index_until(to_epoch(as_of)) - self.base + definition.horizon
        self.size = max(closed if bounds.windows is None else min(closed, bounds.windows), 0)

    def key_at(self, ordinal: int) -> PartitionKey:
        """The label of the window's start."""
        self._check(ordinal)
        return self.label_at(ordinal)

    def label_at(self, ordinal: int) -> PartitionKey:
        """The key that a window has or would have; the ordinal may lie outside 0 .. size-1."""
        fire = self.grid.fire(self.base + ordinal)
        if self._length is None:
            return PartitionKey(_minute_label(fire.second, fire.offset))
        return PartitionKey(_date_text(fire.nominal_day)[: self._length])

    def window_at(self, ordinal: int) -> Window:
        """The window of an ordinal."""
        self._check(ordinal)
        index = self.base + ordinal
        return Window(from_epoch(self.grid.tick(index)), from_epoch(self.grid.tick(index + 1)))

    def find(self, key: str) -> int | None:
        """The ordinal of a stored key."""
        ordinals = self._named(key)
        if ordinals is None or len(ordinals) != 1 or not 0 <= ordinals[0] < self.size:
            return None
        return ordinals[0] if self.label_at(ordinals[0]) == key else None

    def locate(self, text: str) -> PartitionSet | None:
        """The existing windows that start at that minute or within that day, week, month or year."""
        named = self._named(text)
        return self._existing(named.start, named.stop) or None if named is not None else None

    def span(self, from_key: str | None, to_key: str | None) -> PartitionSet:
        """The windows that start from the begin of one key or period to the end of another.

        The sides need not be keys themselves: a range of dates serves daily, weekly and monthly schemes alike.
        Raises SelectionError when they are the wrong way round.
        """
        start = 0 if from_key is None else self._readable(from_key).start
        stop = self.size if to_key is None else self._readable(to_key).stop
        if from_key is not None and to_key is not None and start > stop:
            raise SelectionError(
                f"range '{from_key}..{to_key}' is empty", rule="FROM lies before TO", fix="swap the two"
            )
        return self._existing(start, stop)

    def containing(self, instant: datetime) -> int | None:
        """The ordinal of the existing window that holds an instant."""
        ordinal = self.grid.index_until(to_epoch(instant)) - self.base
        return ordinal if 0 <= ordinal < self.size else None

    def first_from(self, instant: datetime) -> int:
        """The ordinal of the first window starting at or after an instant; `size` when none exists."""
        second = to_epoch(instant) + has_fraction(instant)
        return min(max(self.grid.index_from(second) - self.base, 0), self.size)

    def within(self, start: datetime, end: datetime) -> PartitionSet:
        """The existing windows that lie wholly inside [start, end)."""
        first = self.grid.index_from(to_epoch(start) + has_fraction(start)) - self.base
        return self._existing(first, self.grid.index_until(to_epoch(end)) - self.base)

    def overlapping(self, start: datetime, end: datetime) -> PartitionSet:
        """The existing windows that share an instant with [start, end)."""
        first = self.grid.index_until(to_epoch(start)) - self.base
        return self._existing(first, self.grid.index_from(to_epoch(end) + has_fraction(end)) - self.base)

    def latest(self, count: int) -> PartitionSet:
        """The newest windows."""
        return PartitionSet.from_ranges([(max(self.size - count, 0), self.size)])

    def same_partitions(self, other: PartitionSpace) -> bool:
        """The same grid from the same start, equally long."""
        return (
            isinstance(other, TimeSpace)
            and self.grid is other.grid
            and (self.base, self.size) == (other.base, other.size)
        )

    def unknown(self, text: str) -> UnknownPartition:
        """The nearest window, or why the named one does not exist."""
        what = f"partition {text!r} does not exist"
        if not self.size:
            return UnknownPartition(
                what, rule="no window has closed yet", fix=f"the first will be {str(self.label_at(0))!r}"
            )
        first, last = str(self.key_at(0)), str(self.key_at(self.size - 1))
        named = self._named(text)
        if named is None:
            return UnknownPartition(what, rule=f"keys look like {last!r}", fix=f"they run from {first!r} to {last!r}")
        if named.stop <= 0:
            return UnknownPartition(what, rule="it lies before the start", fix=f"the first partition is {first!r}")
        if named.start >= self.size:
            return UnknownPartition(
                what, rule="it has not closed, or lies past the end", fix=f"the last partition is {last!r}"
            )
        near = str(self.key_at(max(named.start - 1, 0)))
        return UnknownPartition(
            what, rule=f"no window of cron {self.definition.cron!r} starts then", fix=f"use {near!r}"
        )

    def _existing(self, start: int, stop: int) -> PartitionSet:
        return PartitionSet.from_ranges([(max(start, 0), min(stop, self.size))])

    def _readable(self, text: str) -> range:
        named = self._named(text)
        if named is None:
            raise self.unknown(text)
        return named

    def _named(self, text: str) -> range | None:
        """The ordinals (existing or not) of the windows named by a text, empty where one would be; None: unreadable."""
        if _MINUTE.fullmatch(text):
            return self._named_minute(text)
        days = _period(text)
        if days is None:
            return None
        if self._length is None:
            start, stop = (
                self.grid.index_from(resolve_wall(self.definition.tz, to_wall(datetime.combine(day, time()))))
                for day in days
            )
        else:
            start, stop = (self.grid.index_from_day(day.toordinal()) for day in days)
        return range(start - self.base, stop - self.base)

    def _named_minute(self, text: str) -> range | None:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        if moment.tzinfo is not None:
            instants: tuple[int, ...] = (to_epoch(moment),)
        else:
            instants = instants_of(self.definition.tz, to_wall(moment))
            if not instants:  # a skipped wall time names nothing, but a range may begin or end there
                at = self.grid.index_from(resolve_wall(self.definition.tz, to_wall(moment))) - self.base
                return range(at, at)
        ordinals = [self.grid.index_from(second) - self.base for second in instants]
        exact = [
            ordinal
            for ordinal, second in zip(ordinals, instants, strict=True)
            if self.grid.tick(ordinal + self.base) == second
        ]
        return range(exact[0], exact[-1] + 1) if exact else range(ordinals[0], ordinals[0])


@lru_cache(maxsize=4096)
def _bounds(definition: TimePartitions) -> _Bounds:
    grid = time_grid(definition.cron, definition.tz)
    base = grid.index_from(resolve_wall(definition.tz, to_wall(definition.start)))
    if definition.end is None:
        return _Bounds(base, None)
    return _Bounds(base, max(grid.index_until(resolve_wall(definition.tz, to_wall(definition.end))) - base, 0))


def _key_length(cron: Cron) -> int | None:
    """How much of an ISO date is a key: the year, the month, the day; None when a key needs the minute."""
    if cron.once_a_year:
        return 4
    if cron.once_a_month:
        return 7
    return 10 if cron.once_a_day else None


def _minute_label(second: int, offset: int) -> str:
    day, clock = divmod(second + offset, DAY_S)
    # Local mean times of long ago have offsets with seconds, and what is made up for after a gap may have some too.
    odd = f":{clock % 60:02}" if clock % 60 else ""
    return f"{_date_text(day + EPOCH_DAY)}T{clock // 3600:02}:{clock // 60 % 60:02}{odd}{_offset_text(offset)}"


@lru_cache(maxsize=256)
def _offset_text(offset: int) -> str:
    sign, size = ("-", -offset) if offset < 0 else ("+", offset)
    odd = f":{size % 60:02}" if size % 60 else ""
    return f"{sign}{size // 3600:02}:{size // 60 % 60:02}{odd}"


@lru_cache(maxsize=16_384)
def _date_text(day: int) -> str:
    return date.fromordinal(day).isoformat()


def _period(text: str) -> tuple[date, date] | None:
    """First day and day after the last of a year, month, ISO week or day."""
    found = _PERIOD.fullmatch(text)
    if not found:
        return None
    year = int(found["year"])
    try:
        if found["week"]:
            first = date.fromisocalendar(year, int(found["week"]), 1)
            return first, first + timedelta(days=7)
        if found["day"]:
            first = date(year, int(found["month"]), int(found["day"]))
            return first, first + timedelta(days=1)
        if found["month"]:
            month = int(found["month"])
            return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
        return date(year, 1, 1), date(year + 1, 1, 1)
    except (ValueError, OverflowError):
        return None
