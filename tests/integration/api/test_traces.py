"""One trace id from a request to the publication and its events (S-248)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from partita.core.decide.traces import traceparent
from partita.core.runtime.attempts import to_request

Partita = Callable[..., tuple[int, str, str]]
GIVEN = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACE = GIVEN[3:35]


def launch(client: httpx.Client, headers: dict[str, str]) -> int:
    plan = client.post("/api/v1/plans", json={"selection": "raw/flights", "partitions": "2013-01-03"}).json()
    body = {"confirm_cells": plan["cell_count"]}
    answer = client.post(f"/api/v1/plans/{plan['id']}/launch", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return int(answer.json()["run_id"])


def test_what_a_request_brings_about_is_in_its_trace(world: Any, client: httpx.Client, partita: Partita) -> None:
    world.activate()
    run = launch(client, {"traceparent": GIVEN})
    assert client.get(f"/api/v1/runs/{run}").json()["trace_id"] == TRACE
    [claimed] = world.claim()
    sent = to_request(claimed, "v", world.catalog, grace_s=1).traceparent
    assert sent == traceparent(TRACE, "attempt", claimed.attempt_id)
    world.finish([world.written(claimed)])
    attempt = client.get(f"/api/v1/attempts/{claimed.attempt_id}").json()
    assert attempt["traceparent"] == sent
    assert client.get(f"/api/v1/attempts/{claimed.attempt_id}/log").json()["trace_id"] == TRACE
    cell = client.get("/api/v1/asset/cell", params={"key": "raw/flights", "partition": "2013-01-03"}).json()
    assert cell["published"]["trace_id"] == TRACE
    assert f"trace: {TRACE}" in partita("runs", "show", str(run))[1].splitlines()


def test_events_name_the_trace(world: Any, client: httpx.Client) -> None:
    world.activate()
    launch(client, {"traceparent": GIVEN})
    world.work()
    found = []
    with client.stream("GET", "/api/v1/events/stream", headers={"Last-Event-ID": "1"}) as stream:
        for line in stream.iter_lines():
            if line.startswith("data:"):
                found.append(json.loads(line[5:]))
            if found and found[-1]["kind"] == "materialized":
                break
    assert found[-1]["trace_id"] == TRACE


def test_without_a_trace_each_run_has_its_own(world: Any, client: httpx.Client) -> None:
    world.activate()
    run = launch(client, {"traceparent": "00-nonsense"})
    told = client.get(f"/api/v1/runs/{run}").json()["trace_id"]
    assert len(told) == 32
    assert set(told) <= set("0123456789abcdef")
    assert told != TRACE


def test_the_command_goes_on_in_the_trace_of_its_environment(
    world: Any, partita: Partita, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.activate()
    monkeypatch.setenv("TRACEPARENT", GIVEN)
    code, out, _ = partita("materialize", "raw/flights", "--partitions", "2013-01-03", "--yes", "--detach", "--json")
    assert code == 0
    assert json.loads(out)["run"]["trace_id"] == TRACE
