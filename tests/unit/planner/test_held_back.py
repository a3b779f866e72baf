"""Which one cell holds the data time of an asset back (law 5)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from partita.assets import Daily, Monthly, Multi, Static, TimeOverlap, UnknownAsset
from partita.core.cells import held_back

DAYS = Daily("2024-01-01", end="2024-01-11")
ORIGINS = Static("EWR", "JFK")
GRID = Multi(day=DAYS, origin=ORIGINS)


def old(made: Any, key: str) -> Any:
    return held_back(made.catalog, made.cells, made.as_of, key)


def day(number: int) -> datetime:
    return datetime(2024, 1, number, tzinfo=UTC)


@pytest.fixture
def made(world: Any, asset_of: Any) -> Any:
    """raw and grid feed clean, clean feeds a report without partitions."""
    return world(
        [
            asset_of("raw", DAYS),
            asset_of("grid", GRID),
            asset_of("clean", DAYS, {"raw": (DAYS, None), "grid": (GRID, None)}),
            asset_of("report", None, {"clean": (DAYS, None)}),
        ]
    )


def fill(made: Any, *keys: str) -> None:
    for key in keys:
        made.run_all(key)


def test_nothing_holds_a_fresh_asset_back(made: Any) -> None:
    fill(made, "raw", "grid", "clean", "report")
    for key in ("clean", "report"):
        found = old(made, key)
        assert (found.reaches, found.holder, found.because) == (day(11), None, None)
    assert old(made, "clean").sentence == "clean reaches 2024-01-11 00:00 UTC; nothing holds it back"


def test_the_deepest_cell_is_named_not_the_nearest(made: Any) -> None:
    fill(made, "raw", "grid", "clean")
    made.run("raw", "2024-01-04", "v2")
    found = old(made, "clean")
    assert (found.reaches, found.holder) == (day(4), ("clean", "2024-01-04")), (
        "its input is fresh: it is the one to run"
    )
    made.cells.rows.pop(made.ref("grid", '["2024-01-06","JFK"]'))
    made.run("clean", "2024-01-04")
    found = old(made, "clean")
    assert found.reaches == day(6)
    assert found.path == (("clean", "2024-01-06"), ("grid", '["2024-01-06","JFK"]'))
    assert found.because.sentence.endswith("is missing: it was never materialized")
    assert old(made, "report").holder == ("grid", '["2024-01-06","JFK"]')
    assert old(made, "grid").reaches == day(6)


def test_of_two_inputs_the_older_one_is_named(made: Any) -> None:
    fill(made, "raw", "grid", "clean")
    made.run("clean", "2024-01-05")
    for number in (5, 7):
        made.cells.rows.pop(made.ref("clean", f"2024-01-{number:02}"))
    made.cells.rows.pop(made.ref("raw", "2024-01-07"))
    assert old(made, "clean").holder == ("clean", "2024-01-05")


def test_an_asset_that_was_never_made_reaches_nowhere(made: Any) -> None:
    found = old(made, "clean")
    assert (found.reaches, found.holder) == (None, ("raw", "2024-01-01"))
    assert found.sentence.startswith("clean reaches nowhere yet, held back by raw 2024-01-01 is missing")


def test_a_self_dependency_is_climbed_to_its_first_day(world: Any, asset_of: Any) -> None:
    made = world([asset_of("s", DAYS, {"s": (DAYS, TimeOverlap(-1, -1))})])
    fill(made, "s")
    made.run("s", "2024-01-03", "v2")
    found = old(made, "s")
    assert (found.reaches, found.holder) == (day(4), ("s", "2024-01-04"))


def test_a_month_is_held_back_by_one_of_its_days(world: Any, asset_of: Any) -> None:
    days, months = Daily("2024-01-01", end="2024-03-01"), Monthly("2024-01-01", end="2024-03-01")
    made = world(
        [asset_of("d", days), asset_of("m", months, {"d": (days, None)})], as_of=datetime(2024, 3, 5, tzinfo=UTC)
    )
    fill(made, "d", "m")
    made.cells.rows.pop(made.ref("d", "2024-02-17"))
    found = old(made, "m")
    assert (found.reaches, found.holder) == (datetime(2024, 2, 1, tzinfo=UTC), ("d", "2024-02-17"))


def test_an_unknown_asset_is_refused(made: Any) -> None:
    with pytest.raises(UnknownAsset):
        old(made, "cleann")
