"""The big red button on real Postgres: admission and automation stop for what is selected, running attempts end (issue 4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import psycopg

from partita.core.automation import run_automation

Partita = Callable[..., tuple[int, str, str]]
DAYS = "2013-01-01..2013-01-03"


def post(client: httpx.Client, path: str, body: dict[str, Any], *, status: int = 200) -> Any:
    answer = client.post(f"/api/v1{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(f"/api/v1{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def change(client: httpx.Client, verb: str, selection: str | None, *, reason: str = "") -> Any:
    asked = {"verb": verb, "selection": selection}
    shown = post(client, "/pauses/preview", asked)
    return post(client, "/pauses", {**asked, "reason": reason, "confirm_assets": len(shown["assets"])})


def make_delays(world: Any) -> None:
    """All of it and what it reads; `health` is an eager consumer."""
    followed = frozenset({world.asset_id("delays")})
    world.launch("delays", partitions="all", upstream=True)
    world.work(result=lambda claimed: world.written(claimed)._replace(automation_assets=followed))


def test_a_paused_asset_waits_with_its_reason_and_the_others_go_on(world: Any, client: httpx.Client) -> None:
    world.activate()
    run_id = world.launch("raw/flights or weather", partitions=None)
    [running] = world.claim(1)
    shown = post(client, "/pauses/preview", {"verb": "pause", "selection": "raw/*"})
    assert (shown["assets"], shown["cli"]) == (["raw/flights"], "partita pause 'raw/*'")
    assert shown["waiting"] + shown["running"] == 31
    assert get(client, "/pauses") == {"everything": None, "assets": []}, "a preview changes nothing"
    change(client, "pause", "raw/*", reason="the source lies")
    world.finish([world.written(running)])
    world.work()
    states = get(client, f"/runs/{run_id}")["tallies"]
    waiting = get(client, f"/runs/{run_id}/tasks", asset="raw/flights", state="scheduled")
    assert states["success"] == 31 * 4 + (running.task.step == "raw/flights")
    assert waiting["total"] == states["scheduled"] == shown["waiting"]
    reason = waiting["tasks"][0]["reason"]
    assert reason["code"] == "paused"
    assert reason["text"].startswith("its asset is paused by ann since 20")
    assert reason["text"].endswith(" UTC: the source lies")
    partition = waiting["tasks"][0]["partitions_text"]
    assert "; its asset is paused by ann" in get(client, "/why", key="raw/flights", partition=partition)["sentence"]
    assert [one["kind"] for one in get(client, "/pools")] == ["pool"], "a pause is no pool of people"
    change(client, "resume", "raw/flights")
    world.work()
    assert get(client, f"/runs/{run_id}")["state"] == "success"
    told = [(one["action"], one["text"], one["reason"]) for one in get(client, "/audit")["entries"]][:2]
    assert told == [
        ("resume", f"resumed raw/flights: {shown['waiting']} tasks may start", ""),
        ("pause", f"paused raw/*: {shown['waiting']} tasks waiting", "the source lies"),
    ]


def test_everything_stops_at_once_also_what_was_admitted_and_what_is_launched_later(
    world: Any, client: httpx.Client
) -> None:
    world.activate()
    run_id = world.launch("raw/flights", partitions=DAYS)
    [running] = world.claim(1)  # the two others are queued
    told = change(client, "pause", None, reason="a fire")
    assert (told["waiting"], told["running"], told["everything"]) == (2, 1, True)
    assert world.claim(10) == []
    later = world.launch("weather", partitions="day=2013-01-01; origin=JFK")
    assert world.claim(10) == []
    for run in (run_id, later):
        rows = get(client, f"/runs/{run}/tasks", state="scheduled")["tasks"]
        assert {one["reason"]["evidence"]["why"] for one in rows} == {"a fire"}
    with psycopg.connect(world.url) as connection:
        assert connection.execute("SELECT count(*) FROM pool_slot").fetchone() == (1,)
    world.finish([world.written(running)])
    found = get(client, "/pauses")["everything"]
    assert (found["by"], found["reason"]) == ("ann", "a fire")
    change(client, "resume", None)
    assert world.work() == 3
    assert {get(client, f"/runs/{run}")["state"] for run in (run_id, later)} == {"success"}


def test_a_paused_consumer_is_not_asked_for_and_gets_what_it_missed(world: Any, client: httpx.Client) -> None:
    """No event is lost while a consumer is paused."""
    world.activate()
    change(client, "pause", "health")
    make_delays(world)
    events = [world.store, world.catalogs]
    done = run_automation(*events)
    assert (done.requested, done.set_aside) == (0, 31)
    done = run_automation(*events)
    assert (done.taken, done.requested) == (0, 0), "it costs nothing while it waits"
    change(client, "resume", "health")
    done = run_automation(*events)
    assert (done.requested, done.set_aside) == (1, 0)
    world.work()
    assert get(client, "/asset", key="health")["counts"] == {"fresh": 1}


def test_a_resume_shows_what_was_missed_and_asks_for_none_of_it(
    world: Any, client: httpx.Client, partita: Partita
) -> None:
    """S-201: the choice is made with what it is about in view."""
    world.activate()
    change(client, "pause", "health")
    make_delays(world)
    run_automation(world.store, world.catalogs)
    shown = post(client, "/pauses/preview", {"verb": "resume", "selection": "health"})
    assert shown["missed"] == [{"asset": "health", "count": 1, "partitions": ""}]
    assert "It missed 1 partition of 1 asset." in shown["sentence"]
    code, _, err = partita("resume", "health", "--catch-up", "some", "--yes")
    assert (code, "it is one of all, latest, none" in err) == (2, True)
    code, out, _ = partita("resume", "health", "--catch-up", "none", "--yes")
    assert (code, "missed, and asked for as you choose:" in out) == (0, True)
    assert run_automation(world.store, world.catalogs).requested == 0
    assert get(client, "/asset", key="health")["counts"] == {"missing": 1}


def test_a_paused_upstream_does_not_hold_its_consumers(world: Any, client: httpx.Client) -> None:
    world.activate()
    make_delays(world)
    change(client, "pause", "delays")
    assert run_automation(world.store, world.catalogs).requested == 1


def test_what_is_confirmed_is_what_was_shown(world: Any, client: httpx.Client) -> None:
    world.activate()
    asked = {"verb": "pause", "selection": "raw/* or weather"}
    post(client, "/pauses", {**asked, "confirm_assets": 3}, status=409)
    assert get(client, "/pauses")["assets"] == []
    post(client, "/pauses/preview", {"verb": "pause", "selection": "raw/flihgts"}, status=400)
    nothing = post(client, "/pauses", {"verb": "resume", "selection": None, "confirm_assets": 0}, status=400)
    assert nothing["error"]["what"] == "Nothing of it is paused."
    change(client, "pause", "raw/* or weather")
    again = post(client, "/pauses/preview", {"verb": "pause", "selection": "*"})
    assert again["assets"] == ["delays", "health"], "externals are not made, and the others are paused"


def test_the_command_line_pauses_lists_and_resumes(world: Any, partita: Partita) -> None:
    world.activate()
    code, _, err = partita("pause", "weather")
    assert (code, "nobody confirmed it" in err) == (2, True)
    code, _, err = partita("pause")
    assert (code, "pause what?" in err) == (2, True)
    code, out, _ = partita("pause", "weather", "--reason", "storm", "--yes")
    assert code == 0
    assert "Pause 1 asset: 0 open tasks wait, 0 running tasks end as they will, automation asks for nothing." in out
    assert "Paused. To end it: partita resume 'weather'" in out
    code, out, _ = partita("pause", "--all", "--yes")
    assert "Pause everything" in out
    code, out, _ = partita("pause", "--list", "--json")
    found = json.loads(out)
    assert (code, found["everything"]["key"], [one["key"] for one in found["assets"]]) == (0, None, ["weather"])
    code, out, _ = partita("resume", "--all", "--yes")
    assert (code, "1 asset paused by itself stay so" in out) == (0, True)
    code, out, _ = partita("resume", "weather", "--yes")
    assert code == 0
    code, out, _ = partita("pause", "--list")
    assert out == "Nothing is paused.\n"


def test_what_is_so_already_is_said_once_and_nobody_is_asked(
    world: Any, client: httpx.Client, partita: Partita
) -> None:
    world.activate()
    for command in (("resume", "--all"), ("resume", "raw/flights")):
        assert partita(*command) == (0, "Nothing of it is paused.\n", "")
    assert partita("pause", "--all", "--yes")[0] == 0
    audited = len(get(client, "/audit")["entries"])
    code, said, error = partita("pause", "--all")
    assert (code, error, said.count("\n")) == (0, "", 1), said
    assert len(get(client, "/audit")["entries"]) == audited
