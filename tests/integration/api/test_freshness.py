"""Freshness as people meet it: REST, the home page, the command line (S-205)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from partita.assets import FreshnessSpec, from_spec
from partita.core.alerts import Matchers, Routing, raise_alerts, watch_alerts
from partita.core.freshness import look_at_freshness
from partita.core.freshness.looking import LookedAt


@pytest.fixture
def late(world: Any) -> Any:
    """`report` promises each day within an hour, 99 % of the time; the policy holds for two days, and nothing was made."""
    days = from_spec(next(one for one in world.assets if one.key == "raw/flights").partitions)
    policy = FreshnessSpec(max_lag_s=3_600, objective=0.99)
    report = world.spec("report", days, owner="team:ops").model_copy(update={"freshness": policy})
    world.activate([*world.assets, report])
    with psycopg.connect(world.url) as connection:
        # Its days are of 2013: it is as if the policy had held since before the last of them was due.
        connection.execute("UPDATE freshness SET since = '2013-01-01', looked_at = '2013-01-01'")
    return world


def look(world: Any) -> LookedAt:
    return look_at_freshness(world.store, world.catalogs)


def test_what_is_late_is_seen_wherever_one_looks(
    late: Any, client: httpx.Client, partita: Callable[..., tuple[int, str, str]]
) -> None:
    assert (look(late).broken, look(late).broken) == (1, 0)
    page = client.get("/api/v1/freshness").json()
    (one,) = page["policies"]
    assert (one["asset"], one["state"], one["policy"], one["objective"]) == (
        "report",
        "late",
        "at most 1 h behind, 99 % of 30 d",
        0.99,
    )
    assert one["budget_s"] == pytest.approx(7.2 * 3_600)
    assert (one["late_s"], one["burn"]) == (pytest.approx(30 * 86_400.0), "1 h")
    assert "0% of the error budget is left" in one["sentence"]
    (miss,) = page["misses"]
    assert miss["until_at"] is None
    assert set(miss["spent"]) <= {"unasked", "upstream"}
    needs = client.get("/api/v1/summary").json()["needs_me"]
    assert any(need["text"].startswith("report is late for ") and need["severity"] == "bad" for need in needs)
    code, out, _ = partita("freshness", "report", "--json")
    assert code == 0
    assert json.loads(out)["policies"][0]["asset"] == "report"
    code, out, _ = partita("freshness", "report")
    assert "report" in out
    assert client.get("/api/v1/freshness", params={"asset": "reprot"}).status_code == 404


def test_it_is_told_once_and_is_over_when_the_data_is_there(late: Any, client: httpx.Client) -> None:
    matchers = Matchers(Routing(), late.catalogs)
    look(late)
    raise_alerts(late.store, matchers)
    look(late)
    raise_alerts(late.store, matchers)
    found = client.get("/api/v1/alerts").json()["alerts"]
    assert {(one["kind"], one["subject"], one["times"]) for one in found} == {
        ("late", "report", 1),
        ("slo_burn", "report", 1),
    }
    late.launch("report", partitions="latest")
    late.work()
    assert look(late).kept == 1
    watch_alerts(late.store, matchers)
    assert {one["kind"] for one in client.get("/api/v1/alerts").json()["alerts"]} == {"slo_burn"}, (
        "the budget remembers"
    )
    (one,) = client.get("/api/v1/freshness").json()["policies"]
    assert (one["state"], one["fresh_to"] is not None) == ("fresh", True)
    assert client.get("/api/v1/freshness").json()["misses"][0]["until_at"] is not None
