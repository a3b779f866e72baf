"""Making cells again: a range, or what one task made, with or without what depends on it (S-195, S-199)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

Partita = Callable[..., tuple[int, str, str]]
DAYS = "2013-01-01..2013-01-03"


def post(client: httpx.Client, path: str, body: dict[str, Any], *, status: int = 200) -> Any:
    answer = client.post(f"/api/v1{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(f"/api/v1{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def made(world: Any) -> Any:
    """Three days of delays and what they read, by run 1."""
    world.activate()
    world.launch("delays", partitions=DAYS, upstream=True, params={"floor": 2})
    world.work()
    return world


def task_of(client: httpx.Client, run_id: int, asset: str) -> Any:
    return get(client, f"/runs/{run_id}/tasks", asset=asset)["tasks"][0]


def test_a_range_is_made_again_without_what_depends_on_it(made: Any, partita: Partita, client: httpx.Client) -> None:
    """S-195, S-199: what it holds stays until the new is published; nothing is deleted."""
    code, out, _ = partita("rerun", "raw/flights", "--partitions", DAYS, "--reason", "late rows", "--yes", "--detach")
    assert code == 0, out
    assert "Materialize 3 cells of 1 asset: 3 asked for again" in out
    assert get(client, "/asset/cell", key="raw/flights", partition="2013-01-01")["published"]["data_version"] == "v1"
    made.work(result=lambda claimed: made.written(claimed, version="v2"))
    assert get(client, "/asset/cell", key="raw/flights", partition="2013-01-01")["published"]["data_version"] == "v2"
    assert get(client, "/asset", key="delays")["counts"] == {"stale": 3, "missing": 28}
    entry = get(client, "/audit", action="launch")["entries"][0]
    assert entry["text"] == f"launched run 2 to make again: 3 cells of raw/flights {DAYS}"
    assert entry["reason"] == "late rows"


def test_what_depends_on_it_runs_where_its_inputs_come_out_other(made: Any, partita: Partita) -> None:
    asked = ("rerun", "raw/flights", "--partitions", "2013-01-01..2013-01-02", "--downstream", "--yes", "--detach")
    code, out, _ = partita(*asked, "--json")
    told = json.loads(out)
    assert (code, {one["key"]: one["cells"] for one in told["plan"]["assets"]}["delays"]) == (0, 2)

    def second_day_differs(claimed: Any) -> Any:
        other = claimed.task.step == "raw/flights" and claimed.cells[0].cell.partition == "2013-01-02"
        return made.written(claimed, version="v2" if other else "v1")

    made.work(result=second_day_differs)
    states = made.services.runs.progress(told["run"]["id"])
    assert {one.asset: one.counts for one in states if one.asset == "delays"}["delays"] == {
        "fresh": 1,
        "unchanged": 1,
    } or {one.asset: one.counts for one in states if one.asset == "delays"}["delays"] == {"unchanged": 2}


def test_a_rerun_says_which_partitions(made: Any, partita: Partita) -> None:
    code, _, err = partita("rerun", "raw/flights")
    assert (code, "rerun says which partitions" in err) == (2, True)


def test_a_task_is_run_again_with_its_cells_and_the_params_of_its_run(made: Any, client: httpx.Client) -> None:
    task = task_of(client, 1, "delays")
    told = post(client, f"/tasks/{task['id']}/rerun", {})
    assert (told["selection"], told["partitions"]) == ('"delays"', "2013-01-01")
    assert told["plan"]["by_reason"] == {"forced": 1}
    launched = post(client, f"/plans/{told['plan']['id']}/launch", {"confirm_cells": 1, "reason": "by hand"})
    made.work()
    run = get(client, f"/runs/{launched['run_id']}")
    assert (run["state"], run["cells"]["total"]) == ("success", 1)
    with made.store.read() as reader:
        rows = reader._connection.execute("SELECT params FROM run ORDER BY id").fetchall()
    assert [row[0] for row in rows] == [{"floor": 2}, {"floor": 2}]
    assert get(client, "/audit")["entries"][0]["reason"] == "by hand"


def test_a_task_of_two_dimensions_is_named_cell_by_cell(made: Any, client: httpx.Client) -> None:
    task = task_of(client, 1, "weather")
    told = post(client, f"/tasks/{task['id']}/rerun", {"downstream": True})
    assert told["plan"]["by_reason"]["forced"] == 1
    assert {one["key"] for one in told["plan"]["assets"]} >= {"weather", "delays"}


def test_an_open_task_is_not_run_again_and_an_unknown_one_is_told(made: Any, client: httpx.Client) -> None:
    run_id = made.launch("raw/flights", partitions="2013-01-05")
    task = task_of(client, run_id, "raw/flights")
    refused = post(client, f"/tasks/{task['id']}/rerun", {}, status=409)
    assert refused["error"]["what"] == f"task {task['id']} is scheduled"
    assert f"partita tasks cancel {task['id']}" in refused["error"]["fix"]
    post(client, "/tasks/99999/rerun", {}, status=404)


def test_the_command_line_runs_a_task_again(made: Any, partita: Partita, client: httpx.Client) -> None:
    task = task_of(client, 1, "raw/flights")
    code, _, err = partita("tasks", "rerun", str(task["id"]))
    assert code == 2
    assert "nobody confirmed it" in err
    code, out, _ = partita("tasks", "rerun", str(task["id"]), "--yes", "--detach")
    assert (code, "Launched run 2." in out) == (0, True)
    made.work()
    assert get(client, "/runs/2")["state"] == "success"
