"""Mappings by time, both ways: overlap with offsets in either unit, and rolling windows. Costs go by runs.

Works on runs of ordinals, existing or not. Windows follow each other in time, so what meets a span is one run, and where a
rolling window begins never falls as ordinals rise: that makes every answer a few lookups and one binary search.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from partita.assets.mappings.definitions import Rolling, TimeOverlap
from partita.assets.partitions.sets import PartitionSet, Range
from partita.assets.partitions.time import TimeSpace
from partita.assets.partitions.zones import from_wall, highest_wall, resolve_wall, to_wall

Span = tuple[int, int]
"""Half-open, in epoch seconds."""


def needed(mapping: TimeOverlap | Rolling, down: TimeSpace, up: TimeSpace, runs: Sequence[Range]) -> PartitionSet:
    """The upstream ordinals, existing or not, that runs of downstream ordinals need."""
    if isinstance(mapping, Rolling):
        spans = _rolling_spans(mapping, down, runs)
        return PartitionSet.from_ranges(up.meeting(spans))
    low, high = mapping.offset_start, mapping.offset_end
    if mapping.unit == "upstream":
        met = up.meeting(down.intervals(runs))
        return PartitionSet.from_ranges((start + low, stop + high) for start, stop in met if start < stop)
    if low or high:
        runs = PartitionSet.from_ranges((start + low, stop + high) for start, stop in runs).ranges
    return PartitionSet.from_ranges(up.meeting(down.intervals(runs)))


def needing(mapping: TimeOverlap | Rolling, down: TimeSpace, up: TimeSpace, runs: Sequence[Range]) -> PartitionSet:
    """The downstream ordinals, existing or not, that need any of runs of upstream ordinals."""
    if isinstance(mapping, Rolling):
        return PartitionSet.from_ranges(one for span in up.intervals(runs) for one in _rolled_over(mapping, down, span))
    low, high = mapping.offset_start, mapping.offset_end
    if mapping.unit == "upstream":
        runs = PartitionSet.from_ranges((start - high, stop - low) for start, stop in runs).ranges
        return PartitionSet.from_ranges(down.meeting(up.intervals(runs)))
    met = down.meeting(up.intervals(runs))
    return PartitionSet.from_ranges((start - high, stop - low) for start, stop in met if start < stop)


def needed_by_each(mapping: TimeOverlap | Rolling, down: TimeSpace, up: TimeSpace) -> list[Range] | None:
    """For every existing downstream window the one run of upstream ordinals, existing or not, that it needs.

    A run may be empty. None where a window may need several runs: `needed` tells them.
    """
    if isinstance(mapping, Rolling):
        if not mapping.current:
            return None
        indexes = [down.index_at(ordinal) for ordinal in range(down.size)]
        return up.meeting([_window(mapping, down, index) for index in indexes])
    low, high = mapping.offset_start, mapping.offset_end
    if mapping.unit == "downstream" and (low or high):
        if not down.whole:
            return None
        first = down.index_at(0)
        starts = down.grid.ticks(range(first + low, first + low + down.size))
        stops = down.grid.ticks(range(first + high + 1, first + high + 1 + down.size))
        return up.meeting(list(zip(starts, stops, strict=True)))
    indexes = [down.index_at(ordinal) for ordinal in range(down.size)]
    stops = down.grid.ticks([index + 1 for index in indexes])
    met = up.meeting(list(zip(down.grid.ticks(indexes), stops, strict=True)))
    if mapping.unit == "downstream":
        return met
    return [(start + low, stop + high) if start < stop else (0, 0) for start, stop in met]


def _rolling_spans(mapping: Rolling, down: TimeSpace, runs: Sequence[Range]) -> list[Span]:
    """The times that runs of windows look at, ascending by start; without the own windows they may have gaps."""
    found: list[Span] = []
    for first, stop in down.pieces(runs):
        if mapping.current:
            found.append((_window(mapping, down, first)[0], down.grid.tick(stop)))
        else:
            windows = (_window(mapping, down, index) for index in range(first, stop))
            found += [one for one in windows if one[0] < one[1]]
    return found


def _rolled_over(mapping: Rolling, down: TimeSpace, span: Span) -> Iterator[Range]:
    """The runs of ordinals whose rolling windows meet a span."""
    start, stop = span
    first = down.grid.index_until(start) if mapping.current else down.grid.index_from(start + 1)
    last = _first_beginning_at(mapping, down, first, stop)
    if mapping.current:
        yield down.rank(first), down.rank(last)
        return
    for index in range(first, last):
        begin, end = _window(mapping, down, index)
        if begin < end:
            yield down.rank(index), down.rank(index + 1)


def _first_beginning_at(mapping: Rolling, down: TimeSpace, index: int, second: int) -> int:
    """The first window from `index` on whose rolling window begins at `second` or later."""
    step = 1
    while _window(mapping, down, index + step)[0] < second:
        step *= 2
    low, high = index + step // 2, index + step
    if step == 1 and _window(mapping, down, index)[0] >= second:
        return index
    while high - low > 1:
        middle = (low + high) // 2
        if _window(mapping, down, middle)[0] < second:
            low = middle
        else:
            high = middle
    return high


def _window(mapping: Rolling, down: TimeSpace, index: int) -> Span:
    """What the window of a grid index looks at; empty or turned when nothing is left without the own window."""
    start, end = down.grid.tick(index), down.grid.tick(index + 1)
    begin = _earlier(end, mapping, down.grid.tz)
    return (min(begin, start), end) if mapping.current else (begin, start)


def _earlier(second: int, mapping: Rolling, tz: str) -> int:
    if mapping.unit == "hours":
        return second - mapping.n * 3600
    wall = from_wall(highest_wall(tz, second))
    if mapping.unit in ("days", "weeks"):
        before = wall - timedelta(days=mapping.n * (7 if mapping.unit == "weeks" else 1))
    else:
        before = _months_before(wall, mapping.n * (12 if mapping.unit == "years" else 1))
    return resolve_wall(tz, to_wall(before))


def _months_before(wall: datetime, months: int) -> datetime:
    year, month = divmod(wall.year * 12 + wall.month - 1 - months, 12)
    return wall.replace(year=year, month=month + 1, day=min(wall.day, monthrange(year, month + 1)[1]))
