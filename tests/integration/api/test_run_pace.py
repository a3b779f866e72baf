"""Limits of runs over REST and the command line, on a real Postgres: given with the launch, changed while it runs, of jobs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
from tests.integration.api.test_api_actions import get, post

Partita = Callable[..., tuple[int, str, str]]


def _run(world: Any, client: httpx.Client, days: int = 9, **launch: Any) -> int:
    world.activate()
    asked = {"selection": "raw/flights", "from_key": "2013-01-01", "to_key": f"2013-01-{days:02}"}
    plan = post(client, "/plans", asked)
    made = post(client, f"/plans/{plan['id']}/launch", {"confirm_cells": days, **launch})
    assert made["backfill_id"] is None, "a limit makes no backfill of it"
    return int(made["run_id"])


def test_a_run_is_launched_with_a_limit_that_changes_while_it_runs(world: Any, client: httpx.Client) -> None:
    """Issue 4, S-144, S-245: the reason names the run and its limit, and who holds it; pools show the cap while it counts."""
    run = _run(world, client, max_active=2)
    running = world.claim(20)
    assert len(running) == 2
    found = get(client, f"/runs/{run}")
    assert found["max_active"] == 2
    assert [wait["text"] for wait in found["waits"]] == ["7 tasks wait for their run, which is at its limit"]
    waiting = next(task for task in get(client, f"/runs/{run}/tasks")["tasks"] if task["state"] == "scheduled")
    reason = get(client, f"/tasks/{waiting['id']}")["reason"]
    assert reason["text"].startswith(
        "waits for its run: 2 of its tasks are active, which is its limit; held by raw/flights"
    )
    [cap] = [pool for pool in get(client, "/pools") if pool["name"] == f"run:{run}"]
    assert (cap["kind"], cap["limits"], cap["slots"], cap["held"]) == ("run", f"active tasks of run {run}", 2, 2)

    now = post(client, f"/runs/{run}/settings", {"max_active": 5, "reason": "the lake is idle"})
    assert now["max_active"] == 5
    assert len(world.claim(20)) == 3
    now = post(client, f"/runs/{run}/settings", {"max_active": None})
    assert now["max_active"] is None
    told = get(client, "/audit")["entries"]
    assert [(one["text"], one["reason"]) for one in told[:2]] == [
        (f"changed run {run}: max_active 5 to no limit", ""),
        (f"changed run {run}: max_active 2 to 5", "the lake is idle"),
    ]
    for wrong in ({"max_active": 0}, {"max_active": -3}, {}, {"max_active": 2, "priority": 1}):
        assert client.post(f"/api/v1/runs/{run}/settings", json=wrong).status_code in (400, 422), wrong
    post(client, "/runs/99/settings", {"max_active": 2}, status=404)
    assert get(client, f"/runs/{run}")["max_active"] is None

    assert len(world.claim(20)) == 4
    cancelled = post(client, f"/runs/{run}/cancel")
    assert cancelled["id"] == run
    refused = post(client, f"/runs/{run}/settings", {"max_active": 2}, status=409)
    assert "nothing left to limit" in refused["error"]["what"]


def test_the_command_shows_asks_and_sets(world: Any, client: httpx.Client, partita: Partita) -> None:
    run = _run(world, client)
    assert len(world.claim(4)) == 4
    code, _, error = partita("runs", "set", str(run), "--max-active", "2")
    assert code == 2
    assert f"Run {run} has no limit of tasks. Change it to at most 2 tasks at once?" in error
    assert get(client, f"/runs/{run}")["max_active"] is None
    code, said, _ = partita("runs", "set", str(run), "--max-active", "2", "--yes", "--json")
    assert (code, json.loads(said)["max_active"]) == (0, 2)
    assert world.claim(20) == [], "four run on, and nothing starts until they are fewer than two"
    for wrong in ("0", "-1", "two", "1.5", "\u00b2"):
        code, _, error = partita("runs", "set", str(run), f"--max-active={wrong}", "--yes")
        assert (code, "is no limit" in error) == (2, True), error
    assert partita("runs", "set", str(run), "--yes")[0] == 2
    code, _, error = partita("runs", "set", "99", "--max-active", "2", "--yes")
    assert (code, "there is no run 99" in error) == (2, True)
    code, said, _ = partita("runs", "set", str(run), "--max-active", "none", "--yes")
    assert code == 0
    assert len(world.claim(20)) == 5
    post(client, f"/runs/{run}/cancel")
    code, _, error = partita("runs", "set", str(run), "--max-active", "2")
    assert (code, "is being cancelled" in error, "Change it" in error) == (2, True, False), "nobody is asked in vain"


def test_every_request_takes_a_limit(world: Any, client: httpx.Client, partita: Partita) -> None:
    world.activate()
    days = ("--from", "2013-01-01", "--to", "2013-01-03", "--yes", "--detach", "--json", "--max-active")
    code, said, _ = partita("materialize", "raw/flights", *days, "1")
    made = json.loads(said)
    assert (code, made["backfill_id"]) == (0, None)
    assert get(client, f"/runs/{made['run']['id']}")["max_active"] == 1
    world.work()
    again = json.loads(partita("rerun", "raw/flights", *days, "2")[1])["run"]["id"]
    assert get(client, f"/runs/{again}")["max_active"] == 2
    world.work()
    task = get(client, f"/runs/{again}/tasks")["tasks"][0]["id"]
    one = json.loads(partita("tasks", "rerun", str(task), "--yes", "--detach", "--json", "--max-active", "1")[1])
    assert get(client, f"/runs/{one['run']['id']}")["max_active"] == 1
    world.work()
    kept = ("jobs", "add", "again", "raw/flights", "--partitions", "2013-01-01..2013-01-03", "--mode", "all")
    code, said, _ = partita(*kept, "--max-active", "2", "--yes", "--json")
    assert (code, json.loads(said)["max_active"]) == (0, 2)
    assert post(client, "/jobs/again/plan")["max_active"] == 2
    ran = json.loads(partita("jobs", "run", "again", "--yes", "--detach", "--json")[1])["run"]["id"]
    assert get(client, f"/runs/{ran}")["max_active"] == 2
    world.work()
    ran = json.loads(partita("jobs", "run", "again", "--max-active", "1", "--yes", "--detach", "--json")[1])["run"][
        "id"
    ]
    assert get(client, f"/runs/{ran}")["max_active"] == 1
    world.work()
    for wrong in ("0", "-2", "many"):
        code, _, _ = partita("materialize", "raw/flights", "--yes", f"--max-active={wrong}")
        assert code == 2
