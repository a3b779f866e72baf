"""Marking and wiping cells by hand on real Postgres: shown, reasoned, audited, undone; consumers follow (S-199)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

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


def do(client: httpx.Client, verb: str, selection: str, partitions: str, **more: Any) -> Any:
    asked = {"verb": verb, "selection": selection, "partitions": partitions, **more}
    shown = post(client, "/by-hand/preview", asked)
    return post(client, "/by-hand", {**asked, "reason": "repaired by hand", "confirm_cells": shown["cells"]})


def cell(client: httpx.Client, partition: str, key: str = "raw/flights") -> Any:
    return get(client, "/asset/cell", key=key, partition=partition)


@pytest.fixture
def made(world: Any) -> Any:
    """Two of three days of delays and what they read."""
    world.activate()
    world.launch("delays", partitions="2013-01-01..2013-01-02", upstream=True)
    world.work()
    return world


def test_a_mark_publishes_on_a_persons_word_and_is_taken_back(made: Any, client: httpx.Client) -> None:
    before = cell(client, "2013-01-01")
    asked = {"verb": "materialized", "selection": "raw/flights", "partitions": DAYS}
    shown = post(client, "/by-hand/preview", asked)
    assert shown["sentence"] == (
        "3 cells count as materialized by hand with the present code: 2 get another version, 1 held nothing. Consumers follow."
    )
    assert shown["cli"] == f"partita mark materialized raw/flights --partitions {DAYS}"
    assert cell(client, "2013-01-01") == before, "a preview changes nothing"
    done = do(client, "materialized", "raw/flights", DAYS)
    assert done["cells"] == 3
    now, new = cell(client, "2013-01-01"), cell(client, "2013-01-03")
    assert (now["state"], new["state"]) == ("fresh", "fresh")
    assert now["published"]["data_version"].startswith("marked-")
    assert now["published"]["location"] == before["published"]["location"], "the data are where they were"
    assert now["published"]["metadata"] == {"marked_by": "ann", "reason": "repaired by hand"}
    assert now["published"]["run_id"] is None
    assert get(client, "/asset", key="delays")["counts"] == {"stale": 2, "missing": 29}, "their input moved"
    entry = get(client, "/audit", action="mark")["entries"][0]
    assert entry["text"] == f"marked 3 cells of raw/flights {DAYS} as materialized"
    assert (entry["reason"], entry["undo"]) == ("repaired by hand", f"partita undo {done['entry']}")
    back = post(client, f"/audit/{done['entry']}/undo", {})
    assert (back["cells"], back["passed_over"]) == (3, 0)
    assert cell(client, "2013-01-01")["published"] == before["published"]
    assert cell(client, "2013-01-03")["state"] == "missing"
    assert get(client, "/asset", key="delays")["counts"] == {"fresh": 2, "missing": 29}
    again = post(client, f"/audit/{done['entry']}/undo", {}, status=409)
    assert again["error"]["what"] == f"entry {done['entry']} was taken back already"


def test_consumers_follow_a_mark_as_any_publication(world: Any, client: httpx.Client) -> None:
    world.activate()
    followed = frozenset({world.asset_id("delays")})
    world.launch("delays", partitions="all", upstream=True)
    world.work(result=lambda claimed: world.written(claimed)._replace(automation_assets=followed))
    assert run_automation(world.store, world.catalogs).requested == 1
    world.work()
    assert get(client, "/asset", key="health")["counts"] == {"fresh": 1}
    done = do(client, "materialized", "delays", "2013-01-05", data_version="as delivered")
    assert run_automation(world.store, world.catalogs).requested == 1
    world.work()
    assert get(client, "/asset", key="health")["counts"] == {"fresh": 1}
    post(client, f"/audit/{done['entry']}/undo", {})
    assert run_automation(world.store, world.catalogs).requested == 1, "an undo moves the version, too"


def test_a_cell_in_the_hands_of_a_task_is_not_changed_beside_it(made: Any, client: httpx.Client) -> None:
    made.launch("raw/flights", partitions="2013-01-05")
    [claimed] = made.claim(1)
    for verb in ("materialized", "failed"):
        asked = {
            "verb": verb,
            "selection": "raw/flights",
            "partitions": "2013-01-05",
            "reason": "x",
            "confirm_cells": 1,
        }
        refused = post(client, "/by-hand", asked, status=409)
        assert refused["error"]["what"] == f"1 of 1 cells are in the hands of task {claimed.task.id}"
        assert f"partita tasks cancel {claimed.task.id}" in refused["error"]["fix"]
    made.finish([made.written(claimed)])
    assert cell(client, "2013-01-05")["published"]["data_version"] == "v1"


def test_a_failed_mark_asks_to_be_made_again_and_keeps_what_is_there(made: Any, client: httpx.Client) -> None:
    done = do(client, "failed", "delays", "2013-01-01")
    found = cell(client, "2013-01-01", "delays")
    assert found["state"] == "failed"
    assert found["published"]["data_version"] == "v1"
    assert "marked as failed by ann: repaired by hand" in str(found["reasons"])
    plan = post(client, "/plans", {"selection": "delays", "partitions": DAYS, "mode": ["failed"]})
    assert plan["by_reason"] == {"failed": 1}
    post(client, f"/audit/{done['entry']}/undo", {})
    assert cell(client, "2013-01-01", "delays")["state"] == "fresh"


def test_a_wipe_is_pointer_first_and_comes_back_but_for_what_was_made_since(made: Any, client: httpx.Client) -> None:
    before = cell(client, "2013-01-01")
    done = do(client, "wipe", "raw/flights", "all")
    assert done["cells"] == 2, "only what held something"
    assert get(client, "/asset", key="raw/flights")["counts"] == {"missing": 31}
    assert [one["code"] for one in cell(client, "2013-01-01", "delays")["reasons"]]
    wiped = get(client, "/why", key="raw/flights", partition="2013-01-01")
    assert "never" not in wiped["sentence"], "it was there"
    assert wiped["reasons"][0]["text"].startswith("it was wiped by ann at 20")
    assert wiped["reasons"][0]["text"].endswith(f"repaired by hand (to take it back: partita undo {done['entry']})")
    assert wiped["reasons"][0]["text"] in wiped["sentence"]
    made.launch("raw/flights", partitions="2013-01-02")
    made.work(result=lambda claimed: made.written(claimed, version="v2"))
    back = post(client, f"/audit/{done['entry']}/undo", {})
    assert (back["cells"], back["passed_over"]) == (1, 1)
    assert cell(client, "2013-01-01")["published"] == before["published"]
    assert cell(client, "2013-01-02")["published"]["data_version"] == "v2"
    assert "wiped" not in get(client, "/why", key="raw/flights", partition="2013-01-02")["sentence"]
    nothing = post(client, "/by-hand/preview", {"verb": "wipe", "selection": "raw/flights", "partitions": "2013-01-30"})
    assert (nothing["cells"], nothing["sentence"]) == (0, "Nothing to wipe: no cell of it holds anything.")


def test_it_is_refused_without_a_reason_or_when_something_moved(made: Any, client: httpx.Client) -> None:
    asked = {"verb": "wipe", "selection": "raw/flights", "partitions": DAYS}
    post(client, "/by-hand", {**asked, "reason": "", "confirm_cells": 2}, status=422)
    post(client, "/by-hand", {**asked, "reason": "  ", "confirm_cells": 2}, status=409)
    post(client, "/by-hand", {**asked, "reason": "why", "confirm_cells": 3}, status=409)
    many = {**asked, "verb": "materialized", "location": "s3://x"}
    assert post(client, "/by-hand/preview", many, status=409)["error"]["what"] == "one location is given for 3 cells"
    post(client, "/by-hand/preview", {**asked, "location": "s3://x"}, status=422)
    external = post(client, "/by-hand/preview", {**asked, "selection": "source/flights"})
    assert external["cells"] == 0
    post(client, "/audit/1/undo", {}, status=409)
    assert get(client, "/asset", key="raw/flights")["counts"] == {"fresh": 2, "missing": 29}


def test_the_command_line_marks_wipes_and_takes_back(made: Any, partita: Partita) -> None:
    code, _, err = partita("mark", "materialized", "raw/flights", "--partitions", DAYS, "--yes")
    assert (code, err.splitlines()[0]) == (2, "mark materialized says why")
    code, _, err = partita("wipe", "raw/flights", "--reason", "x", "--yes")
    assert (code, err.splitlines()[0]) == (2, "wipe says which partitions")
    code, _, err = partita("wipe", "raw/flights", "--partitions", DAYS, "--reason", "x")
    assert code == 2
    assert "nobody confirmed it" in err
    given = ("--location", "s3://by/hand", "--data-version", "7", "--reason", "delivered by mail", "--yes", "--json")
    code, out, _ = partita("mark", "materialized", "raw/flights", "--partition", "2013-01-09", *given)
    entry = json.loads(out)["entry"]
    assert code == 0
    shown = made.new_services().assets.cell("raw/flights", "2013-01-09").published
    assert (shown.data_version, shown.location) == ("7", "s3://by/hand")
    code, out, _ = partita("wipe", "raw/flights", "--partitions", "2013-01-09", "--reason", "no, wrong", "--yes")
    assert (code, f"To take it back: partita undo {entry + 1}" in out) == (0, True)
    code, out, _ = partita("undo", str(entry + 1), "--yes")
    assert (code, f"Took entry {entry + 1} back for 1 cell." in out) == (0, True)
    assert made.new_services().assets.cell("raw/flights", "2013-01-09").published.data_version == "7"
