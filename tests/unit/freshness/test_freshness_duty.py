"""The freshness duty over the store in memory with virtual time: judged without runs, told once, over when the data is there
(S-205, S-203, S-206)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.alerts.alert_world import Alerts, rule
from tests.unit.duties.duty_world import LOCATION, SNAPSHOT, START, World, cell, report, step

from partita.assets import (
    AssetSpec,
    Daily,
    FreshnessSpec,
    Hourly,
    IdentitySpec,
    InputSpec,
    ModuleSpec,
    Multi,
    Snapshot,
    Static,
    asset_key,
    to_spec,
)
from partita.core.alerts import Matchers, Routing
from partita.core.catalog import Catalog
from partita.core.catalog.values import StoredSnapshot
from partita.core.config_alerts import OwnerConfig
from partita.core.freshness import look_at_freshness, wanted_policies
from partita.core.freshness.looking import LookedAt
from partita.core.store.values import AssetId, AttemptOutcome

H = 3_600.0
DAYS = Daily("2025-12-01")
LAG = FreshnessSpec(max_lag_s=2 * H)
EWR_CELL, JFK_CELL = '["2025-12-31","EWR"]', '["2025-12-31","JFK"]'
BY = FreshnessSpec(by="09:00", tz="Europe/Berlin")


@dataclass
class Watched:
    """One asset `s1` (and what it reads, `s2`) under a policy from START on; time is START, midnight of 1 January, UTC."""

    world: World
    policy: FreshnessSpec
    partitions: Any = DAYS

    def __post_init__(self) -> None:
        scheme = None if self.partitions is None else to_spec(self.partitions)
        read = InputSpec(name="s2", upstream=asset_key("s2"), mapping=IdentitySpec())
        specs = (
            AssetSpec(key="s1", step="s1", owner="team:ops", partitions=scheme, freshness=self.policy, inputs=(read,)),
            AssetSpec(key="s2", step="s2", owner="team:ops", partitions=scheme),
        )
        snapshot = Snapshot(location="main", modules=(ModuleSpec(name="m", ok=True),), assets=specs)
        stored = StoredSnapshot(LOCATION, "main", SNAPSHOT, "v1", snapshot)
        ids = {asset_key(f"s{n}"): AssetId(n) for n in (1, 2)}
        self.catalog = Catalog([stored], ids)
        self.set_policies(specs, ids)

    def set_policies(self, specs: tuple[AssetSpec, ...], ids: Mapping[Any, AssetId]) -> None:
        with self.world.memory.begin() as tx:
            tx.set_freshness(*wanted_policies(specs, ids))

    def active(self) -> Catalog:
        return self.catalog

    def look(self, to: datetime | None = None) -> LookedAt:
        if to is not None:
            self.world.clock.now = to
        return look_at_freshness(self.world.store, self)

    def make(self, *partitions: str, asset: int = 1) -> None:
        self.world.launch(step(asset, partitions=partitions or ("",)))
        self.world.run_all()

    @property
    def row(self) -> dict[str, Any]:
        (row,) = self.world.rows("freshness")
        return row

    @property
    def spans(self) -> list[tuple[datetime, datetime | None]]:
        return [(row["from_at"], row["until_at"]) for row in self.world.rows("late_span")]


def at(hour: float, day: int = 1) -> datetime:
    return START + timedelta(days=day - 1, hours=hour)


def test_nothing_has_been_due_yet(world: World) -> None:
    watched = Watched(world, LAG)
    assert watched.look().broken == 0
    assert (watched.row["state"], watched.row["next_at"]) == ("unknown", at(2)), "31 December is due two hours after it"


def test_late_from_when_it_was_due_and_fresh_from_when_it_came(world: World) -> None:
    watched = Watched(world, LAG)
    watched.look()
    assert watched.look(at(2.001)).broken == 1
    assert (watched.row["state"], watched.row["state_since"], watched.row["awaited"]) == ("late", at(2), "2025-12-31")
    world.clock.now = at(5)
    watched.make("2025-12-31")
    looked = watched.look(at(5.2))
    assert (looked.kept, watched.spans) == (1, [(at(2), at(5))])
    assert (watched.row["state"], watched.row["state_since"]) == ("fresh", at(5))
    assert watched.row["fresh_to"] == START
    assert watched.row["next_at"] == at(2, day=2), "and nobody looks before something is due"


def test_nothing_is_read_while_nothing_is_due(world: World) -> None:
    """Law 4: an idle look is one statement that finds nothing."""
    watched = Watched(world, LAG)
    watched.make("2025-12-31")
    watched.look(at(3))
    assert [watched.look(at(hour)).taken for hour in (4, 12, 23.9)] == [0, 0, 0]
    assert watched.look(at(2.1, day=2)).broken == 1


def test_what_is_made_in_time_is_no_miss_though_nobody_looked(world: World) -> None:
    watched = Watched(world, LAG)
    watched.look()
    world.clock.now = at(1)
    watched.make("2025-12-31")
    watched.look(at(20))
    assert (watched.row["state"], watched.spans) == ("fresh", [])


def test_a_scheduler_that_was_away_changes_no_figure(world: World) -> None:
    watched = Watched(world, LAG)
    watched.look()
    for day, hour in ((1, 5.0), (2, 1.0), (3, 4.0)):
        world.clock.now = at(hour, day)
        watched.make(["2025-12-31", "2026-01-01", "2026-01-02"][day - 1])
    watched.look(at(9, day=3))
    assert watched.spans == [(at(2), at(5)), (at(2, day=3), at(4, day=3))]


def test_data_that_is_made_again_is_not_late(world: World) -> None:
    watched = Watched(world, LAG)
    watched.make("2025-12-31")
    watched.look(at(3))
    world.clock.now = at(10)
    watched.make("2025-12-31")  # late data
    world.clock.now = at(1, day=2)
    watched.make("2026-01-01")
    watched.look(at(3, day=2))
    assert (watched.row["state"], watched.spans) == ("fresh", [])


def test_one_lateness_while_the_windows_go_by(world: World) -> None:
    watched = Watched(world, LAG)
    watched.look(at(2.1))
    watched.look(at(3, day=2))
    watched.look(at(3, day=3))
    assert watched.spans == [(at(2), None)]
    assert watched.row["awaited"] == "2026-01-02"
    world.clock.now = at(4, day=3)
    watched.make("2026-01-02")
    watched.look(at(4.1, day=3))
    assert (watched.row["state"], watched.spans) == ("fresh", [(at(2), at(4, day=3))]), (
        "the newest is there: a hole is a deadline's"
    )


def test_by_time_of_day_in_a_zone(world: World) -> None:
    """`has the table been updated by 09:00`: nine in Berlin is eight UTC."""
    watched = Watched(world, BY, Hourly("2025-12-31"))
    watched.look()
    assert watched.row["next_at"] == at(8)
    assert watched.look(at(8.01)).broken == 1
    assert watched.row["awaited"] == "2025-12-31T22:00+00:00", "the last hour before midnight in Berlin"
    world.clock.now = at(8.5)
    watched.make("2025-12-31T22:00+00:00")
    watched.look(at(8.6))
    assert (watched.row["state"], watched.row["next_at"]) == ("fresh", at(8, day=2))


def test_by_time_of_day_on_some_days(world: World) -> None:
    watched = Watched(world, FreshnessSpec(by="09:00", days="mon"))
    watched.look()
    assert watched.row["next_at"] == datetime(2026, 1, 5, 9, tzinfo=UTC)


def test_without_windows_it_is_made_on_that_day(world: World) -> None:
    watched = Watched(world, BY, None)
    world.clock.now = at(1)
    watched.make()
    watched.look(at(8.1))
    assert watched.row["state"] == "fresh"
    watched.look(at(8.1, day=2))
    assert (watched.row["state"], watched.row["state_since"]) == ("late", at(8, day=2)), "made yesterday"


def test_without_windows_by_its_age(world: World) -> None:
    watched = Watched(world, LAG, None)
    watched.look()
    assert watched.row["next_at"] == at(2), "two hours after the policy began"
    world.clock.now = at(1)
    watched.make()
    watched.look(at(2))
    assert (watched.row["state"], watched.row["next_at"]) == ("fresh", at(3))
    assert watched.look(at(3)).broken == 1
    watched.look(at(3.2))
    assert watched.spans == [(at(3), None)], "looked at while it is late, it is late since then"
    world.clock.now = at(3.5)
    watched.make()
    watched.look(at(3.6))
    assert (watched.row["state"], watched.spans) == ("fresh", [(at(3), at(3.5))])


def test_what_was_old_when_the_policy_began_has_its_time(world: World) -> None:
    world.clock.now = START - timedelta(days=30)
    world.launch(step(1))
    world.run_all()
    world.clock.now = START
    watched = Watched(world, LAG, None)
    watched.look()
    assert (watched.row["state"], watched.row["next_at"]) == ("fresh", at(2))
    watched.look(at(2))
    assert (watched.row["state"], watched.spans) == ("late", [(at(2), None)])


def test_every_partition_of_a_window_counts(world: World) -> None:
    both = Multi(day=DAYS, origin=Static("EWR", "JFK"))
    watched = Watched(world, LAG, both)
    watched.make(EWR_CELL)
    watched.look(at(2.1))
    assert (watched.row["state"], watched.row["awaited"]) == ("late", JFK_CELL)
    watched.make(JFK_CELL)
    watched.look(at(2.2))
    assert watched.row["state"] == "fresh"


def test_nothing_to_make_is_an_answer(world: World) -> None:
    """A day without data that an attempt looked at is not late."""
    watched = Watched(world, LAG)
    watched.look(at(1))
    world.launch(step(1, partitions=("2025-12-31",)))
    started = world.start()
    world.finish(report(started["s1"], AttemptOutcome.SKIPPED))
    watched.look(at(2.1))
    assert watched.row["state"] == "fresh"


def test_another_policy_begins_anew(world: World) -> None:
    watched = Watched(world, LAG)
    watched.look(at(2.1))
    with world.memory.begin() as tx:
        tx.set_freshness({AssetId(1): "another"}, ())
    assert (watched.row["state"], watched.row["since"]) == ("unknown", at(2.1))
    assert watched.spans == [(at(2), at(2.1))], "what was late was late until then"


def test_it_says_what_consumed_the_time(world: World) -> None:
    """Its upstream took an hour and a half, slots half an hour, its code is at it."""
    watched = Watched(world, LAG)
    world.clock.now = at(1.5)
    watched.make("2025-12-31", asset=2)
    world.launch(step(1, partitions=("2025-12-31",)))
    world.clock.now = at(1.75)
    world.start()
    watched.look(at(2.25))
    (span,) = world.rows("late_span")
    assert span["spent"] == {"upstream": 1.5 * H, "pool": 0.25 * H, "code": 0.5 * H}
    assert span["counted_from"] == START


def test_the_owner_is_told_once_and_hears_that_it_is_over(world: World) -> None:
    watched = Watched(world, LAG)
    owners = {"team:ops": {"to": ("json://ops",)}}
    alerts = _alerts(watched, owners)
    watched.look(at(2.1))
    (title,) = alerts.told()
    assert title.startswith("[warning] s1 is late: 2025-12-31 is not there; it was due at 2026-01-01 02:00:00 UTC")
    assert "nobody asked" in title or "waiting for upstreams" in title
    watched.look(at(3, day=2))
    assert alerts.told() == [], "still the same cause"
    world.clock.now = at(4, day=2)
    watched.make("2026-01-01")
    watched.look()
    alerts.watch()
    assert [one.partition(":")[0] for one in alerts.told()] == ["[over] s1 is late"]


def test_a_budget_that_burns_is_told_and_is_over(world: World) -> None:
    """99.9 % of 30 days are 43 minutes: the first minute of lateness burns two per cent of them."""
    policy = FreshnessSpec(max_lag_s=2 * H, objective=0.999)
    watched = Watched(world, policy)
    alerts = _alerts(watched, {"team:ops": {"to": ("json://ops",)}}, on="slo_burn")
    watched.look(at(2.001))
    assert watched.row["burn"] is None
    wakes = watched.row["next_at"]
    assert at(2) < wakes <= at(2.1)
    watched.look(at(2.02))
    assert watched.row["burn"] == "1 h"
    (title,) = alerts.told()
    assert title.startswith(
        "[warning] s1 is late too much of the time: its error budget burns too fast within 1 h, 97% of it is left"
    )
    watched.make("2025-12-31")
    watched.look(at(2.2))
    watched.look(watched.row["next_at"])
    while watched.row["burn"] is not None and watched.row["next_at"] < at(2, day=2):
        watched.look(watched.row["next_at"])
    assert watched.row["burn"] is None
    alerts.watch()
    assert alerts.told()[0].startswith("[over]")


def test_two_schedulers_tell_once(world: World) -> None:
    watched = Watched(world, LAG)
    world.clock.now = at(2.1)
    assert [watched.look().broken, watched.look().broken] == [1, 0]
    assert len(world.rows("alert_signal")) == 1


def test_an_asset_that_is_gone_is_late_no_more(world: World) -> None:
    watched = Watched(world, LAG)
    alerts = _alerts(watched, {"team:ops": {"to": ("json://ops",)}})
    watched.look(at(2.1))
    alerts.raised()
    with world.memory.begin() as tx:
        tx.set_freshness({}, [AssetId(1)])
    alerts.watch()
    assert [row["ended_at"] is not None for row in world.rows("alert")] == [True]
    assert watched.spans == [(at(2), world.clock.now)]


def _alerts(watched: Watched, owners: Mapping[str, Mapping[str, Any]], on: str = "late") -> Alerts:
    found = {name: OwnerConfig(**entry) for name, entry in owners.items()}
    alerts = Alerts(watched.world, Routing((rule("late", on, recovery=True),), found, (), environ={}))
    alerts.matchers = Matchers(alerts.routing, watched)
    return alerts


@pytest.mark.parametrize("policy", [LAG, BY])
def test_the_newest_misses_are_judged_of_very_many(world: World, policy: FreshnessSpec) -> None:
    watched = Watched(world, policy)
    watched.look(START)
    watched.look(START + timedelta(days=3_000))
    assert watched.row["state"] == "late"
    assert cell(1, watched.row["awaited"]).partition.startswith("2034")


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 100), st.sampled_from(["make", "look"])), max_size=12))
def test_age_is_counted_as_a_clock_on_the_wall_would(steps: list[tuple[int, str]]) -> None:
    """Ten minutes old at most. Looked at when its row says, and at any other time besides."""
    world = World()
    watched = Watched(world, FreshnessSpec(max_lag_s=600.0), None)
    made: list[int] = []
    for minute, what in sorted(steps):
        instant = START + timedelta(minutes=minute)
        while watched.row["next_at"] is not None and watched.row["next_at"] <= instant:
            watched.look(watched.row["next_at"])
            if watched.row["state"] == "late":
                break  # every quarter of a minute from here on
        world.clock.now = instant
        if what == "make":
            watched.make()
            made.append(minute)
        watched.look()
    last = max((minute for minute, _ in steps), default=0)

    def late_at(minute: int) -> bool:
        return minute >= max([0, *(one for one in made if one <= minute)]) + 10

    counted = {
        minute
        for minute in range(last)
        if any(
            start <= START + timedelta(minutes=minute) and (end is None or START + timedelta(minutes=minute) < end)
            for start, end in watched.spans
        )
    }
    assert counted == {minute for minute in range(last) if late_at(minute)}
