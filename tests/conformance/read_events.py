"""Cases of events and of schedules that automation answers, over the in-memory store with virtual time.

A condition is an asset with external, observed inputs; an event is a report of one of them, taken in by its key. A schedule is an
asset that is asked for when its window has closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tests.conformance.judging import only
from tests.simulation.crashing import Crash, CrashingStore
from tests.unit.duties.duty_world import START, World, no_log, plan_of, report, step

from partita.assets import (
    All,
    AssetSpec,
    Daily,
    DepSpec,
    DepsSpec,
    InputSpec,
    JoinSpec,
    NodeSpec,
    Snapshot,
    StepSpec,
    asset_key,
    to_spec,
)
from partita.assets.condition_specs import ConditionSpec
from partita.assets.specs import EagerSpec
from partita.core.automation import run_automation, run_clocks
from partita.core.catalog import Catalog, CatalogInputs, StoredSnapshot
from partita.core.changes.observed import Said, observations_of
from partita.core.decide.intake import Report
from partita.core.decide.observe import Observation
from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish
from partita.core.duties.intake import take_in
from partita.core.duties.launch import launch_all
from partita.core.duties.leases import register
from partita.core.duties.values_attempts import Claimed
from partita.core.store.memory import MemoryStore
from partita.core.store.values import AssetId, LocationId, Pool, SnapshotId, WorkerId
from partita.core.store.values_reports import ReportKey
from partita.sdk import on_close

OPERATIONS = ("trigger",)

Case = dict[str, Any]
_PIN = (LocationId(1), SnapshotId(1))
_WORKER = WorkerId("w")
_CONSUMER = asset_key("consumer")
_ROUNDS = 5


def answer(case: Case) -> Case:
    only(case["given"], {"condition", "events", "max_active", "run_s"})
    return _Triggered(case["given"]).play()


@dataclass(frozen=True, slots=True)
class _Active:
    """The active definitions: one catalog."""

    catalog: Catalog

    def active(self) -> Catalog:
        return self.catalog

    def of_run(self, run_id: int) -> Catalog:
        return self.catalog


class _Automated:
    """A store on virtual time, and one worker."""

    def __init__(self, specs: list[AssetSpec], now: datetime) -> None:
        self.now = now
        self.store = MemoryStore(lambda: self.now)
        steps = tuple(StepSpec(id=one.step, assets=(one.key,), function="m:f") for one in specs if one.kind == "asset")
        ids = {one.key: AssetId(index) for index, one in enumerate(specs, start=1)}
        snapshot = Snapshot(location="cases", assets=tuple(specs), steps=steps)
        catalog = Catalog([StoredSnapshot(_PIN[0], "cases", _PIN[1], "v", snapshot)], ids)
        self.active = _Active(catalog)
        register(self.store, _WORKER, host="h", pid=1, capacity=1_000)

    def claim(self) -> tuple[Claimed, ...]:
        return claim(self.store, _WORKER, [_PIN], 1_000, CatalogInputs(self.active.of_run), no_log).claimed


# ---------------------------------------------------------------------- events


class _Triggered:
    """What is asked for, instant by instant; a run takes all events that were recorded since the last one began."""

    def __init__(self, given: Case) -> None:
        self.events = given["events"]
        self.run_s = given.get("run_s", 0)
        assert given.get("max_active", 1) == 1, "a cell has one owner"
        sources = sorted(_leaves(given["condition"]))
        inputs = tuple(InputSpec(name=one, upstream=asset_key(one), mapping=to_spec(All())) for one in sources)
        asks = EagerSpec() if isinstance(given["condition"], str) else ConditionSpec(when=_node(given["condition"]))
        consumer = AssetSpec(key=_CONSUMER, step=_CONSUMER, inputs=inputs, automation=asks)
        externals = [AssetSpec(key=asset_key(one), kind="external", observed=True) for one in sources]
        self.world = _Automated([*externals, consumer], START)
        self.running: dict[int, list[Claimed]] = {}
        self.recorded: list[str] = []
        self.runs: list[Case] = []

    def play(self) -> Case:
        end = max(event["t"] for event in self.events) + (len(self.events) + 1) * max(self.run_s, 1)
        for at in range(end + 1):
            self.world.now = START + timedelta(seconds=at)
            self.end(at)
            for event in self.events:
                if event["t"] == at:
                    self.take(event)
                    self.follow(at)
            self.follow(at)
        return {"runs": self.runs, "pending": self.recorded}

    def take(self, event: Case) -> None:
        catalog = self.world.active.catalog

        def observation_of(one: Report, now: datetime) -> Observation:
            return observations_of(catalog, [Said(one.asset, one.partition, one.data_version)], now)[0]

        told = Report(event["asset"], "", event["id"], ReportKey("", event["id"]))
        taken = take_in(self.world.store, [told], observation_of, by="case", followed=catalog.automation_assets)
        self.recorded += [event["id"]] * taken.news

    def follow(self, at: int) -> None:
        while run_automation(self.world.store, self.world.active).requested:
            admit(self.world.store)
            claimed = self.world.claim()
            self.runs.append({"t": at, "events": self.recorded})
            self.recorded = []
            self.running.setdefault(at + self.run_s, []).extend(claimed)
            self.end(at)

    def end(self, at: int) -> None:
        finish(self.world.store, [report(one) for one in self.running.pop(at, ())])


def _leaves(condition: Any) -> set[str]:
    if isinstance(condition, str):
        return {condition}
    return {leaf for parts in condition.values() for part in parts for leaf in _leaves(part)}


def _node(condition: Any) -> NodeSpec:
    if isinstance(condition, str):
        return DepsSpec(op="any_deps", of=DepSpec(is_="updated"), allow=(condition,))
    ((op, parts),) = condition.items()
    return JoinSpec(op=op, of=tuple(map(_node, parts)))


# ---------------------------------------------------------------------- schedules


class Due:
    """A scenario of what comes due: the runs that there are after all schedulers have looked."""

    def __init__(self, given: Case, events: list[Case]) -> None:
        self.config = given["config"]
        self.names = [part["id"] for part in given["parts"]]
        self.events = events

    def play(self) -> Case:
        for event in self.events:
            only(event, {"t", "event", "interval", "scheduler", "runs", "root_parts", "before"})
        first = self.events[0]
        if "runs" in first:
            assert len(self.events) == 1, "the schedulers of a burst look by themselves"
            return {"runs": self.burst(first["runs"], first["root_parts"])}
        return {"runs": self.intervals()}

    def intervals(self) -> int:
        """Every part is asked for when the window of an interval has closed; each scheduler looks once a tick, and one that
        crashes does so in the middle of its look."""
        keys = sorted({event["interval"] for event in self.events if event["event"] == "due"})
        start = datetime.fromisoformat(f"{keys[0]}T00:00:00+00:00")
        days = to_spec(Daily(f"{start - timedelta(days=7):%Y-%m-%d}"))
        names = [asset_key(name) for name in self.names]
        specs = [AssetSpec(key=one, step=one, partitions=days, automation=on_close().spec) for one in names]
        world = _Automated(specs, start)
        assets = world.active.catalog.by_id
        with world.store.begin() as tx:
            tx.set_clocks(dict.fromkeys(assets, "nightly"), ())
        run_clocks(world.store, world.active)  # before: the window is open
        assert not world.store.rows("run")
        for event in self.events:
            if event["event"] == "due":
                closes = datetime.fromisoformat(f"{event['interval']}T00:00:00+00:00") + timedelta(days=1)
                world.now = max(world.now, closes)
            else:
                _LOOKS[event["event"]](world)
        asked = Counter((row["asset_id"], row["partition"]) for row in world.store.rows("task_cell"))
        assert asked == {(asset_id, key): 1 for asset_id in assets for key in keys}, "each part once, of these windows"
        return len(world.store.rows("run"))

    def burst(self, runs: int, parts: int) -> int:
        """So many runs at one instant, each of its share of the parts; all schedulers admit. Played for some rounds: that all of
        such a burst end is bench/burst.py's to show, on Postgres."""
        ((pool, slots),) = self.config["pools"].items()
        world = World()
        with world.memory.begin() as tx:
            tx.set_pool(Pool(pool, slots))
        share = range(1, parts // runs + 1)
        tasks = [[step(part, partitions=[str(run)], pools=[(pool, 1)]) for part in share] for run in range(runs)]
        launch_all(world.store, [plan_of(*roots) for roots in tasks])
        for _ in range(_ROUNDS):
            for _ in range(self.config["schedulers"]):
                admit(world.store)
            claimed = world.claims().claimed
            assert len(claimed) == slots, "as much as the pool has, and never more"
            assert len(world.finish(*(report(one) for one in claimed)).applied) == slots
        ended = _ROUNDS * slots
        assert Counter(row["state"] for row in world.rows("task")) == {"success": ended, "scheduled": parts - ended}
        return len(world.rows("run"))


def _look(world: _Automated) -> None:
    run_clocks(world.store, world.active)


def _crash(world: _Automated) -> None:
    """All is done, and the process dies before it commits."""
    with suppress(Crash):
        run_clocks(CrashingStore(world.store, transactions=0, operations=1_000), world.active)


_LOOKS: dict[str, Callable[[_Automated], None]] = {
    "scheduler_tick": _look,
    "scheduler_crash": _crash,
    "scheduler_start": lambda world: None,
}
