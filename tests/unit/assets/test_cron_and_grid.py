"""Cron parsing, day counting and the grid of fire times, against brute force (S-002, S-049).

The reference walks real minutes with zoneinfo's own `fold`; the product never does either.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache, partial
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import (
    DefinitionError,
    EvaluatorSpec,
    TickSpec,
    TimeWindows,
    count_fires,
    next_fires,
    previous_fires,
)
from partita.assets.partitions.cron import parse_cron
from partita.assets.partitions.days import Calendar, day_rule
from partita.assets.partitions.grid import TimeGrid, time_grid
from partita.assets.partitions.zones import changes_in, from_epoch, resolve_wall, to_epoch, to_wall

# Around a change of every kind: gap and overlap at night, at midnight, over midnight, half-hour, two-hour, by a day.
CHANGES = [
    ("America/New_York", date(2023, 3, 12)),
    ("America/New_York", date(2023, 11, 5)),
    ("America/Sao_Paulo", date(2018, 2, 18)),
    ("America/Sao_Paulo", date(2018, 11, 4)),
    ("America/Havana", date(2023, 11, 5)),
    ("America/St_Johns", date(2006, 10, 29)),
    ("America/St_Johns", date(2007, 3, 11)),
    ("Asia/Pyongyang", date(2018, 5, 5)),
    ("Asia/Beirut", date(2021, 3, 28)),
    ("Africa/Casablanca", date(2023, 3, 19)),
    ("Africa/Casablanca", date(2023, 4, 23)),
    ("Antarctica/Troll", date(2023, 3, 26)),
    ("Antarctica/Casey", date(2018, 3, 11)),
    ("Antarctica/Casey", date(2018, 10, 7)),
    ("Australia/Lord_Howe", date(2019, 10, 6)),
    ("Australia/Lord_Howe", date(2020, 4, 5)),
    ("Pacific/Apia", date(2011, 12, 30)),
    ("Pacific/Kwajalein", date(1993, 8, 21)),
    ("Europe/London", date(1971, 10, 31)),
    ("Asia/Kathmandu", date(1986, 1, 1)),
    ("UTC", date(2024, 2, 29)),
]


CronFields = tuple[str, set[int], set[int], set[int], set[int], set[int], bool]


@st.composite
def crons(draw: st.DrawFn) -> CronFields:
    """(text, minutes, hours, days, months, weekdays, interval); an empty set of days or weekdays is unrestricted."""
    starred = draw(st.sampled_from(["none", "minute", "hour"]))
    step = draw(st.sampled_from([7, 15, 20, 30]))
    minutes = (
        set(range(0, 60, step)) if starred == "minute" else draw(st.sets(st.integers(0, 59), min_size=1, max_size=3))
    )
    minute_text = f"*/{step}" if starred == "minute" else ",".join(map(str, sorted(minutes)))
    hour_step = draw(st.sampled_from([1, 2, 5]))
    hours = (
        set(range(0, 24, hour_step)) if starred == "hour" else draw(st.sets(st.integers(0, 23), min_size=1, max_size=4))
    )
    hour_text = f"*/{hour_step}" if starred == "hour" else ",".join(map(str, sorted(hours)))
    days = draw(st.sets(st.integers(1, 31), max_size=12))
    weekdays = draw(st.sets(st.integers(0, 6), max_size=4))
    months = draw(st.just(set(range(1, 13))) | st.sets(st.integers(1, 12), min_size=1, max_size=11))
    text = " ".join(
        (
            minute_text,
            hour_text,
            ",".join(map(str, sorted(days))) or "*",
            "*" if len(months) == 12 else ",".join(map(str, sorted(months))),
            ",".join(map(str, sorted(weekdays))) or "?",
        )
    )
    return text, minutes, hours, days, months, weekdays, starred != "none"


def _day_matches(day: date, days: set[int], months: set[int], weekdays: set[int]) -> bool:
    if day.month not in months:
        return False
    if not days and not weekdays:
        return True
    return day.day in days or day.isoweekday() % 7 in weekdays


class Minute(NamedTuple):
    """A real minute, what the clock shows, whether for the first time, and which wall minutes were just skipped."""

    at: datetime
    wall: datetime
    first_pass: bool
    skipped: tuple[datetime, ...]


@lru_cache
def _minutes_around(tz: str, day: date) -> tuple[Minute, ...]:
    minute = timedelta(minutes=1)
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=2)
    locals_ = [(start + n * minute).astimezone(ZoneInfo(tz)) for n in range(-1, 4 * 1440)]
    found = []
    for n, (before, local) in enumerate(pairwise(locals_)):
        shown, was = local.replace(tzinfo=None), before.replace(tzinfo=None)
        jump = shown - was - minute
        lost = int(jump / minute) if timedelta(0) < jump < timedelta(hours=3) else 0
        skipped = tuple(was + (k + 1) * minute for k in range(lost))
        found.append(Minute(start + n * minute, shown, local.fold == 0, skipped))
    return tuple(found)


def _brute_force(cron: CronFields, tz: str, day: date) -> list[datetime]:
    _, minutes, hours, days, months, weekdays, interval = cron

    def matches(wall: datetime) -> bool:
        return wall.minute in minutes and wall.hour in hours and _day_matches(wall.date(), days, months, weekdays)

    return [
        one.at
        for one in _minutes_around(tz, day)
        if (matches(one.wall) and (interval or one.first_pass)) or (not interval and any(map(matches, one.skipped)))
    ]


@given(crons(), st.sampled_from(CHANGES))
def test_fire_times_are_those_of_brute_force(cron: CronFields, change: tuple[str, date]) -> None:
    """Every fire time of four days around a clock change, no more and no less."""
    if not parse_cron(cron[0]).days.ever:
        return
    tz, day = change
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=2)
    end = start + timedelta(days=4)
    expected = _brute_force(cron, tz, day)
    count = count_fires(cron[0], tz, start, end)
    assert next_fires(cron[0], tz, start - timedelta(seconds=1), count) == expected
    assert previous_fires(cron[0], tz, end, count) == expected[::-1]


@given(crons(), st.sampled_from([tz for tz, _ in CHANGES]), st.integers(-400_000, 400_000))
def test_index_and_tick_are_inverse_and_monotone(cron: CronFields, tz: str, minutes: int) -> None:
    """tick is strictly increasing; index_from is its exact inverse, between and on fire times."""
    if not parse_cron(cron[0]).days.ever:
        return
    grid = time_grid(parse_cron(cron[0]).text, tz)
    second = to_epoch(datetime(2018, 1, 1, tzinfo=UTC)) + minutes * 60
    first = grid.index_from(second)
    ticks = [grid.tick(index) for index in range(first - 3, first + 4)]
    assert all(a < b for a, b in pairwise(ticks))
    assert ticks[2] < second <= ticks[3]
    for index, tick in enumerate(ticks, start=first - 3):
        assert grid.index_from(tick) == grid.index_until(tick) == index
        assert grid.index_from(tick + 1) == index + 1
        assert grid.index_until(tick - 1) == index - 1


@pytest.mark.parametrize(
    "expression", ["0 0 31 * *", "0 0 29 2 *", "0 0 1 1,7 *", "0 0 13 * 5", "0 0 L * *", "0 0 * * 5#3"]
)
def test_a_calendar_rule_counts_as_a_walk_does(expression: str) -> None:
    """before, nth and matches agree with each other over twelve years, across the origin year."""
    fields = parse_cron(expression).days
    rule = day_rule(fields)
    assert isinstance(rule, Calendar)
    count = rule.before(date(1994, 1, 1).toordinal())
    for day in range(date(1994, 1, 1).toordinal(), date(2006, 1, 1).toordinal()):
        assert rule.before(day) == count
        if rule.matches(day):
            assert rule.nth(count) == day
            count += 1


@given(st.sets(st.integers(0, 6), min_size=1), st.integers(1, 800_000))
def test_a_weekday_rule_counts_as_a_walk_does(weekdays: set[int], start: int) -> None:
    """before, nth and matches agree with each other over three weeks."""
    rule = day_rule(parse_cron(f"0 0 * * {','.join(map(str, weekdays))}").days)
    count = rule.before(start)
    for day in range(start, start + 21):
        assert rule.matches(day) == (date.fromordinal(day).isoweekday() % 7 in weekdays)
        assert rule.before(day) == count
        if rule.matches(day):
            assert rule.nth(count) == day
            count += 1


@pytest.mark.parametrize(
    ("cron", "tz"), [("17 * * * *", "America/New_York"), ("0 0 * * *", "Pacific/Apia"), ("0 2 1 * *", "Europe/Berlin")]
)
def test_a_growing_table_changes_no_index(cron: str, tz: str) -> None:
    """Indexes stay what they were when far years are asked for later."""
    grid = TimeGrid(parse_cron(cron), tz)
    asked = [to_epoch(datetime(year, 6, 1, tzinfo=UTC)) for year in (2016, 2011, 1990, 2016)]
    before = [grid.index_from(second) for second in asked]
    grid.index_from(to_epoch(datetime(1920, 6, 1, tzinfo=UTC)))
    grid.index_from(to_epoch(datetime(2060, 6, 1, tzinfo=UTC)))
    assert [grid.index_from(second) for second in asked] == before


def test_skipped_times_on_both_sides_of_midnight_are_made_up_for_once() -> None:
    """Pyongyang went from 23:30 on 4 May 2018 to midnight: 23:45 and the 00:00 after it are one instant."""
    start = datetime(2018, 5, 4, 13, 50, tzinfo=UTC)
    assert next_fires("0,45 0,23 * * *", "Asia/Pyongyang", start, 3) == [
        datetime(2018, 5, 4, 14, 30, tzinfo=UTC),
        datetime(2018, 5, 4, 15, 0, tzinfo=UTC),
        datetime(2018, 5, 4, 15, 45, tzinfo=UTC),
    ]


def test_a_stay_of_one_week_is_seen() -> None:
    """Recife changed its clocks on 8 October 2000 and back a week later."""
    stays = [(b.at - a.at) / 86_400 for a, b in pairwise(changes_in("America/Recife", 2000)) if a.before == b.after]
    assert round(min(stays)) == 7


def test_a_gap_of_three_hours_is_not_made_up_for() -> None:
    """Casey went from 04:00 to 07:00 on 7 October 2018."""
    start = datetime(2018, 10, 5, 22, 0, tzinfo=UTC)
    assert next_fires("0 5 * * *", "Antarctica/Casey", start, 1) == [datetime(2018, 10, 7, 18, 0, tzinfo=UTC)]


def test_a_skipped_wall_time_is_the_first_instant_after_the_gap() -> None:
    """Starts and ends of definitions follow the same rule as fire times."""
    skipped = to_wall(datetime(2023, 3, 12, 2, 30))  # noqa: DTZ001 - a wall time
    repeated = to_wall(datetime(2023, 11, 5, 1, 30))  # noqa: DTZ001 - a wall time
    assert from_epoch(resolve_wall("America/New_York", skipped)) == datetime(2023, 3, 12, 7, tzinfo=UTC)
    assert from_epoch(resolve_wall("America/New_York", repeated)) == datetime(2023, 11, 5, 5, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ("60 * * * *", "minute"),
        ("* 24 * * *", "hour"),
        ("* * 0 * *", "day-of-month"),
        ("* * * 13 *", "month"),
        ("* * * * 8", "weekday"),
        ("* * * * 1#6", "weekday"),
        ("5-1 * * * *", "minute"),
        ("* * * january *", "month"),
        ("*-5 * * * *", "minute"),
        ("* * * * * *", "6 fields"),
        ("", "1 fields"),
    ],
)
def test_a_wrong_cron_is_refused_by_name(expression: str, named: str) -> None:
    """The error says which field is wrong."""
    with pytest.raises(DefinitionError, match=named):
        parse_cron(expression)


def test_equal_crons_have_one_text() -> None:
    """Aliases, case and blanks do not make definitions differ."""
    assert parse_cron("@Daily") == parse_cron(" 0  0 * * * ")
    assert parse_cron("0 0 * * SUN").days == parse_cron("0 0 * * 7").days == parse_cron("0 0 * * 0").days


def test_a_cron_that_never_fires_has_no_times() -> None:
    """The 31st of April."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert next_fires("0 0 31 4 *", "UTC", at, 3) == []
    assert previous_fires("0 0 31 4 *", "UTC", at, 3) == []
    assert count_fires("0 0 31 4 *", "UTC", at, at + timedelta(days=9_000)) == 0


@pytest.mark.parametrize("cron", ["0 0 31 4 *", "0 6 30,31 feb *"])
def test_a_cron_that_never_fires_is_kept_nowhere(cron: str) -> None:
    """A schedule that is kept and never comes would look as if it worked."""
    never = "never fires; no date matches its day and month fields; choose a day"
    for keep in (
        partial(TimeWindows, cron, "2026-01-01"),
        partial(TickSpec, cron=cron),
        partial(EvaluatorSpec, name="s", kind="schedule", function="m:s", cron=cron, tz="UTC"),
    ):
        with pytest.raises((DefinitionError, ValueError), match=never):
            keep()


def test_the_calendar_ends() -> None:
    """Asking past the year 9999 gives what there is."""
    assert next_fires("0 0 1 1 *", "UTC", datetime(9998, 6, 1, tzinfo=UTC), 3) == [datetime(9999, 1, 1, tzinfo=UTC)]


def test_a_fraction_of_a_second_counts() -> None:
    """Strictly after and strictly before, also between two seconds."""
    midnight = datetime(2024, 1, 1, tzinfo=UTC)
    just_after = midnight + timedelta(microseconds=1)
    assert previous_fires("@daily", "UTC", just_after) == [midnight]
    assert next_fires("@daily", "UTC", just_after) == [midnight + timedelta(days=1)]
    assert count_fires("@daily", "UTC", just_after, midnight + timedelta(days=1)) == 0
