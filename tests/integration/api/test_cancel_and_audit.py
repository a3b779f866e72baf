"""Cancelling one task, a run, a backfill: shown before, and kept with who, when and why (law 6, S-014)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx

Partita = Callable[..., tuple[int, str, str]]
DAYS = "2013-01-01..2013-01-02"


def post(client: httpx.Client, path: str, body: dict[str, Any] | None = None) -> Any:
    answer = client.post(f"/api/v1{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(f"/api/v1{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def task_of(client: httpx.Client, run_id: int, asset: str) -> Any:
    return get(client, f"/runs/{run_id}/tasks", asset=asset)["tasks"][0]


def test_a_task_is_cancelled_as_shown_and_the_rest_of_its_run_goes_on(world: Any, client: httpx.Client) -> None:
    world.activate()
    run_id = world.launch("delays", partitions=DAYS, upstream=True)
    first = task_of(client, run_id, "raw/flights")
    shown = get(client, f"/tasks/{first['id']}/cancel")
    assert shown == {
        "sentence": "1 task that has not started ends at once; 1 task below hears of it by its trigger rule. "
        "What is published stays.",
        "at_once": 1,
        "running": 0,
        "below": 1,
        "cli": f"partita tasks cancel {first['id']}",
    }
    assert task_of(client, run_id, "raw/flights")["state"] == "scheduled", "a preview changes nothing"
    told = post(client, f"/tasks/{first['id']}/cancel", {"reason": "the source is wrong"})
    assert told["state"] == "cancelled"
    world.work()
    run = get(client, f"/runs/{run_id}")
    assert run["tallies"] == {"success": 1 + 8 + 1, "cancelled": 1, "upstream_failed": 1}
    assert run["state"] == "failed"
    [entry] = get(client, "/audit", action="cancel_task")["entries"]
    assert (entry["who"], entry["reason"], entry["undo"]) == ("ann", "the source is wrong", None)
    assert entry["text"] == f"cancelled task {first['id']} of run {run_id}"
    gone = client.post("/api/v1/tasks/99999/cancel").json()
    assert gone["error"]["what"] == "there is no task 99999"


def test_a_running_task_is_asked_to_stop_and_keeps_what_it_published(world: Any, client: httpx.Client) -> None:
    world.activate()
    run_id = world.launch("raw/flights", partitions=DAYS)
    [one, other] = world.claim(2)
    shown = get(client, f"/tasks/{one.task.id}/cancel")
    assert shown["sentence"] == "1 running task is asked to stop. What is published stays."
    post(client, f"/tasks/{one.task.id}/cancel")
    assert "partita_cancel" in world.woken
    world.finish([world.written(one), world.written(other)])  # it was done before it heard of it
    world.work()
    run = get(client, f"/runs/{run_id}")
    assert (run["state"], run["cells"]["published"]) == ("success", 2)
    shown = get(client, f"/tasks/{one.task.id}/cancel")
    assert shown["sentence"] == "The task has ended: there is nothing to cancel."


def test_runs_and_backfills_say_what_cancelling_meets(world: Any, client: httpx.Client) -> None:
    world.activate()
    run_id = world.launch("raw/flights")
    world.work(limit=4)
    world.claim(1)
    shown = get(client, f"/runs/{run_id}/cancel")
    assert (shown["at_once"], shown["running"]) == (26, 1)
    post(client, f"/runs/{run_id}/cancel", {"reason": "wrong year"})
    [entry] = get(client, "/audit", action="cancel_run")["entries"]
    assert (entry["text"], entry["reason"]) == (f"cancelled run {run_id}: 27 open tasks", "wrong year")
    assert get(client, f"/runs/{run_id}/cancel")["running"] == 1, "it runs until its attempt ends"


def test_the_command_line_shows_asks_and_keeps_why(world: Any, partita: Partita) -> None:
    world.activate()
    run_id = world.launch("raw/flights", partitions=DAYS)
    code, out, _ = partita("tasks", "show", "2", "--json")
    found = json.loads(out)
    assert (code, found["run_id"], found["state"]) == (0, run_id, "scheduled")
    code, _, err = partita("tasks", "cancel", "2")
    assert (code, "nobody confirmed it" in err) == (2, True)
    code, out, _ = partita("tasks", "cancel", "2", "--reason", "by mistake", "--yes")
    assert (code, "1 task that has not started ends at once." in out) == (0, True)
    assert f"/  cancelled  task 2 of run {run_id}" in out.replace("/ cancelled", "/  cancelled")
    code, _, err = partita("tasks", "cancel", "2", "--yes")
    assert (code, err) == (0, "task 2 has ended: there is nothing to cancel\n")
    code, out, _ = partita("audit")
    assert code == 0
    assert "by mistake" in out
    assert f"launched run {run_id}: 2 cells of raw/flights {DAYS}" in out


def test_the_audit_is_read_in_pages_and_by_person(world: Any, client: httpx.Client, partita: Partita) -> None:
    world.activate()
    for day in ("2013-01-01", "2013-01-02", "2013-01-03"):
        world.launch("raw/flights", partitions=day)
    page = get(client, "/audit", limit=2)
    assert [one["detail"]["run"] for one in page["entries"]] == [3, 2]
    rest = get(client, "/audit", limit=2, before=page["before"])
    assert ([one["detail"]["run"] for one in rest["entries"]], rest["before"]) == ([1], None)
    assert get(client, "/audit", who="nobody")["entries"] == []
    code, out, _ = partita("audit", "--who", "ann", "--limit", "1", "--json")
    assert code == 0
    assert [one["action"] for one in json.loads(out)["entries"]] == ["launch"]


def test_an_acceptance_says_how_it_is_taken_back_and_by_whom_it_was(world: Any, client: httpx.Client) -> None:
    world.activate()
    world.launch("raw/flights", partitions=DAYS)
    world.work()
    changed = [one.model_copy(update={"fingerprint": f"{one.key}-2"}) for one in world.assets]
    world.activate(changed)
    asked = {"selection": "raw/flights", "partitions": DAYS, "reason": "only a comment", "confirm_cells": 2}
    done = post(client, "/acceptances", asked)
    [entry] = get(client, "/audit", action="accept")["entries"]
    assert entry["text"] == f"accepted 2 cells of raw/flights {DAYS} as they are"
    assert (entry["reason"], entry["undo"]) == ("only a comment", f"partita accept --undo {done['id']}")
    post(client, f"/acceptances/{done['id']}/undo")
    [entry] = get(client, "/audit", action="accept")["entries"]
    assert (entry["undo"], entry["undone_by"]) == (None, "ann")
