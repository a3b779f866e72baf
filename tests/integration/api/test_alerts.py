"""Alerts as people meet them: REST, the home page, the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from partita.core.alerts import Matchers, Routing, deliver, raise_alerts
from partita.core.config import load_config

SECRET = "T0ps3cret"
TOML = f"""
[[alert]]
name = "nightly"
on = ["retries_exhausted", "check_failed"]
severity = "critical"
wait = 0

[[alert]]
name = "stuck"
on = ["blocked"]
assets = "raw/*"
to = ["json://127.0.0.1:1/{SECRET}"]
blocked_after = "2h"

[owners."team:ops"]
to = ["mailto://ann:{SECRET}@mail.example.com"]
runbook = "https://wiki.example.com/flights"

[[maintenance]]
name = "sundays"
assets = "raw/*"
cron = "0 2 * * SUN"
lasts = "2h"
"""


@pytest.fixture
def late(world: Any, tmp_path: Path, partita: Callable[..., tuple[int, str, str]]) -> Any:
    """Two partitions failed, as the rules of a configuration see it; the services know the same rules."""
    (tmp_path / "partita.toml").write_text(TOML)
    world.routing = Routing.of(load_config(tmp_path))
    world.services = world.new_services(routing=world.routing)
    world.activate([one.model_copy(update={"owner": "team:ops"}) for one in world.assets])
    world.launch("raw/flights", partitions="2013-01-01..2013-01-02")
    world.work(result=world.failed)
    raise_alerts(world.store, Matchers(world.routing, world.catalogs))
    return world


def test_an_alert_is_listed_told_and_acknowledged(late: Any, client: httpx.Client) -> None:
    page = client.get("/api/v1/alerts").json()
    assert page["total"] == 2
    one = page["alerts"][0]
    assert (one["kind"], one["severity"], one["state"], one["asset"], one["owners"], one["runbook"]) == (
        "retries_exhausted",
        "critical",
        "open",
        "raw/flights",
        ["team:ops"],
        "https://wiki.example.com/flights",
    )
    assert one["text"].startswith("raw/flights 2013-01-0")
    deliver(late.store, late.routing, send=lambda url, title, body, kind: None)
    detail = client.get(f"/api/v1/alerts/{one['id']}").json()
    assert [(n["target"], n["scheme"], n["state"]) for n in detail["notices"]] == [
        ("owner:team:ops#1", "mailto", "sent")
    ]
    assert detail["alert"]["told"] == 1

    asked = {"ids": [one["id"]], "note": "the source is late"}
    assert client.post("/api/v1/alerts/ack", json=asked).json() == {"ids": [one["id"]]}
    assert client.post("/api/v1/alerts/ack", json=asked).json() == {"ids": []}
    known = client.get("/api/v1/alerts", params={"state": "acknowledged"}).json()["alerts"]
    assert [(a["id"], a["acked_by"], a["note"]) for a in known] == [(one["id"], "ann", "the source is late")]
    assert client.get("/api/v1/alerts", params={"state": "open"}).json()["total"] == 1
    (entry,) = client.get("/api/v1/audit", params={"action": "alert_ack"}).json()["entries"]
    assert (entry["text"], entry["reason"]) == ("acknowledged 1 alert", "the source is late")


def test_what_cannot_be_done_says_so(late: Any, client: httpx.Client) -> None:
    answer = client.post("/api/v1/alerts/ack", json={"ids": [99]})
    assert (answer.status_code, answer.json()["error"]["what"]) == (404, "there is no alert 99")
    assert client.get("/api/v1/alerts/99").status_code == 404
    refused = client.post("/api/v1/alerts/snooze", json={"ids": [1], "for_s": -1})
    assert (refused.status_code, refused.json()["error"]["fix"]) == (400, "--for 4h")
    unknown = client.post("/api/v1/alerts/maintenance", json={"selection": "raw/flihgts", "for_s": 60})
    assert unknown.status_code in (400, 404)


def test_no_answer_holds_an_address(
    late: Any, client: httpx.Client, partita: Callable[..., tuple[int, str, str]]
) -> None:
    deliver(late.store, late.routing, send=lambda url, title, body, kind: "refused")
    for path in ("/alerts", "/alerts/1", "/alerts/rules", "/alerts/notices", "/summary"):
        answer = client.get(f"/api/v1{path}")
        assert answer.status_code == 200
        assert SECRET not in answer.text
    told = "".join(partita("alerts", *words)[1] for words in (["list"], ["show", "1"], ["rules"], ["rules", "--json"]))
    assert "mailto" in told
    assert SECRET not in told


def test_rules_and_windows_are_told(late: Any, client: httpx.Client) -> None:
    found = client.get("/api/v1/alerts/rules").json()
    assert [(one["name"], [t["scheme"] for t in one["targets"]], one["blocked_after_s"]) for one in found["rules"]] == [
        ("nightly", [], 21600.0),
        ("stuck", ["json"], 7200.0),
    ]
    assert [one["name"] for one in found["maintenance"]] == ["sundays"]
    made = client.post("/api/v1/alerts/maintenance", json={"selection": "raw/*", "for_s": 3600, "reason": "upgrade"})
    ident = made.json()["id"]
    windows = client.get("/api/v1/alerts/rules").json()["maintenance"]
    assert [(one["id"], one["by"], one["reason"]) for one in windows if one["id"]] == [(ident, "ann", "upgrade")]
    assert client.post(f"/api/v1/alerts/maintenance/{ident}/end").status_code == 204
    assert client.post(f"/api/v1/alerts/maintenance/{ident}/end").status_code == 404


def test_home_says_what_nobody_knows_of(late: Any, client: httpx.Client) -> None:
    import psycopg

    with psycopg.connect(late.url) as connection:
        connection.execute("UPDATE alert SET kind = 'check_failed'")
        connection.execute("UPDATE notice SET state = 'failed', ended_at = now(), error = 'connection refused'")
    texts = {one["text"]: one["link"] for one in client.get("/api/v1/summary").json()["needs_me"]}
    assert texts["raw/flights: check failed, 2 times"] == "/alerts?kind=check_failed"
    assert "1 message of alert nightly did not reach owner:team:ops#1: connection refused" in texts
    client.post("/api/v1/alerts/ack", json={"ids": [1, 2]})
    left = {one["text"] for one in client.get("/api/v1/summary").json()["needs_me"]}
    assert "raw/flights: check failed, 2 times" not in left


def test_the_command_line(late: Any, partita: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = partita("alerts", "list", "--json")
    assert code == 0
    first, second = sorted(one["id"] for one in json.loads(out)["alerts"])
    assert "raw/flights 2013-01-01 failed" in partita("alerts", "list")[1]
    assert "owners: team:ops" in partita("alerts", "show", str(first))[1]
    assert partita("alerts", "ack", str(first), "--note", "known")[1] == f"Alert {first} is acknowledged.\n"
    assert "snoozed for 2h" in partita("alerts", "snooze", str(second), "--for", "2h")[1]
    assert "No alert is open." in partita("alerts", "list", "--state", "open")[1]
    assert "acknowledged by" in partita("alerts", "list")[1]
    code, _, err = partita("alerts", "ack", "77")
    assert code != 0
    assert "there is no alert 77" in err
    assert "team:ops" in partita("alerts", "rules")[1]
    assert "--end 1" in partita("alerts", "maintenance", "raw/*", "--for", "2h", "--reason", "upgrade")[1]
    assert "upgrade" in partita("alerts", "maintenance")[1]
    assert "is over" in partita("alerts", "maintenance", "--end", "1")[1]
    assert partita("alerts", "maintenance", "--for", "2h")[0] != 0
    code, out, _ = partita("alerts", "test", "stuck", "--detach", "--json")
    assert [one["state"] for one in json.loads(out)["notices"]] == ["pending"]
    assert "no alert rule" in partita("alerts", "test", "nigthly")[2]
