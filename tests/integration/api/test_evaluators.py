"""Observers, schedules and sensors for people, on real Postgres: what is shown of each, and what people may do (S-099, S-174)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from partita.assets import AssetKey, Daily, EvaluatorSpec
from partita.core.automation import run_asked
from partita.core.automation.evaluating import Broke, Came, begin, conclude
from partita.core.decide.evaluators import loaded
from partita.core.store.values_waits import TriggererId
from partita.ui.api.services.health import SYMPTOMS

Partita = Callable[..., tuple[int, str, str]]
DAYS = Daily("2013-01-01", end="2013-01-11")
SPECS = (
    EvaluatorSpec(name="files", kind="sensor", function="m:files", every_s=30.0, description="New files."),
    EvaluatorSpec(name="morning", kind="schedule", function="m:morning", cron="0 6 * * *", tz="Europe/Berlin"),
    EvaluatorSpec(name="feed", kind="observe", function="m:feed", every_s=60.0, observes=AssetKey("feed")),
)
T1 = TriggererId("t1")


@pytest.fixture
def shop(world: Any) -> Any:
    feed = world.spec("feed", DAYS, kind="external", observed=True)
    world.activate([world.spec("orders", DAYS), feed], checks=())
    with world.store.begin() as tx:
        ((location_id, snapshot_id),) = tx.lock_locations().items()
        world.pin = (location_id, snapshot_id)
        rows = loaded(SPECS, [], snapshot_id=snapshot_id, broken=(), now=tx.now(), position=None)
        tx.put_evaluators(location_id, rows)
        tx.put_triggerer(T1, "h", 1, 3600.0)
    return world


def evaluate(shop: Any, *, end: Came | Broke, kind: str = "sensor") -> None:
    for begun in begin(shop.store, shop.catalogs, T1, [shop.pin], 10):
        other = Came({}) if begun.evaluator.kind != kind else end
        conclude(shop.store, shop.catalogs, begun, other)


def ok(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    return answer.json()


def listed(client: httpx.Client, name: str) -> Any:
    return next(one for one in ok(client.get("/api/v1/evaluators"))["evaluators"] if one["name"] == name)


def sql(shop: Any, statement: str) -> None:
    with psycopg.connect(shop.url, autocommit=True) as connection:
        connection.execute(statement.encode())


def test_home_says_that_no_triggerer_runs_where_functions_want_one(shop: Any, client: httpx.Client) -> None:
    """S-039: also long after the last one died, when it is no longer listed."""

    def told() -> list[str]:
        needs = ok(client.get("/api/v1/summary"))["needs_me"]
        return [one["text"] for one in needs if one["text"].startswith("triggerer")]

    assert told() == [f"triggerer triggerer is down: {SYMPTOMS['triggerer']}"]
    for one in ok(client.get("/api/v1/evaluators"))["evaluators"]:
        ok(client.post(f"/api/v1/evaluators/{one['id']}/pause", json={"reason": "not now"}))
    assert told() == [], "nothing is evaluated, and nothing waits"


def test_what_each_came_to_is_shown_with_its_requests(shop: Any, client: httpx.Client) -> None:
    assert listed(client, "files")["last"] == "never evaluated"
    assert listed(client, "feed")["about"] == "versions of feed"
    assert len(listed(client, "morning")["ticks"]) == 5
    requests = [
        {"selection": '"orders"', "partitions": '"2013-01-02"', "key": "a.csv"},
        {"selection": "ordrs", "key": "b.csv"},
    ]
    evaluate(shop, end=Came({"cursor": "b.csv", "requests": requests}, log="INFO found two"))
    while run_asked(shop.store, shop.catalogs).more:
        pass
    found = listed(client, "files")
    assert (found["state"], found["cursor"], found["last"]) == ("ok", "b.csv", "2 requests")
    detail = ok(client.get(f"/api/v1/evaluators/{found['id']}"))
    assert [(one["outcome"], one["log"]) for one in detail["evaluations"]] == [("asked", "INFO found two")]
    assert [(one["key"], one["state"]) for one in detail["asked"]] == [("b.csv", "refused"), ("a.csv", "launched")]
    assert "did you mean" in detail["asked"][0]["text"]
    assert detail["asked"][1]["run_id"] == 1


def test_a_failing_one_says_why_and_is_evaluated_on_a_persons_word(
    shop: Any, client: httpx.Client, partita: Partita
) -> None:
    evaluate(shop, end=Broke("ValueError: boom", "Traceback: here"))
    found = listed(client, "files")
    assert (found["state"], found["failures"]) == ("failing", 1)
    assert found["text"] == "failed 1 time in a row: ValueError: boom"
    code, out, _ = partita("sensors", "show", "files")
    assert code == 0
    assert "ValueError: boom" in out
    assert "Traceback: here" in out
    assert begin(shop.store, shop.catalogs, T1, [shop.pin], 10) == []
    code, out, _ = partita("sensors", "run", "files", "--yes")
    assert (code, "is due now" in out) == (0, True)
    evaluate(shop, end=Came({"cursor": "1"}))
    assert listed(client, "files")["state"] == "ok"


def test_a_cursor_is_set_and_forgotten_with_the_record_of_who(
    shop: Any, client: httpx.Client, partita: Partita
) -> None:
    evaluate(shop, end=Came({"cursor": "7"}))
    code, out, _ = partita("sensors", "reset", "files", "--cursor", "3", "--yes", "--json")
    assert code == 0
    assert json.loads(out)["cursor"] == "3"
    (running, *_) = [
        one for one in begin(shop.store, shop.catalogs, T1, [shop.pin], 10) if one.evaluator.kind == "sensor"
    ]
    found = listed(client, "files")
    assert (found["state"], running.given["cursor"]) == ("running", "3")
    ok(client.post(f"/api/v1/evaluators/{found['id']}/cursor", json={"cursor": None, "reason": "start over"}))
    late = conclude(shop.store, shop.catalogs, running, Came({"cursor": "4"}))
    assert not late.counted, "what ran from the old cursor counts for nothing"
    assert listed(client, "files")["cursor"] is None
    entries = ok(client.get("/api/v1/audit"))["entries"]
    assert [one["text"] for one in entries if "cursor" in one["text"]] == ["set the cursor of sensor files"] * 2


def test_a_schedule_that_was_paused_goes_on_as_asked(shop: Any, client: httpx.Client, partita: Partita) -> None:
    morning = listed(client, "morning")["id"]
    refused = client.post(f"/api/v1/evaluators/{morning}/run")
    assert refused.status_code >= 400
    assert "at its ticks" in refused.text
    assert partita("schedules", "pause", "morning", "--reason", "holidays", "--yes")[0] == 0
    sql(shop, "UPDATE evaluator SET tick_at = tick_at - interval '3 days', due_at = tick_at WHERE name = 'morning'")
    found = listed(client, "morning")
    assert (found["state"], found["missed"], found["next_at"]) == ("paused", 3, None)
    assert client.post(f"/api/v1/evaluators/{morning}/pause").status_code >= 400
    code, _, err = partita("schedules", "resume", "morning", "--catch-up", "none", "--yes")
    assert (code, err) == (0, "")
    assert listed(client, "morning")["state"] == "ok"
    assert [one for one in begin(shop.store, shop.catalogs, T1, [shop.pin], 10) if one.tick] == []
    partita("schedules", "pause", "morning", "--yes")
    sql(shop, "UPDATE evaluator SET tick_at = tick_at - interval '3 days', due_at = tick_at WHERE name = 'morning'")
    ok(client.post(f"/api/v1/evaluators/{morning}/resume", json={"catch_up": "latest"}))
    (begun,) = [one for one in begin(shop.store, shop.catalogs, T1, [shop.pin], 10) if one.tick]
    assert begun.passed_over == 0


def test_a_schedule_catches_up_at_a_pace(shop: Any, client: httpx.Client, partita: Partita) -> None:
    """S-024, S-201."""
    assert partita("schedules", "pause", "morning", "--yes")[0] == 0
    sql(shop, "UPDATE evaluator SET tick_at = tick_at - interval '3 days', due_at = tick_at WHERE name = 'morning'")
    morning = listed(client, "morning")["id"]
    refused = client.post(f"/api/v1/evaluators/{morning}/resume", json={"catch_up": "latest", "pace": 1})
    assert (refused.status_code, "at a pace" in refused.text) == (409, True)
    code, out, err = partita("schedules", "resume", "morning", "--pace", "1", "--yes")
    assert (code, err) == (0, ""), out
    found = listed(client, "morning")
    assert (found["state"], found["missed"], found["pace"]) == ("ok", 3, 1)
    assert found["text"] == "catches up: 3 ticks to go, at most 1 run of it at a time"
    request = {"selection": '"orders"', "partitions": '"2013-01-02"', "mode": ["all"]}
    evaluate(shop, end=Came({"requests": [request]}), kind="schedule")
    evaluate(shop, end=Came({"requests": [request]}), kind="schedule")
    found = listed(client, "morning")
    assert (found["missed"], found["last"]) == (2, "waits: 1 run of it active, and its pace is 1")


@pytest.mark.parametrize(
    ("command", "paused", "asks"),
    [
        (("sensors", "run", "files"), False, "files is evaluated at once, with the cursor none"),
        (("sensors", "pause", "files"), False, "What it would find it finds afterwards. Pause files?"),
        (("sensors", "resume", "files"), True, "files is due at once, and goes on from where it was. Resume files?"),
        (("schedules", "pause", "morning"), False, "Ticks that pass are counted. Pause morning?"),
        (
            ("schedules", "resume", "morning"),
            True,
            "No tick of morning has passed since it was paused. Resume morning?",
        ),
        (("observers", "reset", "feed"), False, "The cursor of feed is none. Make it none?"),
    ],
)
def test_whatever_changes_something_asks_first(
    shop: Any, client: httpx.Client, partita: Partita, command: tuple[str, ...], paused: bool, asks: str
) -> None:
    """Law 6: without a terminal there is nobody to ask, and nothing happens."""
    if paused:
        partita(command[0], "pause", command[2], "--yes")
    before, audited = listed(client, command[2]), len(ok(client.get("/api/v1/audit"))["entries"])
    for more in ((), ("--json",)):
        code, _, error = partita(*command, *more)
        assert (code, asks in error) == (2, True), error
        assert "nobody confirmed it" in error
    after = listed(client, command[2])
    assert [before[one] for one in ("state", "cursor", "next_at")] == [
        after[one] for one in ("state", "cursor", "next_at")
    ]
    assert len(ok(client.get("/api/v1/audit"))["entries"]) == audited


def test_one_that_is_due_and_that_nobody_evaluates_says_so(shop: Any, client: httpx.Client) -> None:
    sql(shop, "UPDATE evaluator SET due_at = now() - interval '1 minute'; UPDATE triggerer SET state = 'gone'")
    assert "no triggerer runs" in listed(client, "files")["text"]
    sql(shop, "UPDATE triggerer SET state = 'live'; UPDATE code_server SET lease_expires_at = now() - interval '1 s'")
    assert listed(client, "files")["text"] == "it is due, and no server has its version"


def test_the_lists_of_the_command_line(shop: Any, partita: Partita) -> None:
    assert "every 30 s" in partita("sensors", "list")[1]
    assert "Europe/Berlin" in partita("schedules", "list")[1]
    assert json.loads(partita("observers", "list", "--json")[1])["evaluators"][0]["name"] == "feed"
    code, _, err = partita("sensors", "show", "morning")
    assert code != 0
    assert "there is no sensor 'morning'" in err
