"""Plans as text: table and tree at 80 columns, waves that are alike, many cells as ranges, how long it takes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from partita.assets import Daily, Hourly, Multi, PerBatchSpec, Rolling, Static, TimeOverlap
from partita.core.planner import Durations, PoolLoad, render_text

DAYS = Daily("2013-01-01", end="2014-01-01", tz="America/New_York")
HOURS = Hourly("2013-01-01", end="2014-01-01", tz="America/New_York")
WEATHER = Multi(hour=HOURS, origin=Static("EWR", "JFK", "LGA"))


@pytest.fixture
def flights(world: Any, asset_of: Any) -> Any:
    made = world(
        [
            asset_of("raw/flights", DAYS, pools=({"name": "warehouse"},)),
            asset_of("weather", WEATHER, batch=PerBatchSpec(dims={"hour": "1d", "origin": "all"})),
            asset_of("airlines"),
            asset_of(
                "delays", DAYS, {"raw/flights": (DAYS, None), "weather": (WEATHER, None), "airlines": (None, None)}
            ),
            asset_of("trend", DAYS, {"delays": (DAYS, Rolling(7, "days", edge="clip"))}),
            asset_of("balance", DAYS, {"delays": (DAYS, None), "balance": (DAYS, TimeOverlap(-1, -1))}),
            asset_of("shift", DAYS, {"trend": (DAYS, TimeOverlap(-1, 0))}),
        ],
        as_of=datetime(2014, 1, 15, tzinfo=UTC),
    )
    made.cells.slots = 4
    made.cells.pool_loads.update(default=PoolLoad(128, 3), warehouse=PoolLoad(4, 1))
    for key, s in (("raw/flights", 12.0), ("weather", 9.0), ("delays", 2.0), ("trend", 3.0)):
        made.cells.history[made.catalog.asset(key).step] = Durations(s, 7)
    return made


def test_a_year_as_a_table(flights: Any) -> None:
    """28,105 cells as ranges, 367 waves as five lines."""
    assert render_text(flights.plan(), flights.catalog).splitlines()[:-1] == [
        "Materialize 28,105 cells of 7 assets: 28,105 missing",
        "",
        "asset         cells  why             partitions",
        "airlines          1  1 missing",
        "raw/flights     365  365 missing     2013-01-01..2013-12-31",
        "weather      26,280  26,280 missing  2013-01-01..2013-12-31 × EWR, JFK, LGA",
        "delays          365  365 missing     2013-01-01..2013-12-31",
        "balance         365  365 missing     2013-01-01..2013-12-31",
        "trend           365  365 missing     2013-01-01..2013-12-31",
        "shift           364  364 missing     2013-01-02..2013-12-31",
        "",
        "wave 1: airlines (1), raw/flights (365), weather (26,280)",
        "wave 2: delays (365)",
        "wave 3: balance (1), trend (365)",
        "wave 4: balance (1), shift (364)",
        "waves 5..367: balance (1) each",
        "2,190 tasks",
        "pool default: wants 1,825, 3 of 128 slots held",
        "pool warehouse: wants 365, 1 of 4 slots held",
        "about 89 min with 4 slots, 42 min with 32; never under 40 min (critical path);",
        "    mean of 28 earlier attempts, 4 at once; airlines, balance, shift never ran",
        "critical path (40 min): raw/flights 2013-01-01 > delays 2013-01-01 > balance",
        "    2013-01-01..2013-12-31",
        "blocked: shift 2013-01-01: trend 2012-12-31 does not exist",
        "warning: 366 tasks of weather, airlines read from outside, and no pool or",
        "    max_active limits them: up to 4 of them run at once. To limit them give the",
        '    assets pool="NAME" or max_active=, or launch a backfill with --max-active.',
    ]


def test_a_plan_tells_its_hash(flights: Any) -> None:
    found = flights.plan("airlines")
    assert render_text(found, flights.catalog).splitlines()[-1] == f"plan {found.hash[:14]}"


def test_a_year_as_a_tree(flights: Any) -> None:
    lines = render_text(flights.plan(), flights.catalog, "tree").splitlines()
    assert lines[2:11] == [
        "airlines  1 cell: 1 missing",
        "raw/flights  2013-01-01..2013-12-31  365 cells: 365 missing",
        "weather  2013-01-01..2013-12-31 × EWR, JFK, LGA  26,280 cells: 26,280 missing",
        "└─ delays  2013-01-01..2013-12-31  365 cells: 365 missing; also after airlines,",
        "       raw/flights",
        "   ├─ balance  2013-01-01..2013-12-31  365 cells: 365 missing",
        "   └─ trend  2013-01-01..2013-12-31  365 cells: 365 missing",
        "      └─ shift  2013-01-02..2013-12-31  364 cells: 364 missing",
        "         shift  2013-01-01  blocked: trend 2012-12-31 does not exist",
    ]
    assert not any(line.startswith("blocked:") for line in lines), "said once"


def test_nothing_is_wider_than_asked_but_a_key(flights: Any) -> None:
    """And at every width the text says the same words."""
    found = flights.plan(partitions="2013-02-01..2013-02-03")
    for form in ("table", "tree"):
        texts = {width: render_text(found, flights.catalog, form, width=width) for width in (48, 80, 240)}
        for width, text in texts.items():
            assert max(map(len, text.splitlines())) <= width
        if form == "tree":
            words = {width: text.translate(str.maketrans("│├└─", "    ")).split() for width, text in texts.items()}
            assert words[48] == words[80] == words[240]


def test_a_narrow_table_puts_partitions_below(flights: Any) -> None:
    lines = render_text(flights.plan("weather, raw/flights", partitions="2013-02-01"), flights.catalog, width=50)
    assert lines.splitlines()[2:7] == [
        "asset        cells  why",
        "raw/flights      1  1 missing",
        "    2013-02-01",
        "weather         72  72 missing",
        "    2013-02-01 × EWR, JFK, LGA",
    ]


def test_scattered_cells_are_told_as_the_first_ranges_and_how_many_more(world: Any, asset_of: Any) -> None:
    days = Daily("1990-01-01", end="2024-01-01")
    made = world([asset_of("a", days)])
    space = made.catalog.space(made.catalog.asset("a").key, made.as_of)
    for ordinal in range(1, space.size, 3):
        made.cells.publish(made.ref("a", str(space.key_at(ordinal))), "v", fingerprint="code-1", dependency_hash="none")
    lines = render_text(made.plan(), made.catalog).splitlines()
    assert lines[2:5] == [
        "asset  cells  why",
        "a      8,279  8,279 missing",
        "    1990-01-01, 1990-01-03..1990-01-04, 1990-01-06..1990-01-07,",
    ]
    assert lines[5].strip().startswith("1990-01-09..1990-01-10 and 4,1")


def test_many_waves_and_a_deep_chain_stay_on_the_page(world: Any, asset_of: Any) -> None:
    chain = [asset_of("a00")]
    chain += [asset_of(f"a{n:02}", None, {f"a{n - 1:02}": (None, None)}) for n in range(1, 60)]
    made = world(chain)
    table = render_text(made.plan(), made.catalog).splitlines()
    assert [line for line in table if line.startswith("wave 11")] == ["wave 11: a10 (1)"]
    assert "and 49 more waves" in table
    tree = render_text(made.plan(), made.catalog, "tree").splitlines()[2:62]
    assert tree[:3] == ["a00  1 cell: 1 missing", "└─ a01  1 cell: 1 missing", "   └─ a02  1 cell: 1 missing"]
    assert tree[59].strip() == "59. a59  1 cell: 1 missing"
    assert max(map(len, tree)) < 80


def test_pool_is_named_when_it_is_the_limit(flights: Any) -> None:
    found = flights.plan("raw/flights")
    told = render_text(found, flights.catalog)
    assert "about 18 min with 4 slots; never under 18 min (pool warehouse)" in told
    assert found.estimate.bound_pool == "warehouse"
    assert "critical path (12 s): raw/flights 2013-01-01" in told


def test_without_workers_the_text_says_so(flights: Any) -> None:
    flights.cells.slots = 0
    told = render_text(flights.plan("weather", partitions="2013-02-01..2013-02-10"), flights.catalog, width=200)
    assert (
        "about 90 s with 1 slot, 9.0 s with 10; never under 9.0 s (critical path); mean of 7 earlier attempts, " in told
    )
    assert "no worker is up" in told
