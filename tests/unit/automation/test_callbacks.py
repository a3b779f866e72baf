"""Callbacks are told of ends of tasks by the events that the finishing transactions wrote: each, and of no other (S-160)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.unit.duties.duty_world import START, World, report, step

from partita.assets import AssetSpec, EvaluatorSpec, Snapshot, StepSpec, asset_key, canonical_json
from partita.core.automation.evaluating import CALLBACK_TRIES, Begun, Broke, Came, begin, conclude
from partita.core.automation.handing import MOST_TASKS
from partita.core.catalog import Catalog, StoredSnapshot
from partita.core.decide.evaluators import loaded
from partita.core.duties.admit import admit
from partita.core.duties.retries import wake_retries
from partita.core.duties.waits import register_triggerer
from partita.core.store.values import AssetId, AttemptOutcome, LocationId, SnapshotId
from partita.core.store.values_waits import TriggererId

TELL = EvaluatorSpec(name="tell", kind="sensor", function="m:tell", every_s=1.0, tasks=("failed",), steps=("s1", "s2"))
T1 = TriggererId("t1")


class Told:
    """A duty world with one callback, which was loaded before anything ended."""

    def __init__(self, before: Callable[[World], None] = lambda world: None) -> None:
        self.world = World()
        before(self.world)
        specs = [AssetSpec(key=asset_key(f"s{n}"), step=f"s{n}") for n in (1, 2, 3)]
        steps = tuple(StepSpec(id=one.step, assets=(one.key,), function="m:f") for one in specs)
        snapshot = Snapshot(location="loc", assets=tuple(specs), steps=steps, evaluators=(TELL,))
        body = canonical_json(snapshot)
        with self.world.memory.begin() as tx:
            self.location = tx.put_location("loc")
            self.version, _ = tx.put_snapshot(self.location, "v1", body=body, effective=body, kept=[])
            _, here = tx.read_news(None, (), (), 0)
            rows = loaded([TELL], [], snapshot_id=SnapshotId(self.version), broken=(), now=tx.now(), position=here)
            tx.put_evaluators(self.location, rows)
        stored = StoredSnapshot(self.location, "loc", SnapshotId(self.version), "v1", snapshot)
        self.catalog = Catalog([stored], {asset_key(f"s{n}"): AssetId(n) for n in (1, 2, 3)})
        register_triggerer(self.world.store, T1, host="h", pid=1, lease_s=1e6)

    def active(self) -> Catalog:
        return self.catalog

    def begin(self) -> Begun | None:
        self.world.clock.forward(6)
        pins: list[tuple[LocationId, SnapshotId]] = [(self.location, SnapshotId(self.version))]
        return next(iter(begin(self.world.store, self, T1, pins, 10)), None)

    def end(self, begun: Begun, end: Came | Broke) -> Any:
        return conclude(self.world.store, self, begun, end)

    def fail(self, *steps: int, partitions: tuple[str, ...] = ("",)) -> None:
        self.world.launch(*(step(n, partitions=partitions) for n in steps))
        started = self.world.start().values()
        self.world.finish(*(report(one, AttemptOutcome.FAILED, error="ValueError: no\nmore") for one in started))

    def evaluator(self) -> dict[str, Any]:
        return self.world.rows("evaluator")[0]


@pytest.fixture
def told() -> Told:
    return Told()


def came(**more: Any) -> Came:
    return Came({"cursor": None, "skip": "", "versions": {}, "requests": [], "keys": [], "broke": "", **more})


def test_it_is_told_of_what_ended_after_it_was_loaded_whoever_comes_late_to_evaluate_it(told: Told) -> None:
    told.fail(1)
    begun = told.begin()
    assert begun is not None, "it was evaluated for the first time after that end"
    assert [one["state"] for one in begun.given["tasks"]] == ["failed"]


def test_of_what_ended_before_it_was_loaded_it_is_not_told() -> None:
    def before(world: World) -> None:
        world.launch(step(1))
        world.finish(*(report(one, AttemptOutcome.FAILED) for one in world.start().values()))

    assert Told(before).begin() is None


def test_it_is_told_of_a_failure_after_all_retries_with_what_failed(told: Told) -> None:
    told.world.launch(step(1, retries=1, partitions=("a", "b")))
    first = told.world.start()["s1"]
    told.world.finish(report(first, AttemptOutcome.FAILED, error="ValueError: no\nmore"))
    assert told.begin() is None, "it is tried again: it has not ended"
    wake_retries(told.world.store)
    told.world.finish(report(told.world.start()["s1"], AttemptOutcome.FAILED, error="ValueError: no\nmore"))
    begun = told.begin()
    assert begun is not None
    (one,) = begun.given["tasks"]
    assert one["key"] == f"task-{first.task.id}-failed"
    assert (one["state"], one["assets"], one["partitions"]) == ("failed", ["s1"], ["a", "b"])
    assert (one["attempt"], one["error"]) == (2, "ValueError: no")
    assert datetime.fromisoformat(one["at"]) > START
    before = told.world.rows("task")
    told.end(begun, came())
    assert told.world.rows("task") == before, "it has no say in what became of the task"
    assert told.begin() is None, "once it was told well, it is not told again"


def test_of_other_steps_and_other_ends_it_is_not_told(told: Told) -> None:
    told.fail(3)
    told.world.launch(step(1, partitions=("x",)))
    told.world.finish(*map(report, told.world.start().values()))
    assert told.begin() is None


def test_when_it_cannot_be_called_it_is_told_again(told: Told) -> None:
    """S-160: side effects come after the commit, with a key that stays the same."""
    told.fail(1, 2)
    first = told.begin()
    assert first is not None
    told.end(first, Broke("its server is gone"))
    assert (told.evaluator()["failures"], told.evaluator()["error"]) == (1, "its server is gone")
    told.world.clock.forward(60)
    again = told.begin()
    assert again is not None
    assert again.given["tasks"] == first.given["tasks"]


def test_what_it_failed_at_is_kept_visible_and_told_again_when_its_time_has_come(told: Told) -> None:
    told.fail(1, 2)
    begun = told.begin()
    assert begun is not None
    at = told.world.clock.now + timedelta(seconds=60)
    cursor = json.dumps({"again": [dict(begun.given["tasks"][0], tries=1)], "at": at.isoformat()})
    done = told.end(begun, came(cursor=cursor, broke="task-1-failed: ConnectionError: down"))
    assert done.error == "task-1-failed: ConnectionError: down"
    assert told.evaluator()["outcome"] == "failed"
    assert [row["error"] for row in told.world.rows("evaluation")] == ["task-1-failed: ConnectionError: down"]
    assert told.begin() is None, "not yet"
    told.world.clock.forward(60)
    again = told.begin()
    assert again is not None
    assert (again.given["tasks"], again.given["cursor"]) == ([], cursor)
    told.end(again, came())
    assert told.begin() is None


def test_what_hangs_every_time_does_not_hold_up_what_follows_for_ever(told: Told) -> None:
    told.fail(1)
    for _ in range(CALLBACK_TRIES):
        told.world.clock.forward(1_000)
        begun = told.begin()
        assert begun is not None
        told.end(begun, Broke("longer than its timeout of 60 s"))
    told.fail(2)
    told.world.clock.forward(1_000)
    begun = told.begin()
    assert begun is not None
    assert [one["assets"] for one in begun.given["tasks"]] == [["s2"]]


def test_of_very_many_it_is_told_in_parts_one_right_after_the_other(told: Told) -> None:
    told.world.launch(*(step(1, partitions=(f"{n}",)) for n in range(MOST_TASKS + 3)))
    while True:
        admit(told.world.store)
        claimed = told.world.claims().claimed
        if not claimed:
            break
        told.world.finish(*(report(one, AttemptOutcome.FAILED) for one in claimed))
    first = told.begin()
    assert first is not None
    assert len(first.given["tasks"]) == MOST_TASKS
    told.end(first, came())
    assert told.evaluator()["due_at"] == told.world.clock.now
    rest = told.begin()
    assert rest is not None
    assert len(rest.given["tasks"]) == 3
