"""Tags of runs: given at the launch, shown, and what runs are found by (issue 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

Partita = Callable[..., tuple[int, str, str]]


def runs(client: httpx.Client, *tags: str, **query: Any) -> list[int]:
    answer = client.get("/api/v1/runs", params={"tag": list(tags), **query})
    assert answer.status_code == 200, answer.text
    return [one["id"] for one in answer.json()["runs"]]


def test_runs_are_found_by_all_of_their_tags(world: Any, client: httpx.Client, partita: Partita) -> None:
    world.activate()
    days = ("2013-01-01", "2013-01-02", "2013-01-03")
    given = (("--tag", "ticket=DATA-7"), ("--tag", "ticket=DATA-7", "--tag", "why=a=b, é"), ())
    for day, tags in zip(days, given, strict=True):
        code, out, _ = partita("materialize", "raw/flights", "--partition", day, "--yes", "--detach", *tags, "--json")
        assert (code, json.loads(out)["run"]["state"]) == (0, "running")
    assert runs(client) == [3, 2, 1]
    assert runs(client, "ticket=DATA-7") == [2, 1]
    assert runs(client, "ticket=DATA-7", "why=a=b, é") == [2]
    assert runs(client, "ticket=other") == runs(client, "ticket=DATA-7", state="success") == []
    assert client.get("/api/v1/runs/2").json()["tags"] == {"ticket": "DATA-7", "why": "a=b, é"}
    assert client.get("/api/v1/runs", params={"tag": "ticket=DATA-7"}).json()["total"] == 2
    world.work()
    code, out, _ = partita("runs", "--tag", "ticket=DATA-7", "--state", "success", "--json")
    assert [one["id"] for one in json.loads(out)["runs"]] == [2, 1]
    code, out, _ = partita(
        "rerun", "raw/flights", "--partitions", days[2], "--tag", "ticket=DATA-8", "--yes", "--detach"
    )
    assert runs(client, "ticket=DATA-8") == [4]
    code, out, _ = partita("runs", "show", "4")
    assert "tags: ticket=DATA-8" in out


def test_what_is_no_tag_is_refused_and_launches_nothing(world: Any, client: httpx.Client, partita: Partita) -> None:
    world.activate()
    code, _, err = partita("materialize", "raw/flights", "--partition", "2013-01-01", "--yes", "--tag", "ticket")
    assert (code, err.splitlines()[0]) == (2, "'ticket' is no tag")
    assert client.get("/api/v1/runs", params={"tag": "ticket"}).status_code == 400
    plan = client.post("/api/v1/plans", json={"selection": "raw/flights", "partitions": "2013-01-01"}).json()
    path = f"/api/v1/plans/{plan['id']}/launch"
    assert client.post(path, json={"confirm_cells": 1, "tags": {"": "x"}}).status_code == 422
    assert client.post(path, json={"confirm_cells": 1, "tags": {"a=b": "x"}}).status_code == 422
    assert runs(client) == []
