"""Why nothing is made of an asset: each cause has its words, the binding one first (S-250); covers and due at (S-085)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from partita.assets import Daily, Dynamic, ModuleSpec
from partita.core.automation import run_automation
from partita.core.duties.jobs import add_job
from partita.core.duties.pause import pause
from partita.core.store.values import Pool
from partita.core.store.values_actions import EVERYTHING
from partita.core.store.values_definitions import LocationState
from partita.core.store.values_jobs import Job
from partita.sdk import eager, on_missing

Partita = Callable[..., tuple[int, str, str]]
NOW = datetime.now(UTC)
DAYS = Daily("2026-03-01", end="2026-03-04")
AHEAD = Daily(f"{NOW.year + 2}-03-01", tz="Europe/Berlin")


def ask(client: httpx.Client, key: str, partition: str | None = None) -> Any:
    more = {} if partition is None else {"partition": partition}
    answer = client.get("/api/v1/asset/why", params={"key": key, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def codes(told: Any) -> list[str]:
    """What is told besides the processes, of which this deployment has none."""
    return [one["code"] for one in told["reasons"] if one["code"] not in ("no_scheduler", "no_worker")]


def text(told: Any, code: str) -> str:
    return str(next(one["text"] for one in told["reasons"] if one["code"] == code))


def test_a_start_in_the_future_tells_when_the_first_window_is_due(world: Any, client: httpx.Client) -> None:
    """S-250, S-085: a future start date; `covers` and `due at` are told apart."""
    world.activate([world.spec("later", AHEAD, automation=on_missing().spec)], checks=())
    told = ask(client, "later")
    assert codes(told) == ["not_started", "not_closed"]
    first = f"{NOW.year + 2}-03-01"
    assert "which is still to come" in text(told, "not_started")
    assert (
        f"covers {first} 00:00 to {NOW.year + 2}-03-02 00:00, due at {NOW.year + 2}-03-02 00:00 Europe/Berlin"
        in text(told, "not_started")
    )
    assert told["sentence"].startswith("nothing is made of later: its partitions start at")
    assert (told["window"]["partition"], told["latest"], told["decision"]) == (first, None, None)


def test_a_start_that_is_computed_from_the_clock_is_found_out(world: Any, client: httpx.Client) -> None:
    """S-250: a dynamic start date moves away with each load."""
    for days in (1, 0):
        scheme = Daily((NOW + timedelta(days=1 - days)).replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0))
        world.activate([world.spec("moving", scheme, automation=on_missing().spec)], checks=())
    assert "computed from the clock" in text(ask(client, "moving"), "not_started")


@pytest.mark.parametrize(
    ("partition", "code", "says"),
    [
        ("2026-02-28", "before_start", "it lies before the start; the first partition is '2026-03-01'"),
        ("2026-03-04", "ended", "it lies past the end; the last partition is '2026-03-03'"),
    ],
)
def test_a_partition_that_is_none_is_explained(
    world: Any, client: httpx.Client, partition: str, code: str, says: str
) -> None:
    world.activate([world.spec("orders", DAYS)], checks=())
    told = ask(client, "orders", partition)
    assert told["sentence"] == f"orders {partition} is no partition now: {says}"
    assert codes(told) == [code, "unasked"]
    assert client.get("/api/v1/asset/why", params={"key": "orders", "partition": "yesterday"}).status_code == 404


def test_a_window_that_has_not_closed_says_when_it_is_due(world: Any, client: httpx.Client, partita: Partita) -> None:
    """S-085: the label and the due time lie a whole window apart."""
    world.activate([world.spec("daily", Daily("2026-03-01", tz="Asia/Tokyo"))], checks=())
    coming = f"{NOW.year + 1}-05-01"
    told = ask(client, "daily", coming)
    assert codes(told)[0] == "not_closed"
    assert told["window"]["covers_from"] == f"{NOW.year + 1}-04-30T15:00:00Z"
    assert told["window"]["due_at"] == told["window"]["covers_to"] == f"{NOW.year + 1}-05-01T15:00:00Z"
    code, out, _ = partita("why", "daily", coming)
    assert code == 0
    assert (
        f"{coming} covers {coming} 00:00 to {NOW.year + 1}-05-02 00:00, due at {NOW.year + 1}-05-02 00:00 Asia/Tokyo"
        in out
    )
    _, out, _ = partita("why", "daily", "2026-03-02")
    assert "  covers 2026-03-02 00:00 to 2026-03-03 00:00, due at 2026-03-03 00:00 Asia/Tokyo" in out.splitlines()
    [first, *_] = client.get("/api/v1/asset/partitions", params={"key": "daily"}).json()["items"]
    assert (first["window_start"], first["due_at"]) == ("2026-02-28T15:00:00Z", "2026-03-01T15:00:00Z")
    cell = client.get("/api/v1/asset/cell", params={"key": "daily", "partition": "2026-03-02"}).json()
    assert (cell["window_end"], cell["due_at"]) == ("2026-03-02T15:00:00Z", "2026-03-02T15:00:00Z")


def test_a_horizon_moves_what_is_due_and_not_what_is_covered(world: Any, client: httpx.Client) -> None:
    world.activate([world.spec("late", Daily("2026-03-01", horizon=-2))], checks=())
    cell = client.get("/api/v1/asset/cell", params={"key": "late", "partition": "2026-03-01"}).json()
    assert (cell["window_end"], cell["due_at"]) == ("2026-03-02T00:00:00Z", "2026-03-04T00:00:00Z")


def test_a_pause_of_the_asset_or_of_everything_binds_first(world: Any, client: httpx.Client, partita: Partita) -> None:
    world.activate([world.spec("orders", DAYS, automation=on_missing().spec)], checks=())
    pause(world.store, [world.asset_id("orders")], who="ada", reason="the source lies", said={})
    told = ask(client, "orders")
    assert codes(told)[0] == "paused"
    assert "its asset is paused by ada" in told["sentence"]
    assert told["sentence"].endswith("the source lies; `partita resume 'orders'`")
    pause(world.store, [EVERYTHING], who="bob", reason="", said={})
    code, out, _ = partita("why", "orders")
    assert code == 0
    assert out.startswith("nothing is made of orders: everything is paused by bob")
    assert "its asset is paused by ada" in out


def test_what_nobody_asks_for_says_so_and_names_the_jobs(world: Any, client: httpx.Client) -> None:
    world.activate([world.spec("orders", DAYS)], checks=())
    assert "it has no automation=, and no job selects it" in text(ask(client, "orders"), "unasked")
    request = {"selection": "orders", "partitions": "latest", "mode": "missing"}
    add_job(world.store, Job("nightly", request, "scheduled", "ada", NOW, cron="0 6 * * *", tz="UTC"), replacing=False)
    assert "only a job does: nightly (next at " in text(ask(client, "orders"), "unasked")


def test_definitions_that_do_not_load_are_named(world: Any, client: httpx.Client) -> None:
    orders = world.spec("orders", DAYS, automation=on_missing().spec)
    world.activate([orders], checks=())
    broken = [ModuleSpec(name="flights.assets", ok=False, error="Traceback\nImportError: no module named lake")]
    world.activate([], checks=(), modules=broken, state=LocationState.SERVING)
    told = ask(client, "orders")
    assert codes(told)[0] == "load_error"
    assert "ImportError: no module named lake" in told["sentence"]
    answer = client.get("/api/v1/asset/why", params={"key": "new/asset"})
    assert answer.status_code == 404
    assert "it may be defined where definitions do not load: flights" in answer.json()["error"]["fix"]


def test_a_location_without_a_server_and_an_external_asset(world: Any, client: httpx.Client) -> None:
    world.activate(
        [world.spec("source", DAYS, kind="external"), world.spec("orders", DAYS, {"source": DAYS})], checks=()
    )
    assert codes(ask(client, "source")) == ["external"]
    with world.store.begin() as tx:
        tx.put_code_server("server-flights", tx.put_location("flights"), "127.0.0.1:1", [], -60)
    assert text(ask(client, "orders"), "location_down").startswith("no code server of location flights is alive")


def test_dynamic_partitions_without_keys(world: Any, client: httpx.Client) -> None:
    world.activate([world.spec("per_tenant", Dynamic("tenants"), automation=eager().spec)], checks=())
    told = ask(client, "per_tenant")
    assert codes(told) == ["no_keys"]
    assert told["sentence"].endswith("partita partitions add tenants KEY")


def test_the_cap_of_the_asset_names_its_holders(world: Any, client: httpx.Client) -> None:
    """S-250: at max_active, S-093: one partition at a time."""
    world.activate([world.spec("orders", DAYS, max_active=1)], checks=())
    world.launch("orders")
    world.claim(1)
    told = ask(client, "orders")
    assert "max_active" in codes(told)
    assert "; held by orders 2026-03-01 (running, run 1)" in text(told, "max_active")
    assert "asset_cap" in codes(told), "the newest partition waits for that very cap"


def test_an_earlier_partition_of_itself_is_told(world: Any, client: httpx.Client) -> None:
    """S-250: depends_on_past."""
    from partita.assets import AssetSpec, InputSpec, to_spec
    from partita.assets.mappings.definitions import TimeOverlap

    own = InputSpec(name="before", upstream="sums", mapping=to_spec(TimeOverlap(offset_start=-1, offset_end=-1)))
    plain = world.spec("sums", DAYS)
    world.activate([AssetSpec(**{**dict(plain), "inputs": (own,)})], checks=())
    world.launch("sums")
    assert "blocked_by_past" in codes(ask(client, "sums"))
    world.work(limit=1, result=world.failed)
    told = ask(client, "sums")
    assert "blocked_by_past" in codes(told)


def test_the_latest_verdict_and_a_request_above_the_limit(world: Any, client: httpx.Client) -> None:
    assets = [
        world.spec("orders", DAYS),
        world.spec("totals", DAYS, {"orders": DAYS}, automation=eager().spec, automatic_limit=1),
    ]
    world.activate(assets, checks=())
    assert "condition_rests" in codes(ask(client, "totals"))
    assert ask(client, "totals")["decision"]["tree"]["text"] == "eager()"
    world.launch("orders")
    world.work(result=lambda one: world.written(one)._replace(automation_assets=world.catalog.automation_assets))
    run_automation(world.store, world.catalogs)
    told = ask(client, "totals")
    assert "waits for approval: `partita requests approve 1`" in text(told, "awaiting_approval")
    assert told["sentence"].startswith("nothing is made of totals: no scheduler is alive")


def test_what_is_made_says_when_the_next_is_due(world: Any, client: httpx.Client, partita: Partita) -> None:
    world.activate([world.spec("daily", Daily((NOW - timedelta(days=2)).date().isoformat()))], checks=())
    world.launch("daily")
    world.work()
    told = ask(client, "daily")
    assert told["sentence"].startswith(f"daily is fresh to {told['latest']}; {told['window']['partition']} covers ")
    assert json.loads(partita("why", "daily", "--json")[1])["latest"] == told["latest"]
    world.activate([world.spec("whole")], checks=())
    _, out, _ = partita("why", "whole")
    assert out.startswith("whole is missing: it was never materialized\n  no_scheduler: ")


def test_the_processes_that_lack_are_told(world: Any, client: httpx.Client) -> None:
    world.activate([world.spec("orders", DAYS, pools=())], checks=())
    with world.store.begin() as tx:
        tx.set_pool(Pool("warehouse", 4))
    found = [one["code"] for one in ask(client, "orders")["reasons"]]
    assert found[:2] == ["no_scheduler", "no_worker"]
