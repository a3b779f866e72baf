"""Evaluations: a tick is evaluated once and none is lost, a cursor moves with what was asked for, whoever dies when.

Property: triggerers die between any two steps and inside any transaction; what was asked for is what one that never dies asks for
(laws 2 and 3, S-099, S-119).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, TypeVar, cast

import pytest
from tests.simulation.crashing import Counting, Crash
from tests.unit.duties.duty_world import Clock

from partita.assets import AssetKey, AssetSpec, Daily, EvaluatorSpec, Snapshot, canonical_json, next_fires, to_spec
from partita.core.automation.evaluating import PACE_POLL_S, Begun, Broke, Came, begin, conclude
from partita.core.catalog import Catalog, StoredSnapshot
from partita.core.decide.evaluators import loaded
from partita.core.duties.evaluators import EvaluatorRefused, pause, resume
from partita.core.duties.waits import register_triggerer, sweep_triggerers
from partita.core.store.memory import MemoryStore
from partita.core.store.port import Store, Tx
from partita.core.store.values import AssetId, LocationId, SnapshotId
from partita.core.store.values_evaluators import (
    AskedState,
    AskedUpdate,
    EvaluationOutcome,
    EvaluatorId,
    EvaluatorUpdate,
)
from partita.core.store.values_waits import TriggererId

T = TypeVar("T")
LEASE_S = 30.0
HOURLY = EvaluatorSpec(
    name="hourly", kind="schedule", function="m:hourly", cron="0 * * * *", tz="Europe/Berlin", catch_up="all"
)
COUNTER = EvaluatorSpec(name="counter", kind="sensor", function="m:counter", every_s=30.0)
FEED = EvaluatorSpec(name="feed", kind="observe", function="m:feed", every_s=60.0, observes=AssetKey("feed"), newest=2)


class World:
    """A store in memory, one location, and what the functions return."""

    def __init__(self, *specs: EvaluatorSpec) -> None:
        self.clock = Clock()
        self.store = MemoryStore(self.clock)
        feed = AssetSpec(key=AssetKey("feed"), kind="external", observed=True, partitions=to_spec(Daily("2025-12-01")))
        self.snapshot = Snapshot(location="loc", assets=(feed,), evaluators=specs)
        self.load(*specs)

    def load(self, *specs: EvaluatorSpec, broken: tuple[str, ...] = (), version: str = "v1") -> None:
        body = canonical_json(self.snapshot)
        with self.store.begin() as tx:
            self.location = tx.put_location("loc")
            self.version, _ = tx.put_snapshot(self.location, version, body=body, effective=body, kept=[])
            tx.activate_snapshot(self.location, self.version)
            ids = tx.define_assets(self.location, self.version, ["feed"])
            known = tx.lock_evaluators_of(self.location)
            rows = loaded(
                specs, known, snapshot_id=SnapshotId(self.version), broken=broken, now=tx.now(), position=None
            )
            tx.put_evaluators(self.location, rows)
        stored = StoredSnapshot(self.location, "loc", SnapshotId(self.version), version, self.snapshot)
        self.catalog = Catalog([stored], {AssetKey(key): AssetId(one) for key, one in ids.items()})

    def active(self) -> Catalog:
        return self.catalog

    @property
    def pins(self) -> list[tuple[LocationId, SnapshotId]]:
        return [(self.location, SnapshotId(self.version))]

    def begin(self, triggerer: str = "t1", store: Any = None, **more: Any) -> list[Begun]:
        return begin(store or self.store, self, TriggererId(triggerer), self.pins, 10, **more)

    def rows(self, table: str) -> list[dict[str, Any]]:
        return self.store.rows(table)

    def row(self, name: str) -> dict[str, Any]:
        return next(row for row in self.rows("evaluator") if row["name"] == name)

    def keys(self) -> list[str]:
        return [row["key"] for row in self.rows("asked")]


def answer(begun: Begun) -> Came:
    """What the functions do: the schedule asks once per tick, the counter for the next number, the feed says a version."""
    empty: dict[str, Any] = {"cursor": None, "skip": "", "versions": {}, "requests": [], "keys": []}
    request: dict[str, Any] = {"selection": "x", "partitions": None, "params": {}, "tags": {}, "mode": ["missing"]}
    match begun.evaluator.kind:
        case "schedule":
            assert begun.tick is not None
            return Came(empty | {"requests": [request | {"key": None, "tags": {"tick": begun.tick.isoformat()}}]})
        case "sensor":
            number = str(int(begun.given["cursor"] or 0) + 1)
            return Came(empty | {"cursor": number, "requests": [request | {"key": None, "tags": {"n": number}}]})
        case _:
            return Came(empty | {"versions": dict.fromkeys(begun.given["partitions"], "v1")})


class Mortal:
    """A store whose process may die at any operation of a transaction, or right after its commit."""

    def __init__(self, world: World, random: Random) -> None:
        self.world = world
        self.random = random

    def run(self, work: Callable[[Tx], T], *, durable: bool = True) -> T:
        fate = self.random.random()
        if fate < 0.15:
            after = self.random.randint(0, 6)

            def dies(tx: Tx) -> T:
                work(Counting.of(tx, after))
                raise Crash

            return self.world.store.run(dies)
        result = self.world.store.run(work)
        if fate < 0.3:
            raise Crash
        return result


@pytest.mark.parametrize("seed", range(40))
def test_whoever_dies_when_each_tick_counts_once_and_a_cursor_with_what_it_asked_for(seed: int) -> None:
    random = Random(seed)
    world = World(HOURLY, COUNTER, FEED)
    started = world.clock.now
    names = iter(f"t{n}" for n in range(10_000))
    name = next(names)
    register_triggerer(world.store, TriggererId(name), host="h", pid=1, lease_s=LEASE_S)
    late: list[Begun] = []  # begun by processes that hung: they conclude when somebody else has been there
    for _ in range(150):
        world.clock.forward(random.choice([1, 20, 90, 900]))
        with world.store.begin() as tx:
            tx.set_pulse()
        sweep_triggerers(world.store)
        mortal = cast(Store, Mortal(world, random))
        try:
            with world.store.begin() as tx:
                alive = tx.renew_triggerer(TriggererId(name), LEASE_S)
            if not alive:
                raise Crash
            for begun in world.begin(name, mortal):
                if random.random() < 0.1:
                    late.append(begun)
                    raise Crash
                end = Broke("boom") if random.random() < 0.1 else answer(begun)
                conclude(mortal, world, begun, end)
        except Crash:
            with world.store.begin() as tx:
                tx.retire_triggerer(TriggererId(name))
            name = next(names)
            register_triggerer(world.store, TriggererId(name), host="h", pid=1, lease_s=LEASE_S)
        if late and random.random() < 0.3:
            begun = late.pop()
            conclude(world.store, world, begun, answer(begun))
    asked = [row["request"]["tags"] for row in world.rows("asked")]
    ticks = [one["tick"] for one in asked if "tick" in one]
    wanted = [one.isoformat() for one in next_fires("0 * * * *", "Europe/Berlin", started, len(ticks))]
    assert ticks == wanted, "each tick once, in order, none left out"
    numbers = [int(one["n"]) for one in asked if "n" in one]
    assert numbers == list(range(1, len(numbers) + 1))
    assert (world.row("counter")["cursor"] or "0") == str(len(numbers))
    assert ticks
    assert numbers
    versions = {(row["partition"], row["data_version"]) for row in world.rows("cell")}
    assert len(world.rows("event")) >= len(versions)
    assert len([row for row in world.rows("event") if row["kind"] == "observed"]) == len(versions)


def test_what_was_taken_over_commits_nothing_any_more() -> None:
    world = World(COUNTER)
    register_triggerer(world.store, TriggererId("t1"), host="h", pid=1, lease_s=LEASE_S)
    (slow,) = world.begin("t1")
    world.clock.forward(60)
    with world.store.begin() as tx:
        tx.set_pulse()
    sweep_triggerers(world.store)
    (again,) = world.begin("t2")
    assert not conclude(world.store, world, slow, answer(slow)).counted
    assert conclude(world.store, world, again, answer(again)).outcome is EvaluationOutcome.ASKED
    assert len(world.keys()) == 1


def test_a_failure_keeps_the_cursor_and_waits_longer_each_time() -> None:
    world = World(COUNTER)
    (first,) = world.begin()
    conclude(world.store, world, first, answer(first))
    waits = []
    for _ in range(4):
        world.clock.now = world.row("counter")["due_at"]
        (begun,) = world.begin()
        conclude(world.store, world, begun, Broke("ValueError: boom", "Traceback ..."))
        row = world.row("counter")
        waits.append((row["due_at"] - world.clock.now).total_seconds())
        assert row["cursor"] == "1"
        assert row["error"] == "ValueError: boom"
    assert waits == [30.0, 30.0, 40.0, 80.0]
    world.clock.now = world.row("counter")["due_at"]
    (begun,) = world.begin()
    conclude(world.store, world, begun, answer(begun))
    assert (world.row("counter")["error"], world.row("counter")["failures"]) == (None, 0)


def test_what_it_asks_for_and_cannot_have_is_its_failure_and_changes_nothing() -> None:
    world = World(FEED)
    (begun,) = world.begin()
    end = Came({"versions": {begun.given["partitions"][0]: "v1", "2031-01-01": "v1"}, "cursor": "x"})
    concluded = conclude(world.store, world, begun, end)
    assert concluded.outcome is EvaluationOutcome.FAILED
    assert "2031-01-01" in concluded.error
    assert world.rows("cell") == []
    assert world.row("feed")["cursor"] is None


def test_two_requests_of_one_key_are_one() -> None:
    world = World(COUNTER)
    for _ in range(2):
        (begun,) = world.begin()
        request = {"selection": "x", "key": "file-7"}
        conclude(world.store, world, begun, Came({"requests": [request, request], "cursor": None}))
        world.clock.forward(30)
    assert world.keys() == ["file-7"]


@pytest.mark.parametrize(
    ("catch_up", "ticks", "why"),
    [("all", [1, 2, 3, 4], None), ("latest", [4], None), ("none", [], "4 ticks passed")],
)
def test_what_becomes_of_ticks_that_nobody_was_there_for(catch_up: Any, ticks: list[int], why: str | None) -> None:
    world = World(HOURLY.model_copy(update={"catch_up": catch_up}))
    world.clock.forward(4 * 3600 + 1800)
    while begun := world.begin():
        conclude(world.store, world, begun[0], answer(begun[0]))
    asked = [datetime.fromisoformat(row["request"]["tags"]["tick"]) for row in world.rows("asked")]
    assert [(one - datetime(2026, 1, 1, tzinfo=UTC)) // timedelta(hours=1) for one in asked] == ticks
    assert world.row("hourly")["tick_at"] == datetime(2026, 1, 1, 5, tzinfo=UTC)
    skips = [row["detail"]["skip"] for row in world.rows("evaluation") if row["outcome"] == "skipped"]
    assert len(skips) == (why is not None)
    assert why is None or skips[0].startswith(why)


def test_a_reload_keeps_cursors_and_ticks_and_retires_what_is_gone() -> None:
    world = World(HOURLY, COUNTER)
    (begun,) = world.begin()
    conclude(world.store, world, begun, answer(begun))
    before = world.row("hourly")
    world.load(HOURLY, version="v2")
    assert world.row("hourly")["tick_at"] == before["tick_at"]
    assert world.row("counter")["retired_at"] is not None
    world.load(HOURLY, COUNTER, version="v3")
    assert (world.row("counter")["retired_at"], world.row("counter")["cursor"]) == (None, "1")


def test_a_module_that_does_not_load_leaves_its_functions_with_the_version_that_has_them() -> None:
    """Law 8."""
    world = World(COUNTER.model_copy(update={"module": "shop.counting"}))
    first = world.version
    world.load(broken=("shop.counting",), version="v2")
    assert world.row("counter")["retired_at"] is None
    assert world.row("counter")["snapshot_id"] == first


def test_nothing_is_evaluated_while_it_is_paused_and_what_a_dead_call_held_is_free() -> None:
    world = World(COUNTER)
    (begun,) = world.begin()
    assert world.begin(running=[begun.evaluator.id]) == []
    assert len(world.begin()) == 1, "this process holds it and runs nothing: an outage came between"
    with world.store.begin() as tx:
        tx.write_evaluator(EvaluatorUpdate(begun.evaluator.id, None, None, None, tx.now(), 0))
        tx.pause_evaluator(begun.evaluator.id, "ada")
    assert world.begin() == []


def _resumed(world: World, **how: Any) -> None:
    """Paused for four hours, and resumed so."""
    one = EvaluatorId(world.row("hourly")["id"])
    pause(world.store, one, who="ada")
    world.clock.forward(4 * 3600 + 1800)
    resume(world.store, one, who="ada", **how)


@pytest.mark.parametrize("declared", ["none", "latest", "all"])
@pytest.mark.parametrize(("asked", "ticks"), [("all", [1, 2, 3, 4]), ("latest", [4]), ("none", [])])
def test_a_persons_word_on_missed_ticks_goes_before_the_declaration(
    declared: Any, asked: Any, ticks: list[int]
) -> None:
    world = World(HOURLY.model_copy(update={"catch_up": declared}))
    _resumed(world, catch_up=asked)
    while begun := world.begin():
        conclude(world.store, world, begun[0], answer(begun[0]))
    found = [datetime.fromisoformat(row["request"]["tags"]["tick"]) for row in world.rows("asked")]
    assert [(one - datetime(2026, 1, 1, tzinfo=UTC)) // timedelta(hours=1) for one in found] == ticks
    assert (world.row("hourly")["catch_up"], world.row("hourly")["pace"]) == (None, None), "it has caught up"


def test_missed_ticks_go_at_a_pace() -> None:
    """S-024: of what they asked for no more than so many are active, and the next tick sees what has ended."""
    world = World(HOURLY)
    _resumed(world, catch_up="all", pace=2)
    done: list[datetime | None] = []

    def evaluate() -> None:
        while begun := world.begin():
            done.append(begun[0].tick)
            conclude(world.store, world, begun[0], answer(begun[0]))

    evaluate()
    assert len(done) == 2, "two requests are open"
    assert world.row("hourly")["detail"] == {"active": 2, "pace": 2}
    world.clock.forward(PACE_POLL_S)
    evaluate()
    assert len(done) == 2
    with world.store.begin() as tx:
        (first, *_) = tx.take_asked_skip(10)
        tx.end_asked([AskedUpdate(first.id, AskedState.NOTHING)])
    evaluate()
    assert len(done) == 2, "it looks again in a moment"
    world.clock.forward(PACE_POLL_S)
    evaluate()
    assert len(done) == 3
    with world.store.begin() as tx:
        tx.end_asked([AskedUpdate(one.id, AskedState.NOTHING) for one in tx.take_asked_skip(10)])
    world.clock.forward(PACE_POLL_S)
    evaluate()
    assert done == sorted(next_fires("0 * * * *", "Europe/Berlin", datetime(2026, 1, 1, tzinfo=UTC), 4))
    assert (world.row("hourly")["catch_up"], world.row("hourly")["pace"]) == (None, None), "and is on its own again"


@pytest.mark.parametrize(("spec", "how"), [(COUNTER, {}), (HOURLY, {"catch_up": "latest"})])
def test_a_pace_is_for_all_missed_ticks_of_a_schedule(spec: EvaluatorSpec, how: Any) -> None:
    world = World(spec)
    one = EvaluatorId(world.row(spec.name)["id"])
    pause(world.store, one, who="ada")
    with pytest.raises(EvaluatorRefused, match="no ticks to evaluate at a pace"):
        resume(world.store, one, who="ada", pace=4, **how)
    assert world.row(spec.name)["paused_at"] is not None
