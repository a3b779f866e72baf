"""What belongs to the past goes so many tasks at a time, the newest windows at once (S-024, S-076): once, whoever looks."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.integration.planner.conftest import Stage

from partita.assets import Daily, Hourly, Multi, Rolling, Static
from partita.core.automation import Limits, approve
from partita.core.automation.values import Automated
from partita.core.store.memory import MemoryStore
from partita.core.store.values import BackfillId
from partita.core.store.values_requests import RequestId
from partita.sdk import eager, on_close, on_missing

FROM = "2026-03-01"
DAYS = Daily(FROM, end="2026-04-01")  # 31, all closed
LAST = "2026-03-31"
NOON = datetime(2026, 3, 9, 12, tzinfo=UTC)


def ran(stage: Stage, key: str) -> list[str]:
    return [partition for asset, partition in stage.attempts if asset == key]


def backfills(stage: Stage) -> list[int | None]:
    """The limit of each; its run is in the lane of backfills."""
    with stage.store.begin() as tx:
        found = tx.lock_backfills([BackfillId(n) for n in range(1, 20)])
        lanes = {run.lane for one in found for run in tx.read_runs(tx.runs_of_backfill(one.id))}
    assert lanes <= {"backfill"}
    return [one.max_active for one in found]


def worked(stage: Stage) -> list[int]:
    """How many attempts were under way at once, until all have ended."""
    found = []
    while claimed := stage.start():
        found.append(len(claimed))
        stage.end(claimed)
    return found


def test_history_goes_at_its_pace_and_the_newest_window_at_once(stage: Stage, asset_of: Any) -> None:
    stage.define([asset_of("orders", DAYS, automation=on_close(catch_up="all", pace=4).spec)])
    assert stage.look().requested == 31
    assert backfills(stage) == [4]
    assert worked(stage) == [5, 4, 4, 4, 4, 4, 4, 2]
    assert ran(stage, "orders")[:4] == ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"], "the oldest first"
    assert LAST in ran(stage, "orders")[:5], "the newest waits for none of them"
    assert sorted(ran(stage, "orders")) == [f"2026-03-{day:02}" for day in range(1, 32)]
    assert stage.look() == Automated()


def test_it_is_asked_for_once_however_many_look(stage: Stage, asset_of: Any) -> None:
    keys = [f"a{n}" for n in range(4)]
    stage.define([asset_of(key, DAYS, automation=on_close(catch_up="all").spec) for key in keys])
    looks = [threading.Thread(target=stage.look) for _ in range(3)]
    for one in looks:
        one.start()
    for one in looks:
        one.join()
    stage.look()
    assert backfills(stage) == [16] * 4
    worked(stage)
    assert sorted(stage.attempts) == [(key, f"2026-03-{day:02}") for key in keys for day in range(1, 32)]


def test_as_much_as_the_pace_is_no_catch_up(stage: Stage, asset_of: Any) -> None:
    """Sixteen windows of the past, and the newest."""
    few = Daily(FROM, end="2026-03-18")
    stage.define([asset_of("orders", few, automation=on_close(catch_up="all").spec)])
    assert stage.look().requested == 17
    assert backfills(stage) == []
    assert worked(stage) == [17]


def test_holes_of_the_past_are_filled_at_a_pace(stage: Stage, asset_of: Any) -> None:
    stage.define([asset_of("orders", DAYS, automation=on_missing().spec)])
    stage.look()
    assert backfills(stage) == [16]


def test_what_follows_publications_is_not_paced(stage: Stage, asset_of: Any) -> None:
    """Its upstream's backfill has a pace of its own."""
    follows = asset_of("totals", DAYS, {"orders": (DAYS, None)}, automation=eager().spec)
    stage.define([asset_of("orders", DAYS), follows])
    stage.request("orders", partitions="all")
    stage.settle()
    assert backfills(stage) == []
    assert len(ran(stage, "totals")) == 31


def test_what_reads_each_other_goes_together(stage: Stage, asset_of: Any) -> None:
    """Each day of `totals` after its day of `orders`, the newest of both at once; the smaller pace counts."""
    orders = asset_of("orders", DAYS, automation=on_close(catch_up="all", pace=8).spec)
    totals = asset_of("totals", DAYS, {"orders": (DAYS, None)}, automation=on_close(catch_up="all", pace=3).spec)
    stage.define([orders, totals])
    assert stage.look().requested == 62
    assert backfills(stage) == [3]
    worked(stage)
    for day in (f"2026-03-{day:02}" for day in range(1, 32)):
        assert stage.attempts.index(("orders", day)) < stage.attempts.index(("totals", day))
    assert len(stage.attempts) == 62


def test_what_reads_the_past_goes_with_it(stage: Stage, asset_of: Any) -> None:
    """The newest week of days needs days of the past: it is made after them."""
    week = asset_of("week", DAYS, {"orders": (DAYS, Rolling(7, "days"))}, automation=on_close(catch_up="all").spec)
    stage.define([asset_of("orders", DAYS, automation=on_close(catch_up="all").spec), week])
    stage.look()
    worked(stage)
    own = stage.attempts.index(("week", LAST))
    assert all(stage.attempts.index(("orders", f"2026-03-{day}")) < own for day in range(25, 32))
    assert len(stage.attempts) == 31 + 25, "six days lack what lies before the first"


def test_the_newest_of_each_value_goes_at_once(stage: Stage, asset_of: Any) -> None:
    airports = Multi(day=DAYS, airport=Static("EWR", "JFK"))
    stage.define([asset_of("flights", airports, automation=on_close(catch_up="all", lookback=2).spec)])
    stage.look()
    first = stage.start()
    assert len(first) == 4 + 16, "two days of two airports, and sixteen of the past"


def test_an_outage_longer_than_the_pace(asset_of: Any) -> None:
    now = [NOON]
    stage = Stage(MemoryStore(lambda: now[0]))
    stage.define([asset_of("orders", Hourly(FROM), automation=on_close().spec)])
    assert stage.look().requested == 0
    now[0] += timedelta(hours=16)
    assert stage.look().requested == 16
    assert backfills(stage) == []
    now[0] += timedelta(hours=30)
    assert stage.look().requested == 30
    assert backfills(stage) == [16]
    assert worked(stage) == [16 + 16 + 1, 13]
    assert len(set(ran(stage, "orders"))) == 46


def test_what_a_person_approves_goes_at_a_pace(asset_of: Any) -> None:
    stage = Stage(MemoryStore(lambda: NOON), limits=Limits(max_cells=20))
    stage.define([asset_of("orders", Hourly(FROM), automation=on_close(catch_up="all").spec)])
    assert stage.look().held == 204
    with stage.store.begin() as tx:
        (held,) = tx.held_requests([stage.catalog.asset("orders").id])
    done = approve(stage.store, stage, RequestId(held.id), revision=held.revision, by="ann")
    assert done.cells == 204
    assert backfills(stage) == [16]
    assert worked(stage)[0] == 16
