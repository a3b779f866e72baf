"""Time spaces: the windows of a time scheme that exist at an instant.

A window exists when it has closed, `horizon` windows earlier or later, never past `end`. Every answer is
arithmetic on the grid of the cron; no list of windows is ever made. Keys are as short as is unambiguous: `2026`,
`2026-03`, `2026-03-01`, or `2026-11-01T01:00-04:00` when the cron fires more than once a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time
from functools import lru_cache
from typing import NamedTuple

from partita.assets.errors import UnknownPartition
from partita.assets.keys import PartitionKey
from partita.assets.partitions.cron import Cron
from partita.assets.partitions.definitions import TimePartitions
from partita.assets.partitions.grid import Fire, TimeGrid, time_grid
from partita.assets.partitions.holes import NO_HOLES, Holes
from partita.assets.partitions.periods import minute_of, period_of, sides_of
from partita.assets.partitions.sets import PartitionSet, Range
from partita.assets.partitions.space import PartitionSpace, Window, turned
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


class _Bounds(NamedTuple):
    base: int
    """Grid index of the first window."""
    windows: int | None
    """How many windows end at or before `end`, excluded ones too; None without end."""
    holes: Holes


class TimeSpace(PartitionSpace):
    """Windows numbered from the first at or after `start`, excluded ones left out.

    >>> days = space_of(Daily("2026-03-01", exclude=["2026-03-02"]), datetime(2026, 3, 4, tzinfo=UTC))
    >>> days.keys_of(range(days.size)), days.containing(datetime(2026, 3, 3, 15, tzinfo=UTC))
    (['2026-03-01', '2026-03-03'], 1)
    """

    __slots__ = ("_holes", "_length", "base", "grid")

    definition: TimePartitions

    def __init__(self, definition: TimePartitions, as_of: datetime) -> None:
        self.definition = definition
        self.grid: TimeGrid = time_grid(definition.cron, definition.tz, definition.calendar)
        self._length = _key_length(self.grid.cron)
        bounds = _bounds(definition)
        self.base = bounds.base
        self._holes = bounds.holes
        closed = self.grid.index_until(to_epoch(as_of)) - self.base + definition.horizon
        self.size = max(self._holes.rank(closed if bounds.windows is None else min(closed, bounds.windows)), 0)

    def key_at(self, ordinal: int) -> PartitionKey:
        """The label of the window's start."""
        self._check(ordinal)
        return self.label_at(ordinal)

    def label_at(self, ordinal: int) -> PartitionKey:
        """The key that a window has or would have; the ordinal may lie outside 0 .. size-1."""
        return self._label(self.grid.fire(self.index_at(ordinal)))

    def labels(self, start: int, stop: int) -> list[PartitionKey]:
        """The keys of the windows of the ordinals from `start` to before `stop`, cheaper than one by one."""
        indexes = [index for lower, upper in self.pieces([(start, stop)]) for index in range(lower, upper)]
        return [self._label(fire) for fire in self.grid.fires(indexes)]

    def _label(self, fire: Fire) -> PartitionKey:
        if self._length is None:
            return PartitionKey(_minute_label(fire.second, fire.offset))
        return PartitionKey(_date_text(fire.nominal_day)[: self._length])

    def window_at(self, ordinal: int) -> Window:
        """The window of an ordinal."""
        self._check(ordinal)
        index = self.index_at(ordinal)
        return Window(from_epoch(self.grid.tick(index)), from_epoch(self.grid.tick(index + 1)))

    def named(self, chosen: PartitionSet) -> list[tuple[PartitionKey, Window | None]]:
        """Keys and windows; between clock changes a few additions each."""
        rows = zip(*self.table(chosen), strict=True)
        return [(key, Window(from_epoch(start), from_epoch(end))) for key, start, end in rows]

    def table(self, chosen: PartitionSet) -> tuple[list[PartitionKey], list[int], list[int]]:
        """As `named`, in columns: keys, and the epoch seconds at which windows start and end."""
        if chosen:
            self._check(chosen.last)
        indexes = [index for start, stop in self.pieces(chosen.ranges) for index in range(start, stop)]
        fires = self.grid.fires(indexes)
        ends = self.grid.ticks([index + 1 for index in indexes])
        return [self._label(fire) for fire in fires], [fire.second for fire in fires], ends

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
            raise turned(from_key, to_key)
        return self._existing(start, stop)

    def containing(self, instant: datetime) -> int | None:
        """The ordinal of the existing window that holds an instant."""
        index = self.grid.index_until(to_epoch(instant))
        ordinal = self.rank(index)
        return ordinal if 0 <= ordinal < self.size and self.index_at(ordinal) == index else None

    @property
    def total(self) -> int | None:
        """How many windows there will ever be; None where the scheme has no end."""
        bounds = _bounds(self.definition)
        return None if bounds.windows is None else max(self._holes.rank(bounds.windows), 0)

    def covers(self, ordinal: int) -> Window:
        """The window that an ordinal has or would have."""
        index = self.index_at(ordinal)
        return Window(from_epoch(self.grid.tick(index)), from_epoch(self.grid.tick(index + 1)))

    def due_at(self, ordinal: int) -> datetime:
        """When a window begins to exist: at its close, `horizon` windows earlier or later. It may lie ahead.

        >>> days = space_of(Daily("2026-03-01", tz="Europe/Berlin"), datetime(2026, 3, 2, tzinfo=UTC))
        >>> days.size, days.due_at(1).isoformat()
        (1, '2026-03-02T23:00:00+00:00')
        """
        return from_epoch(self.grid.tick(self.index_at(ordinal) + 1 - self.definition.horizon))

    def naming(self, text: str) -> int | None:
        """The ordinal of the first window, existing or not, that a text names; negative before the start. None: it names none."""
        named = self._named(text)
        return named.start if named else None

    def index_at(self, ordinal: int) -> int:
        """The grid's index of an ordinal, existing or not."""
        return self.base + self._holes.place(ordinal)

    def rank(self, index: int) -> int:
        """The ordinal of the first window at or after an index of the grid, existing or not."""
        return self._holes.rank(index - self.base)

    def pieces(self, runs: Sequence[Range]) -> list[Range]:
        """The runs of grid indexes of ascending runs of ordinals; an excluded window cuts a run."""
        base = self.base
        if self.whole:
            return [(base + start, base + stop) for start, stop in runs]
        return [(base + start, base + stop) for run in runs for start, stop in self._holes.places(run)]

    def intervals(self, runs: Sequence[Range]) -> list[tuple[int, int]]:
        """The half-open spans (epoch seconds) that ascending runs of ordinals cover; an excluded window cuts a span."""
        seconds = iter(self.grid.ticks([side for piece in self.pieces(runs) for side in piece]))
        return list(zip(seconds, seconds, strict=True))

    def meeting(self, spans: Sequence[tuple[int, int]]) -> list[Range]:
        """The runs of ordinals, existing or not, that share an instant with each ascending span; empty ones stay."""
        firsts = self.grid.indexes_from([start + 1 for start, _ in spans])
        stops = self.grid.indexes_from([stop for _, stop in spans])
        if self.whole:
            base = self.base
            return [(first - 1 - base, stop - base) for first, stop in zip(firsts, stops, strict=True)]
        return [(self.rank(first - 1), self.rank(stop)) for first, stop in zip(firsts, stops, strict=True)]

    @property
    def whole(self) -> bool:
        """No window is excluded."""
        return not self._holes.excluded

    def first_from(self, instant: datetime) -> int:
        """The ordinal of the first window starting at or after an instant; `size` when none exists."""
        second = to_epoch(instant) + has_fraction(instant)
        return min(max(self.rank(self.grid.index_from(second)), 0), self.size)

    def within(self, start: datetime, end: datetime) -> PartitionSet:
        """The existing windows that lie wholly inside [start, end)."""
        first = self.rank(self.grid.index_from(to_epoch(start) + has_fraction(start)))
        return self._existing(first, self.rank(self.grid.index_until(to_epoch(end))))

    def overlapping(self, start: datetime, end: datetime) -> PartitionSet:
        """The existing windows that share an instant with [start, end)."""
        first = self.rank(self.grid.index_until(to_epoch(start)))
        return self._existing(first, self.rank(self.grid.index_from(to_epoch(end) + has_fraction(end))))

    def latest(self, count: int) -> PartitionSet:
        """The newest windows."""
        return PartitionSet.from_ranges([(max(self.size - count, 0), self.size)])

    def same_partitions(self, other: PartitionSpace) -> bool:
        """The same grid from the same start, equally long, with the same windows excluded."""
        return (
            isinstance(other, TimeSpace)
            and self.grid is other.grid
            and (self.base, self.size) == (other.base, other.size)
            and self._holes.excluded == other._holes.excluded
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
        if self.total is not None and named.start >= self.total:
            return UnknownPartition(what, rule="it lies past the end", fix=f"the last partition is {last!r}")
        if named.start >= self.size:
            due = self.due_at(named.start).isoformat(timespec="minutes")
            return UnknownPartition(
                what, rule=f"its window has not closed; it is due at {due}", fix=f"the last partition is {last!r}"
            )
        near = str(self.key_at(max(named.start - 1, 0)))
        if _indexes_named(self.grid, text):
            return UnknownPartition(what, rule="the scheme excludes it", fix=f"use {near!r}")
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
        indexes = _indexes_named(self.grid, text)
        return None if indexes is None else range(self.rank(indexes.start), self.rank(indexes.stop))


def _indexes_named(grid: TimeGrid, text: str) -> range | None:
    """The fire times of a grid that a text names; empty where one would be."""
    moment = minute_of(text)
    if moment is not None:
        return _minute_named(grid, moment)
    days = period_of(text)
    if days is None:
        return None
    if _key_length(grid.cron) is None:
        start, stop = (grid.index_from(resolve_wall(grid.tz, to_wall(datetime.combine(day, time())))) for day in days)
    else:
        start, stop = (grid.index_from_day(day.toordinal()) for day in days)
    return range(start, stop)


def _minute_named(grid: TimeGrid, moment: datetime) -> range:
    if moment.tzinfo is not None:
        instants: tuple[int, ...] = (to_epoch(moment),)
    else:
        instants = instants_of(grid.tz, to_wall(moment))
        if not instants:  # a skipped wall time names nothing, but a range may begin or end there
            at = grid.index_from(resolve_wall(grid.tz, to_wall(moment)))
            return range(at, at)
    indexes = [grid.index_from(second) for second in instants]
    exact = [index for index, second in zip(indexes, instants, strict=True) if grid.tick(index) == second]
    return range(exact[0], exact[-1] + 1) if exact else range(indexes[0], indexes[0])


@lru_cache(maxsize=4096)
def _bounds(definition: TimePartitions) -> _Bounds:
    grid = time_grid(definition.cron, definition.tz, definition.calendar)
    base = grid.index_from(resolve_wall(definition.tz, to_wall(definition.start)))
    windows = None
    if definition.end is not None:
        windows = max(grid.index_until(resolve_wall(definition.tz, to_wall(definition.end))) - base, 0)
    if not definition.exclude:
        return _Bounds(base, windows, NO_HOLES)
    named = [_excluded(grid, one) for one in definition.exclude]
    kept = PartitionSet.from_ranges((max(first - base, 0), stop - base) for first, stop in named)
    return _Bounds(base, windows, Holes(kept))


def _excluded(grid: TimeGrid, text: str) -> Range:
    first, last = (_indexes_named(grid, side) for side in sides_of(text))
    if first is None or last is None:
        raise AssertionError(f"exclusion {text!r} was checked by its definition")
    return first.start, last.stop


def _key_length(cron: Cron) -> int | None:
    """How much of an ISO date is a key: the year, the month, the day; None when a key needs the minute."""
    if cron.once_a_year:
        return 4
    if cron.once_a_month:
        return 7
    return 10 if cron.once_a_day else None


def _minute_label(second: int, offset: int) -> str:
    day, clock = divmod(second + offset, DAY_S)
    return _date_text(day + EPOCH_DAY) + _clock_text(clock, offset)


@lru_cache(maxsize=4096)
def _clock_text(clock: int, offset: int) -> str:
    # Local mean times of long ago have offsets with seconds, and what is made up for after a gap may have some too.
    odd = f":{clock % 60:02}" if clock % 60 else ""
    return f"T{clock // 3600:02}:{clock // 60 % 60:02}{odd}{_offset_text(offset)}"


def _offset_text(offset: int) -> str:
    sign, size = ("-", -offset) if offset < 0 else ("+", offset)
    odd = f":{size % 60:02}" if size % 60 else ""
    return f"{sign}{size // 3600:02}:{size // 60 % 60:02}{odd}"


@lru_cache(maxsize=16_384)
def _date_text(day: int) -> str:
    return date.fromordinal(day).isoformat()
