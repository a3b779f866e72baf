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


def test_a_window_says_whose_messages_it_holds_back(late: Any, client: httpx.Client) -> None:
    """S-202: it silences other people's alerts, so whoever makes it sees whose, and how many are open already."""
    asked = {"selection": "raw/*", "for_s": 7200}
    shown = client.post("/api/v1/alerts/maintenance/preview", json=asked).json()
    about = len(shown["assets"])
    assert shown["owners"] == {"team:ops": about}
    assert (shown["rules"], shown["open"]) == (["nightly", "stuck"], 2)
    assert [(one["name"], one["scheme"]) for one in shown["targets"]] == [
        ("owner:team:ops#1", "mailto"),
        ("alert:stuck#1", "json"),
    ]
    assert SECRET not in json.dumps(shown)
    assert shown["cli"] == "partita alerts maintenance 'raw/*' --for 7200s"
    said = f"rules nightly and stuck, of team:ops ({about} asset{'s' if about > 1 else ''}), to 2 places."
    assert said in shown["sentence"]
    assert "2 alerts about them are open already" in shown["sentence"]
    windows = client.get("/api/v1/alerts/rules").json()["maintenance"]
    assert [one["name"] for one in windows] == ["sundays"], "a preview changes nothing"

    other = client.post("/api/v1/alerts/maintenance", json={**asked, "confirm_assets": about + 1})
    assert (other.status_code, other.json()["error"]["rule"]) == (409, "what is done is what was shown")
    made = client.post("/api/v1/alerts/maintenance", json={**asked, "confirm_assets": about}).json()["id"]
    late.launch("raw/flights", partitions="2013-01-03")
    late.work(result=late.failed)
    raise_alerts(late.store, Matchers(late.routing, late.catalogs))
    end = f"/api/v1/alerts/maintenance/{made}/end"
    assert "1 alert that it holds back is told now" in client.get(end).json()["sentence"]
    assert client.post(end).status_code == 204
    assert client.get(end).status_code == 404
    entries = {one["action"]: one for one in client.get("/api/v1/audit").json()["entries"]}
    assert entries["maintenance"]["text"] == "held messages about raw/* back for 2 h"
    assert entries["maintenance_end"]["text"] == f"ended maintenance {made} of raw/*"
    everything = client.post("/api/v1/alerts/maintenance/preview", json={"selection": "*", "for_s": 60}).json()
    assert everything["sentence"].startswith("All messages, about ")
    assert client.post("/api/v1/alerts/maintenance/preview", json={**asked, "for_s": 0}).status_code == 400


def test_what_was_acknowledged_is_taken_back(late: Any, client: httpx.Client) -> None:
    client.post("/api/v1/alerts/ack", json={"ids": [1, 2]})
    assert client.get("/api/v1/alerts", params={"state": "open"}).json()["total"] == 0
    [entry] = client.get("/api/v1/audit", params={"action": "alert_ack"}).json()["entries"]
    assert entry["undo"] == "partita alerts reopen 1 2"
    assert client.post("/api/v1/alerts/reopen", json={"ids": [2]}).json() == {"ids": [2]}
    assert [one["id"] for one in client.get("/api/v1/alerts", params={"state": "open"}).json()["alerts"]] == [2]
    [entry] = client.get("/api/v1/audit", params={"action": "alert_reopen"}).json()["entries"]
    assert entry["text"] == "reopened 1 alert"


def test_a_test_message_says_whom_it_reaches(late: Any, client: httpx.Client) -> None:
    shown = client.get("/api/v1/alerts/test", params={"rule": "stuck"}).json()
    assert shown["sentence"].startswith("A scheduler sends a real message to 1 place: alert:stuck#1 (json).")
    assert client.get("/api/v1/alerts/test", params={"rule": "nigthly"}).status_code == 404
    notices = client.get("/api/v1/alerts/notices").json()["notices"]
    assert [one for one in notices if one["kind"] == "test"] == [], "a preview sends nothing"


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
    assert partita("alerts", "ack", str(first), "--note", "known")[1] == (
        f"Alert {first} is acknowledged.\nTo take it back: partita alerts reopen {first}\n"
    )
    assert "snoozed for 2h" in partita("alerts", "snooze", str(second), "--for", "2h")[1]
    assert "No alert is open." in partita("alerts", "list", "--state", "open")[1]
    assert "acknowledged by" in partita("alerts", "list")[1]
    code, _, err = partita("alerts", "ack", "77")
    assert code != 0
    assert "there is no alert 77" in err
    assert "team:ops" in partita("alerts", "rules")[1]
    assert partita("alerts", "reopen", str(first))[1] == f"Alert {first} is open again.\n"
    code, out, err = partita("alerts", "ack", str(first), str(second))
    assert (code, "2 alerts?" in err) == (2, True)
    assert f"{first} [critical] raw/flights 2013-01-01 failed" in out
    window = ("alerts", "maintenance", "raw/*", "--for", "2h", "--reason", "upgrade")
    code, out, err = partita(*window)
    assert (code, "nobody confirmed it" in err) == (2, True)
    assert "of team:ops" in out
    assert "upgrade" not in partita("alerts", "maintenance")[1]
    assert "--end 1" in partita(*window, "--yes")[1]
    assert "upgrade" in partita("alerts", "maintenance")[1]
    assert partita("alerts", "maintenance", "--end", "1")[0] == 2
    assert "is over" in partita("alerts", "maintenance", "--end", "1", "--yes")[1]
    assert partita("alerts", "maintenance", "--for", "2h")[0] != 0
    assert partita("alerts", "test", "stuck", "--detach")[0] == 2
    code, out, _ = partita("alerts", "test", "stuck", "--detach", "--yes", "--json")
    assert [one["state"] for one in json.loads(out)["notices"]] == ["pending"]
    assert "no alert rule" in partita("alerts", "test", "nigthly")[2]
