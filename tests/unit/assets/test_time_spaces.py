"""Spaces of partitions: keys, ordinals, windows, and what exists when (S-002, S-049, S-101)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import (
    Daily,
    DefinitionError,
    Dynamic,
    Hourly,
    Monthly,
    Multi,
    PartitionsDef,
    PartitionSet,
    Static,
    TimePartitions,
    TimeWindows,
    UnknownPartition,
    Weekly,
    space_of,
)
from partita.assets.partitions.time import TimeSpace

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NEW_YORK = "America/New_York"
START = datetime(2023, 10, 20)  # noqa: DTZ001 - a local wall time
zones = st.sampled_from(["UTC", NEW_YORK, "Australia/Lord_Howe", "Pacific/Apia", "America/Havana", "Asia/Pyongyang"])
cadences = st.sampled_from(
    ["0 * * * *", "*/20 * * * *", "0 0 * * *", "30 2 * * *", "45 23 * * *", "0 0 * * 1", "0 0 1 * *", "0 0,12 * * *"]
)


@st.composite
def time_definitions(draw: st.DrawFn) -> TimePartitions:
    """Definitions that start within some days of 2011's last week or of a usual clock change."""
    start = draw(st.sampled_from([datetime(2011, 12, 20), datetime(2018, 4, 20), datetime(2023, 10, 20)]))  # noqa: DTZ001
    start += timedelta(hours=draw(st.integers(0, 500)))
    end = start + timedelta(days=draw(st.integers(1, 90))) if draw(st.booleans()) else None
    return TimePartitions(draw(cadences), start, end, draw(zones), draw(st.integers(-3, 3)))


@given(time_definitions(), st.integers(-50, 2_000))
def test_keys_are_unique_and_windows_tile(definition: TimePartitions, hours: int) -> None:
    """S-088: keys round-trip and differ, ordinals are dense, windows tile without gap or overlap."""
    as_of = definition.start.replace(tzinfo=UTC) + timedelta(hours=hours)
    space = space_of(definition, as_of)
    assert isinstance(space, TimeSpace)
    keys = space.keys_of(range(space.size))
    assert len(set(keys)) == space.size
    assert space.ordinals_of(keys) == list(range(space.size))
    windows = [space.window_at(i) for i in range(space.size)]
    assert all(a.end == b.start and a.start < a.end for a, b in pairwise(windows))
    for i, window in enumerate(windows[:50]):
        assert space.containing(window.start) == i
        assert space.containing(window.end - timedelta(microseconds=1)) == i
        assert space.within(window.start, window.end) == space.overlapping(window.start, window.end)


@given(time_definitions(), st.integers(0, 2_000), st.integers(1, 300))
def test_windows_appear_in_order_and_never_vanish(definition: TimePartitions, hours: int, later: int) -> None:
    """What exists at an instant exists later under the same ordinal; horizon shifts by whole windows."""
    as_of = definition.start.replace(tzinfo=UTC) + timedelta(hours=hours)
    now, then = space_of(definition, as_of), space_of(definition, as_of + timedelta(hours=later))
    assert now.size <= then.size
    if now.size:
        assert now.key_at(now.size - 1) == then.key_at(now.size - 1)
    plain = TimePartitions(definition.cron, definition.start, None, definition.tz)
    closed = space_of(plain, as_of)
    if definition.end is None and closed.size + definition.horizon >= 0 and closed.size:
        assert now.size == closed.size + definition.horizon


@pytest.mark.parametrize(
    ("definition", "first", "last"),
    [
        (Hourly("2013-01-01", tz=NEW_YORK), "2013-01-01T00:00-05:00", "2025-12-31T18:00-05:00"),
        (Hourly("2013-01-01", minute=30), "2013-01-01T00:30+00:00", "2025-12-31T22:30+00:00"),
        (Daily("2013-01-01", tz=NEW_YORK), "2013-01-01", "2025-12-30"),
        (Daily(date(2013, 1, 1), hour=6), "2013-01-01", "2025-12-30"),
        (Weekly("2013-01-01"), "2013-01-07", "2025-12-22"),
        (Weekly("2013-01-01", day="Sunday"), "2013-01-06", "2025-12-21"),
        (Monthly("2013"), "2013-01", "2025-12"),
        (Monthly("2013-01", day=15), "2013-01-15", "2025-11-15"),
        (TimeWindows("@yearly", "2013"), "2013", "2025"),
        (TimeWindows("0 0 1 */3 *", "2013"), "2013-01", "2025-10"),
        (TimeWindows("0 0,12 * * *", "2013"), "2013-01-01T00:00+00:00", "2025-12-31T12:00+00:00"),
    ],
)
def test_keys_are_as_short_as_is_unambiguous(definition: PartitionsDef, first: str, last: str) -> None:
    """S-084, S-089: year, month, date, or minute with offset."""
    space = space_of(definition, NOW)
    assert (space.key_at(0), space.key_at(space.size - 1)) == (first, last)


def test_a_week_at_six_covers_the_week_before_and_is_there_when_it_has_closed() -> None:
    """S-083, S-086, S-088, S-096: labelled by its begin, half-open, due at its end; nothing exists before that or the start."""
    weeks = TimeWindows("0 6 * * 1", "2026-03-02T06:00")
    end = datetime(2026, 3, 9, 6, tzinfo=UTC)
    assert space_of(weeks, end - timedelta(minutes=1)).size == 0
    space = space_of(weeks, end)
    assert space.size == 1
    window = space.window_at(0)
    assert window is not None
    assert (window.start, window.end) == (datetime(2026, 3, 2, 6, tzinfo=UTC), end)
    assert space.key_at(0).startswith("2026-03-02")


def test_the_example_has_its_23_and_25_hours() -> None:
    """10 March 2013 has 23 hourly partitions and 3 November 25."""
    hours = space_of(Hourly("2013-01-01", end="2014-01-01", tz=NEW_YORK), NOW)
    assert hours.size == 8_760
    assert len(hours.select("2013-03-10")) == 23
    assert len(hours.select("2013-11-03")) == 25
    assert hours.keys(hours.select("2013-11-03"), 1, 2) == ["2013-11-03T01:00-04:00", "2013-11-03T01:00-05:00"]


def test_stored_keys_are_strict() -> None:
    """Another spelling of an existing window is an alias for people, not a key."""
    months = space_of(Monthly("2013-01"), NOW)
    assert months.find("2013-03") == 2
    assert months.find("2013-03-01") is None
    assert list(months.select("2013-03-01")) == [2]
    weeks = space_of(Weekly("2013-01-01"), NOW)
    assert weeks.keys(weeks.select("2013-W10")) == ["2013-03-04"]
    days = space_of(Daily("2013-01-01", tz=NEW_YORK), NOW)
    assert days.keys(days.select("2013-01-05T00:00-05:00")) == ["2013-01-05"]


@pytest.mark.parametrize(
    ("definition", "text", "says"),
    [
        (Daily("2013-01-01"), "2012-12-31", "before the start; the first partition is '2013-01-01'"),
        (
            Daily("2013-01-01"),
            "2026-01-02",
            "its window has not closed; it is due at 2026-01-03T00:00+00:00; the last partition is '2025-12-31'",
        ),
        (Daily("2013-01-01", end="2014-01-01"), "2014-01-01", "past the end; the last partition is '2013-12-31'"),
        (Daily("2027-01-01"), "2027-01-01", "no window has closed yet; the first will be '2027-01-01'"),
        (Daily("2013-01-01"), "2013-02-30", "keys look like '2025-12-31'"),
        (Weekly("2013-01-01"), "2013-03-05", "use '2013-03-04'"),
        (Hourly("2013-01-01"), "2013-03-05T00:17+00:00", "use '2013-03-05T00:00+00:00'"),
        (Static("EWR", "JFK", "LGA"), "JFX", "did you mean 'JFK'?"),
        (Static("EWR", "JFK", "LGA"), "zzz", "the keys are 'EWR', 'JFK', 'LGA'"),
        (Dynamic("customers"), "acme", "there are no keys yet"),
        (Multi(day=Daily("2013-01-01"), origin=Static("EWR", "JFK")), '["2013-01-01","JFX"]', "dimension 'origin'"),
        (Multi(a=Static("x"), b=Static("y")), "x", "a JSON array of one key for each of a, b"),
        (None, "2013-01-01", "the asset is not partitioned"),
    ],
)
def test_an_unknown_key_is_told_the_nearest(definition: PartitionsDef | None, text: str, says: str) -> None:
    """S-090: errors name the thing, the rule and the fix."""
    with pytest.raises(UnknownPartition) as refused:
        space_of(definition, NOW).ordinal_of(text)
    assert says in str(refused.value)


def test_spans_serve_every_cadence() -> None:
    """One range of dates for hourly, daily, weekly, monthly, multi and unpartitioned assets alike."""
    ask = ("2013-01-01", "2013-12-31")
    schemes: dict[str, PartitionsDef | None] = {
        "hours": Hourly("2013-01-01", tz=NEW_YORK),
        "days": Daily("2012-01-01"),
        "weeks": Weekly("2012-01-01"),
        "months": Monthly("2012-01"),
        "multi": Multi(day=Daily("2013-06-01"), origin=Static("EWR", "JFK")),
        "none": None,
    }
    spans = {name: len(space_of(scheme, NOW).span(*ask)) for name, scheme in schemes.items()}
    assert spans == {"hours": 8_760, "days": 365, "weeks": 52, "months": 12, "multi": 428, "none": 1}
    days = space_of(Daily("2013-01-01", end="2013-02-01"), NOW)
    assert len(days.span(None, "2013-01")) == 31
    assert len(days.span("2013-01-30", None)) == 2
    assert not days.span("2014", "2015")
    with pytest.raises(UnknownPartition):
        days.span("yesterday", None)


def test_multi_keys_are_json_and_never_split() -> None:
    """A key may hold any separator (law 9)."""
    odd = ('a|b","c', "x,y", "[]", "ü=1")
    space = space_of(Multi(left=Static(*odd), right=Static(*odd)), NOW)
    keys = space.keys_of(range(space.size))
    assert space.ordinals_of(keys) == list(range(16))
    assert space.dimension_keys_at(1) == {"left": odd[0], "right": odd[1]}
    assert space.find('["x,y", "[]"]') is None  # not canonical
    assert space.find("x,y|[]") is None


def test_windows_of_other_schemes() -> None:
    """A multi scheme has the window of its time dimension, a static one has none."""
    multi = space_of(Multi(origin=Static("EWR", "JFK"), day=Daily("2013-01-01", end="2013-01-03")), NOW)
    window = multi.window_at(3)
    assert window is not None
    assert window.start == datetime(2013, 1, 2, tzinfo=UTC)
    assert space_of(Static("a"), NOW).window_at(0) is None
    assert space_of(None, NOW).window_at(0) is None
    with pytest.raises(IndexError):
        multi.window_at(4)


def test_dynamic_keys_come_with_the_question() -> None:
    """The model holds no run-time state."""
    definition = Dynamic("customers")
    assert space_of(definition, NOW).size == 0
    space = space_of(definition, NOW, {"customers": ["zeta", "acme"]})
    assert space.keys_of([0, 1]) == ["zeta", "acme"]
    assert space.ordinals_of(["acme", "gone"]) == [1, -1]


def test_a_naive_instant_is_refused() -> None:
    """S-097: nobody's local time is meant by accident."""
    with pytest.raises(DefinitionError, match="no time zone"):
        space_of(Daily("2013-01-01"), datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Daily("2013-01-01", tz="America/New_Yrok"), "America/New_York"),
        (lambda: Daily("2013-13-01"), "not a wall time"),
        (lambda: Daily("2013-01-01T00:00+01:00"), "carries an offset"),
        (lambda: Daily("2013-01-02", end="2013-01-02"), "not after start"),
        (lambda: Daily("2013-01-02", hour=24), "hour is from 0 to 23"),
        (lambda: Weekly("2013-01-01", day="mnday"), "did you mean 'monday'"),
        (lambda: Monthly("2013-01-01", day=31), "day is from 1 to 28"),
        (lambda: TimeWindows("0 0 31 4 *", "2013"), "never fires"),
        (lambda: Static(), "no keys"),
        (lambda: Static("a", "a"), "given twice"),
        (lambda: Static(" a"), "blanks"),
        (lambda: Static("a\nb"), "printable"),
        (lambda: Static(""), "not empty"),
        (lambda: Multi(a=Static("x")), "two or more"),
        (lambda: Multi(a=Static("x"), b=Multi(c=Static("x"), d=Static("y"))), "side by side"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_definition_is_refused(make: object, says: str) -> None:
    """Wrong definitions do not get past their constructor."""
    assert callable(make)
    with pytest.raises(DefinitionError) as refused:
        make()
    assert says in str(refused.value)


def test_reprs_are_for_3_am() -> None:
    """First and last key, and how many."""
    assert repr(space_of(Daily("2013-01-01", end="2014-01-01"), NOW)) == "<TimeSpace 365: '2013-01-01' .. '2013-12-31'>"


def test_offsets_with_seconds_and_odd_starts() -> None:
    """Liberia kept -00:44:30 until 1972; keys stay unique and round-trip through the change."""
    space = space_of(Hourly("1971-12-30", end="1972-01-20", tz="Africa/Monrovia"), NOW)
    keys = space.keys(space.all())
    assert keys[0] == "1971-12-30T00:00-00:44:30"
    assert keys[-1] == "1972-01-19T23:00+00:00"
    assert [space.find(key) for key in keys] == list(range(space.size))


def test_a_label_inside_a_gap_is_no_partition() -> None:
    """But a range may start there."""
    space = space_of(Hourly("2023-03-01", end="2023-04-01", tz=NEW_YORK), NOW)
    with pytest.raises(UnknownPartition):
        space.select("2023-03-12T02:00")
    chosen = space.span("2023-03-12T02:00", "2023-03-12T04:00")
    assert space.keys(chosen) == ["2023-03-12T03:00-04:00", "2023-03-12T04:00-04:00"]


def test_a_made_up_run_keeps_the_date_that_asked_for_it() -> None:
    """Pyongyang skipped 23:30 to 24:00 on 4 May 2018: the window of that date starts at midnight, its key does not."""
    space = space_of(Daily("2018-05-01", hour=23, minute=45, end="2018-05-10", tz="Asia/Pyongyang"), NOW)
    assert space.keys_of(range(5)) == ["2018-05-01", "2018-05-02", "2018-05-03", "2018-05-04", "2018-05-05"]
    window = space.window_at(3)
    assert window is not None
    assert (window.start, window.end - window.start) == (
        datetime(2018, 5, 4, 15, 0, tzinfo=UTC),
        timedelta(hours=23, minutes=45),
    )


def test_a_negative_horizon_only_delays() -> None:
    """Windows of the cron past the end count as closing, so the last ones appear in time."""
    definition = Daily("2024-01-01", end="2024-01-06", horizon=-2)
    sizes = [space_of(definition, datetime(2024, 1, day, tzinfo=UTC)).size for day in range(1, 11)]
    assert sizes == [0, 0, 0, 1, 2, 3, 4, 5, 5, 5]


@given(
    cron=st.sampled_from(
        ["0 * * * *", "*/20 * * * *", "0 0 * * *", "30 2 * * *", "0 6 * * 1", "0 9 * * 1-5", "0 0 1 * *"]
    ),
    zone=st.sampled_from(["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    excluded=st.booleans(),
    data=st.data(),
)
def test_partitions_named_together_are_named_as_one_by_one(
    cron: str, zone: str, excluded: bool, data: st.DataObject
) -> None:
    scheme = TimePartitions(cron, START, tz=zone, exclude=("2023-10-29..2023-11-05",) if excluded else ())
    space = space_of(scheme, datetime(2024, 4, 20, tzinfo=UTC))
    ranges = data.draw(st.lists(st.tuples(st.integers(0, space.size), st.integers(0, space.size)), max_size=3))
    chosen = PartitionSet.from_ranges([(min(pair), max(pair)) for pair in ranges])
    assert space.named(chosen) == [(space.key_at(one), space.window_at(one)) for one in chosen]
