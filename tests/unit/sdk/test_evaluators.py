"""Observers, schedules and sensors: what is declared, what they are given and hand back, and errors that say what to write."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from partita.assets import DefinitionError
from partita.sdk import (
    AddKeys,
    Context,
    Daily,
    Dynamic,
    ObserveContext,
    PublishedEvent,
    Request,
    Resource,
    ScheduleContext,
    SensorContext,
    Skip,
    asset,
    external,
    observe,
    schedule,
    sensor,
)
from partita.sdk.collector import Collector, collecting
from partita.sdk.snapshot import build_snapshot, resolve_all
from partita.sdk.testing import evaluate

NOW = datetime(2026, 3, 2, 5, tzinfo=UTC)
days = Daily("2026-03-01")


@pytest.fixture(autouse=True)
def collector() -> Iterator[Collector]:
    made = Collector(strict=True)
    with collecting(made):
        yield made


def snapshot(collector: Collector) -> Any:
    broken: dict[str, str] = {}
    found = build_snapshot("shop", resolve_all(collector, broken), (), None)
    assert not broken, broken
    return found


def test_an_observer_makes_its_asset_observed_and_reports_versions(collector: Collector) -> None:
    files = external("source/files", partitions=days)

    @observe(files, every="5m", newest=7)
    def sizes(context: ObserveContext) -> dict[str, str]:
        context.cursor = "seen"
        return dict.fromkeys(context.partitions, "12")

    found = evaluate(sizes, now=NOW, partitions=["2026-03-01"])
    assert (found.cursor, found.versions) == ("seen", {"2026-03-01": "12"})
    made = snapshot(collector)
    assert made.assets[0].observed
    (spec,) = made.evaluators
    assert (spec.kind, spec.every_s, spec.observes, spec.newest) == ("observe", 300.0, "source/files", 7)
    assert spec.fingerprint


def test_code_of_a_function_is_a_part_of_the_version(collector: Collector) -> None:
    hashes = set()
    for wanted in ("a", "b"):
        other = Collector()
        with collecting(other):
            if wanted == "a":

                @sensor(every="1m", name="s")
                def one(context: SensorContext) -> Request:
                    return Request("a")
            else:

                @sensor(every="1m", name="s")
                def two(context: SensorContext) -> Request:
                    return Request("b")

            hashes.add(snapshot(other).evaluators[0].fingerprint)
    assert len(hashes) == 2


def test_a_schedule_is_given_its_tick_in_its_zone_and_no_window() -> None:
    @schedule("0 6 * * *", tz="Europe/Berlin", catch_up="all")
    def morning(context: ScheduleContext) -> list[Request]:
        assert context.tick.tzinfo == ZoneInfo("Europe/Berlin")
        return [Request("orders", "latest", key=context.tick.isoformat())]

    found = evaluate(morning, now=NOW, tick=NOW)
    assert found.requests[0]["key"] == "2026-03-02T06:00:00+01:00"

    @schedule("0 6 * * *", tz="Europe/Berlin")
    def windowed(context: ScheduleContext) -> Request:
        return Request("orders", str(context.window))

    failed = evaluate(windowed, now=NOW)
    assert "a tick has no window" in failed.error
    assert "use context.tick" in failed.error
    assert failed.requests == ()


def test_a_reason_to_ask_for_nothing_is_kept() -> None:
    @schedule("0 6 * * *", tz="UTC")
    def holiday(context: ScheduleContext) -> None:
        raise Skip("a holiday")

    assert evaluate(holiday, now=NOW).skip == "a holiday"


def test_a_sensor_yields_requests_and_keys_and_moves_its_cursor() -> None:
    customers = Dynamic("customers")

    @asset(partitions=customers, io=None)
    def orders(context: Context) -> None: ...

    @sensor(every="30s")
    def new_customers(context: SensorContext) -> Iterator[Request | AddKeys]:
        yield AddKeys(customers, ["acme"], ttl="1d")
        yield Request(orders, ["acme"], key="acme")
        context.cursor = "acme"

    found = evaluate(new_customers, now=NOW)
    assert found.cursor == "acme"
    assert found.keys == ({"scheme": "customers", "keys": ["acme"], "ttl_s": 86400.0},)
    assert found.requests[0]["selection"] == '"orders"'
    assert found.requests[0]["partitions"] == '"acme"'


def test_a_sensor_of_readiness_returns_a_part_of_what_it_was_asked_about() -> None:
    @asset(partitions=days, io=None)
    def orders(context: Context) -> None: ...

    @sensor(every="1m", ready=orders)
    def there(context: SensorContext) -> list[str]:
        return [key for key in context.partitions if key != "2026-03-02"] or ["2031-01-01"]

    found = evaluate(there, now=NOW, partitions=["2026-03-01", "2026-03-02"])
    assert found.requests[0]["partitions"] == '"2026-03-01"'
    assert "2031-01-01" in evaluate(there, now=NOW, partitions=["2026-03-02"]).error


def test_events_and_resources_arrive_and_async_functions_are_awaited() -> None:
    class Feed(Resource):
        name: str = "feed"

    @sensor(every="1m", watches=["orders"])
    async def told(context: SensorContext, feed: Feed) -> list[Request]:
        return [Request(feed.name, [one.partition]) for one in context.events]

    event = PublishedEvent("orders", "2026-03-01", "v1", NOW, 7)
    found = evaluate(told, now=NOW, events=[event], resources=[Feed(name="mart")])
    assert found.requests[0]["selection"] == "mart"


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (3, "returns 3"),
        ("orders", "returns 'orders'"),
        ([Request("a"), 7], "returns 7"),
        (Request([]), "names no asset"),
        (Request("a", []), "asks for nothing"),
        (Request("a", mode="mising"), "mode"),
    ],
)
def test_what_is_no_request_is_refused_with_what_to_return(result: Any, told: str) -> None:
    @sensor(every="1m")
    def wrong(context: SensorContext) -> Any:
        return result

    found = evaluate(wrong, now=NOW)
    assert told in found.error
    assert found.traceback


def test_a_failing_function_asks_for_nothing() -> None:
    @sensor(every="1m")
    def fails(context: SensorContext) -> Iterator[Request]:
        yield Request("orders")
        raise ValueError("boom")

    found = evaluate(fails, now=NOW, cursor="7")
    assert (found.error, found.requests, found.cursor) == ("ValueError: boom", (), None)


def test_declarations_that_cannot_work_say_what_to_write() -> None:
    files = external("files")
    with pytest.raises(DefinitionError, match=r"period or a cron.*every="):

        @sensor()
        def untimed(context: SensorContext) -> None: ...

    with pytest.raises(DefinitionError, match="time zone"):

        @observe(files, cron="0 6 * * *")
        def zoneless(context: ObserveContext) -> None: ...

    with pytest.raises(DefinitionError, match="Mars"):

        @schedule("0 6 * * *", tz="Europe/Mars")
        def there(context: ScheduleContext) -> None: ...

    with pytest.raises(DefinitionError, match="write `context: SensorContext`"):

        @sensor(every="1m")
        def other(context: Context) -> None: ...

    with pytest.raises(DefinitionError, match=r"external\("):
        observe("files", every="1m")  # type: ignore[arg-type]
    with pytest.raises(DefinitionError, match="two sensors"):
        sensor(every="1m", ready="a", watches=["b"])


def test_a_name_belongs_to_one_function_of_a_location() -> None:
    def again(context: SensorContext) -> None: ...

    sensor(every="1m")(again)
    with pytest.raises(DefinitionError, match="defined twice"):
        sensor(every="2m")(again)


def test_a_cursor_is_a_text_of_bounded_size() -> None:
    @sensor(every="1m")
    def numbered(context: SensorContext) -> None:
        context.cursor = 7  # type: ignore[assignment]

    @sensor(every="1m")
    def large(context: SensorContext) -> None:
        context.cursor = "x" * 70_000

    assert "a cursor is a text" in evaluate(numbered, now=NOW).error
    assert "64 KB" in evaluate(large, now=NOW).error
