"""Events of producers outside partita over REST and the command line, on real Postgres (S-174, S-219, S-223)."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from partita.assets import Daily
from partita.assets.specs import EagerSpec
from partita.core.automation import Limits, run_automation
from partita.core.catalog import CatalogCache
from partita.core.store.open import open_store

Partita = Callable[..., tuple[int, str, str]]
DAYS = Daily("2013-01-01", end="2013-02-01", tz="America/New_York")


@pytest.fixture
def fed(world: Any) -> Any:
    """An observed source with an eager consumer."""
    world.activate(
        [
            world.spec("source/orders", DAYS, kind="external", observed=True),
            world.spec("source/rates", None, kind="external", observed=True),
            world.spec("source/flights", DAYS, kind="external"),
            world.spec("orders", DAYS, {"source/orders": DAYS}, automation=EagerSpec()),
        ],
        checks=(),
    )
    return world


def send(client: httpx.Client, *, status: int = 200, **body: Any) -> Any:
    answer = client.post("/api/events", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def event(partition: str, version: str = "v1", **more: Any) -> dict[str, Any]:
    return {"asset": "source/orders", "partition": partition, "data_version": version, **more}


def rows(world: Any, statement: str) -> list[Any]:
    with psycopg.connect(world.url) as connection:
        return connection.execute(statement.encode()).fetchall()


def test_an_event_is_what_the_partition_holds_and_its_consumer_is_asked_for(fed: Any, client: httpx.Client) -> None:
    told: dict[str, Any] = {
        "key": "1",
        "scope": "till",
        "data_time": "2013-01-02T05:00:00+01:00",
        "metadata": {"rows": 7},
    }
    (taken,) = send(client, **event("2013-01-01", **told))["events"]
    assert (taken["outcome"], taken["partition"], taken["data_version"]) == ("observed", "2013-01-01", "v1")
    assert "partita_todo" in fed.woken
    seen = client.get("/api/v1/asset/cell", params={"key": "source/orders", "partition": "2013-01-01"}).json()
    assert (seen["state"], seen["published"]["data_version"]) == ("fresh", "v1")
    assert seen["published"]["metadata"] == {"rows": 7, "data_time": "2013-01-02T04:00:00+00:00", "observed_by": "till"}
    assert run_automation(fed.store, fed.catalogs).requested == 1
    assert send(client, **event("2013-01-01", key="2"))["events"][0]["outcome"] == "unchanged"
    assert run_automation(fed.store, fed.catalogs).taken == 0, "nothing moved: nobody follows (S-223)"
    assert [row[0] for row in rows(fed, "SELECT kind FROM event WHERE kind = 'observed'")] == ["observed"]


def test_what_follows_a_report_is_in_its_trace(
    fed: Any, client: httpx.Client, partita: Partita, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-248: by the header, and by the environment of the command."""

    def followed() -> str:
        run = run_automation(fed.store, fed.catalogs).run_id
        return str(client.get(f"/api/v1/runs/{run}").json()["trace_id"])

    first, second = "4b" * 16, "5c" * 16
    client.post("/api/events", json=event("2013-01-01"), headers={"traceparent": f"00-{first}-00f067aa0ba902b7-01"})
    assert followed() == first
    monkeypatch.setenv("TRACEPARENT", f"00-{second}-00f067aa0ba902b7-01")
    assert partita("report", "source/orders", "--partition", "2013-01-02", "--version", "v1")[0] == 0
    assert followed() == second


def test_a_batch_said_again_gets_the_same_answer_and_changes_nothing(fed: Any, client: httpx.Client) -> None:
    batch: dict[str, Any] = {"scope": "till", "events": [event(f"2013-01-0{n}", key=str(n)) for n in range(1, 6)]}
    first = send(client, **batch)
    send(client, **event("2013-01-01", "v2", key="9", scope="till"))
    before = rows(fed, "SELECT data_version, version_at FROM cell ORDER BY asset_id, partition")
    assert send(client, **batch) == first
    assert rows(fed, "SELECT data_version, version_at FROM cell ORDER BY asset_id, partition") == before
    assert rows(fed, "SELECT count(*) FROM event WHERE kind = 'observed'") == [(6,)]


def test_the_same_key_with_another_content_names_both(fed: Any, client: httpx.Client) -> None:
    send(client, **event("2013-01-01", key="1"))
    refused = send(client, status=409, **event("2013-01-02", "v2", key="1"))["error"]
    assert refused["what"].startswith("key '1' was used for source/orders 2013-01-01 at version 'v1' at ")
    assert refused["what"].endswith("; now it comes for source/orders 2013-01-02 at version 'v2'")


@pytest.mark.parametrize(
    ("bad", "status", "told"),
    [
        ({"asset": "source/order"}, 404, "did you mean 'source/orders'"),
        ({"partition": "2013-01-1"}, 404, "they run from '2013-01-01' to '2013-01-31'"),
        ({"partition": "2013-02-01"}, 404, "the last partition is '2013-01-31'"),
        ({"asset": "orders"}, 400, "is made by partita"),
        ({"asset": "source/flights"}, 400, 'observe="push"'),
        ({"data_version": ""}, 422, "data_version"),
        ({"metadata": {"x": "y" * 70_000}}, 400, "at most 65,536 bytes"),
        ({"data_time": "2013-01-02T05:00:00"}, 422, "timezone"),
        ({"colour": "red"}, 422, "colour"),
    ],
)
def test_a_bad_event_is_refused_with_its_batch_and_changes_nothing(
    fed: Any, client: httpx.Client, bad: dict[str, Any], status: int, told: str
) -> None:
    refused = send(client, status=status, events=[event("2013-01-01", key="1"), {**event("2013-01-02"), **bad}])
    assert told in json.dumps(refused["error"], ensure_ascii=False).replace('\\"', '"'), refused
    assert rows(fed, "SELECT (SELECT count(*) FROM cell), (SELECT count(*) FROM report)") == [(0, 0)]


def test_however_many_schedulers_look_each_event_asks_once(fed: Any, client: httpx.Client) -> None:
    """Three look at once while producers report and repeat themselves; one request per cell and state."""
    looking = [(store, CatalogCache(store.read)) for store in (open_store(fed.url) for _ in range(3))]

    def look(which: int) -> None:
        store, catalogs = looking[which]
        while run_automation(store, catalogs, limit=3, limits=Limits()).taken:
            pass

    with ThreadPoolExecutor(6) as pool:
        batches = [
            [event(f"2013-01-{day:02}", key=f"{day}") for day in range(at, at + 10)] for at in (1, 6, 11, 16, 21)
        ]
        sent = [pool.submit(send, client, events=batch) for batch in (*batches, *batches)]
        seen = [pool.submit(look, which) for which in (0, 1, 2) * 4]
        for future in (*sent, *seen):
            future.result()
    look(0)
    for store, _ in looking:
        store.close()
    assert rows(fed, "SELECT count(*), count(DISTINCT partition) FROM automation_request") == [(30, 30)]
    assert rows(fed, "SELECT count(*), count(DISTINCT partition) FROM open_cell") == [(30, 30)]
    assert rows(fed, "SELECT count(*) FROM event WHERE kind = 'observed'") == [(30,)]
    assert rows(fed, "SELECT count(*) FROM event_todo WHERE consumer = 'automation'") == [(0,)]


def test_the_command_says_the_same(fed: Any, partita: Partita) -> None:
    code, out, _ = partita("report", "source/orders", "--partition", "2013-01-01", "--version", "v1", "--key", "1")
    assert (code, out) == (
        0,
        "source/orders 2013-01-01 at v1: holds another version than before: consumers follow\n",
    )
    asked = ("--scope", "till", "--metadata", "rows=7", "--data-time", "2013-01-02T05:00:00+01:00", "--json")
    code, out, _ = partita("report", "source/rates", "--version", "7", *asked)
    assert (code, json.loads(out)["events"][0]["outcome"]) == (0, "observed")
    assert rows(fed, "SELECT metadata->'rows' FROM cell WHERE data_version = '7'") == [(7,)]
    code, _, err = partita("report", "source/order", "--version", "7")
    assert code != 0
    assert "did you mean 'source/orders'" in err
    code, _, err = partita("report", "source/rates", "--version", "7", "--data-time", "yesterday")
    assert code != 0
    assert "--data-time 'yesterday' is not an instant" in err


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_not_read(fed: Any, client: httpx.Client, chunked: bool) -> None:
    body = b'{"events": [' + b" " * (17 * 1024**2)
    content: Any = (body[at : at + 2**20] for at in range(0, len(body), 2**20)) if chunked else body
    answer = client.post("/api/events", content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert "the body of a request has at most 16 MB" in answer.text
    assert send(client, **event("2013-01-01"))["events"][0]["outcome"] == "observed", "the next one is served"
