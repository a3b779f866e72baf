"""Named jobs on real Postgres: kept as shown, run by hand, ticked by several schedulers at once, paused, removed (S-201)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from partita.assets import Daily
from partita.core.automation.jobs import job_planner
from partita.core.automation.values import Limits
from partita.core.duties.jobs import run_jobs

Partita = Callable[..., tuple[int, str, str]]
DAYS = Daily("2013-01-01", end="2013-01-11")
NIGHTLY = {
    "name": "nightly",
    "selection": "orders",
    "partitions": "latest 3",
    "tags": {"team": "ops"},
    "cron": "0 6 * * *",
    "tz": "Europe/Berlin",
}


@pytest.fixture
def shop(world: Any) -> Any:
    world.activate([world.spec("orders", DAYS), world.spec("sums", DAYS, {"orders": DAYS})], checks=())
    return world


def ok(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def tick(shop: Any, max_cells: int = 500) -> Any:
    return run_jobs(shop.store, job_planner(shop.store.read, shop.catalogs, Limits(max_cells, 1e6)))


def make_due(shop: Any) -> None:
    with psycopg.connect(shop.url, autocommit=True) as connection:
        connection.execute("UPDATE job SET next_at = now() - interval '1 second'")


def test_a_job_is_kept_as_shown_and_each_tick_asks_once_whoever_looks(shop: Any, client: httpx.Client) -> None:
    shown = ok(client.post("/api/v1/jobs/preview", json=NIGHTLY))
    assert (
        shown["sentence"]
        == "Job nightly asks for orders latest 3 at 0 6 * * * in Europe/Berlin, whatever is missing then."
    )
    assert (shown["plan"]["cell_count"], len(shown["ticks"]), shown["exists"]) == (3, 5, False)
    assert shown["cli"] == (
        "partita jobs add nightly orders --partitions 'latest 3' --tag team=ops --cron '0 6 * * *' --tz Europe/Berlin"
    )
    assert ok(client.get("/api/v1/jobs"))["jobs"] == [], "a preview keeps nothing"
    kept = ok(client.post("/api/v1/jobs", json=NIGHTLY))
    assert (kept["next_at"], kept["lane"]) == (shown["ticks"][0], "scheduled")
    twice = client.post("/api/v1/jobs", json=NIGHTLY)
    assert (twice.status_code, twice.json()["error"]["what"]) == (409, "there is a job nightly already")
    assert tick(shop).taken == 0

    make_due(shop)
    with ThreadPoolExecutor(4) as threads:
        runs = sum(ran.runs for ran in threads.map(lambda _: tick(shop), range(4)))
    assert runs == 1
    found = ok(client.get("/api/v1/jobs/nightly"))
    assert found["last_note"] == "Materialize 3 cells of 1 asset: 3 missing"
    run = ok(client.get(f"/api/v1/runs/{found['last_run']}"))
    assert run["tags"] == {"team": "ops", "job": "nightly"}
    [entry] = ok(client.get("/api/v1/audit", params={"who": "job nightly"}))["entries"]
    assert entry["action"] == "launch"
    shop.work()
    make_due(shop)
    assert tick(shop).runs == 0
    assert ok(client.get("/api/v1/jobs/nightly"))["last_note"] == "nothing to do: all of it is fresh"


def test_a_tick_above_the_limit_asks_for_nothing_and_a_person_may(shop: Any, client: httpx.Client) -> None:
    ok(client.post("/api/v1/jobs", json={**NIGHTLY, "partitions": "all"}))
    make_due(shop)
    assert tick(shop, max_cells=5).runs == 0
    told = ok(client.get("/api/v1/jobs/nightly"))
    assert told["last_note"] == "asked for nothing: 10 cells, above its limit of 5"
    planned = ok(client.post("/api/v1/jobs/nightly/plan"))
    body = {"confirm_cells": planned["plan"]["cell_count"], "tags": planned["tags"], "lane": planned["lane"]}
    launched = ok(client.post(f"/api/v1/plans/{planned['plan']['id']}/launch", json=body))
    assert ok(client.get(f"/api/v1/runs/{launched['run_id']}"))["tags"]["job"] == "nightly"


def test_what_is_wrong_is_refused_before_it_is_kept(shop: Any, client: httpx.Client) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"cron": "61 * * * *"}, "61"),
        ({"tz": None}, "a cron without its zone"),
        ({"selection": "ordres"}, "orders"),
        ({"lane": "slow"}, "slow"),
        ({"name": "a b"}, "no name of a job"),
    ]
    for change, said in wrong:
        answer = client.post("/api/v1/jobs", json={**NIGHTLY, **change})
        assert answer.status_code in (400, 404, 409), change
        assert said in answer.text, answer.text
    assert ok(client.get("/api/v1/jobs"))["jobs"] == []
    assert client.get("/api/v1/jobs/nightly").status_code == 404


def test_the_command_line_keeps_runs_pauses_and_removes(shop: Any, partita: Partita) -> None:
    code, out, err = partita(
        "jobs", "add", "nightly", "orders", "--partitions", "latest 2", "--cron", "0 6 * * *", "--tz", "UTC", "-y"
    )
    assert code == 0, err
    assert "Next: " in out
    assert "nightly" in partita("jobs", "list")[1]
    code, out, err = partita("jobs", "run", "nightly", "--yes", "--no-wait")
    assert (code, "Launched run 1." in out) == (0, True), err
    assert partita("jobs", "pause", "nightly", "--reason", "the source lies", "--yes")[0] == 0
    assert "paused by" in " ".join(partita("jobs", "show", "nightly")[1].split())
    code, out, _ = partita("jobs", "resume", "nightly", "--yes")
    assert (code, out.startswith("0 ticks passed since it was paused: none of them is heeded; next ")) == (0, True)
    assert partita("jobs", "remove", "nightly", "--yes")[0] == 0
    assert "No job is kept." in partita("jobs", "list")[1]
    code, _, err = partita("jobs", "run", "nightly", "--yes")
    assert (code, "there is no job 'nightly'" in err) == (2, True)
