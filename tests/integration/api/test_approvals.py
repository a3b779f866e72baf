"""A person answers tasks that ask: listed, shown, approved, rejected, by REST and the command line, with who and why (S-106)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from partita.assets import Daily
from partita.assets.wait_specs import APPROVAL_TRIGGER, WaitSpec

Partita = Callable[..., tuple[int, str, str]]
DAYS = Daily("2013-01-01", end="2013-01-11")


@pytest.fixture
def shop(world: Any) -> Any:
    """report asks before it sends the figures of a day; sent depends on it."""
    asks = WaitSpec(
        trigger=APPROVAL_TRIGGER,
        args={"question": "Send the figures of {partition}?"},
        label="a person to approve: Send the figures of {partition}?",
        deadline_s=172_800.0,
    )
    world.activate(
        [world.spec("report", DAYS, wait_for=(asks,)), world.spec("sent", DAYS, {"report": DAYS})], checks=()
    )
    return world


def ok(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def asked(client: httpx.Client, **query: Any) -> list[Any]:
    return list(ok(client.get("/api/v1/approvals", params=query))["questions"])


def test_what_is_asked_is_listed_shown_and_approved(shop: Any, client: httpx.Client) -> None:
    run = shop.launch("report or sent", partitions="2013-01-01..2013-01-02")
    assert shop.claim(10) == [], "it waits for a person and holds no slot"
    questions = asked(client, run=run)
    assert [(one["step"], one["partitions"], one["question"]) for one in questions] == [
        ("report", day, f"Send the figures of {day}?") for day in ("2013-01-01", "2013-01-02")
    ]
    assert asked(client, run=run + 1) == []
    why = ok(client.get("/api/v1/why", params={"key": "report", "partition": "2013-01-01"}))
    task = questions[0]["task"]
    assert f"answer by `partita approve {task}` or `partita reject {task} --reason TEXT`" in why["sentence"]
    assert why["open_task"]["reason"]["evidence"]["side"] == "person"
    [wait] = [one for one in ok(client.get(f"/api/v1/runs/{run}"))["waits"] if one["side"] == "person"]
    assert wait["text"] == "2 tasks wait for a person to approve"
    needs = {one["text"]: one["link"] for one in ok(client.get("/api/v1/summary"))["needs_me"]}
    assert needs[f"2 tasks of run {run} ask: Send the figures of 2013-01-01? and 1 more"] == f"/runs/{run}?task={task}"

    shown = ok(client.post("/api/v1/approvals/preview", json={"verb": "approve", "tasks": [task]}))
    assert shown["sentence"] == "1 task goes on: all that is asked here is approved."
    assert (shown["cli"], [one["id"] for one in shown["questions"]]) == (
        f"partita approve {task}",
        [questions[0]["id"]],
    )
    assert len(asked(client)) == 2, "a preview changes nothing"
    body = {"verb": "approve", "questions": [questions[0]["id"]], "note": "looks right"}
    assert ok(client.post("/api/v1/approvals", json=body)) == {"verb": "approve", "tasks": [task]}
    again = client.post("/api/v1/approvals", json=body)
    assert again.status_code == 409
    assert again.json()["error"]["what"] == f"task {task} asks nobody: it is scheduled"
    [claimed] = shop.claim(10)
    assert (claimed.task.id, claimed.events[0].payload["note"]) == (task, "looks right")
    [entry] = ok(client.get("/api/v1/audit", params={"action": "approve_task"}))["entries"]
    assert (entry["who"], entry["reason"]) == ("ann", "looks right")
    assert entry["text"] == (f"approved task {task} of run {run}: a person to approve: Send the figures of 2013-01-01?")


def test_a_rejection_says_what_it_meets_and_fails_the_task_for_good(shop: Any, client: httpx.Client) -> None:
    run = shop.launch("report or sent", partitions="2013-01-01")
    [question] = asked(client)
    shown = ok(client.post("/api/v1/approvals/preview", json={"verb": "reject", "tasks": [question["task"]]}))
    assert shown["sentence"] == (
        "1 task fails for good and is not tried again; 1 task below hears of it by trigger rule. Your reason is the error."
    )
    refused = client.post("/api/v1/approvals", json={"verb": "reject", "questions": [question["id"]]})
    assert (refused.status_code, refused.json()["error"]["fix"]) == (409, "say why")
    ok(client.post("/api/v1/approvals", json={"verb": "reject", "questions": [question["id"]], "note": "too low"}))
    shop.work()
    told = ok(client.get(f"/api/v1/runs/{run}"))
    assert (told["state"], told["tallies"]) == ("failed", {"failed": 1, "upstream_failed": 1})
    assert ok(client.get(f"/api/v1/tasks/{question['task']}"))["error"] == "rejected by ann: too low"
    gone = client.post("/api/v1/approvals/preview", json={"verb": "reject", "tasks": [question["task"]]})
    assert gone.status_code == 404
    assert client.post("/api/v1/approvals", json={"verb": "approve", "questions": ["x"]}).status_code == 404


def test_the_command_line_shows_asks_and_answers(shop: Any, partita: Partita) -> None:
    shop.launch("report", partitions="2013-01-01..2013-01-03")
    code, out, _ = partita("approvals", "--json")
    first, second, third = (one["task"] for one in json.loads(out)["questions"])
    assert code == 0
    code, out, _ = partita("approve", str(first), str(second), "--yes", "--note", "fine")
    assert (code, " ".join(out.split()).endswith(f"Approved: task {first}, {second}.")) == (0, True)
    code, _, err = partita("reject", str(third), "--yes")
    assert code == 2
    assert "rejected without a reason" in err
    assert partita("reject", str(third), "--yes", "--reason", "wrong")[0] == 0
    code, out, _ = partita("approvals")
    assert out.strip() == "Nothing asks a person."
    code, _, err = partita("approve", str(third), "--yes")
    assert (code, f"task {third} asks nobody" in err) == (2, True)
