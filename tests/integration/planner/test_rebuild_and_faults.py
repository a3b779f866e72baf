"""Assets that follow their own code, and deciders that raise: neither holds up anybody else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.integration.planner.conftest import Stage

from partita.assets import Daily, EagerSpec
from partita.core.automation import Limits, reading, run_rebuilds
from partita.core.automation import visit as visiting
from partita.core.catalog import Catalog
from partita.core.store.memory import MemoryStore
from partita.core.store.values import NewEvent
from partita.core.store.values_requests import Fault, FaultKind

DAYS = Daily("2024-01-01", end="2024-01-05")
EAGER = EagerSpec()


def made(stage: Stage, key: str) -> list[str]:
    return sorted(partition for asset, partition in stage.attempts if asset == key)


def faults(stage: Stage) -> list[Fault]:
    with stage.store.begin() as tx:
        return tx.faults()


# ------------------------------------------------------------------ on_code_change


def pair(asset_of: Any, policy: str, code: str = "1", raw: str = "1", **more: Any) -> list[Any]:
    inputs = {"raw": (DAYS, None)}
    return [
        asset_of("raw", DAYS, code=raw),
        asset_of("mart", DAYS, inputs, code=code, automation=EAGER, on_code_change=policy, **more),
        asset_of("report", DAYS, {"mart": (DAYS, None)}),
    ]


@pytest.mark.parametrize("policy", ["ignore", "rebuild"])
def test_history_is_made_again_only_where_the_asset_says_so(stage: Stage, asset_of: Any, policy: str) -> None:
    """DESIGN section 5: automation acts on data; code asks only by `on_code_change="rebuild"`."""
    stage.define(pair(asset_of, policy))
    stage.request("*")
    stage.settle()
    stage.attempts = []
    stage.define(pair(asset_of, policy, code="2"))
    stage.settle()
    assert made(stage, "mart") == ([] if policy == "ignore" else [f"2024-01-0{day}" for day in range(1, 5)])
    assert made(stage, "raw") == made(stage, "report") == []
    assert stage.settle() == 0


def test_changed_dependencies_ask_as_code_does(stage: Stage, asset_of: Any) -> None:
    stage.define([*pair(asset_of, "rebuild"), asset_of("more", DAYS)])
    stage.request("*")
    stage.settle()
    stage.attempts = []
    both = {"raw": (DAYS, None), "more": (DAYS, None)}
    mart = asset_of("mart", DAYS, both, automation=EAGER, on_code_change="rebuild")
    stage.define([*(one for one in stage.specs if one.key != "mart"), mart])
    found = stage.rebuild()
    assert found.requested == 4
    with stage.store.begin() as tx:
        (run,) = tx.read_runs([found.run_id])  # type: ignore[list-item]
        cells = tx.task_cells([task.id for task in tx.lock_open_tasks_of_run(run.id)])
    assert (run.cause["kind"], run.cause["text"]) == ("rebuild", "the code or the dependencies of mart changed")
    assert {own.reason for own in cells} == {"stale_dependencies"}


def test_other_code_upstream_is_no_code_of_ones_own(stage: Stage, asset_of: Any) -> None:
    stage.define(pair(asset_of, "rebuild"))
    stage.request("*")
    stage.settle()
    stage.attempts = []
    stage.define(pair(asset_of, "rebuild", raw="2"))
    stage.settle()
    assert stage.attempts == []


def test_a_rebuild_is_asked_once_per_state_and_a_failure_waits_for_other_code(stage: Stage, asset_of: Any) -> None:
    stage.define(pair(asset_of, "rebuild"))
    stage.request("*")
    stage.settle()
    stage.version = lambda key, partition: None
    stage.attempts = []
    stage.define(pair(asset_of, "rebuild", code="2"))
    stage.settle()
    assert len(stage.attempts) == 4
    stage.define(pair(asset_of, "rebuild", code="2", description="the same code"))
    stage.settle()
    assert len(stage.attempts) == 4
    stage.version = lambda key, partition: "v2"
    stage.define(pair(asset_of, "rebuild", code="3"))
    stage.settle()
    assert len(stage.attempts) == 8


def test_what_was_never_made_is_not_made_by_code(stage: Stage, asset_of: Any) -> None:
    stage.define(pair(asset_of, "rebuild"))
    stage.request("raw")
    stage.work()
    stage.request("mart", partitions="2024-01-02")
    stage.work()
    with stage.store.begin() as tx:
        tx.take_todo_skip("automation", 100)  # as if nobody had told of raw
    stage.attempts = []
    stage.define(pair(asset_of, "rebuild", code="2"))
    stage.settle()
    assert made(stage, "mart") == ["2024-01-02"]


def test_a_rebuild_above_the_limit_waits_for_a_person(stage: Stage, asset_of: Any) -> None:
    stage.define(pair(asset_of, "rebuild"))
    stage.request("*")
    stage.settle()
    stage.limits = Limits(max_cells=3)
    stage.define(pair(asset_of, "rebuild", code="2"))
    found = stage.rebuild()
    assert (found.requested, found.held) == (0, 4)
    with stage.store.begin() as tx:
        (request,) = tx.held_requests([stage.ref("mart").asset_id])
    assert request.preview[0]["by_reason"] == {"stale_code": 4}


def test_a_rebuild_waits_for_an_upstream_that_is_under_way(asset_of: Any) -> None:
    """There is no event when that ends as it was: it looks again by itself."""
    clock = [datetime(2024, 2, 1, tzinfo=UTC)]
    stage = Stage(MemoryStore(lambda: clock[0]))
    stage.define(pair(asset_of, "rebuild"))
    stage.request("*")
    stage.settle()
    stage.define(pair(asset_of, "rebuild", code="2"))
    stage.request("raw", ("all",), partitions="2024-01-02")
    running = stage.start()
    found = run_rebuilds(stage.store, stage)
    assert (found.requested, found.waiting) == (3, 1)
    assert run_rebuilds(stage.store, stage).taken == 0, "not at once, and not in a hot loop"
    stage.end(running)
    clock[0] += timedelta(seconds=6)
    assert run_rebuilds(stage.store, stage).requested == 1


def test_code_that_goes_back_to_what_it_was_is_made_again_each_time(stage: Stage, asset_of: Any) -> None:
    """A deployment that is taken back, and comes again: what was asked for once with this code holds that of the other."""
    stage.define(pair(asset_of, "rebuild"))
    stage.request("*")
    stage.settle()
    for code in ("2", "1", "2", "1"):
        stage.attempts = []
        stage.define(pair(asset_of, "rebuild", code=code))
        stage.settle()
        assert made(stage, "mart") == [f"2024-01-0{day}" for day in range(1, 5)], code


def test_what_a_task_of_the_version_before_publishes_later_is_made_again(asset_of: Any) -> None:
    clock = [datetime(2024, 2, 1, tzinfo=UTC)]
    stage = Stage(MemoryStore(lambda: clock[0]))
    for code in ("1", "2"):
        stage.define(pair(asset_of, "rebuild", code=code))
        stage.request("*")
        stage.settle()
    stage.define(pair(asset_of, "rebuild", code="1"))
    stage.request("mart", ("all",), partitions="2024-01-02")
    running = stage.start()
    stage.define(pair(asset_of, "rebuild", code="2"))  # as everything was made: but one task will publish the other
    found = stage.rebuild()
    assert (found.requested, found.waiting) == (0, 2), "of either activation"
    stage.end(running)
    clock[0] += timedelta(seconds=6)
    assert stage.rebuild().requested == 1
    stage.attempts = []
    stage.settle()
    assert made(stage, "mart") == ["2024-01-02"]


# ------------------------------------------------------------------ faults


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Assets whose deciding raises, while they are in this set."""
    names: set[str] = set()
    right = reading._absent

    def absent(catalog: Any, now: Any, members: Any, at: int) -> Any:
        if any(asset.key in names for asset in members):
            raise ZeroDivisionError("a mapping that cannot be evaluated")
        return right(catalog, now, members, at)

    monkeypatch.setattr(reading, "_absent", absent)
    return names


@pytest.fixture
def world(asset_of: Any) -> tuple[Stage, list[datetime]]:
    clock = [datetime(2024, 2, 1, tzinfo=UTC)]
    stage = Stage(MemoryStore(lambda: clock[0]))
    inputs = {"raw": (DAYS, None)}
    stage.define(
        [
            asset_of("raw", DAYS),
            asset_of("bad", DAYS, inputs, automation=EAGER),
            asset_of("good", DAYS, inputs, automation=EAGER),
        ]
    )
    return stage, clock


def test_a_consumer_that_cannot_be_decided_holds_up_no_other(
    world: tuple[Stage, list[datetime]], broken: set[str]
) -> None:
    stage, clock = world
    broken.add("bad")
    stage.request("raw")
    stage.work()
    found = stage.automate()
    assert (found.requested, found.set_aside) == (4, 4)
    (fault,) = faults(stage)
    assert (fault.kind, fault.id, fault.tries) == (FaultKind.ASSET, stage.ref("bad").asset_id, 1)
    assert fault.error == "ZeroDivisionError: a mapping that cannot be evaluated"
    stage.work()
    assert made(stage, "good") == [f"2024-01-0{day}" for day in range(1, 5)]
    for _ in range(5):
        assert stage.automate().taken == 0, "it is not tried again at once"
    pauses = []
    for _ in range(3):
        (fault,) = faults(stage)
        pauses.append((fault.next_at - fault.last_at).total_seconds())
        clock[0] = fault.next_at
        assert stage.automate().set_aside == 4
    assert pauses == [10, 20, 40]
    broken.clear()
    (fault,) = faults(stage)
    clock[0] = fault.next_at
    assert stage.automate().requested == 4
    assert faults(stage) == []
    stage.work()
    assert len(made(stage, "bad")) == 4, "nothing was lost"


def test_new_definitions_make_it_due_at_once(world: tuple[Stage, list[datetime]], broken: set[str]) -> None:
    stage, _ = world
    broken.add("bad")
    stage.request("raw", partitions="2024-01-01")
    stage.work()
    stage.automate()
    broken.clear()
    assert stage.automate().taken == 0
    stage.define(list(stage.specs))
    assert stage.automate().requested == 1
    assert faults(stage) == []


def test_new_events_of_a_consumer_that_was_set_aside_wait_with_it(
    world: tuple[Stage, list[datetime]], broken: set[str]
) -> None:
    stage, clock = world
    broken.add("bad")
    stage.request("raw", partitions="2024-01-01")
    stage.work()
    stage.automate()
    before = faults(stage)
    stage.request("raw", partitions="2024-01-02")
    stage.work()
    found = stage.automate()
    assert (found.requested, found.set_aside) == (1, 1)
    assert faults(stage) == before, "it was not even tried"
    broken.clear()
    clock[0] = before[0].next_at
    assert stage.automate().requested == 2


def test_a_launch_that_is_refused_is_found_out_step_by_step(
    world: tuple[Stage, list[datetime]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing says which of the steps it was: each is decided by itself."""
    stage, _ = world
    right = visiting.launch_of

    def launch_of(visit: Any, asking: Any, cause: Any) -> Any:
        if any(one.key.id == "bad" for one in asking):
            raise ValueError("no such pool")
        return right(visit, asking, cause)

    monkeypatch.setattr(visiting, "launch_of", launch_of)
    stage.request("raw")
    stage.work()
    while stage.automate().more:
        pass
    stage.work()
    assert len(made(stage, "good")) == 4
    assert [(fault.id, fault.error) for fault in faults(stage)] == [
        (stage.ref("bad").asset_id, "ValueError: no such pool")
    ]


def test_an_upstream_that_cannot_be_read_is_named_itself(
    world: tuple[Stage, list[datetime]], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, _ = world
    right = Catalog.space

    def space(self: Catalog, key: Any, as_of: Any) -> Any:
        if key == "raw" and armed:
            raise RuntimeError("no partitions")
        return right(self, key, as_of)

    armed: list[bool] = []
    stage.request("raw", partitions="2024-01-01")
    stage.work()
    monkeypatch.setattr(Catalog, "space", space)
    armed.append(True)
    assert stage.automate().set_aside == 1
    assert [fault.id for fault in faults(stage)] == [stage.ref("raw").asset_id]


def test_a_replan_that_cannot_be_decided_holds_up_no_other(asset_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [datetime(2024, 2, 1, tzinfo=UTC)]
    stage = Stage(MemoryStore(lambda: clock[0]))
    stage.define([asset_of("a"), asset_of("b")])
    first, second = stage.request("a"), stage.request("b")
    assert first is not None
    assert second is not None
    stage.work()
    with stage.store.begin() as tx:
        tx.append_events(
            [
                NewEvent("plan", stage.ref(key).asset_id, "", run.run_id, for_consumers=("replan",))
                for key, run in (("a", first), ("b", second))
            ]
        )
    from partita.core.automation import replan as replanning

    right = replanning._masks

    def masks(catalog: Any, now: Any, events: Any) -> Any:
        if any(event.run_id == first.run_id for event in events):
            raise ValueError("boom")
        return right(catalog, now, events)

    monkeypatch.setattr(replanning, "_masks", masks)
    stage.replan()
    (fault,) = faults(stage)
    assert (fault.kind, fault.id) == (FaultKind.RUN, first.run_id)
    with stage.store.begin() as tx:
        assert tx.take_todo_skip("replan", 10) == [], "the other was decided, this one waits"
    monkeypatch.setattr(replanning, "_masks", right)
    clock[0] = fault.next_at
    stage.replan()
    assert faults(stage) == []
