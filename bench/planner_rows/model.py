"""What the model answers without any status: windows of time schemes and mappings."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

import harness

from partita.assets import (
    Daily,
    DimensionPair,
    Dimensions,
    Hourly,
    Identity,
    Multi,
    PartitionSet,
    PartitionSpace,
    Static,
    TimeOverlap,
    Weekly,
    downstream_of,
    space_of,
    upstream_of,
)
from partita.assets.partitions.time import TimeSpace
from planner_rows.measure import CallOf, Timed, check, timed

NEW_YORK = "America/New_York"
START = "2015-01-01"


def windows(bench: harness.Bench) -> None:
    """Questions to 100,000 hourly windows in New York."""

    def ask(question: Callable[[TimeSpace], object]) -> CallOf:
        def of(size: int) -> Callable[[], object]:
            space = hours(size)
            return lambda: question(space)

        return of

    sizes = (1_000, 10_000, 100_000)
    where = datetime(2015, 3, 8, 8, tzinfo=UTC)
    check(len(hours(100_000)) == 100_000, "100,000 windows")
    check(hours(100_000).containing(where) == 66 * 24 + 3, "02:00 is skipped on that day")
    questions: tuple[tuple[str, str, Callable[[TimeSpace], object]], ...] = (
        ("first_page", "the first 100 keys", lambda space: space.keys(space.all(), 0, 100)),
        ("count", "how many exist", lambda space: len(hours(len(space)))),
        ("last_closed", "the newest key and window", lambda space: (space.key_at(len(space) - 1), space.latest(1))),
        ("containing", "the window that holds an instant", lambda space: space.containing(where)),
    )
    for id, what, question in questions:
        timed(bench, Timed(f"windows_{id}", f"{what} of 100,000 hourly windows", 5, sizes, ask(question)))
    bench.below("windows_cold", "all of these in a process that has asked nothing before", cold_ms(), "ms", 50)


def cold_ms() -> float:
    """Asked by a fresh process, after its imports."""
    code = (
        "import time\nfrom datetime import UTC, datetime\nfrom partita.assets import Hourly, space_of\n"
        "began = time.perf_counter()\n"
        f"space = space_of(Hourly({START!r}, tz={NEW_YORK!r}), datetime(2026, 5, 29, 20, tzinfo=UTC))\n"
        "space.keys(space.all(), 0, 100), len(space), space.key_at(len(space) - 1)\n"
        "space.containing(datetime(2015, 3, 8, 8, tzinfo=UTC))\n"
        "print((time.perf_counter() - began) * 1000)"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)


def hours(size: int) -> TimeSpace:
    """So many hourly windows in New York."""
    first = datetime(2015, 1, 1, 5, tzinfo=UTC)
    return times(space_of(Hourly(START, tz=NEW_YORK), first + timedelta(hours=size)))


def map_time(bench: harness.Bench) -> None:
    """Scattered hours to days, alternate days to weeks, and both inverses: as many runs as partitions."""
    now = datetime(2026, 6, 5, tzinfo=UTC)
    hour = times(space_of(Hourly(START, tz=NEW_YORK), now))
    day = times(space_of(Daily(START, tz=NEW_YORK), now))
    week = times(space_of(Weekly(START, tz=NEW_YORK), now))

    def scattered(count: int) -> PartitionSet:
        return every(count, 37, hour)

    def alternate(count: int) -> PartitionSet:
        return every(count, 2, day)

    found = upstream_of(TimeOverlap(), down=hour, up=day, cells=scattered(2667)).existing
    check(found == PartitionSet.from_ordinals(day_of(hour, day, one) for one in scattered(2667)), "hours to days")

    def up(cells: Callable[[int], PartitionSet], down: TimeSpace, above: TimeSpace) -> CallOf:
        return lambda n: partial(upstream_of, TimeOverlap(), down=down, up=above, cells=cells(n))

    def back(cells: Callable[[int], PartitionSet], down: TimeSpace, above: TimeSpace) -> CallOf:
        return lambda n: partial(downstream_of, TimeOverlap(), down=down, up=above, cells=cells(n))

    some_hours, some_days = (667, 1_333, 2_667), (522, 1_043, 2_086)
    for id, what, sizes, call_of in (
        ("hours_to_days", "the days that 2,667 scattered hours need", some_hours, up(scattered, hour, day)),
        ("days_to_weeks", "the weeks that 2,086 alternate days need", some_days, up(alternate, day, week)),
        ("hours_touch_days", "the days that need 2,667 scattered hours", some_hours, back(scattered, day, hour)),
        ("days_touch_weeks", "the weeks that need 2,086 alternate days", some_days, back(alternate, week, day)),
    ):
        timed(bench, Timed(f"map_time_{id}", what, 5, sizes, call_of))


def map_dims(bench: harness.Bench) -> None:
    """300 x 365 x 24 cells: the full set, then each dimension on its own with the day before."""
    mapping = Dimensions(
        (
            DimensionPair("store", "store", Identity()),
            DimensionPair("day", "day", TimeOverlap(-1, -1)),
            DimensionPair("hour", "hour", Identity()),
        )
    )

    def build_and_map(stores: int) -> Callable[[], object]:
        space = product(stores)
        return lambda: upstream_of(mapping, down=space, up=space, cells=space.all())

    space = product(300)
    mapped = upstream_of(mapping, down=space, up=space, cells=space.all())
    check(len(space) == 300 * 365 * 24, "2,628,000 cells")
    check((len(mapped.existing), mapped.absent_count) == (300 * 364 * 24, 300 * 24), "all but a day of each store")
    timed(
        bench, Timed("map_dims", "build 300 x 365 x 24 cells, map with a day offset", 10, (30, 100, 300), build_and_map)
    )


def product(stores: int) -> PartitionSpace:
    """So many stores, a year of days, 24 hours."""
    scheme = Multi(
        store=Static(*(f"s{n:03}" for n in range(stores))),
        day=Daily("2025-01-01", end="2026-01-01"),
        hour=Static(*(f"{n:02}" for n in range(24))),
    )
    return space_of(scheme, datetime(2026, 6, 1, tzinfo=UTC))


def every(count: int, step: int, space: PartitionSpace) -> PartitionSet:
    """So many partitions, one in `step`."""
    found = PartitionSet.from_ordinals(range(0, count * step, step))
    check(found.last < len(space), f"{count} partitions, one in {step}")
    return found


def day_of(hour: TimeSpace, day: TimeSpace, ordinal: int) -> int:
    """By asking one window."""
    found = day.containing(hour.window_at(ordinal).start)
    check(found is not None, "an hour lies in a day")
    return found or 0


def times(space: PartitionSpace) -> TimeSpace:
    """The space of a time scheme."""
    if not isinstance(space, TimeSpace):
        raise TypeError(f"{space!r} is not a time space")
    return space
