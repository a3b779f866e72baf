"""The fire times of a cron in a zone, numbered by integers in both directions.

Day by day a cron fires at the same wall times, so index and instant follow from each other by arithmetic, except
on the few days around a clock change. Those are held as blocks with their instants listed; between two blocks the
offset is constant. A lookup costs a binary search over the blocks, whatever the number of fire times.

Policy of clock changes: a wall-clock cron fires once per matching wall time, at the first pass of a repeated one
and at the first instant after the gap for a skipped one (none when the gap is three hours or more); an interval
cron (minute or hour begins with `*`) fires at every instant whose wall time matches.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR, date
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from partita.assets.errors import DefinitionError
from partita.assets.partitions.business import BusinessDays
from partita.assets.partitions.cron import Cron, parse_cron
from partita.assets.partitions.days import DayRule, EveryDay, Weekdays, day_rule
from partita.assets.partitions.zones import (
    DAY_S,
    EPOCH_DAY,
    LARGEST_GAP_S,
    Change,
    changes_in,
    from_epoch,
    gap_among,
    instants_among,
    offset_among,
    offset_at,
    year_of,
)

_ANCHOR_YEAR = 2015
"""Where the count of irregular days starts; any year will do, one near the data in use is cheapest."""
_ANCHOR_DAY = date(_ANCHOR_YEAR, 1, 1).toordinal()


class Fire(NamedTuple):
    """A fire time (epoch second), the zone's offset then (seconds), and the local date (ordinal) that asked for it.

    The fire time's own local date differs from the last only where a skipped time is made up for after midnight.
    """

    second: int
    offset: int
    nominal_day: int


class _Span(NamedTuple):
    """Ticks at even distances: from `first` (at `second`) to before `index_stop` (the last at `second_stop`)."""

    first: int
    second: int
    index_stop: int
    second_stop: int


@dataclass(frozen=True, slots=True)
class _Block:
    """Days (ordinals, inclusive) around clock changes, with every fire time on them."""

    first: int
    last: int
    start: int
    """Epoch second at which the first day begins."""
    stop: int
    """Epoch second at which the day after the last begins."""
    offset_after: int
    fires: tuple[Fire, ...]


class _Table:
    """The blocks of a span of years, each with the index of its first tick."""

    __slots__ = ("blocks", "first_days", "first_offset", "from_year", "index_starts", "starts", "to_year")

    def __init__(
        self, years: tuple[int, int], blocks: tuple[_Block, ...], first_offset: int, rule: DayRule, per_day: int
    ) -> None:
        self.from_year, self.to_year = years
        self.blocks = blocks
        self.first_offset = first_offset
        self.starts = [block.start for block in blocks]
        self.first_days = [block.first for block in blocks]
        self.index_starts = _index_starts(blocks, rule, per_day)


def _index_starts(blocks: tuple[_Block, ...], rule: DayRule, per_day: int) -> list[int]:
    regular = [per_day * rule.before(block.first) for block in blocks]
    extra = [len(block.fires) - per_day * (rule.before(block.last + 1) - rule.before(block.first)) for block in blocks]
    anchor = sum(1 for block in blocks if block.first < _ANCHOR_DAY)
    correction = -sum(extra[:anchor])
    starts: list[int] = []
    for at, more in zip(regular, extra, strict=True):
        starts.append(at + correction)
        correction += more
    return starts


class TimeGrid:
    """The numbered fire times of one cron in one zone. Instants are epoch seconds."""

    def __init__(self, cron: Cron, tz: str, calendar: BusinessDays | None = None) -> None:
        self.cron = cron
        self.tz = tz
        self.calendar = calendar
        self._rule = day_rule(cron.days, calendar)
        self._seconds = [minute * 60 for minute in cron.times]
        self._per_day = len(cron.times)
        self._even = _even_step(self._rule, self._seconds)
        self._known: dict[tuple[Change, ...], _Block] = {}
        # Replaced as a whole when it grows, so that readers in other threads never see half a table.
        self._table = self._build(_ANCHOR_YEAR, _ANCHOR_YEAR)

    def __repr__(self) -> str:
        return f"<TimeGrid {self.cron.text!r} {self.tz}>"

    def index_from(self, second: int) -> int:
        """The index of the first fire time at or after an instant."""
        table = self._covering(year_of(second))
        at = bisect_right(table.starts, second) - 1
        if at >= 0 and second < table.blocks[at].stop:
            return table.index_starts[at] + bisect_left(table.blocks[at].fires, second, key=_second)
        base, since = self._after_block(table, at)
        day, clock = divmod(second + _offset_after(table, at), DAY_S)
        day += EPOCH_DAY
        index = base + self._per_day * (self._rule.before(day) - since)
        return index + bisect_left(self._seconds, clock) if self._rule.matches(day) else index

    def index_until(self, second: int) -> int:
        """The index of the last fire time at or before an instant."""
        return self.index_from(second + 1) - 1

    def index_from_day(self, day: int) -> int:
        """The index of the first fire time asked for by the local date `day` (an ordinal) or a later one."""
        table = self._covering(_year_of_day(day))
        at = bisect_right(table.first_days, day) - 1
        if at >= 0 and day <= table.blocks[at].last:
            return table.index_starts[at] + bisect_left(table.blocks[at].fires, day, key=_nominal_day)
        base, since = self._after_block(table, at)
        return base + self._per_day * (self._rule.before(day) - since)

    def tick(self, index: int) -> int:
        """The fire time of an index; raises DefinitionError outside years 1 to 9999."""
        return self.fire(index).second

    def fire(self, index: int) -> Fire:
        """`tick`, with the offset then in force and the local date that asked for it."""
        day = self._rule.nth(index // self._per_day)
        while True:
            # The regular day is a first guess: irregular days may have moved the index into another year.
            table = self._covering(_year_of_day(day))
            at = bisect_right(table.index_starts, index) - 1
            if at >= 0 and index < table.index_starts[at] + len(table.blocks[at].fires):
                return table.blocks[at].fires[index - table.index_starts[at]]
            base, since = self._after_block(table, at)
            days, position = divmod(index - base, self._per_day)
            day = self._rule.nth(since + days)
            if table.from_year <= _year_of_day(day) <= table.to_year:
                break
        offset = _offset_after(table, at)
        return Fire((day - EPOCH_DAY) * DAY_S + self._seconds[position] - offset, offset, day)

    def ticks(self, indexes: Sequence[int]) -> list[int]:
        """`tick` of many indexes in ascending order; between clock changes by one multiplication each."""
        if self._even is None or not indexes:
            return [self.tick(index) for index in indexes]
        found: list[int] = []
        at, step = 0, self._even
        while at < len(indexes):
            span = self._straight(indexes[at], self.tick(indexes[at]))
            stop = max(bisect_left(indexes, span.index_stop, at), at + 1)
            if stop == at + 1:
                found.append(self.tick(indexes[at]))
            else:
                zero = span.second - span.first * step
                found += [zero + index * step for index in indexes[at:stop]]
            at = stop
        return found

    def fires(self, indexes: Sequence[int]) -> list[Fire]:
        """`fire` of many indexes in ascending order; between clock changes the offset is asked for once."""
        if self._even is None or not indexes:
            return [self.fire(index) for index in indexes]
        found: list[Fire] = []
        at, step = 0, self._even
        while at < len(indexes):
            first = self.fire(indexes[at])
            span = self._straight(indexes[at], first.second)
            stop = max(bisect_left(indexes, span.index_stop, at), at + 1)
            found.append(first)
            # Regular days: the local date of the fire time is the one that asked for it.
            local = first.second + first.offset - span.first * step
            found += [
                Fire(wall - first.offset, first.offset, wall // DAY_S + EPOCH_DAY)
                for wall in [local + index * step for index in indexes[at + 1 : stop]]
            ]
            at = stop
        return found

    def indexes_from(self, seconds: Sequence[int]) -> list[int]:
        """`index_from` of many instants in ascending order."""
        if self._even is None or not seconds:
            return [self.index_from(second) for second in seconds]
        found: list[int] = []
        at, step = 0, self._even
        while at < len(seconds):
            index = self.index_from(seconds[at])
            span = self._straight(index, self.tick(index))
            stop = max(bisect_right(seconds, span.second_stop, at), at + 1)
            if stop == at + 1:
                found.append(index)
            else:
                # What lies before the span's own tick may be further from the tick before than one step.
                first = bisect_right(seconds, span.second, at, stop)
                found += [index] * (first - at)
                zero = span.second - span.first * step
                found += [-((zero - second) // step) for second in seconds[first:stop]]
            at = stop
        return found

    def _straight(self, index: int, second: int) -> _Span:
        """From a tick on, the ticks that follow at even distances: all before the next irregular day."""
        table = self._covering(year_of(second))
        at = bisect_right(table.starts, second) - 1
        if at >= 0 and second < table.blocks[at].stop:
            return _Span(index, second, index + 1, second)
        if at + 1 >= len(table.blocks):
            # Nothing irregular is known further on: up to the end of what the table covers.
            stop = (date(table.to_year + 1, 1, 1).toordinal() - EPOCH_DAY - 1) * DAY_S
            count = max((stop - second) // (self._even or 1), 0) + 1
        else:
            count = table.index_starts[at + 1] - index
        return _Span(index, second, index + count, second + (count - 1) * (self._even or 1))

    def _after_block(self, table: _Table, at: int) -> tuple[int, int]:
        """(index of the first tick after block `at`, matching days before the day after it)."""
        if at >= 0:
            block = table.blocks[at]
            return table.index_starts[at] + len(block.fires), self._rule.before(block.last + 1)
        if not table.blocks:
            return 0, 0
        return table.index_starts[0], self._rule.before(table.blocks[0].first)

    def _covering(self, year: int) -> _Table:
        table = self._table
        if table.from_year <= year <= table.to_year:
            return table
        low = table.from_year if year >= table.from_year else max(year - 2, 2)
        high = table.to_year if year <= table.to_year else min(year + 2, MAXYEAR - 1)
        self._table = table = self._build(low, high)
        return table

    def _build(self, from_year: int, to_year: int) -> _Table:
        # One year more on both sides: a block at the edge of the span must be whole.
        span = range(max(from_year - 1, 2), min(to_year + 1, MAXYEAR - 1) + 1)
        changes = [change for year in span for change in changes_in(self.tz, year)]
        blocks = tuple(self._block(group) for group in _groups(changes))
        first_offset = changes[0].before if changes else offset_at(self.tz, _day_start(date(from_year, 7, 1)))
        return _Table((from_year, to_year), blocks, first_offset, self._rule, self._per_day)

    def _block(self, changes: tuple[Change, ...]) -> _Block:
        known = self._known.get(changes)
        if known is None:
            known = self._known[changes] = self._new_block(changes, *_days_of(changes))
        return known

    def _new_block(self, changes: tuple[Change, ...], first: int, last: int) -> _Block:
        asked: dict[int, int] = {}
        for day in range(first, last + 1):
            if self._rule.matches(day):
                for second in self._seconds:
                    for instant in self._fire_times(changes, (day - EPOCH_DAY) * DAY_S + second):
                        asked.setdefault(instant, day)
        if self.cron.once_a_day:
            _refuse_one_date_twice(self, asked)
        return _Block(
            first=first,
            last=last,
            start=(first - EPOCH_DAY) * DAY_S - changes[0].before,
            stop=(last + 1 - EPOCH_DAY) * DAY_S - changes[-1].after,
            offset_after=changes[-1].after,
            fires=tuple(Fire(second, offset_among(changes, second), asked[second]) for second in sorted(asked)),
        )

    def _fire_times(self, changes: tuple[Change, ...], wall: int) -> tuple[int, ...]:
        instants = instants_among(changes, wall)
        if self.cron.interval:
            return instants
        if instants:
            return instants[:1]
        gap = gap_among(changes, wall)
        return (gap.at,) if gap is not None and gap.after - gap.before < LARGEST_GAP_S else ()


@lru_cache(maxsize=512)
def time_grid(cron: str, tz: str, calendar: BusinessDays | None = None) -> TimeGrid:
    """The grid of a cron in a zone; shared, because it caches what it learned of the zone."""
    return TimeGrid(parse_cron(cron), tz, calendar)


def _even_step(rule: DayRule, seconds: list[int]) -> int | None:
    """Seconds between fire times where the zone's offset stays, when that is always the same; else None."""
    if isinstance(rule, EveryDay):
        step = DAY_S // len(seconds)
        return step if all(b - a == step for a, b in pairwise([*seconds, seconds[0] + DAY_S])) else None
    return rule.every_s if isinstance(rule, Weekdays) and len(seconds) == 1 else None


def _refuse_one_date_twice(grid: TimeGrid, asked: Mapping[int, int]) -> None:
    """Keys that are dates name one window each: whatever a zone's data say, two windows never share a key."""
    start_of: dict[int, int] = {}
    for second, day in sorted(asked.items()):
        if day in start_of:
            first, other = (from_epoch(one).isoformat() for one in (start_of[day], second))
            raise DefinitionError(
                f"cron {grid.cron.text!r} in {grid.tz} gives the windows that start at {first} and at {other} one key, "
                f"{date.fromordinal(day).isoformat()}",
                rule="a key names one window",
                fix="choose a time of day that the zone does not repeat, or another zone",
            )
        start_of[day] = second


def _groups(changes: list[Change]) -> list[tuple[Change, ...]]:
    """Changes whose days overlap belong to one block."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and _days_of((change,))[0] <= _days_of(tuple(groups[-1]))[1]:
            groups[-1].append(change)
        else:
            groups.append([change])
    return [tuple(group) for group in groups]


def _days_of(changes: tuple[Change, ...]) -> tuple[int, int]:
    """The local dates (ordinals, inclusive) on which wall times are skipped, repeated or made up for."""
    low = min(change.at + min(change.before, change.after) for change in changes)
    high = max(change.at + max(change.before, change.after) for change in changes)
    return low // DAY_S + EPOCH_DAY, high // DAY_S + EPOCH_DAY


def _day_start(day: date) -> int:
    return (day.toordinal() - EPOCH_DAY) * DAY_S


def _second(fire: Fire) -> int:
    return fire.second


def _nominal_day(fire: Fire) -> int:
    return fire.nominal_day


def _offset_after(table: _Table, at: int) -> int:
    return table.first_offset if at < 0 else table.blocks[at].offset_after


def _year_of_day(day: int) -> int:
    if not 1 <= day <= _LAST_DAY:
        raise DefinitionError("the asked fire time is outside the calendar", rule="years are from 1 to 9999")
    return min(max(date.fromordinal(day).year, 2), MAXYEAR - 1)


_LAST_DAY = date.max.toordinal()
