"""What schedules and sensors ask for becomes runs, once, on both stores; what they are told of (S-099, S-174, S-222)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from partita.assets import AssetKey, Daily, EvaluatorSpec, Static
from partita.core.automation import Limits, run_asked
from partita.core.automation.evaluating import Begun, Came, begin, conclude
from partita.core.decide.evaluators import loaded
from partita.core.store.values import AttemptOutcome
from partita.core.store.values_evaluators import EvaluatorUpdate
from partita.core.store.values_waits import TriggererId

DAYS = Daily("2024-01-01", end="2024-01-08")


class Bench:
    """A stage with evaluators."""

    def __init__(self, stage: Any, *specs: EvaluatorSpec) -> None:
        self.stage = stage
        with stage.store.begin() as tx:
            tx.put_evaluators(
                stage.pin[0],
                loaded(
                    specs,
                    tx.lock_evaluators_of(stage.pin[0]),
                    snapshot_id=stage.pin[1],
                    broken=(),
                    now=tx.now(),
                    position=None,
                ),
            )

    def begin(self) -> list[Begun]:
        return begin(self.stage.store, self.stage, TriggererId("t1"), [self.stage.pin], 10)

    def due(self) -> None:
        """All are due now."""
        with self.stage.store.begin() as tx:
            for one in tx.lock_evaluators_of(self.stage.pin[0]):
                tx.write_evaluator(EvaluatorUpdate(one.id, one.cursor, one.position, one.tick_at, tx.now(), 0))

    def ask(self, *requests: dict[str, Any], **more: Any) -> Any:
        (begun,) = self.begin()
        done = conclude(self.stage.store, self.stage, begun, Came({"requests": list(requests), "cursor": "1", **more}))
        self.due()
        return done

    def launch(self, limits: Limits | None = None) -> list[int]:
        found = []
        while (done := run_asked(self.stage.store, self.stage, limits=limits)).more:
            found.append(done.requested)
        return found

    def ends(self) -> list[tuple[str, str | None]]:
        with self.stage.store.begin() as tx:
            taken = tx.take_asked_skip(100)
        assert taken == []
        return self._rows("SELECT state, error FROM asked ORDER BY id", "asked", ("state", "error"))

    def _rows(self, statement: str, table: str, names: tuple[str, ...]) -> list[Any]:
        store = self.stage.store
        if hasattr(store, "rows"):
            return [tuple(row[name] for name in names) for row in store.rows(table)]
        with store.begin() as tx:
            return list(tx._cursor.execute(statement).fetchall())


SENSOR = EvaluatorSpec(name="files", kind="sensor", function="m:files", every_s=30.0)


@pytest.fixture
def shop(stage: Any, asset_of: Any) -> Any:
    stage.define(
        [
            asset_of("orders", DAYS),
            asset_of("refunds", DAYS),
            asset_of("totals", DAYS, {"orders": (DAYS, None)}),
            asset_of("region", Static("EU", "a, b")),
        ]
    )
    return stage


def test_a_request_becomes_one_run_with_its_cause_and_tags(shop: Any) -> None:
    bench = Bench(shop, SENSOR)
    request = {"selection": '"orders"', "partitions": '"2024-01-02", "2024-01-03"', "key": "k", "tags": {"why": "file"}}
    bench.ask(request, {"selection": '"region"', "partitions": '"a, b"', "key": None})
    assert bench.launch() == [2, 1], bench.ends()
    shop.settle()
    assert sorted(shop.attempts) == [("orders", "2024-01-02"), ("orders", "2024-01-03"), ("region", "a, b")]
    bench.ask(request)
    assert bench.launch() == [], "its key was used"
    with shop.store.begin() as tx:
        runs = tx.read_runs([1, 2])
    assert runs[0].cause["by"] == "sensor files"
    assert runs[0].cause["kind"] == "sensor"


def test_what_is_fresh_or_cannot_be_planned_says_so(shop: Any) -> None:
    bench = Bench(shop, SENSOR)
    shop.request("orders", partitions="2024-01-02")
    shop.settle()
    bench.ask(
        {"selection": '"orders"', "partitions": '"2024-01-02"'},
        {"selection": '"totals"', "partitions": '"2024-01-05"'},
        {"selection": "ordrs"},
        {"selection": '"orders"', "partitions": '"2031-01-01"'},
        {"selection": '"orders"', "mode": ["all"], "params": {"floor": 3}},
        {"selection": '"orders"', "partitions": "missing"},
    )
    bench.launch(Limits(max_cells=5))
    ends = bench.ends()
    assert [state for state, _ in ends] == ["nothing", "nothing", "refused", "refused", "refused", "refused"]
    whys = [str(why) for _, why in ends]
    assert "fresh" in whys[0]
    assert "blocked" in whys[1]
    assert "did you mean" in whys[2]
    assert "2031-01-01" in whys[3]
    assert "floor" in whys[4]
    assert "6 cells" in whys[5]
    assert "partita backfill" in whys[5]


def test_missing_in_a_request_goes_by_what_is_published(shop: Any) -> None:
    bench = Bench(shop, SENSOR)
    shop.request("orders", partitions="2024-01-02..2024-01-06")
    shop.settle()
    bench.ask({"selection": '"orders"', "partitions": "missing", "mode": ["missing"]})
    assert bench.launch() == [2]


def test_a_sensor_of_readiness_is_asked_about_what_nobody_has_made_or_tried(shop: Any) -> None:
    bench = Bench(shop, SENSOR.model_copy(update={"ready": AssetKey("orders"), "newest": 3}))
    shop.request("orders", partitions="2024-01-05")
    (claimed,) = shop.start()
    (begun,) = bench.begin()
    assert begun.given["partitions"] == ["2024-01-06", "2024-01-07"]
    conclude(shop.store, shop, begun, Came({}))
    shop.end([claimed], failed=True)
    bench.due()
    (begun,) = bench.begin()
    assert begun.given["partitions"] == ["2024-01-06", "2024-01-07"], "what failed is for people"
    conclude(shop.store, shop, begun, Came({}))
    shop.request("orders", partitions="2024-01-05..2024-01-07", mode=("all",))
    shop.settle()
    bench.due()
    assert bench.begin() == [], "there is nothing to ask about: user code is not called"


def test_a_sensor_of_assets_is_told_of_each_publication_once(shop: Any) -> None:
    bench = Bench(shop, SENSOR.model_copy(update={"watches": (AssetKey("orders"), AssetKey("refunds"))}))
    assert bench.begin() == [], "it is told of what comes from now on"
    shop.request("orders, totals, refunds", partitions="2024-01-02")
    shop.settle()
    bench.due()
    (begun,) = _later(bench)
    told = {(one["asset"], one["partition"], one["data_version"]) for one in begun.given["events"]}
    assert told == {("orders", "2024-01-02", "v1"), ("refunds", "2024-01-02", "v1")}
    assert all(datetime.fromisoformat(one["at"]) for one in begun.given["events"])
    conclude(shop.store, shop, begun, Came({}))
    bench.due()
    assert bench.begin() == []


def test_a_sensor_of_runs_is_told_of_their_ends_but_not_of_its_own(shop: Any) -> None:
    bench = Bench(shop, SENSOR.model_copy(update={"runs": ("failed",)}))
    bench.begin()
    shop.version = lambda key, partition: None if key == "orders" else "v1"
    launched = shop.request("orders, refunds", partitions="2024-01-02")
    shop.settle()
    bench.due()
    (begun,) = _later(bench)
    assert [(one["run_id"], one["state"], one["by"]) for one in begun.given["runs"]] == [
        (launched.run_id, AttemptOutcome.FAILED.value, "me")
    ]
    again = {"selection": '"orders"', "partitions": '"2024-01-02"'}
    conclude(shop.store, shop, begun, Came({"requests": [again]}))
    assert bench.launch() == [1]
    shop.settle()
    bench.due()
    assert bench.begin() == []


def _later(bench: Bench) -> list[Begun]:
    """What is final is told: a moment later where another session of the cluster is in a transaction."""
    for _ in range(1_000):
        if begun := bench.begin():
            return begun
        bench.due()
    raise AssertionError("nothing was told")


def test_its_runs_count_for_its_pace_as_long_as_they_are_active(shop: Any) -> None:
    """S-024: on both stores; runs that others asked for do not count."""
    bench = Bench(shop, SENSOR)
    shop.request("refunds", ("all",), partitions="2024-01-01")
    bench.ask({"selection": '"orders"', "partitions": '"2024-01-01"'}, {"selection": '"region"', "partitions": '"EU"'})
    (one,) = bench.begin()

    def active() -> int:
        with shop.store.begin() as tx:
            return int(tx.active_of_evaluator(one.evaluator.id))

    assert active() == 2, "requests that are to be planned"
    assert bench.launch() == [1, 1]
    assert active() == 2, "runs"
    shop.settle()
    assert active() == 0
