"""A missed deadline as people meet it: REST, the home page, the cell, the command line (S-203, S-206)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from partita.assets import from_spec
from partita.core.duties.deadlines import judge_deadlines
from partita.core.duties.runs import cancel_run
from partita.core.store.values import RunId

DAY = {"key": "report", "partition": "2013-01-01"}


@pytest.fixture
def late(world: Any) -> Any:
    """A partition of `report` was due two hours ago; its task is still queued. History is due so long after its launch."""
    days = from_spec(next(one for one in world.assets if one.key == "raw/flights").partitions)
    world.activate([*world.assets, world.spec("report", days, deadline_s=3600.0)])
    world.run = world.launch("report", partitions="2013-01-01..2013-01-02")
    with psycopg.connect(world.url) as connection:
        spans = connection.execute("SELECT due_at - set_at FROM deadline").fetchall()
        assert [span.total_seconds() for (span,) in spans] == [3600.0, 3600.0]
        connection.execute(
            "UPDATE deadline SET due_at = now() - interval '2 h', set_at = now() - interval '3 h' WHERE partition = '2013-01-01'"
        )
    judged = judge_deadlines(world.store)
    assert (judged.met, judged.missed) == (0, 1)
    return world


def test_a_late_partition_is_seen_wherever_one_looks(late: Any, client: httpx.Client) -> None:
    found = client.get("/api/v1/deadlines").json()
    (one,) = found["deadlines"]
    assert (one["asset"], one["partition"], one["run_id"], one["task_state"], found["total"]) == (
        "report",
        "2013-01-01",
        late.run,
        "scheduled",
        1,
    )
    assert one["text"].startswith("is late: it was due at ")
    assert ", 2 h ago; its task is scheduled" in one["text"]
    why = client.get("/api/v1/why", params=DAY).json()
    assert why["reasons"][-1]["code"] == "late"
    assert "it is late: it was due at" in why["sentence"]
    cell = client.get("/api/v1/asset/cell", params=DAY).json()
    assert (cell["reasons"][-1]["code"], cell["due_at"]) == ("late", one["due_at"])
    needs = client.get("/api/v1/summary").json()["needs_me"]
    assert {
        "severity": "bad",
        "text": f"report 2013-01-01 {one['text']}",
        "link": "/asset?key=report&cell=2013-01-01",
    } in needs
    other = client.get("/api/v1/why", params=DAY | {"partition": "2013-01-02"}).json()
    assert "late" not in {reason["code"] for reason in other["reasons"]}


def test_what_came_after_all_is_late_no_more_and_stays_in_the_list_of_misses(late: Any, client: httpx.Client) -> None:
    late.work()
    assert client.get("/api/v1/deadlines").json() == {"deadlines": [], "total": 0}
    (one,) = client.get("/api/v1/deadlines", params={"state": "all"}).json()["deadlines"]
    assert one["made_at"] is not None
    assert one["text"].startswith("came 2 h after it was due (")
    assert "late" not in client.get("/api/v1/why", params=DAY).json()["sentence"]


def test_nobody_waits_for_what_was_cancelled(late: Any, client: httpx.Client) -> None:
    cancel_run(late.store, RunId(late.run), "ann")
    assert client.get("/api/v1/deadlines").json()["deadlines"] == []
    assert "late" not in client.get("/api/v1/why", params=DAY).json()["sentence"]


def test_the_command_line_lists_what_is_late(late: Any, partita: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = partita("deadlines", "--json")
    assert (code, [one["partition"] for one in json.loads(out)["deadlines"]]) == (0, ["2013-01-01"])
    assert "report" in partita("deadlines")[1]
    assert "late" in partita("why", "report", "2013-01-01")[1]
    late.work()
    assert "Nothing is late." in partita("deadlines")[1]
    assert "came" in partita("deadlines", "--all")[1]
