"""Exclusions leave holes, business calendars move fire times, and no key names two windows (S-002, S-049)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import (
    BusinessDays,
    Daily,
    DefinitionError,
    Hourly,
    Monthly,
    PartitionSet,
    TimePartitions,
    TimeWindows,
    Weekly,
    space_of,
)
from partita.assets.partitions.cron import parse_cron
from partita.assets.partitions.grid import TimeGrid
from partita.assets.partitions.holes import Holes
from partita.assets.partitions.time import TimeSpace

NOW = datetime(2026, 1, 12, tzinfo=UTC)


def _space(definition: TimePartitions, at: datetime = NOW) -> TimeSpace:
    space = space_of(definition, at)
    assert isinstance(space, TimeSpace)
    return space


def _keys(definition: TimePartitions, at: datetime = NOW) -> list[str]:
    space = _space(definition, at)
    return [str(key) for key in space.keys(space.all())]


def test_an_excluded_window_is_a_hole() -> None:
    """It is no partition, and the others keep their windows."""
    days = Daily("2026-01-01", end="2026-01-08", exclude=["2026-01-02", date(2026, 1, 5), "2026-W02..2026-01-07"])
    assert _keys(days) == ["2026-01-01", "2026-01-03", "2026-01-04"]
    space = _space(days)
    assert space.window_at(1).end == datetime(2026, 1, 4, tzinfo=UTC)
    assert space.containing(datetime(2026, 1, 2, 12, tzinfo=UTC)) is None
    assert space.find("2026-01-02") is None
    with pytest.raises(DefinitionError, match="the scheme excludes it"):
        space.ordinal_of("2026-01-02")
    assert space.keys(space.select("2026-01-01..2026-01-03")) == ["2026-01-01", "2026-01-03"]


def test_a_horizon_counts_the_windows_of_the_cron() -> None:
    """Excluded ones close like others."""
    for horizon, last in ((-1, "2026-01-09"), (0, "2026-01-11"), (1, "2026-01-12")):
        assert _keys(Daily("2026-01-01", horizon=horizon, exclude=["2026-01-10"]))[-1] == last


def test_hours_and_minutes_are_excluded_too() -> None:
    hours = Hourly("2026-01-01", end="2026-01-02", exclude=["2026-01-01T03:00", "2026-01-01T20:00..2026-01-01"])
    assert len(_keys(hours)) == 24 - 1 - 4
    assert "2026-01-01T03:00+00:00" not in _keys(hours)


@pytest.mark.parametrize("wrong", ["christmas", "2026-13-01", "2026-01-01..", "..", "", "2026-01-05..2026-01-01"])
def test_an_unreadable_exclusion_is_refused(wrong: str) -> None:
    with pytest.raises(DefinitionError, match="exclusion"):
        Daily("2026-01-01", exclude=[wrong])


def test_on_days_off_the_cron_does_not_fire() -> None:
    """Windows tile: Friday lasts until Monday, and the day before a holiday until the day after it."""
    trading = Daily("2025-12-23", end="2026-01-06", calendar=BusinessDays(holidays=["2025-12-25", "2026-01-01"]))
    assert _keys(trading) == [
        "2025-12-23", "2025-12-24", "2025-12-26", "2025-12-29", "2025-12-30", "2025-12-31", "2026-01-02", "2026-01-05",
    ]  # fmt: skip
    space = _space(trading)
    windows = [space.window_at(at) for at in range(space.size)]
    assert all(one.end == other.start for one, other in pairwise(windows))
    assert windows[2].end - windows[2].start == timedelta(days=3)


def test_a_calendar_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(DefinitionError, match="never fires on the days"):
        Weekly("2026-01-01", day="sunday", calendar=BusinessDays())
    with pytest.raises(DefinitionError, match="never fires on the days"):
        TimeWindows("0 0 * * sat#1", "2026-01-01", calendar=BusinessDays())
    with pytest.raises(DefinitionError, match="not a day of the week"):
        BusinessDays(["someday"])
    with pytest.raises(DefinitionError, match="no weekdays"):
        BusinessDays([])
    with pytest.raises(DefinitionError, match="holiday 'xmas'"):
        BusinessDays(holidays=["xmas"])


holidays = st.lists(st.dates(date(2025, 12, 1), date(2026, 1, 31)), max_size=12)
weekdays = st.lists(st.sampled_from(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]), min_size=1)
crons = st.sampled_from(["0 0 * * *", "30 9,17 * * *", "0 */8 * * *", "0 0 1 * *", "15 6 * * 1-6", "0 0 L * *"])


@given(crons, weekdays, holidays, st.sampled_from(["UTC", "America/New_York"]))
def test_a_calendar_equals_a_filter_of_days(cron: str, names: list[str], off: list[date], tz: str) -> None:
    """Brute force: the fire times of the plain cron whose local date is a day of the calendar."""
    calendar = BusinessDays(names, off)
    try:
        mine = TimeGrid(parse_cron(cron), tz, calendar)
    except DefinitionError:
        return
    plain = TimeGrid(parse_cron(cron), tz)
    start, end = (int(datetime(2026 - back, 2 if not back else 11, 1, tzinfo=UTC).timestamp()) for back in (1, 0))

    def fires(grid: TimeGrid) -> list[tuple[int, int]]:
        indexes = range(grid.index_from(start), grid.index_from(end))
        return [(grid.tick(index), grid.fire(index).nominal_day) for index in indexes]

    allowed = {
        day
        for day in range(date(2025, 10, 1).toordinal(), date(2026, 3, 1).toordinal())
        if date.fromordinal(day) not in off and date.fromordinal(day).strftime("%a").lower() in calendar.weekdays
    }
    assert fires(mine) == [one for one in fires(plain) if one[1] in allowed]


@given(st.sets(st.integers(0, 40)), st.integers(-5, 60), st.integers(1, 20))
def test_holes_number_what_is_left(excluded: set[int], at: int, length: int) -> None:
    holes = Holes(PartitionSet.from_ordinals(excluded))
    left = [place for place in range(-5, 200) if place not in excluded]
    assert holes.place(at) == left[at + 5]
    assert holes.rank(at) == sum(1 for place in left if place < at) - 5
    places = [one for start, stop in holes.places((at, at + length)) for one in range(start, stop)]
    assert places == left[at + 5 : at + 5 + length]


@given(
    st.sampled_from(["0 * * * *", "0 0 * * *", "30 1 * * 1", "0 */6 * * *", "*/20 * * * *", "0 9,17 * * *"]),
    st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca"]),
    st.lists(st.integers(-4_000, 4_000), max_size=40),
    st.sampled_from([2011, 2015, 2023]),
)
def test_many_ticks_are_the_ticks_one_by_one(cron: str, tz: str, offsets: list[int], year: int) -> None:
    """The closed form between clock changes equals the search."""
    grid = TimeGrid(parse_cron(cron), tz)
    middle = grid.index_from(int(datetime(year, 11, 5, tzinfo=UTC).timestamp()))
    indexes = sorted(middle + one for one in offsets)
    assert grid.ticks(indexes) == [grid.tick(index) for index in indexes]
    seconds = sorted(grid.tick(middle) + one * 977 for one in offsets)
    assert grid.indexes_from(seconds) == [grid.index_from(second) for second in seconds]
    assert grid.indexes_from(grid.ticks(indexes)) == indexes


def test_two_windows_with_one_key_are_refused_and_both_named() -> None:
    """Should a zone's data ever give one date twice to a cron whose keys are dates."""

    class Twice(TimeGrid):
        def _fire_times(self, changes: object, wall: int) -> tuple[int, ...]:
            return (wall, wall + 3600)

    with pytest.raises(DefinitionError) as refused:
        Twice(parse_cron("30 1 * * *"), "America/New_York")
    assert "one key" in str(refused.value)
    assert "T01:30:00+00:00" in str(refused.value)
    assert "T02:30:00+00:00" in str(refused.value)


def test_months_of_a_calendar_skip_those_that_start_on_a_day_off() -> None:
    months = Monthly("2025-06", end="2026-01", calendar=BusinessDays())
    assert _keys(months) == ["2025-07", "2025-08", "2025-09", "2025-10", "2025-12"]
