"""Eager consumers follow their upstreams: once per cause, never early, never lost, never in a flood."""

from __future__ import annotations

from typing import Any, cast

import pytest

from partita.assets import Daily, EagerSpec, Hourly, TimeOverlap
from partita.core.automation import run_automation
from partita.core.decide.caps import EACH_RUN_POOL
from partita.core.duties.runs import cancel_run
from partita.core.duties.values import REPLAN
from partita.core.store.port import Store
from partita.core.store.values import NewEvent, RunId

DAYS = Daily("2024-01-01", end="2024-01-08")
HOURS = Hourly("2024-01-01", end="2024-01-08")
EAGER = EagerSpec()


@pytest.fixture
def versions() -> dict[str, str]:
    """Data versions by asset; "v1" where none is given."""
    return {}


@pytest.fixture
def graph(stage: Any, asset_of: Any, versions: dict[str, str]) -> Any:
    """flights and weather feed delays (eager), which feeds health (eager)."""
    stage.version = lambda key, partition: versions.get(key, "v1")
    stage.define(
        [
            asset_of("flights", DAYS),
            asset_of("weather", HOURS),
            asset_of("delays", DAYS, {"flights": (DAYS, None), "weather": (HOURS, None)}, automation=EAGER),
            asset_of("health", None, {"delays": (DAYS, None)}, automation=EAGER),
        ]
    )
    return stage


def ran(stage: Any, key: str) -> list[str]:
    return [partition for asset, partition in stage.attempts if asset == key]


def todo(stage: Any) -> int:
    """How many events wait for automation."""
    with stage.store.begin() as tx:
        events = tx.take_todo_skip("automation", 10_000)
        tx.put_back_todo("automation", events)
        return len(events)


def test_the_last_upstream_to_end_fires_the_consumer_once(graph: Any) -> None:
    """S-170, S-220, S-221."""
    graph.request("flights, weather", partitions="2024-01-02")
    claimed = graph.start()
    flights = [one for one in claimed if one.task.step == "flights"]
    graph.end(flights)
    found = graph.automate()
    assert (found.requested, found.waiting) == (0, 1)
    graph.end([one for one in claimed if one.task.step == "weather"])
    assert graph.automate().requested == 1
    graph.settle()
    assert ran(graph, "delays") == ["2024-01-02"]
    assert todo(graph) == 0


def test_a_consumer_waits_for_the_upstream_that_is_missing_for_good(graph: Any) -> None:
    """S-003: a partition is ready when every required upstream partition is there; nobody makes the missing one."""
    graph.request("flights", partitions="2024-01-02")
    graph.settle()
    assert ran(graph, "delays") == []
    assert todo(graph) == 0  # the weather's own event will fire it
    graph.request("weather", partitions="2024-01-02")
    graph.settle()
    assert ran(graph, "delays") == ["2024-01-02"]


def test_an_upstream_that_ends_unchanged_does_not_lose_the_wake_up(graph: Any, versions: dict[str, str]) -> None:
    """Flights move while weather is under way again; weather ends without a new version, so without an event of its own."""
    graph.request("flights, weather", partitions="2024-01-02")
    graph.settle()
    versions["flights"] = "v2"
    graph.request('"flights", "weather"', ("all",), partitions="2024-01-02")
    claimed = graph.start()
    graph.end([one for one in claimed if one.task.step == "flights"])
    assert graph.automate().waiting == 1
    graph.end([one for one in claimed if one.task.step == "weather"])
    graph.settle()
    assert ran(graph, "delays") == ["2024-01-02"] * 2


def test_an_upstream_that_fails_while_awaited_leaves_the_rest_to_its_next_success(graph: Any) -> None:
    graph.request("flights, weather", partitions="2024-01-02")
    claimed = graph.start()
    graph.end([one for one in claimed if one.task.step == "flights"])
    graph.automate()
    graph.end([one for one in claimed if one.task.step == "weather"], failed=True)
    graph.settle()
    assert ran(graph, "delays") == []
    assert todo(graph) == 0
    graph.request("weather", partitions="2024-01-02")
    graph.settle()
    assert ran(graph, "delays") == ["2024-01-02"]


def test_an_update_right_after_the_consumers_own_run_fires_again(graph: Any, versions: dict[str, str]) -> None:
    graph.request("flights, weather", partitions="2024-01-02")
    graph.settle()
    for version in ("v2", "v1", "v2"):  # going back to an old version is a new cause
        versions["flights"] = version
        graph.request("flights", ("all",), partitions="2024-01-02")
        graph.settle()
    assert ran(graph, "delays") == ["2024-01-02"] * 4


def test_an_update_while_the_consumer_runs_fires_after_it(graph: Any, versions: dict[str, str]) -> None:
    graph.request("flights, weather", partitions="2024-01-02")
    graph.work()
    assert graph.automate().requested == 1
    consumer = graph.start()
    versions["flights"] = "v2"
    graph.request("flights", ("all",), partitions="2024-01-02")
    graph.end([one for one in graph.start() if one.task.step == "flights"])
    found = graph.automate()
    assert (found.requested, found.waiting) == (0, 1)
    graph.end(consumer)
    graph.settle()
    assert ran(graph, "delays") == ["2024-01-02"] * 2
    assert todo(graph) == 0


def test_a_consumer_that_is_already_planned_is_not_asked_for_again(graph: Any) -> None:
    """A backfill of everything: the consumers' own tasks read what is there when they start."""
    graph.request("*")
    graph.settle()
    assert sorted(ran(graph, "delays")) == [f"2024-01-0{day}" for day in range(1, 8)]
    assert ran(graph, "health") == [""]
    assert todo(graph) == 0


def test_only_the_partitions_of_the_event_are_asked_for(graph: Any) -> None:
    """S-225, S-082: history is missing, and nothing of it runs until somebody asks."""
    graph.request("flights, weather", partitions="2024-01-02..2024-01-03")
    graph.settle()
    assert sorted(ran(graph, "delays")) == ["2024-01-02", "2024-01-03"]


def test_changed_code_alone_asks_for_nothing(graph: Any, asset_of: Any) -> None:
    graph.request("*")
    graph.settle()
    before = len(graph.attempts)
    graph.define(
        [
            asset_of("flights", DAYS),
            asset_of("weather", HOURS),
            asset_of("delays", DAYS, {"flights": (DAYS, None), "weather": (HOURS, None)}, automation=EAGER, code="2"),
            asset_of("health", None, {"delays": (DAYS, None)}, automation=EAGER),
        ]
    )
    graph.request("flights", ("all",), partitions="2024-01-02")  # the same version again
    graph.settle()
    assert graph.attempts[before:] == [("flights", "2024-01-02")]


def test_a_failed_consumer_is_not_tried_again_for_the_same_cause(graph: Any, versions: dict[str, str]) -> None:
    graph.version = lambda key, partition: None if key == "delays" else versions.get(key, "v1")
    graph.request("flights, weather", partitions="2024-01-02")
    graph.settle()
    assert ran(graph, "delays") == ["2024-01-02"]
    graph.request("flights", ("all",), partitions="2024-01-02")  # no new version, so no cause
    graph.settle()
    assert ran(graph, "delays") == ["2024-01-02"]
    versions["flights"] = "v2"
    graph.request("flights", ("all",), partitions="2024-01-02")
    graph.settle()
    assert ran(graph, "delays") == ["2024-01-02"] * 2


def test_consumers_of_one_event_that_feed_each_other_run_in_order(stage: Any, asset_of: Any) -> None:
    """c reads a and b, b reads a: c runs once, after b."""
    stage.define(
        [
            asset_of("a"),
            asset_of("b", None, {"a": (None, None)}, automation=EAGER),
            asset_of("c", None, {"a": (None, None), "b": (None, None)}, automation=EAGER),
        ]
    )
    stage.request("a")
    stage.settle()
    assert stage.attempts == [("a", ""), ("b", ""), ("c", "")]
    stage.version = lambda key, partition: "v2"
    stage.request("a", ("all",))
    stage.settle()
    assert stage.attempts[3:] == [("a", ""), ("b", ""), ("c", "")]


def test_a_group_with_an_eager_member_is_made_as_a_whole(stage: Any, asset_of: Any) -> None:
    stage.define(
        [
            asset_of("a", DAYS),
            asset_of("m1", DAYS, {"a": (DAYS, None)}, step="m", automation=EAGER),
            asset_of("m2", DAYS, {"a": (DAYS, None)}, step="m"),
        ]
    )
    stage.request("a", partitions="2024-01-03")
    stage.settle()
    assert sorted(stage.attempts) == [("a", "2024-01-03"), ("m1", "2024-01-03"), ("m2", "2024-01-03")]


def test_a_request_for_a_running_cell_is_planned_again_at_its_end(stage: Any, asset_of: Any) -> None:
    """DESIGN section 6: the second request waits; the input moved meanwhile, so the cell is made again."""
    stage.define([asset_of("a"), asset_of("b", None, {"a": (None, None)})])
    stage.request("*")
    stage.work()
    stage.request("b", ("all",))
    running = stage.start()
    stage.version = lambda key, partition: "v2"
    stage.request("a", ("all",))
    stage.end(stage.start())
    stage.request("b")
    assert stage.replan().requested == 0
    stage.end(running)
    assert stage.replan().requested == 1
    stage.work()
    assert [key for key, _ in stage.attempts] == ["a", "b", "a", "b", "b"]
    assert stage.request("*") is None


def test_a_request_for_a_running_cell_that_turns_out_fresh_ends_there(stage: Any, asset_of: Any) -> None:
    stage.define([asset_of("a")])
    stage.request("a")
    running = stage.start()
    stage.request("a")
    stage.end(running)
    assert stage.replan().requested == 0
    assert stage.work() == 0


class Dying:
    """A store whose process dies at the end of each transaction, before it commits."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def run(self, work: Any, *, durable: bool = True) -> Any:
        with self.store.begin(durable=durable) as tx:
            work(tx)
            raise ConnectionError("killed")


def test_a_scheduler_that_dies_in_the_middle_loses_and_doubles_nothing(graph: Any) -> None:
    """Law 2: events, requests and the run commit together or not at all."""
    graph.request("flights, weather", partitions="2024-01-02")
    graph.work()
    waiting = todo(graph)
    with pytest.raises(ConnectionError):
        run_automation(cast(Store, Dying(graph.store)), graph)
    assert todo(graph) == waiting
    graph.settle()
    assert ran(graph, "delays") == ["2024-01-02"]


def test_a_cancelled_request_is_not_planned_again(stage: Any, asset_of: Any) -> None:
    stage.define([asset_of("a"), asset_of("b", None, {"a": (None, None)})])
    stage.request("*")
    stage.work()
    stage.request("b", ("all",))
    running = stage.start()
    stage.version = lambda key, partition: "v2"
    stage.request("a", ("all",))
    stage.end(stage.start())
    second = stage.request("b")
    cancel_run(stage.store, second.run_id, "me")
    stage.end(running)
    assert stage.replan().requested == 0
    assert stage.work() == 0


def test_a_forced_request_for_a_running_cell_is_forced_again(stage: Any, asset_of: Any) -> None:
    stage.define([asset_of("a")])
    stage.request("a")
    running = stage.start()
    stage.request("a", ("all",))
    stage.end(running)
    assert stage.replan().requested == 1
    assert stage.work() == 1


def _make_chain(stage: Any, asset_of: Any) -> None:
    """a, b of it, c of that; all made."""
    stage.define([asset_of("a"), asset_of("b", None, {"a": (None, None)}), asset_of("c", None, {"b": (None, None)})])
    stage.request("*")
    stage.work()


def test_what_reads_what_the_same_request_makes_comes_after_it(stage: Any, asset_of: Any) -> None:
    """An older task that has not started makes it of what is there: of what this request makes it is made once more."""
    _make_chain(stage, asset_of)
    stage.request("c", ("all",))
    stage.version = lambda key, partition: "v2"
    second = stage.request("*", ("all",))
    assert (second.joined, second.waiting) == (0, 1)
    running = stage.start()
    stage.end([one for one in running if one.task.step == "c"])
    found = stage.replan()
    assert (found.requested, found.waiting) == (0, 1)
    stage.end([one for one in running if one.task.step == "a"])
    of_b = stage.start()
    assert stage.replan().waiting == 1
    stage.end(of_b)
    assert stage.replan().requested == 1
    stage.work()
    assert [key for key, _ in stage.attempts] == ["a", "b", "c", "c", "a", "b", "c"]
    assert stage.request("*") is None


def test_what_waits_is_waited_for_by_what_reads_it(stage: Any, asset_of: Any) -> None:
    """Both b and c were joined: c comes after the b that is made again, and is made once."""
    _make_chain(stage, asset_of)
    stage.request("b, c", ("all",))
    stage.version = lambda key, partition: "v2"
    second = stage.request("*", ("all",))
    assert (second.joined, second.waiting) == (0, 2)
    running = stage.start()
    stage.end([one for one in running if one.task.step == "b"])
    stage.end(stage.start())
    found = stage.replan()
    assert (found.requested, found.waiting) == (0, 2)
    stage.end([one for one in running if one.task.step == "a"])
    assert stage.replan().requested == 2
    stage.work()
    assert [key for key, _ in stage.attempts] == ["a", "b", "c", "b", "c", "a", "b", "c"]
    assert stage.request("*") is None


def test_a_replan_that_waits_holds_up_no_other(stage: Any, asset_of: Any) -> None:
    """The first run's cells wait for an upstream that runs; the second run's used to stand behind them, in a hot loop."""
    stage.define([asset_of("a"), asset_of("b", None, {"a": (None, None)}, automation=EAGER), asset_of("x")])
    stage.request("*")
    stage.work()
    first = stage.request("b", ("all",), kind="eager")
    second = stage.request("x", ("all",))
    stage.work()
    stage.request("a", ("all",))
    running = stage.start()
    with stage.store.begin() as tx:
        tx.append_events(
            [
                NewEvent("plan", stage.ref(key).asset_id, "", run.run_id, for_consumers=(REPLAN,))
                for key, run in (("b", first), ("x", second))
            ]
        )
    found = [stage.replan() for _ in range(2)]
    assert [one.requested for one in found] == [1, 0]
    assert not found[1].more
    assert found[1].waiting == 1
    assert [one.task.step for one in stage.start()] == ["x"]
    stage.end(running)
    assert not stage.replan().waiting


def test_once_per_cause_is_recorded(graph: Any) -> None:
    graph.request("flights, weather", partitions="2024-01-02")
    graph.work()
    found = graph.automate()
    assert found.run_id is not None
    with graph.store.begin() as tx:
        (run,) = tx.read_runs([found.run_id])
    assert run.cause["kind"] == "eager"
    assert run.cause["cells"] == ["delays 2024-01-02"]
    assert run.cause["text"] == "flights 2024-01-02, weather 2024-01-02 were materialized"


def test_a_cause_names_what_the_steps_of_the_run_read(stage: Any, asset_of: Any) -> None:
    """Not whatever else ended in the same moment."""
    stage.define(
        [
            asset_of("a", DAYS),
            asset_of("b", DAYS, {"a": (DAYS, None)}, automation=EAGER),
            asset_of("c", DAYS, {"b": (DAYS, None)}, automation=EAGER),
            asset_of("w", DAYS),
            asset_of("waits", DAYS, {"a": (DAYS, None), "w": (DAYS, None)}, automation=EAGER),
        ]
    )
    stage.request("a", partitions="2024-01-02")
    stage.work()
    stage.automate()
    stage.request("w", partitions="2024-01-05")
    stage.work()
    found = stage.automate()
    with stage.store.begin() as tx:
        (run,) = tx.read_runs([found.run_id])
    assert run.cause["cells"] == ["c 2024-01-02"]
    assert run.cause["text"] == "b 2024-01-02 was materialized"


def test_an_eager_asset_that_reads_itself_follows_in_order(stage: Any, asset_of: Any) -> None:
    """S-081: an earlier partition that moves asks for the next one; a gap is filled from its begin."""
    versions: dict[str, str] = {}
    stage.version = lambda key, partition: versions.get(key, "v1")
    own = {"up": (DAYS, None), "sums": (DAYS, TimeOverlap(-1, -1))}
    stage.define([asset_of("up", DAYS), asset_of("sums", DAYS, own, automation=EAGER)])
    stage.request("up", partitions="2024-01-02")
    stage.settle()
    assert ran(stage, "sums") == []  # the day before is missing and nobody makes it
    stage.request("up", partitions="2024-01-01")
    stage.settle()
    assert ran(stage, "sums") == ["2024-01-01", "2024-01-02"]
    stage.request("up", partitions="2024-01-03..2024-01-05")
    stage.settle()
    assert ran(stage, "sums") == [f"2024-01-0{day}" for day in range(1, 6)]
    assert todo(stage) == 0
    versions |= {"up": "v2", "sums": "v2"}
    stage.request("up", partitions="2024-01-03", mode=("all",))
    stage.settle()
    assert ran(stage, "sums")[5:] == ["2024-01-03", "2024-01-04", "2024-01-05"]
    assert todo(stage) == 0


def test_what_automation_asks_for_has_the_limit_of_new_runs(graph: Any) -> None:
    """S-144: the eager run, and the one that a person asked for before it, each with the configured number at once."""
    with graph.store.begin() as tx:
        tx.set_caps({EACH_RUN_POOL: 2})
    graph.request("flights, weather", partitions="2024-01-02")
    graph.work()
    assert graph.automate().requested == 1
    with graph.store.begin() as tx:
        assert [run.max_active for run in tx.read_runs([RunId(1), RunId(2)])] == [2, 2]
    assert graph.settle() > 0
