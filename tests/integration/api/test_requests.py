"""Automatic requests above the limit, as people meet them: REST, the home page, the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from partita.assets import EagerSpec, from_spec
from partita.core.automation import Limits, run_automation
from partita.core.store.values_requests import Fault, FaultKind
from partita.ui.cli import run as run_cli

FIVE = Limits(max_cells=5)


@pytest.fixture
def asking(world: Any) -> Any:
    """The year's first week of raw/flights moved: seven days of `follower` wait, for the limit is five."""
    days = from_spec(next(one for one in world.assets if one.key == "raw/flights").partitions)
    follower = world.spec("follower", days, {"raw/flights": days}, automation=EagerSpec())
    world.activate([*world.assets, follower])
    world.launch("raw/flights", partitions="2013-01-01..2013-01-07")
    world.finish([_told(world, one) for one in world.claim(100)])
    assert run_automation(world.store, world.catalogs, limits=FIVE).held == 7
    return world


def _told(world: Any, claimed: Any) -> Any:
    return world.written(claimed)._replace(automation_assets=world.catalog.automation_assets)


def test_a_request_is_listed_shown_and_approved_as_shown(asking: Any, client: httpx.Client) -> None:
    (found,) = client.get("/api/v1/requests").json()["requests"]
    assert (found["state"], found["cells"], found["cell_limit"], found["revision"]) == ("awaiting_input", 7, 5, 1)
    assert found["sentence"] == "Materialize 7 cells of 1 asset: 7 missing"
    assert found["assets"] == [
        {"key": "follower", "cells": 7, "by_reason": {"missing": 7}, "partitions": "2013-01-01..2013-01-07"}
    ]
    assert found["cause"] == "raw/flights 2013-01-01..2013-01-07 were materialized"
    path = f"/api/v1/requests/{found['id']}"
    assert client.get(path).json()["changed"] is None
    wrong = client.post(f"{path}/approve", json={"revision": 1, "confirm_cells": 6})
    assert (wrong.status_code, wrong.json()["error"]["what"]) == (
        409,
        f"6 cells were confirmed, request {found['id']} has 7",
    )
    traced = {"traceparent": f"00-{'4b' * 16}-00f067aa0ba902b7-01"}
    done = client.post(f"{path}/approve", json={"revision": 1, "confirm_cells": 7}, headers=traced).json()
    assert (done["state"], done["cells"]) == ("approved", 7)
    assert client.get(f"/api/v1/runs/{done['run_id']}").json()["trace_id"] == "4b" * 16, "S-248"
    run = client.get(f"/api/v1/runs/{done['run_id']}").json()
    assert (run["cause"]["kind"], run["cells"]["total"]) == ("eager", 7)
    assert client.get("/api/v1/requests").json()["requests"] == []
    (ended,) = client.get("/api/v1/requests", params={"state": "all"}).json()["requests"]
    assert (ended["state"], ended["ended_by"], ended["run_id"]) == ("approved", "ann", done["run_id"])
    again = client.post(f"{path}/approve", json={"revision": 1, "confirm_cells": 7})
    assert (again.status_code, again.json()["error"]["what"]) == (
        409,
        f"request {found['id']} was approved by ann already",
    )


def test_why_names_the_request_in_which_a_cell_waits_until_somebody_decides(
    asking: Any, client: httpx.Client, cli: Callable[..., tuple[int, str, str]]
) -> None:
    (request,) = client.get("/api/v1/requests").json()["requests"]
    waits = client.get("/api/v1/why", params={"key": "follower", "partition": "2013-01-03"}).json()
    reason = waits["reasons"][-1]
    assert reason["code"] == "awaiting_approval"
    assert (reason["evidence"]["request"], reason["evidence"]["cells"], reason["evidence"]["limit"]) == (
        request["id"],
        7,
        5,
    )
    assert waits["sentence"].endswith(reason["text"])
    code, told, _ = cli("why", "follower", "2013-01-03")
    assert (code, f"partita requests approve {request['id']}" in " ".join(told.split())) == (0, True)
    cell = client.get("/api/v1/asset/cell", params={"key": "follower", "partition": "2013-01-03"}).json()
    assert [one["code"] for one in cell["reasons"]] == ["missing", "awaiting_approval"]

    def codes(partition: str) -> list[str]:
        told = client.get("/api/v1/why", params={"key": "follower", "partition": partition}).json()
        return [one["code"] for one in told["reasons"]]

    assert "awaiting_approval" not in codes("2013-01-08"), "it is in no request"
    client.post(f"/api/v1/requests/{request['id']}/reject", json={"revision": 1, "reason": "not now"})
    assert "awaiting_approval" not in codes("2013-01-03")


def test_approving_what_changed_tells_the_difference_and_runs_nothing(asking: Any, client: httpx.Client) -> None:
    (found,) = client.get("/api/v1/requests").json()["requests"]
    asking.launch("follower", partitions="2013-01-03")
    asking.work()
    runs = client.get("/api/v1/runs").json()["total"]
    path = f"/api/v1/requests/{found['id']}"
    told = "1 cell of follower no longer to be made"
    assert client.get(path).json()["changed"] == told
    refused = client.post(f"{path}/approve", json={"revision": 1, "confirm_cells": 7})
    assert refused.status_code == 409
    assert told in refused.json()["error"]["what"]
    assert client.get("/api/v1/runs").json()["total"] == runs
    fresh = client.get(path).json()
    assert (fresh["revision"], fresh["cells"], fresh["changed"]) == (2, 6, None)


def test_a_rejection_has_a_reason_and_is_audited(asking: Any, client: httpx.Client) -> None:
    (found,) = client.get("/api/v1/requests").json()["requests"]
    path = f"/api/v1/requests/{found['id']}/reject"
    assert client.post(path, json={"revision": 1, "reason": ""}).status_code == 422
    done = client.post(path, json={"revision": 1, "reason": "wrong source"}).json()
    assert (done["state"], done["run_id"]) == ("rejected", None)
    with asking.store.read() as reader:
        rows = reader._connection.execute("SELECT who, action, detail, reason FROM audit ORDER BY id").fetchall()
    assert [(row[0], row[1]) for row in rows][-2:] == [("automation", "request_hold"), ("ann", "request_reject")]
    assert (rows[-1][2], rows[-1][3]) == ({"request": found["id"], "cells": 7}, "wrong source")


def test_home_and_automation_say_what_waits_and_what_is_set_aside(asking: Any, client: httpx.Client) -> None:
    with asking.store.begin() as tx:
        now = tx.now()
        tx.write_faults([Fault(FaultKind.ASSET, asking.asset_id("delays"), "ValueError: boom", 3, now, now, now)])
        tx.note_duty("replan", "s1", None, failures=4, error="it will be tried again: boom")
    needs = {one["text"]: one["link"] for one in client.get("/api/v1/summary").json()["needs_me"]}
    (request,) = client.get("/api/v1/requests").json()["requests"]
    assert needs["automation asks for 7 cells of follower: approve or reject"] == f"/automation?request={request['id']}"
    assert needs["automation cannot decide about delays: ValueError: boom"] == "/automation"
    assert needs["duty replan fails: it will be tried again: boom"] == "/system"
    page = client.get("/api/v1/automation").json()
    assert [one["id"] for one in page["waiting"]] == [request["id"]]
    assert [(one["subject"], one["tries"]) for one in page["faults"]] == [("delays", 3)]
    assert {"name": "replan", "failures": 4}.items() <= client.get("/api/v1/system").json()["duties"][0].items()


def test_an_unknown_request_is_not_found(client: httpx.Client) -> None:
    assert client.get("/api/v1/requests/7").status_code == 404


# ------------------------------------------------------------------ the command line


@pytest.fixture
def cli(
    asking: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    (tmp_path / "partita.toml").write_text("")
    monkeypatch.setenv("PARTITA_PROJECT", str(tmp_path))
    monkeypatch.setenv("PARTITA_HOME", str(tmp_path))
    monkeypatch.setenv("PARTITA_DATABASE_URL", asking.url)

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run_cli(list(arguments))
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def test_the_command_line_lists_shows_asks_and_approves(cli: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = cli("requests", "list")
    assert code == 0
    assert "awaiting input" in out
    assert "follower" in out
    request_id = str(json.loads(cli("requests", "list", "--json")[1])["requests"][0]["id"])
    code, out, _ = cli("requests", "show", request_id)
    assert "Materialize 7 cells of 1 asset: 7 missing" in out
    assert "because raw/flights 2013-01-01..2013-01-07 were materialized; its limit is 5" in out
    code, out, err = cli("requests", "approve", request_id)
    assert (code, "nobody confirmed" in err) == (2, True), "nothing acts without a preview and a yes"
    code, out, _ = cli("requests", "approve", request_id, "--yes")
    assert code == 0
    assert "makes 7 cells" in out
    code, _, err = cli("requests", "reject", request_id, "--reason", "late", "--yes")
    assert (code, "already" in err) == (2, True)
    assert "No automatic request waits for a person." in cli("requests", "list")[1]
    assert "approved" in cli("requests", "list", "--all")[1]


def test_the_command_line_rejects_with_a_reason(cli: Callable[..., tuple[int, str, str]]) -> None:
    request_id = str(json.loads(cli("requests", "list", "--json")[1])["requests"][0]["id"])
    assert cli("requests", "reject", request_id, "--yes")[0] == 2
    code, out, _ = cli("requests", "reject", request_id, "--reason", "wrong source", "--yes")
    assert code == 0
    assert "The same state of its inputs is not asked for again" in out
    assert "wrong source" in cli("requests", "list", "--state", "rejected")[1]
    assert cli("requests", "show", "999")[0] == 2
