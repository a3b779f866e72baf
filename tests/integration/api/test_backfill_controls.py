"""Backfills over REST and the command line, on a real Postgres: paused, resumed, changed, retried, and looked at cell by cell."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
from tests.integration.api.test_api_actions import get, post

Partita = Callable[..., tuple[int, str, str]]


def _backfill(world: Any, client: httpx.Client, days: int = 9, **launch: Any) -> int:
    world.activate()
    asked = {"selection": "raw/flights", "from_key": "2013-01-01", "to_key": f"2013-01-{days:02}", "as": "backfill"}
    plan = post(client, "/plans", asked)
    made = post(client, f"/plans/{plan['id']}/launch", {"confirm_cells": days, **launch})
    return int(made["backfill_id"])


def test_a_backfill_is_paused_and_goes_on(world: Any, client: httpx.Client) -> None:
    """Law 7: it holds no slot but of what runs; each task says who paused it and since when."""
    one = _backfill(world, client, max_active=4)
    running = world.claim(1)
    meets = get(client, f"/backfills/{one}/pause")
    assert (
        meets["sentence"]
        == "1 running task goes on to the end; 3 queued tasks give their slots back; 8 tasks wait until "
        "somebody resumes it."
    )
    paused = post(client, f"/backfills/{one}/pause", {"reason": "the lake is full"})
    assert (paused["state"], paused["paused_by"], paused["eta_s"]) == ("running", "ann", None)
    assert world.claim(20) == []
    assert {pool["name"]: pool["held"] for pool in get(client, "/pools")}["default"] == 1
    tasks = get(client, f"/runs/{paused['run_id']}/tasks")["tasks"]
    said = {task["reason"]["code"] for task in tasks if task["state"] == "scheduled" and task["reason"]}
    assert said == {"paused"}
    [told] = {task["reason"]["text"] for task in tasks if task["reason"]}
    assert told.startswith(f"backfill {one} is paused by ann since 20")
    world.finish([world.written(running[0])])
    assert {pool["name"]: pool["held"] for pool in get(client, "/pools")}["default"] == 0
    resumed = post(client, f"/backfills/{one}/resume")
    assert resumed["paused_by"] is None
    world.work()
    assert get(client, f"/backfills/{one}")["state"] == "success"
    texts = [entry["text"] for entry in get(client, "/audit")["entries"]]
    assert texts[:2] == [f"let backfill {one} go on", f"paused backfill {one}"]
    refused = post(client, f"/backfills/{one}/pause", status=409)
    assert refused["error"]["what"] == f"backfill {one} is finished (success): there is nothing left to pause"
    post(client, "/backfills/99/pause", status=404)


def test_its_limit_and_priority_change_while_it_runs(world: Any, client: httpx.Client) -> None:
    one = _backfill(world, client, max_active=2, order="newest", priority=3)
    assert [claimed.cells[0].cell.partition for claimed in world.claim(20)] == ["2013-01-09", "2013-01-08"]
    now = post(client, f"/backfills/{one}/settings", {"max_active": 5})
    assert (now["max_active"], now["priority"], now["order"]) == (5, 3, "newest")
    assert len(world.claim(20)) == 3
    now = post(client, f"/backfills/{one}/settings", {"max_active": None, "priority": -2})
    assert (now["max_active"], now["priority"]) == (None, -2)
    assert len(world.claim(20)) == 4
    assert client.post(f"/api/v1/backfills/{one}/settings", json={"max_active": 0}).status_code in (400, 422)
    assert get(client, f"/backfills/{one}")["max_active"] is None


def test_only_what_failed_is_made_again_and_it_stays_one_backfill(world: Any, client: httpx.Client) -> None:
    """S-053, S-198: the cells with their states, the plan of the retry, and one end."""
    one = _backfill(world, client, days=4)
    bad = {"2013-01-02", "2013-01-04"}
    world.work(result=lambda claimed: _result(world, claimed, bad))
    found = get(client, f"/backfills/{one}")
    assert (found["state"], found["unmade"], found["cells"]) == ("failed", 2, 4)
    page = get(client, f"/backfills/{one}/cells")
    assert page["partitions"] == [f"2013-01-0{day}" for day in range(1, 5)]
    assert page["rows"][0]["states"] == ["fresh", "failed", "fresh", "failed"]
    failed = get(client, f"/backfills/{one}/cells", state="failed", limit=1)
    assert (failed["total"], failed["partitions"]) == (2, ["2013-01-02"])
    task = get(client, f"/tasks/{failed['rows'][0]['tasks'][0]}")
    assert task["attempts"], "a cell leads to its attempts, and so to its log"

    plan = post(client, f"/backfills/{one}/retry")
    assert plan["cli"] == f"partita backfill retry {one}"
    assert [asset["cells"] for asset in plan["assets"]] == [2]
    again = post(client, f"/plans/{plan['id']}/launch", {"confirm_cells": 2})
    assert again["backfill_id"] == one
    now = get(client, f"/backfills/{one}")
    assert (now["state"], len(now["run_ids"]), now["cells"]) == ("running", 2, 4)
    world.work()
    now = get(client, f"/backfills/{one}")
    assert (now["state"], now["unmade"], now["progress"][0]["counts"]) == ("success", 0, {"fresh": 4})
    nothing = post(client, f"/backfills/{one}/retry", status=409)
    assert "nothing to retry" in nothing["error"]["what"]


def test_the_commands_do_the_same(world: Any, client: httpx.Client, partita: Partita) -> None:
    one = _backfill(world, client, days=3, max_active=1)
    code, out, _ = partita("backfill", "pause", str(one), "--reason", "late", "--yes")
    assert (code, "paused by" in out, f"partita backfill resume {one}" in out) == (0, True, True)
    code, out, _ = partita("backfill", "list")
    assert (code, "paused" in out) == (0, True)
    code, out, _ = partita("backfill", "set", str(one), "--max-active", "none", "--priority", "7", "--json", "--yes")
    assert (json.loads(out)["max_active"], json.loads(out)["priority"]) == (None, 7)
    code, _, err = partita("backfill", "set", str(one), "--max-active", "0")
    assert (code, "at least 1, or none" in err) == (2, True)
    code, _, err = partita("backfill", "set", str(one))
    assert (code, "nothing to set" in err) == (2, True)
    code, out, _ = partita("backfill", "resume", str(one), "--yes")
    assert code == 0
    world.work(result=lambda claimed: _result(world, claimed, {"2013-01-02"}))
    code, out, _ = partita("backfill", "show", str(one))
    assert f"1 cell not made: partita backfill retry {one}" in out
    code, out, _ = partita("backfill", "retry", str(one), "--yes", "--detach")
    assert (code, f"Launched backfill {one}, run 2" in out) == (0, True)
    code, _, err = partita("backfill", "pause", "99")
    assert (code, "there is no backfill 99" in err) == (2, True)
    code, _, err = partita("backfill", "create", "raw/flights", "--order", "random")
    assert (code, "oldest or newest" in err) == (2, True)


def _result(world: Any, claimed: Any, bad: set[str]) -> Any:
    wrong = claimed.cells[0].cell.partition in bad
    return world.failed(claimed) if wrong else world.written(claimed)


def test_nobody_is_asked_about_a_backfill_that_has_ended(world: Any, client: httpx.Client, partita: Partita) -> None:
    one = str(_backfill(world, client, days=2))
    world.work()
    before = get(client, f"/backfills/{one}")
    for verb, more in (("pause", ()), ("resume", ()), ("set", ("--priority", "2"))):
        code, said, error = partita("backfill", verb, one, *more)
        assert (code, said) == (2, ""), said
        assert f"backfill {one} is finished (success): there is nothing left to {verb}" in error
        assert "?" not in error
    assert get(client, f"/backfills/{one}") == before
