"""The recipes of docs/cookbook.md, as they stand there: what each asks for, when, and with which cause."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.integration.planner.conftest import Stage

from partita.assets import Dynamic
from partita.core.automation import run_asked, run_new_keys
from partita.core.automation.evaluating import Came, begin, conclude
from partita.core.catalog.dynamic import KeysAt
from partita.core.decide.evaluators import loaded
from partita.core.duties.dynamic import add_keys
from partita.core.duties.evaluators import set_cursor
from partita.core.freshness import look_at_freshness
from partita.core.store.memory import MemoryStore
from partita.core.store.values import CheckRow
from partita.core.store.values_waits import TriggererId
from partita.sdk.collector import Collector, collecting
from partita.sdk.evaluate import evaluate
from partita.sdk.evaluators import EvaluatorDef
from partita.sdk.snapshot import build_snapshot, resolve_all

PAGE = Path(__file__).parents[3] / "docs" / "cookbook.md"
RECIPE = re.compile(r"^### (\d+)\. (.+?)\n(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"```python\n(.*?)```", re.DOTALL)
NOON = datetime(2026, 3, 9, 12, tzinfo=UTC)  # a Monday
MIDNIGHT = datetime(2026, 3, 9, 23, tzinfo=UTC)  # in Berlin


def recipes() -> dict[int, str]:
    text = PAGE.read_text()
    return {int(number): "\n".join(CODE.findall(body)) for number, _, body in RECIPE.findall(text)}


@dataclass
class Kitchen:
    """A stage on virtual time with the assets of one recipe; `versions` of what attempts make, None fails them."""

    stage: Stage
    now: list[datetime]
    versions: dict[str, str | None] = field(default_factory=dict)
    functions: dict[str, EvaluatorDef] = field(default_factory=dict)

    def at(self, instant: datetime) -> list[tuple[str, str]]:
        """What is made by itself when that instant has come."""
        self.now[0] = instant
        done = len(self.stage.attempts)
        while self.stage.look().requested or self.stage.settle():
            pass
        return sorted(self.stage.attempts[done:])

    def make(self, selection: str, partitions: str | None = None, **versions: str | None) -> list[tuple[str, str]]:
        """What follows by itself when a person makes these; `versions` by asset."""
        self.versions |= versions
        self.now[0] += timedelta(seconds=1)
        done = len(self.stage.attempts)
        self.stage.request(selection, ("all",), **({} if partitions is None else {"partitions": partitions}))
        self.stage.settle()
        asked = {key.strip() for key in selection.split(",")}
        return sorted(one for one in self.stage.attempts[done:] if one[0] not in asked)

    def evaluate(self, instant: datetime) -> list[tuple[str, str]]:
        """What is made by itself when that instant has come and all functions that are due were evaluated."""
        self.now[0] = instant
        store, stage, done = self.stage.store, self.stage, len(self.stage.attempts)
        while begun := begin(store, stage, TriggererId("t"), [stage.pin], 10):
            for one in begun:
                found = evaluate(self.functions[one.evaluator.name], one.given)
                assert not found.error, found.traceback
                assert conclude(store, stage, one, Came(found.to_json())).error == ""
            self._see_keys()
            while run_asked(store, stage).more:
                pass
            stage.settle()
        return sorted(stage.attempts[done:])

    def _see_keys(self) -> None:
        rows = self.stage.store.rows("dynamic_key")  # type: ignore[attr-defined]
        schemes = self.stage.catalog.dynamic_schemes
        keys = {name: tuple(row["key"] for row in rows if row["scheme"] == name) for name in schemes}
        self.stage.catalog = self.stage.catalog.with_keys(KeysAt(len(rows), keys))

    def cause(self) -> str:
        """Of the newest run, which is that of each of its requests."""
        database = self.stage.store.database  # type: ignore[attr-defined]
        run = max(database.run.sorted_rows(), key=lambda row: row["id"])
        requests = [row for row in database.automation_request if row["run_id"] == run["id"]]
        if run["cause"]["by"] == "automation":
            assert len(requests) == sum(row["run_id"] == run["id"] for row in database.task), "one for each partition"
        assert {row["cause"]["text"] for row in requests} <= {run["cause"]["text"]}
        return str(run["cause"]["text"])


@pytest.fixture
def kitchen(request: pytest.FixtureRequest) -> Kitchen:
    number = int(request.function.__name__.split("_")[1])
    collector = Collector()
    names: dict[str, Any] = {"__name__": "cookbook"}
    head = CODE.findall(PAGE.read_text().partition("\n## ")[0])
    with collecting(collector):
        exec(compile("\n".join([*head, recipes()[number]]), str(PAGE), "exec"), names)  # noqa: S102 - our own page
        broken: dict[str, str] = {}
        snapshot = build_snapshot("cookbook", resolve_all(collector, broken), (), None)
    assert not broken, broken
    now = [NOON]
    kitchen = Kitchen(Stage(MemoryStore(lambda: now[0])), now)
    kitchen.stage.version = lambda key, partition: kitchen.versions.get(key, "v1")
    kitchen.stage.define(snapshot.assets)
    kitchen.functions = collector.evaluators
    with kitchen.stage.store.begin() as tx:
        location_id, snapshot_id = kitchen.stage.pin
        tx.put_evaluators(
            location_id,
            loaded(snapshot.evaluators, [], snapshot_id=snapshot_id, broken=(), now=tx.now(), position=None),
        )
    return kitchen


def test_1(kitchen: Kitchen) -> None:
    assert kitchen.at(NOON) == []
    assert kitchen.at(MIDNIGHT) == [("orders", "2026-03-09")]
    assert kitchen.cause() == "the time came for orders: on_close()"
    assert kitchen.at(MIDNIGHT + timedelta(hours=23)) == []


def test_2(kitchen: Kitchen) -> None:
    kitchen.at(NOON)
    assert kitchen.at(MIDNIGHT + timedelta(minutes=14)) == []
    assert kitchen.at(MIDNIGHT + timedelta(minutes=15)) == [("payments", "2026-03-09")]
    assert kitchen.cause() == "the time came for payments: on_close(lag='15m')"


def test_3(kitchen: Kitchen) -> None:
    kitchen.at(NOON)
    kitchen.make("clicks")
    kitchen.make("sessions")
    assert kitchen.make("clicks", "2026-03-04, 2026-03-07", clicks="late") == [("sessions", "2026-03-07")]
    assert kitchen.cause() == "clicks 2026-03-04, 2026-03-07 were materialized"


def test_4(kitchen: Kitchen) -> None:
    assert kitchen.at(NOON) == [("visits", "2026-03-08")]
    assert kitchen.cause() == "the time came for visits: on_close(catch_up='latest')"
    assert kitchen.at(NOON + timedelta(hours=1)) == []


def test_5(kitchen: Kitchen) -> None:
    kitchen.at(NOON)
    sunday_night = datetime(2026, 3, 15, 23, tzinfo=UTC)
    assert kitchen.at(sunday_night + timedelta(hours=5, minutes=59)) == []
    assert kitchen.at(sunday_night + timedelta(hours=6)) == [("weekly_report", "2026-03-09")]
    assert kitchen.cause() == "the time came for weekly_report: on_close(lag='6h')"


def test_6(kitchen: Kitchen) -> None:
    assert kitchen.make("raw", "2026-03-02..2026-03-03") == [("clean", "2026-03-02"), ("clean", "2026-03-03")]
    assert kitchen.cause() == "raw 2026-03-02..2026-03-03 were materialized"
    assert kitchen.make("raw", "2026-03-02") == []  # the same data again


def test_7(kitchen: Kitchen) -> None:
    assert kitchen.make("flights", "2026-03-02") == []
    assert kitchen.make("weather", "2026-03-02T00:00+01:00..2026-03-02T22:00+01:00") == []
    assert kitchen.make("weather", "2026-03-02T23:00+01:00") == [("delays", "2026-03-02")]
    assert kitchen.cause() == "weather 2026-03-02T23:00+01:00 was materialized"
    assert kitchen.make("flights", "2026-03-02", flights="corrected") == [("delays", "2026-03-02")]
    assert kitchen.cause() == "flights 2026-03-02 was materialized"


def test_8(kitchen: Kitchen) -> None:
    assert kitchen.make("prices") == [("margins", f"2026-03-0{day}") for day in range(2, 9)]
    assert kitchen.cause() == "prices 2026-03-01..2026-03-08 were materialized"


def test_9(kitchen: Kitchen) -> None:
    kitchen.make("countries")
    assert len(kitchen.make("sales")) == 8
    assert kitchen.cause() == "sales 2026-03-01..2026-03-08 were materialized"
    assert kitchen.make("countries", countries="one more") == []
    assert kitchen.make("sales", "2026-03-05", sales="corrected") == [("sales_by_country", "2026-03-05")]
    assert kitchen.cause() == "sales 2026-03-05 was materialized"


def test_10(kitchen: Kitchen) -> None:
    assert kitchen.make("events, labels", "2026-03-05") == [("training", "2026-03-05")]
    assert kitchen.cause() == "events 2026-03-05, labels 2026-03-05 were materialized"
    assert kitchen.make("labels", "2026-03-05", labels=None) == []
    assert kitchen.make("events", "2026-03-05", events="more") == []
    assert kitchen.make("labels", "2026-03-05", labels="mended") == [("training", "2026-03-05")]
    assert kitchen.cause() == "labels 2026-03-05 was materialized"


def test_11(kitchen: Kitchen) -> None:
    kitchen.at(NOON)
    assert kitchen.make("files", "2026-03-05") == []
    kitchen.now[0] = NOON + timedelta(minutes=4)
    assert kitchen.make("files", "2026-03-06") == []
    assert kitchen.at(NOON + timedelta(minutes=5, seconds=1)) == [("index", "2026-03-05"), ("index", "2026-03-06")]
    assert kitchen.cause() == "the time came for index: eager().debounced(300s)"


def test_12(kitchen: Kitchen) -> None:
    assert kitchen.at(NOON) == []
    assert kitchen.at(NOON + timedelta(minutes=59)) == []
    assert kitchen.at(NOON + timedelta(hours=1)) == [("exchange_rates", "")]
    assert kitchen.cause() == "the time came for exchange_rates: on_cron('0 * * * *')"
    assert kitchen.at(NOON + timedelta(hours=11)) == [("exchange_rates", "")]
    assert kitchen.cause() == "the time came for exchange_rates: on_cron('0 * * * *')"


def test_13(kitchen: Kitchen) -> None:
    kitchen.at(NOON)
    eight = datetime(2026, 3, 10, 7, tzinfo=UTC)
    assert kitchen.at(eight) == []
    kitchen.now[0] = eight + timedelta(hours=1)
    assert kitchen.make("figures", "2026-03-09") == [("newsletter", "2026-03-09")]
    assert kitchen.cause() == "figures 2026-03-09 was materialized"
    assert kitchen.make("figures", "2026-03-09", figures="corrected") == []
    kitchen.now[0] = MIDNIGHT + timedelta(days=1)
    assert kitchen.make("figures", "2026-03-10", figures="in time") == []
    assert kitchen.at(eight + timedelta(days=1)) == [("newsletter", "2026-03-10")]
    assert kitchen.cause() == "the time came for newsletter: on_cron('0 8 * * mon-fri', 'Europe/Berlin')"
    assert kitchen.at(datetime(2026, 3, 14, 7, tzinfo=UTC)) == []  # a Saturday


def test_14(kitchen: Kitchen) -> None:
    assert len(kitchen.at(NOON)) == 8
    assert kitchen.cause() == "the time came for archive: on_missing()"
    assert kitchen.at(MIDNIGHT) == [("archive", "2026-03-09")]
    assert kitchen.cause() == "the time came for archive: on_missing()"


def test_15(kitchen: Kitchen) -> None:
    stage, customers = kitchen.stage, Dynamic("customers")
    kitchen.at(NOON)
    profile = stage.ref("profile").asset_id
    add_keys(stage.store, customers, ["acme", "Zoë & Söhne"], who="ann", followers=[profile])
    stage.catalog = stage.catalog.with_keys(KeysAt(1, {"customers": ("acme", "Zoë & Söhne")}))
    assert run_new_keys(stage.store, stage).requested == 2
    assert kitchen.cause() == "acme, Zoë & Söhne were added"
    assert kitchen.at(NOON) == [("profile", "Zoë & Söhne"), ("profile", "acme")]


def test_16(kitchen: Kitchen) -> None:
    assert kitchen.at(NOON) == []
    late = MIDNIGHT + timedelta(days=2, minutes=15)
    assert kitchen.at(late) == [("forecast", "2026-03-11")]
    assert kitchen.cause() == "the time came for forecast: on_close(lag='15m').keep_latest()"
    assert kitchen.at(late + timedelta(hours=12)) == []
    assert kitchen.at(late + timedelta(days=1)) == [("forecast", "2026-03-12")]


def test_17(kitchen: Kitchen) -> None:
    stage = kitchen.stage

    def at(instant: datetime) -> list[tuple[str, str]]:
        kitchen.now[0] = instant
        look_at_freshness(stage.store, stage)
        return kitchen.at(instant)

    assert at(NOON) == []
    assert at(MIDNIGHT + timedelta(hours=1)) == []
    assert at(MIDNIGHT + timedelta(hours=2)) == [("estimated_prices", "2026-03-09")]
    assert kitchen.cause() == "the time came for estimated_prices: newly_true(any_deps(late))"
    assert at(MIDNIGHT + timedelta(hours=3)) == []
    assert kitchen.make("prices", "2026-03-09") == []
    assert at(MIDNIGHT + timedelta(hours=5)) == []
    assert at(MIDNIGHT + timedelta(days=1, hours=2)) == [("estimated_prices", "2026-03-10")]


def test_18(kitchen: Kitchen) -> None:
    stage = kitchen.stage

    def check(passed: bool) -> None:
        with stage.store.begin() as tx:
            attempt = max(row["id"] for row in stage.store.database.attempt)  # type: ignore[attr-defined]
            tx.insert_checks(
                [CheckRow(attempt, stage.ref("bookings", "2026-03-08"), "balanced", passed, blocking=False)]
            )

    def make(version: str, *, passes: bool) -> list[tuple[str, str]]:
        kitchen.versions["bookings"] = version
        kitchen.now[0] += timedelta(seconds=1)
        done = len(stage.attempts)
        stage.request("bookings", ("all",), partitions="2026-03-08")
        stage.work()
        check(passes)
        stage.settle()
        return [one for one in stage.attempts[done:] if one[0] != "bookings"]

    kitchen.at(NOON)
    assert make("v1", passes=True) == [("ledger", "2026-03-08")]
    assert kitchen.cause() == "bookings 2026-03-08 was materialized"
    assert make("v2", passes=False) == []
    assert make("v3", passes=True) == [("ledger", "2026-03-08")]
    assert kitchen.cause() == "bookings 2026-03-08 was materialized"


def test_19(kitchen: Kitchen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    assert kitchen.evaluate(NOON) == []
    (inbox / "2026-03-08.csv").write_text("a")
    assert kitchen.evaluate(NOON + timedelta(minutes=5)) == [("parcels", "2026-03-08")]
    assert kitchen.cause() == "partner/deliveries 2026-03-08 was materialized"
    assert kitchen.evaluate(NOON + timedelta(minutes=10)) == []
    (inbox / "2026-03-08.csv").write_text("ab")
    (inbox / "2026-03-07.csv").write_text("a")
    made = kitchen.evaluate(NOON + timedelta(minutes=15))
    assert made == [("parcels", "2026-03-07"), ("parcels", "2026-03-08")]
    assert kitchen.cause() == "partner/deliveries 2026-03-07..2026-03-08 were materialized"


def test_20(kitchen: Kitchen) -> None:
    def at_six(day: int) -> list[tuple[str, str]]:
        return kitchen.evaluate(datetime(2026, 3, day, 16 if day > 28 else 17, tzinfo=UTC))  # summer time from the 29th

    assert at_six(9) == []
    assert at_six(30) == []
    assert at_six(31) == [("closing", "")]
    assert kitchen.cause() == "asked for by schedule month_end as '2026-03'"
    rows = kitchen.stage.store.rows("evaluation")  # type: ignore[attr-defined]
    assert [(row["outcome"], (row["detail"] or {}).get("skip")) for row in rows] == [
        ("skipped", "the month goes on"),
        ("skipped", "the month goes on"),
        ("asked", None),
    ]
    assert rows[1]["detail"]["passed_over"] == 14, "the ticks between were not evaluated: the last of them was"


def test_21(kitchen: Kitchen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "a.csv").touch()
    assert kitchen.evaluate(NOON) == [("imported", "a")]
    assert kitchen.cause() == "asked for by sensor new_uploads as 'a'"
    (tmp_path / "uploads" / "b.csv").touch()
    assert kitchen.evaluate(NOON + timedelta(seconds=30)) == [("imported", "b")]
    assert kitchen.cause() == "asked for by sensor new_uploads as 'b'"
    with kitchen.stage.store.begin() as tx:
        (one,) = tx.lock_evaluators_of(kitchen.stage.pin[0])
    assert one.cursor == "b"
    set_cursor(kitchen.stage.store, one.id, None, who="ann")
    assert kitchen.evaluate(NOON + timedelta(seconds=60)) == []


def test_22(kitchen: Kitchen) -> None:
    assert kitchen.evaluate(NOON) == []
    assert kitchen.make("shipped", "2026-03-07") == []
    assert kitchen.evaluate(NOON + timedelta(minutes=2)) == []
    kitchen.make("billed", "2026-03-07..2026-03-08")
    assert kitchen.evaluate(NOON + timedelta(minutes=4)) == [("reconciled", "2026-03-07")]
    assert kitchen.cause() == "asked for by sensor both_sides"
    kitchen.make("shipped", "2026-03-08")
    assert kitchen.evaluate(NOON + timedelta(minutes=6)) == [("reconciled", "2026-03-08")]
    assert kitchen.cause() == "asked for by sensor both_sides"


def test_each_recipe_is_tried() -> None:
    tried = {int(name.split("_")[1]) for name in globals() if re.fullmatch(r"test_\d+", name)}
    assert tried == set(recipes()) == set(range(1, 24))


def test_23(kitchen: Kitchen) -> None:
    assert kitchen.stage.look().requested == 8
    first = kitchen.stage.start()
    days = sorted(cell.cell.partition for one in first for cell in one.cells)
    assert days == ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04", "2026-03-08"]
    kitchen.stage.end(first)
    assert kitchen.at(NOON) == [("ledger", "2026-03-05"), ("ledger", "2026-03-06"), ("ledger", "2026-03-07")]
    past = "the past of it, 4 tasks at a time"
    assert kitchen.cause() == f"the time came for ledger: on_close(catch_up='all', pace=4); {past}"
