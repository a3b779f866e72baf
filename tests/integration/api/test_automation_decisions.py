"""What automation would decide, told to people: the same decision, with its tree, and nothing is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from partita.assets import Daily
from partita.core.automation import run_automation, run_clocks
from partita.sdk import eager, on_close, when

Partita = Callable[..., tuple[int, str, str]]
DAYS = Daily("2026-03-01", end="2026-04-02", tz="Europe/Berlin")


@pytest.fixture
def automated(world: Any) -> Any:
    """orders closes by itself; totals follows orders and rates, of the newest week only."""
    world.activate(
        [
            world.spec("orders", DAYS, automation=on_close(catch_up="latest").spec),
            world.spec("rates", DAYS),
            world.spec("totals", DAYS, {"orders": DAYS, "rates": DAYS}, automation=(eager() & when.latest(7)).spec),
        ],
        checks=(),
    )
    return world


def moved(world: Any) -> Callable[[Any], Any]:
    return lambda claimed: world.written(claimed)._replace(automation_assets=world.catalog.automation_assets)


def told(client: httpx.Client, asset: str, **more: Any) -> Any:
    answer = client.get("/api/v1/automation/decision", params={"asset": asset, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def marks(tree: Any) -> list[str]:
    """The leaves that hold."""
    below = [mark for part in tree["parts"] for mark in marks(part)]
    return below or ([tree["text"]] if tree["holds"] else [])


def test_the_tree_says_what_is_wanting(automated: Any, client: httpx.Client) -> None:
    found = told(client, "totals", partitions="latest 8")
    assert found["condition"] == "eager() & latest(7)"
    assert [cell["decision"] for cell in found["cells"]] == ["rests"] * 8
    oldest, *_, newest = found["cells"]
    assert "latest(7)" not in marks(oldest["tree"])
    assert "latest(7)" in marks(newest["tree"])
    assert {"missing", "orders: 1 of 1 missing", "rates: 1 of 1 missing"} <= set(marks(newest["tree"]))
    assert newest["sentence"] == "the condition of totals 2026-04-01 does not hold"


def test_it_says_what_it_asks_what_it_waits_for_and_what_it_asked(automated: Any, client: httpx.Client) -> None:
    world = automated
    run_clocks(world.store, world.catalogs)
    [cell] = told(client, "orders")["cells"]
    assert (cell["decision"], cell["sentence"]) == (
        "owned",
        "orders 2026-04-01 is being made: an open task owns it",
    )
    [asked] = client.get("/api/v1/automation").json()["requests"]
    assert asked["consumer"] == "orders"
    assert asked["tree"]["holds"]  # as it was decided, though an open task owns the cell now
    assert "missing" in marks(asked["tree"])
    world.work(result=moved(world))
    world.launch("rates", partitions="2026-04-01")
    claimed = world.claim()
    [cell] = told(client, "totals")["cells"]
    assert (cell["decision"], cell["sentence"]) == (
        "waits",
        "totals 2026-04-01 waits for rates 2026-04-01, which is being made",
    )
    world.finish([moved(world)(one) for one in claimed])
    [cell] = told(client, "totals")["cells"]
    assert (cell["decision"], cell["sentence"]) == ("asks", "totals 2026-04-01 would be asked for: missing")
    assert run_automation(world.store, world.catalogs).requested == 1
    world.work(result=world.failed)
    [cell] = told(client, "totals")["cells"]
    assert cell["decision"] == "asked"


def test_another_instant_is_decided_with_the_cells_of_now(automated: Any, client: httpx.Client) -> None:
    before = datetime(2026, 3, 5, 12, tzinfo=UTC)
    found = told(client, "orders", at=before.isoformat(), looks=30)
    assert found["at"] == "2026-03-05T12:00:00Z"
    assert [cell["partition"] for cell in found["cells"]] == ["2026-03-04"]
    assert (found["zone"], found["next_looks"][0]["local"]) == ("Europe/Berlin", "2026-03-06T00:00+01:00")
    changed = [one["local"] for one in found["next_looks"] if one["clock_changes"]]
    assert changed == ["2026-03-30T00:00+02:00"]


def test_another_state_is_tried_and_asks_for_nothing(automated: Any, client: httpx.Client) -> None:
    def tried(**given: str) -> Any:
        answer = client.post("/api/v1/automation/test", json={"asset": "totals", "given": given})
        assert answer.status_code == 200, answer.text
        [cell] = answer.json()["cells"]
        return cell

    assert tried()["decision"] == "rests"
    assert tried(orders="updated")["decision"] == "rests"
    assert tried(orders="updated", rates="made")["sentence"] == "totals 2026-04-01 would be asked for: missing"
    assert tried(orders="updated", rates="in_progress")["decision"] in ("waits", "rests")
    assert client.get("/api/v1/automation").json()["requests"] == []
    unknown = client.post("/api/v1/automation/test", json={"asset": "totals", "given": {"order": "made"}})
    assert (unknown.status_code, "orders" in unknown.text) == (404, True)
    assert (
        client.post("/api/v1/automation/test", json={"asset": "totals", "given": {"rates": "new"}}).status_code == 422
    )


def test_what_cannot_be_told_says_so(automated: Any, client: httpx.Client) -> None:
    answer = client.get("/api/v1/automation/decision", params={"asset": "order"})
    assert answer.status_code == 404
    answer = client.get("/api/v1/automation/decision", params={"asset": "orders", "at": "2026-03-05T12:00"})
    assert answer.status_code == 422
    assert told(client, "rates")["condition"] is None


def test_the_command_shows_the_tree(automated: Any, partita: Partita) -> None:
    code, out, _ = partita("automation", "test", "totals", "--partitions", "latest", "--next", "0")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("totals: eager() & latest(7), at ")
    assert "the condition of totals 2026-04-01 does not hold" in lines
    assert "  ✗ eager() & latest(7)" in lines
    assert "    ✓ latest(7)" in lines
    assert any(line.strip() == "✓ orders: 1 of 1 missing" for line in lines)
    code, out, _ = partita("automation", "test", "rates")
    assert out == "rates is not automated: only people and backfills ask for it\n"
    code, _, err = partita("automation", "test", "totals", "--at", "2026-03-10")
    assert code == 2
    assert "has a date, a time and an offset" in err


def test_another_state_is_decided_about_and_nothing_is_changed(automated: Any, partita: Partita) -> None:
    def sentence(*given: str) -> str:
        options = [word for one in given for word in ("--given", one)]
        code, out, _ = partita("automation", "test", "totals", "--next", "0", *options)
        assert code == 0
        return str(next(line for line in out.splitlines() if "2026-04-01" in line))

    name = "totals 2026-04-01"
    assert sentence("orders=made") == f"the condition of {name} does not hold"
    assert sentence("orders=made", "rates=made") == f"{name} would be asked for: missing"
    assert sentence("orders=made", "rates=made", "totals=made") == f"{name} would be asked for: stale"
    assert sentence("orders=made", "rates=in_progress") == f"{name} waits for rates 2026-04-01, which is being made"
    assert sentence() == f"the condition of {name} does not hold"
    code, _, err = partita("automation", "test", "totals", "--given", "orders=new")
    assert code == 2
    assert "in_progress" in err


def test_why_shows_the_tree_of_an_automated_cell_too(automated: Any, partita: Partita) -> None:
    code, out, _ = partita("why", "totals", "2026-04-01")
    lines = [line.rstrip() for line in out.splitlines()]
    assert code == 0
    assert "automation: the condition of totals 2026-04-01 does not hold" in lines
    assert lines[lines.index("automation: the condition of totals 2026-04-01 does not hold") + 1] == (
        "  ✗ eager() & latest(7)"
    )
    _, out, _ = partita("why", "rates", "2026-04-01")
    assert "automation" not in out


def test_the_list_shows_conditions_and_when_time_is_heeded(automated: Any, partita: Partita) -> None:
    run_clocks(automated.store, automated.catalogs)
    code, out, _ = partita("automation", "--json")
    assert code == 0
    listed = {one["key"]: one for one in json.loads(out)["consumers"]}
    assert listed["totals"]["condition"] == "eager() & latest(7)"
    assert listed["orders"]["last_reason"] == "the time came for orders: on_close(catch_up='latest')"
