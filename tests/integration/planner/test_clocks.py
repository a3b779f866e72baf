"""What time makes true: nightly windows, late data, ticks; never history by itself, never twice, never lost in an outage."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.integration.planner.conftest import Stage

from partita.assets import AutomationSpec, Daily, Hourly, Multi, Static
from partita.core.automation import Limits, run_clocks
from partita.core.store.memory import MemoryStore
from partita.sdk import eager, on_close, on_cron, on_missing, when

DAYS = Daily("2026-03-01", tz="Europe/Berlin")
HOURS = Hourly("2026-03-01", tz="Europe/Berlin")
MIDNIGHT = datetime(2026, 3, 9, 23, tzinfo=UTC)  # of 10 March in Berlin


class Clockwork:
    """A virtual clock."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 9, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def to(self, instant: datetime) -> None:
        self.now = instant


@pytest.fixture
def time() -> Clockwork:
    return Clockwork()


@pytest.fixture
def timed(time: Clockwork) -> Stage:
    return Stage(MemoryStore(time))


def ran(stage: Stage, key: str) -> list[str]:
    return [partition for asset, partition in stage.attempts if asset == key]


def looked(stage: Stage) -> list[tuple[str, str]]:
    """Looks at the clocks, works, and returns what ran by it."""
    done = len(stage.attempts)
    while stage.look().requested or stage.settle():
        pass
    return stage.attempts[done:]


def spec_of(policy: Any) -> AutomationSpec:
    found: AutomationSpec = policy.spec
    return found


def test_a_window_that_closes_is_asked_for_once_after_its_lag(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    """S-074, S-083, S-094, S-002, S-049: one partition per interval, made just after it closed; by a later look nothing."""
    timed.define([asset_of("orders", DAYS, automation=spec_of(on_close("15m")))])
    assert looked(timed) == []  # history is an explicit request (S-200)
    time.to(MIDNIGHT + timedelta(minutes=14))
    assert looked(timed) == []
    time.to(MIDNIGHT + timedelta(minutes=15))
    assert looked(timed) == [("orders", "2026-03-09")]
    time.to(MIDNIGHT + timedelta(hours=5))
    assert looked(timed) == []
    time.to(MIDNIGHT + timedelta(days=1, minutes=15))
    assert looked(timed) == [("orders", "2026-03-10")]


@pytest.mark.parametrize(
    ("catch_up", "days"),
    [("none", []), ("latest", ["2026-03-08"]), ("all", [f"2026-03-0{day}" for day in range(1, 9)])],
)
def test_history_is_caught_up_as_the_policy_says(timed: Stage, asset_of: Any, catch_up: Any, days: list[str]) -> None:
    """S-076, S-092, S-094."""
    timed.define([asset_of("orders", DAYS, automation=spec_of(on_close(catch_up=catch_up)))])
    looked(timed)
    assert ran(timed, "orders") == days


def test_all_windows_of_an_outage_are_made_after_it(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    """S-012: while no scheduler runs nothing starts; nothing is lost by it either."""
    timed.define([asset_of("orders", DAYS, automation=spec_of(on_close()))])
    looked(timed)
    time.to(MIDNIGHT + timedelta(days=3))
    looked(timed)
    assert sorted(ran(timed, "orders")) == ["2026-03-09", "2026-03-10", "2026-03-11", "2026-03-12"]


def test_more_than_the_limit_waits_for_a_person(timed: Stage, asset_of: Any) -> None:
    timed.limits = Limits(max_cells=5)
    timed.define([asset_of("orders", DAYS, automation=spec_of(on_missing()))])
    found = timed.look()
    assert (found.requested, found.held) == (0, 8)


def test_assets_that_are_due_at_one_instant_are_not_one_request(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    timed.limits = Limits(max_cells=5)
    timed.define([asset_of(f"a{n}", DAYS, automation=spec_of(on_close())) for n in range(20)])
    looked(timed)
    time.to(MIDNIGHT)
    found = timed.look()
    assert (found.requested, found.held) == (20, 0)


def test_a_closed_window_waits_for_what_it_needs_and_follows_it(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    """The window has closed, its input comes late: asked for by the input's publication."""
    timed.define(
        [asset_of("orders", DAYS), asset_of("totals", DAYS, {"orders": (DAYS, None)}, automation=spec_of(on_close()))]
    )
    time.to(MIDNIGHT)
    assert looked(timed) == []
    timed.request("orders", partitions="2026-03-09")
    timed.settle()
    assert ran(timed, "totals") == ["2026-03-09"]


def test_what_waits_for_an_upstream_under_way_is_looked_at_again(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    """The upstream ends without a new version, so without an event: the clock looks again by itself."""
    timed.define(
        [asset_of("orders", DAYS), asset_of("totals", DAYS, {"orders": (DAYS, None)}, automation=spec_of(on_close()))]
    )
    time.to(MIDNIGHT)
    timed.request("orders", partitions="2026-03-09")
    timed.work()
    with timed.store.begin() as tx:
        tx.take_todo_skip("automation", 100)  # as if the publication had been decided about before
    timed.request("orders", ("all",), partitions="2026-03-09")
    claimed = timed.start()
    assert timed.look().waiting == 1
    timed.end(claimed)
    time.to(MIDNIGHT + timedelta(seconds=20))
    assert looked(timed) == [("totals", "2026-03-09")]


def test_late_data_in_the_lookback_makes_only_what_changed(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    """Of the newest three windows the one whose source moved is made again; an older one is left alone."""
    versions: dict[tuple[str, str], str] = {}
    timed.version = lambda key, partition: versions.get((key, partition), "v1")
    policy = spec_of(on_close(lookback=3))
    timed.define([asset_of("orders", DAYS), asset_of("totals", DAYS, {"orders": (DAYS, None)}, automation=policy)])
    time.to(MIDNIGHT)
    timed.request("orders", partitions="2026-03-01..2026-03-09")
    timed.settle()
    assert ran(timed, "totals") == ["2026-03-09"]
    timed.request("totals", partitions="2026-03-01..2026-03-08")
    timed.settle()
    for late in ("2026-03-02", "2026-03-08"):
        versions["orders", late] = "v2"
        timed.request("orders", ("all",), partitions=late)
    del timed.attempts[:]
    timed.settle()
    looked(timed)
    assert ran(timed, "totals") == ["2026-03-08"]


def test_lookback_counts_the_windows_that_closed_with_the_lag(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    """With a lag of three hours the newest hour that counts is not the newest hour."""
    time.to(datetime(2026, 3, 9, 12, 30, tzinfo=UTC))
    timed.define([asset_of("hits", HOURS, automation=spec_of(on_close("3h", lookback=2)))])
    looked(timed)
    time.to(datetime(2026, 3, 9, 13, 0, tzinfo=UTC))
    assert looked(timed) == [("hits", "2026-03-09T10:00+01:00")]


def test_a_tick_makes_the_newest_partition_anew(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    """S-078."""
    timed.define([asset_of("orders", DAYS, automation=spec_of(on_cron("0 6 * * *", "Europe/Berlin")))])
    assert looked(timed) == []
    six = datetime(2026, 3, 10, 5, tzinfo=UTC)
    time.to(six)
    assert looked(timed) == [("orders", "2026-03-09")]
    time.to(six + timedelta(hours=3))
    assert looked(timed) == []
    time.to(six + timedelta(days=1))
    assert looked(timed) == [("orders", "2026-03-10")]


def test_a_tick_that_fired_before_a_window_closed_does_not_count_for_it(
    timed: Stage, time: Clockwork, asset_of: Any
) -> None:
    """What is published at eight is not published at midnight because its inputs are there by then."""
    at_eight = spec_of(on_cron("0 8 * * *", "Europe/Berlin"))
    totals = asset_of("totals", DAYS, {"orders": (DAYS, None)}, automation=at_eight)
    timed.define([asset_of("orders", DAYS), totals])
    looked(timed)
    time.to(MIDNIGHT + timedelta(hours=8))  # the tick passes, and nothing is ready
    assert looked(timed) == []
    time.to(MIDNIGHT + timedelta(days=1, minutes=5))
    timed.request("orders", ("missing",), partitions="2026-03-10")
    assert looked(timed) == [("orders", "2026-03-10")]
    time.to(MIDNIGHT + timedelta(days=1, hours=8))
    assert looked(timed) == [("totals", "2026-03-10")]


def test_a_tick_counts_for_the_window_that_closes_at_it(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    timed.define([asset_of("orders", DAYS, automation=spec_of(on_cron("0 0 * * *", "Europe/Berlin")))])
    looked(timed)
    time.to(MIDNIGHT)
    assert looked(timed) == [("orders", "2026-03-09")]


def test_a_tick_makes_all_partitions_where_time_is_no_dimension(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    timed.define([asset_of("rates", Static("EUR", "USD"), automation=spec_of(on_cron("0 6 * * *")))])
    looked(timed)
    for day in (10, 11):
        time.to(datetime(2026, 3, day, 6, tzinfo=UTC))
        assert sorted(looked(timed)) == [("rates", "EUR"), ("rates", "USD")]


def test_missed_ticks_are_one(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    """A week without a scheduler leaves one tick to heed, not seven."""
    timed.define([asset_of("model", None, automation=spec_of(on_cron("0 6 * * *")))])
    looked(timed)
    time.to(datetime(2026, 3, 16, 12, tzinfo=UTC))
    assert looked(timed) == [("model", "")]


def test_a_tick_that_failed_is_not_asked_for_again_before_the_next(
    timed: Stage, time: Clockwork, asset_of: Any
) -> None:
    timed.version = lambda key, partition: None
    timed.define([asset_of("model", None, automation=spec_of(on_cron("0 6 * * *")))])
    looked(timed)
    time.to(datetime(2026, 3, 10, 6, tzinfo=UTC))
    assert looked(timed) == [("model", "")]
    time.to(datetime(2026, 3, 10, 12, tzinfo=UTC))
    assert looked(timed) == []
    time.to(datetime(2026, 3, 11, 6, tzinfo=UTC))
    assert looked(timed) == [("model", "")]


def test_what_is_missing_is_asked_for_as_it_comes_to_exist(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    timed.define([asset_of("orders", DAYS, automation=spec_of(on_missing()))])
    looked(timed)
    assert len(ran(timed, "orders")) == 8
    time.to(MIDNIGHT)
    assert looked(timed) == [("orders", "2026-03-09")]


def test_words_are_joined(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    """Eager, but only for the newest two days, and never while a source failed."""
    versions: dict[str, str | None] = {}
    timed.version = lambda key, partition: versions.get(key, "v1")
    policy = spec_of(eager() & when.latest(2) & ~when.any_deps(when.dep.failed, ignore=["rates"]))
    timed.define(
        [
            asset_of("orders", DAYS),
            asset_of("rates", DAYS),
            asset_of("totals", DAYS, {"orders": (DAYS, None), "rates": (DAYS, None)}, automation=policy),
        ]
    )
    timed.request("orders, rates")
    timed.settle()
    assert sorted(ran(timed, "totals")) == ["2026-03-07", "2026-03-08"]
    versions |= {"orders": None}
    timed.request("orders", ("all",), partitions="2026-03-08")
    timed.settle()
    versions |= {"rates": "v2"}
    del timed.attempts[:]
    timed.request("rates", ("all",), partitions="latest 2")
    timed.settle()
    assert ran(timed, "totals") == ["2026-03-07"]  # the orders of the 8th failed when they were last made


def test_a_changed_condition_is_looked_at_at_once(timed: Stage, asset_of: Any) -> None:
    timed.define([asset_of("orders", DAYS, automation=spec_of(on_close()))])
    assert looked(timed) == []
    timed.define([asset_of("orders", DAYS, automation=spec_of(on_close(catch_up="latest")))])
    assert looked(timed) == [("orders", "2026-03-08")]
    timed.define([asset_of("orders", DAYS)])
    with timed.store.begin() as tx:
        assert tx.clocks_of([timed.ref("orders").asset_id]) == {}


# ------------------------------------------------------------------ debounce


def test_what_comes_within_the_debounce_is_one_request(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    """Gathered from the first publication on, decided at its end, and what comes later starts anew."""
    policy = spec_of(eager().debounced("5m"))
    timed.define([asset_of("orders", DAYS), asset_of("totals", DAYS, {"orders": (DAYS, None)}, automation=policy)])
    looked(timed)
    start = time.now
    for minute, day in ((0, "2026-03-02"), (2, "2026-03-05"), (4, "2026-03-02")):
        time.to(start + timedelta(minutes=minute))
        timed.request("orders", ("all",), partitions=day)
        timed.settle()
    assert ran(timed, "totals") == []
    time.to(start + timedelta(minutes=5))
    found = timed.look()
    assert (found.taken, found.requested) == (1, 2)
    timed.settle()
    assert sorted(ran(timed, "totals")) == ["2026-03-02", "2026-03-05"]
    timed.request("orders", partitions="2026-03-07")
    timed.settle()
    assert timed.look().taken == 0
    time.to(start + timedelta(minutes=10))
    assert looked(timed) == [("totals", "2026-03-07")]


def test_gathered_keys_wait_with_their_asset_for_an_upstream_under_way(
    timed: Stage, time: Clockwork, asset_of: Any
) -> None:
    policy = spec_of(eager().debounced("1m"))
    timed.define([asset_of("orders", DAYS), asset_of("totals", DAYS, {"orders": (DAYS, None)}, automation=policy)])
    looked(timed)
    timed.request("orders", partitions="2026-03-02")
    timed.settle()
    timed.request("orders", ("all",), partitions="2026-03-02")
    claimed = timed.start()
    time.to(time.now + timedelta(minutes=1))
    assert timed.look().waiting == 1
    timed.end(claimed)
    time.to(time.now + timedelta(seconds=20))
    assert looked(timed) == [("totals", "2026-03-02")]


# ------------------------------------------------------------------ the latest only


def test_of_what_an_outage_left_only_the_newest_is_asked_for(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    timed.define([asset_of("orders", DAYS, automation=spec_of(on_close("15m").keep_latest()))])
    looked(timed)
    time.to(MIDNIGHT + timedelta(days=3, hours=1))
    assert looked(timed) == [("orders", "2026-03-12")]
    time.to(MIDNIGHT + timedelta(days=3, hours=5))
    assert looked(timed) == [], "the older ones are skipped, not put off"
    time.to(MIDNIGHT + timedelta(days=4, hours=1))
    assert looked(timed) == [("orders", "2026-03-13")]


def test_the_newest_is_that_of_each_value_of_the_other_dimensions(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    scheme = Multi(day=DAYS, shop=Static("a", "b"))
    timed.define([asset_of("orders", scheme, automation=spec_of(on_close().keep_latest()))])
    looked(timed)
    time.to(MIDNIGHT + timedelta(days=2))
    assert len(looked(timed)) == 2
    assert [key.count("2026-03-11") for key in ran(timed, "orders")] == [1, 1]
    assert len(set(ran(timed, "orders"))) == 2


def test_of_what_was_gathered_only_the_newest_is_asked_for(timed: Stage, time: Clockwork, asset_of: Any) -> None:
    policy = spec_of(eager().debounced("5m").keep_latest())
    timed.define([asset_of("orders", DAYS), asset_of("totals", DAYS, {"orders": (DAYS, None)}, automation=policy)])
    looked(timed)
    for day in ("2026-03-02", "2026-03-07", "2026-03-05"):
        timed.request("orders", partitions=day)
        timed.settle()
    time.to(time.now + timedelta(minutes=5))
    assert looked(timed) == [("totals", "2026-03-07")]
    timed.version = lambda *_: "v2"
    timed.request("orders", ("all",), partitions="2026-03-02")
    timed.settle()
    time.to(time.now + timedelta(minutes=5))
    assert looked(timed) == [("totals", "2026-03-02")], "something touched it again, and no newer one"


def test_an_eager_burst_in_one_look_keeps_the_newest(timed: Stage, asset_of: Any) -> None:
    policy = spec_of(eager().keep_latest())
    timed.define([asset_of("orders", DAYS), asset_of("totals", DAYS, {"orders": (DAYS, None)}, automation=policy)])
    looked(timed)
    timed.request("orders", partitions="2026-03-02..2026-03-06")
    timed.work()
    timed.settle()
    assert ran(timed, "totals") == ["2026-03-06"]


# ------------------------------------------------------------------ several schedulers


@pytest.fixture
def due(pg_stage: Stage, asset_of: Any) -> Stage:
    """Two hundred assets, each of which asks for its two keys at once."""
    pg_stage.define([asset_of(f"a{n}", Static("x", "y"), automation=spec_of(on_missing())) for n in range(200)])
    return pg_stage


def test_what_is_due_at_one_instant_is_asked_for_once_by_three_schedulers(due: Stage) -> None:
    """The rows of clocks are locked by whoever heeds them, and the others go on to the next."""
    found: list[int] = []

    def scheduler() -> None:
        while (done := run_clocks(due.store, due, 20)).taken or done.more:
            found.append(done.requested)

    threads = [threading.Thread(target=scheduler) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sum(found) == 400
    due.settle()
    assert len(due.attempts) == len(set(due.attempts)) == 400
