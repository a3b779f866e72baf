"""Partitions in words: what people read in plans, runs and causes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from partita.assets import (
    MultiPartitions,
    PartitionsDef,
    PartitionSpace,
    StaticPartitions,
    TimePartitions,
    join_key,
    space_of,
)
from partita.core.planner import key_text, partitions_text, range_text, span_text

NEW_YORK = "America/New_York"
START, END = datetime.fromisoformat("2013-01-01"), datetime.fromisoformat("2014-01-01")  # wall times
DAYS = TimePartitions("0 0 * * *", START, END, NEW_YORK)
HOURS = TimePartitions("0 * * * *", START, END, NEW_YORK)
ORIGINS = StaticPartitions(("EWR", "JFK", "LGA"))
CARRIERS = StaticPartitions(tuple("ABCDEFGH"))
WEATHER = MultiPartitions((("hour", HOURS), ("origin", ORIGINS)))


def of(definition: PartitionsDef | None) -> PartitionSpace:
    return space_of(definition, datetime(2014, 6, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("definition", "selection", "text"),
    [
        (None, "all", ""),
        (DAYS, "2013-01-02", "2013-01-02"),
        (DAYS, "2013-01-02..2013-01-09, 2013-02-01", "2013-01-02..2013-01-09, 2013-02-01"),
        # Whole days of hours are told by their dates, on the days when the clocks change too; other hours by themselves.
        (HOURS, "2013-03-10", "2013-03-10"),
        (HOURS, "2013-11-02..2013-11-03", "2013-11-02..2013-11-03"),
        (HOURS, "2013-01-01T01:00-05:00..2013-01-01T03:00-05:00", "2013-01-01T01:00-05:00..2013-01-01T03:00-05:00"),
        (HOURS, "2013-01-01T00:00-05:00", "2013-01-01T00:00-05:00"),
        # The order of names says nothing, so they are listed.
        (ORIGINS, "EWR, LGA", "EWR, LGA"),
        (CARRIERS, "A, B, C, D, F", "A, B, C, D and 1 more"),
        (CARRIERS, "all", "all 8"),
        (WEATHER, "hour=2013-01-01..2013-01-31", "2013-01-01..2013-01-31 × EWR, JFK, LGA"),
        (WEATHER, "hour=2013-01-01T05:00-05:00; origin=JFK", "2013-01-01T05:00-05:00 × JFK"),
    ],
)  # fmt: skip
def test_sets_are_told_by_dimension(definition: PartitionsDef | None, selection: str, text: str) -> None:
    space = of(definition)
    assert partitions_text(space, space.all() if selection == "all" else space.select(selection)) == text


def test_many_ranges_are_told_in_part() -> None:
    days = of(DAYS)
    odd = days.set_of(f"2013-01-{day:02}" for day in range(1, 13, 2))
    assert partitions_text(days, odd) == "2013-01-01, 2013-01-03, 2013-01-05, 2013-01-07 and 2 more ranges"
    assert partitions_text(days, odd, 5).endswith("2013-01-09 and 1 more range")


def test_what_is_no_box_is_told_in_boxes() -> None:
    space = of(WEATHER)
    odd = space.select("hour=2013-01-01; origin=JFK") | space.select("hour=2013-01-02")
    assert partitions_text(space, odd) == "2013-01-01 × JFK; 2013-01-02 × EWR, JFK, LGA"
    assert partitions_text(space, odd, 1) == "2013-01-01 × JFK; and 1 more"


def test_a_span_is_told_as_a_set_when_its_corners_and_count_say_so() -> None:
    hours, days = of(WEATHER), of(DAYS)
    first, last = join_key(["2013-01-01T00:00-05:00", "EWR"]), join_key(["2013-01-01T23:00-05:00", "LGA"])
    assert span_text(hours, first, last, 72) == "2013-01-01 × EWR, JFK, LGA"
    assert span_text(hours, first, last, 50) == "2013-01-01T00:00-05:00 × EWR … 2013-01-01T23:00-05:00 × LGA (50)"
    assert span_text(days, "2013-01-01", "2013-01-03", 3) == "2013-01-01..2013-01-03"
    assert span_text(days, "2013-01-01", "2013-01-03", 2) == "2013-01-01 … 2013-01-03 (2)"
    assert span_text(of(None), "", "", 1) == "all"


def test_keys_of_assets_that_are_gone_or_changed_are_shown_as_they_are() -> None:
    """Law 9: a static key may look like anything; only the scheme knows whether a key has dimensions."""
    assert key_text(None, '["a","b"]') == key_text(of(ORIGINS), '["a","b"]') == '["a","b"]'
    assert span_text(None, "a", "c", 3) == "a … c (3)"
    assert span_text(of(WEATHER), "2013-01-01", "2013-01-03", 3) == "2013-01-01 … 2013-01-03 (3)"


@pytest.mark.parametrize(
    "text", ["2013-03-10", "2013-11-02..2013-11-03", "2013-01-01T01:00-05:00..2013-01-02T03:00-05:00"]
)
def test_a_range_selects_what_it_tells(text: str) -> None:
    space = of(HOURS)
    ((start, stop),) = space.select(text).ranges
    assert range_text(space, start, stop) == text
