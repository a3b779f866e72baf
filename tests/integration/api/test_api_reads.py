"""What the API answers about assets, cells and runs, on real Postgres through the real duties."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx
import psycopg
import pytest

from partita.assets import ModuleSpec


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(f"/api/v1{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_fresh_deployment_answers_everything_with_nothing(client: httpx.Client) -> None:
    assert get(client, "/assets") == {"assets": [], "total": 0}
    assert get(client, "/graph")["nodes"] == []
    assert get(client, "/runs") == {"runs": [], "total": 0}
    assert get(client, "/backfills") == {"backfills": [], "total": 0}
    assert get(client, "/queue")["waiting"] == []
    assert get(client, "/locations") == []
    assert get(client, "/automation") == {"consumers": [], "requests": [], "waiting": [], "faults": []}
    assert get(client, "/summary")["counts"] == {}
    assert client.get("/healthz").json()["ok"] is True


def test_assets_are_listed_with_counts_and_never_with_keys(world: Any, client: httpx.Client) -> None:
    world.activate()
    listed = {one["key"]: one for one in get(client, "/assets")["assets"]}
    assert list(listed) == ["source/flights", "raw/flights", "weather", "delays", "health"]
    assert listed["raw/flights"]["counts"] == {"missing": 31}
    assert listed["raw/flights"]["cadence"] == "day"
    assert listed["weather"]["partitions_kind"] == "multi"
    assert listed["weather"]["partition_count"] == 31 * 4
    assert listed["source/flights"]["counts"] == {"fresh": 31}
    assert listed["health"]["automation"] == {"condition": "eager()"}
    assert listed["health"]["partitions_kind"] == "none"
    assert [one["key"] for one in get(client, "/assets", select="+delays")["assets"]][-1] == "delays"
    assert [one["key"] for one in get(client, "/assets", search="DEPARTURES")["assets"]] == ["raw/flights"]


def test_a_published_month_is_fresh_and_a_changed_upstream_makes_exactly_its_consumers_stale(
    world: Any, client: httpx.Client
) -> None:
    world.activate()
    world.launch("delays", partitions="2013-01-01..2013-01-10", upstream=True)
    world.work()
    counts = {one["key"]: one["counts"] for one in get(client, "/assets")["assets"]}
    assert counts["raw/flights"] == {"fresh": 10, "missing": 21}
    assert counts["weather"] == {"fresh": 40, "missing": 84}
    # `health` needs all of January.
    assert counts["health"] == {"missing": 1}
    detail = get(client, "/asset", key="delays")
    assert detail["fresh_to"] == "2013-01-10"
    assert detail["verdict"]["sentence"].startswith("Fresh to 2013-01-10.")
    assert detail["checks"][0]["last"]["passed"] is True
    assert detail["code"]["function"] == "flights.assets:delays"
    assert detail["last_materialized_at"] is not None

    world.launch("raw/flights", partitions="2013-01-04", mode=["all"])
    world.work(result=lambda claimed: world.written(claimed, version="v2"))
    counts = {one["key"]: one["counts"] for one in get(client, "/assets")["assets"]}
    assert counts["delays"] == {"fresh": 9, "stale": 1, "missing": 21}
    cell = get(client, "/asset/cell", key="delays", partition="2013-01-04")
    assert cell["state"] == "stale"
    assert cell["reasons"][0]["upstream"] == {"key": "raw/flights", "partition": "2013-01-04"}
    moved = {one["upstream"]: one["moved"] for one in cell["inputs"]}
    assert moved["raw/flights"] == ["2013-01-04"]
    assert moved["weather"] == []
    assert cell["published"]["rows"] == 842
    assert cell["checks"][0]["detail"] == {"worst": 3}
    verdict = get(client, "/asset", key="delays")["verdict"]
    assert "1 day is stale: raw/flights 2013-01-04 changed." in verdict["sentence"]
    assert verdict["severity"] == "warn"
    why = get(client, "/why", key="delays", partition="2013-01-04")
    assert why["sentence"] == "delays 2013-01-04 is stale: raw/flights 2013-01-04 changed"


def test_the_strip_has_buckets_along_time_and_rows_for_the_other_dimension(world: Any, client: httpx.Client) -> None:
    world.activate()
    world.launch("weather", partitions="day=2013-01-01..2013-01-05; origin=JFK")
    world.work()
    strip = get(client, "/asset/strip", key="weather", buckets=31)
    assert (strip["size"], strip["cadence"], strip["tz"]) == (31, "day", "America/New_York")
    assert strip["buckets"][0]["counts"] == {"fresh": 1, "missing": 3}
    assert strip["buckets"][0]["first_key"] == "2013-01-01"
    assert strip["buckets"][0]["start"] == "2013-01-01T05:00:00Z"
    assert strip["row_dim"] == "origin"
    rows = {row["dim_key"]: row["buckets"] for row in strip["rows"]}
    assert rows["JFK"][4] == {"fresh": 1}
    assert rows["EWR"][4] == {"missing": 1}
    narrowed = get(client, "/asset/strip", key="weather", where=json.dumps({"origin": "JFK"}), lo=3, hi=8, buckets=2)
    assert narrowed["rows"] is None
    assert [(one["lo"], one["hi"], one["counts"]) for one in narrowed["buckets"]] == [
        (3, 5, {"fresh": 2}),
        (5, 8, {"missing": 3}),
    ]


def test_partitions_come_in_pages_and_by_state(world: Any, client: httpx.Client) -> None:
    world.activate()
    world.launch("raw/flights", partitions="2013-01-30..")
    world.work()
    page = get(client, "/asset/partitions", key="raw/flights", state="fresh")
    assert (page["total"], [one["partition"] for one in page["items"]]) == (2, ["2013-01-30", "2013-01-31"])
    assert page["items"][0]["data_version"] == "v1"
    page = get(client, "/asset/partitions", key="raw/flights", offset=28, limit=2)
    assert [one["state"] for one in page["items"]] == ["missing", "fresh"]


@pytest.mark.parametrize("partition", ['["2013-01-02","odd \\"one\\", [x]..y"]'])
def test_any_key_is_legal_everywhere(world: Any, client: httpx.Client, partition: str) -> None:
    """Law 9: keys are data, and nothing splits them."""
    world.activate()
    text = 'day=2013-01-02; origin="odd \\"one\\", [x]..y"'
    resolved = get(client, "/asset/resolve", key="weather", partitions=text)
    assert (resolved["count"], resolved["error"]) == (1, None)
    again = get(client, "/asset/resolve", key="weather", partitions=resolved["ranges_text"])
    assert again["count"] == 1
    world.launch("weather", partitions=text)
    world.work()
    cell = get(client, "/asset/cell", key="weather", partition=partition)
    assert cell["state"] == "fresh"
    assert cell["dimensions"] == {"day": "2013-01-02", "origin": 'odd "one", [x]..y'}


def test_a_text_that_does_not_parse_is_an_answer_with_the_nearest_key(world: Any, client: httpx.Client) -> None:
    world.activate()
    resolved = get(client, "/asset/resolve", key="raw/flights", partitions="2013-01-32")
    assert resolved["count"] == 0
    assert "2013-01-32" in resolved["error"]["what"]


def test_refusals_say_what_the_rule_and_the_fix(world: Any, client: httpx.Client) -> None:
    """Law 10."""
    world.activate()
    answer = client.get("/api/v1/asset", params={"key": "raw/flihts"})
    assert answer.status_code == 404
    assert "raw/flights" in answer.json()["error"]["fix"]
    assert client.get("/api/v1/asset").json()["error"]["what"] == "`key` is missing"
    assert client.get("/api/v1/nothing").status_code == 404
    assert client.get("/api/v1/runs/7").json()["error"]["what"] == "there is no run 7"
    answer = client.get("/api/v1/asset/strip", params={"key": "raw/flights", "where": '{"x": "y"}'})
    assert answer.status_code == 400


@pytest.mark.parametrize(
    "path",
    [
        "runs/{}",
        "runs/{}/tasks",
        "tasks/{}",
        "attempts/{}",
        "attempts/{}/log",
        "backfills/{}",
        "plans/{}",
        "runs?offset={}",
        "backfills?offset={}",
        "asset/strip?key=raw/flights&lo={}",
    ],
)
@pytest.mark.parametrize("number", [2**63, 10**30, -(2**63) - 1])
def test_numbers_beyond_the_databases_are_refused_by_name(client: httpx.Client, path: str, number: int) -> None:
    """Law 10: they used to be a failure of the API."""
    answer = client.get("/api/v1/" + path.format(number))
    assert answer.status_code == 422
    assert "cannot be used" in answer.json()["error"]["what"]


@pytest.mark.parametrize("path", ["runs?state=flying", "runs/1/tasks?state=flying"])
def test_a_state_that_does_not_exist_is_refused_and_not_taken_for_an_empty_list(
    client: httpx.Client, path: str
) -> None:
    answer = client.get("/api/v1/" + path)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert "state" in error["what"]
    assert "'running'" in error["rule"]


def test_a_module_that_does_not_load_keeps_its_assets_and_is_shown_with_its_error(
    world: Any, client: httpx.Client
) -> None:
    """S-056: load errors are per module, and reach the UI."""
    world.activate()
    broken = ModuleSpec(name="flights.assets", ok=False, error="Traceback ...\nImportError: no module named 'oops'")
    world.activate(assets=(), checks=(), modules=(broken,))
    listed = {one["key"]: one for one in get(client, "/assets")["assets"]}
    assert listed["delays"]["load_error"] == "ImportError: no module named 'oops'"
    location = get(client, "/locations")[0]
    assert len(location["kept_assets"]) == 5
    assert location["modules"][0]["ok"] is False
    needs = get(client, "/summary")["needs_me"]
    assert any("flights.assets does not load" in one["text"] for one in needs)


def test_the_graph_has_the_edges_of_what_is_selected(world: Any, client: httpx.Client) -> None:
    world.activate()
    graph = get(client, "/graph", select="1+delays")
    assert {one["key"] for one in graph["nodes"]} == {"raw/flights", "weather", "delays"}
    assert {(one["from"], one["to"]) for one in graph["edges"]} == {("raw/flights", "delays"), ("weather", "delays")}
    before = graph["hash"]
    changed = [world.spec("other", None)]
    world.activate(assets=[*world.assets, *changed])
    assert get(client, "/graph")["hash"] != before


def test_states_follow_the_task_from_launch_to_end(world: Any, client: httpx.Client) -> None:
    """The board keeps what it computed; every step of a task must still show."""

    def counts() -> dict[str, int]:
        found = {one["key"]: one["counts"] for one in get(client, "/assets")["assets"]}
        return {state: count for state, count in found["raw/flights"].items() if state != "missing"}

    world.activate()
    assert counts() == {}
    world.launch("raw/flights", partitions="2013-01-01..2013-01-03")
    assert counts() == {"scheduled": 3}
    [first] = world.claim(1)
    assert counts() == {"queued": 2, "running": 1}
    world.finish([world.failed(first)])
    assert counts() == {"queued": 2, "failed": 1}
    [second] = world.claim(1)
    assert counts() == {"queued": 1, "running": 1, "failed": 1}
    world.finish([world.written(second)])
    assert counts() == {"queued": 1, "failed": 1, "fresh": 1}
    world.work()
    assert counts() == {"failed": 1, "fresh": 2}


def test_a_run_took_from_its_first_attempt_on(world: Any, client: httpx.Client) -> None:
    world.activate()
    run_id = world.launch("raw/flights", partitions="2013-01-03")
    [first] = world.claim(1)
    started = get(client, f"/runs/{run_id}")["started_at"]
    with psycopg.connect(world.url) as connection:  # what the claim of a second attempt writes
        connection.execute(
            "UPDATE task SET attempt_number = 2, started_at = started_at + interval '1 hour' WHERE id = %s",
            [first.task.id],
        )
    assert get(client, f"/runs/{run_id}")["started_at"] == started


def test_a_partition_that_fails_its_check_is_shown_beside_a_newer_result(world: Any, client: httpx.Client) -> None:
    world.activate()
    world.launch("delays", partitions="2013-01-03..2013-01-04", upstream=True)

    def result(claimed: Any) -> Any:
        made = world.written(claimed)
        bad = claimed.cells[0].cell.partition == "2013-01-03"
        return made._replace(checks=tuple(replace(one, passed=not bad, blocking=False) for one in made.checks))

    def check() -> Any:
        [found] = get(client, "/asset", key="delays")["checks"]
        return found

    world.work(result=result)
    assert (check()["failing"], check()["last_failing"]["partition"]) == (1, "2013-01-03")
    world.launch("delays", partitions="2013-01-03", mode=["all"])
    world.work()
    assert (check()["failing"], check()["last_failing"], check()["last"]["passed"]) == (0, None, True)
