"""Renaming, moving and retiring by hand: previewed, done as shown, recorded (laws 6, 8 and 10)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from partita.assets import dependency_hash
from partita.core.catalog import CatalogCache
from partita.ui.cli import run

Partita = Callable[..., tuple[int, Any]]
DAYS = "2013-01-01..2013-01-04"


@pytest.fixture
def partita(world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Partita:
    """Runs one command line with --json; gives the exit code and the value."""
    (tmp_path / "partita.toml").write_text("")
    monkeypatch.setenv("PARTITA_PROJECT", str(tmp_path))
    monkeypatch.setenv("PARTITA_HOME", str(tmp_path))
    monkeypatch.setenv("PARTITA_DATABASE_URL", world.url)

    def command(*arguments: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = run([*arguments, "--json"])
        return code, json.loads(capsys.readouterr().out)

    return command


@pytest.fixture
def made(world: Any) -> Any:
    """Four days of everything down to `delays`."""
    world.activate()
    world.launch("+delays", partitions=DAYS, upstream=True)
    world.work()
    return world


def counts(world: Any, key: str) -> dict[str, int]:
    [found] = world.new_services().assets.find(select=key).assets
    told: dict[str, int] = found.counts
    return told


def renamed(world: Any, new: str, **more: Any) -> list[Any]:
    """The definitions with another key for `raw/flights`; its reader keeps the name of its parameter."""
    found = []
    for one in world.assets:
        inputs = tuple(
            part.model_copy(update={"upstream": new}) if part.upstream == "raw/flights" else part for part in one.inputs
        )
        told: dict[str, Any] = {"inputs": inputs, "dependency_hash": dependency_hash(inputs)}
        if one.key == "raw/flights":
            told |= {"key": new, "step": new, **more}
        found.append(one.model_copy(update=told))
    return found


def test_what_was_forgotten_in_code_is_made_good_by_hand_and_taken_back(made: Any, partita: Partita) -> None:
    old = made.asset_id("raw/flights")
    made.activate(renamed(made, "raw/departures"))
    assert made.asset_id("raw/departures") != old  # and the catalogs of this process remember it
    assert counts(made, "raw/departures") == {"missing": 31}
    assert counts(made, "delays") == {"stale": 4, "missing": 27}
    code, told = partita("assets", "rename", "raw/flights", "raw/departures", "--yes")
    assert (code, told["kind"]) == (0, "rename")
    assert [(one["was"], one["became"], one["cells"]) for one in told["assets"]] == [
        ("raw/flights", "raw/departures", 4),
        ("raw/departures", "raw/flights", 0),
    ]
    assert made.asset_id("raw/departures") == old
    assert counts(made, "raw/departures") == {"fresh": 4, "missing": 27}
    assert counts(made, "delays") == {"fresh": 4, "missing": 27}
    with psycopg.connect(made.url) as connection:
        [(who, action)] = connection.execute("SELECT who, action FROM audit WHERE action LIKE 'asset%'").fetchall()
    assert action == "asset_rename"
    assert who
    assert partita("assets", "rename", "raw/departures", "raw/flights", "--yes")[0] == 0
    assert counts(made, "raw/departures") == {"missing": 31}


def test_runs_of_before_mean_the_assets_of_then(made: Any) -> None:
    """A task of the old code that is claimed after the rename reads and makes the cells of the same asset."""
    run_id = made.launch("+delays", partitions="2013-01-09", upstream=True)
    old = made.asset_id("raw/flights")
    made.activate(renamed(made, "raw/departures", renamed_from=("raw/flights",)))
    assert made.asset_id("raw/departures") == old
    made.catalogs = CatalogCache(made.store.read)  # a process that starts now knows nothing of before
    assert made.catalogs.of_run(run_id).asset("raw/flights").id == old
    assert counts(made, "delays") == {"fresh": 4, "missing": 26, "scheduled": 1}


def test_a_moved_asset_counts_where_it_belongs(made: Any, partita: Partita) -> None:
    key = "raw/flights"
    moved = [one for one in made.assets if one.key == key]
    made.activate([made.spec("other")], location="warehouse", checks=())
    code, told = partita("assets", "move", key, "warehouse", "--yes")
    assert (code, told["assets"][0]["note"]) == (0, "until 'warehouse' declares it, the definition of 'flights' counts")
    assert made.catalog.asset(key).location == "flights"
    made.activate([made.spec("other"), *moved], location="warehouse", checks=())
    assert made.catalog.asset(key).location == "warehouse"
    made.activate([one for one in made.assets if one.key != key])
    assert counts(made, key) == {"fresh": 4, "missing": 27}
    assert counts(made, "delays") == {"fresh": 4, "missing": 27}


def test_a_retired_asset_keeps_its_cells_and_comes_back_when_it_is_declared(made: Any, partita: Partita) -> None:
    code, told = partita("assets", "retire", "delays", "--yes")
    assert (code, told["error"]["what"]) == (2, "'delays' is read by 'health'")
    code, told = partita("assets", "retire", "delays+", "--yes")
    assert (code, [one["was"] for one in told["assets"]]) == (0, ["delays", "health"])
    assert set(made.catalog.assets) == {"source/flights", "raw/flights", "weather"}
    made.activate([one.model_copy(update={"description": "again"}) for one in made.assets])
    assert counts(made, "delays") == {"fresh": 4, "missing": 27}


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("rename", "raw/flihgts", "x"), "asset 'raw/flihgts' was never seen"),
        (("rename", "raw/flights", "x"), "'raw/flights' is declared by location 'flights', and nobody declares 'x'"),
        (("rename", "raw/flights", "no key!"), "asset key 'no key!' is not legal"),
        (("move", "raw/flights", "warehous"), "there is no location 'warehous'"),
        (("move", "raw/flights", "flights"), "'raw/flights' is in location 'flights'"),
        (("retire", "nothing/*"), "nothing"),
    ],
)
def test_what_cannot_be_says_why(made: Any, partita: Partita, arguments: tuple[str, ...], what: str) -> None:
    code, told = partita("assets", *arguments, "--yes")
    assert code == 2
    assert what in told["error"]["what"]


def test_nothing_is_renamed_under_running_work(made: Any, partita: Partita) -> None:
    made.launch("raw/flights", partitions="2013-01-09")
    code, told = partita("assets", "rename", "raw/flights", "weather", "--yes")
    assert (code, told["error"]["what"]) == (2, "'raw/flights' has 1 cells that a task is to make")


def test_over_rest_only_what_was_shown_is_done(made: Any, client: httpx.Client) -> None:
    request = {"kind": "rename", "key": "raw/flights", "to": "weather"}
    shown = client.post("/api/v1/identity/preview", json=request)
    assert shown.status_code == 200, shown.text
    assert [one["became"] for one in shown.json()["assets"]] == ["weather", "raw/flights"]
    stale = client.post("/api/v1/identity", json={"request": request, "hash": "0" * 32})
    assert (stale.status_code, stale.json()["error"]["what"]) == (409, "something moved since this was shown")
    done = client.post("/api/v1/identity", json={"request": request, "hash": shown.json()["hash"]})
    assert done.status_code == 200, done.text
    assert len({made.asset_id("weather"), made.asset_id("raw/flights")}) == 2


def held(world: Any, asset_id: int) -> dict[str, int]:
    """How many rows each table that notes something of an asset has for it."""
    tables = (
        "cell",
        "cell_page",
        "former_cell",
        "kept_cell",
        "check_result",
        "automation_request",
        "event_todo",
        "pause",
    )
    with psycopg.connect(world.url) as connection:
        found = {
            table: connection.execute(
                f"SELECT count(*) FROM {table} WHERE asset_id = %s".encode(), [asset_id]
            ).fetchone()
            for table in tables
        }
    return {table: row[0] for table, row in found.items() if row is not None and row[0]}


def test_a_retired_asset_is_deleted_for_good_and_its_runs_stay(
    made: Any, partita: Partita, client: httpx.Client
) -> None:
    """Law 8: only a person's word deletes, and only what has left the graph."""
    asset_id = made.asset_id("delays")
    assert held(made, asset_id)["cell"] == 4
    code, told = partita("assets", "delete", "delays", "--yes")
    assert (code, told["error"]["what"]) == (2, "'delays' is declared by location 'flights'")
    made.activate([one for one in made.assets if one.key not in ("delays", "health")], checks=())
    code, told = partita("assets", "delete", "delays")
    assert (code, held(made, asset_id)["cell"]) == (2, 4)
    shown = client.post("/api/v1/identity/preview", json={"kind": "delete", "keys": ["delays"]}).json()
    assert [(one["was"], one["cells"]) for one in shown["assets"]] == [("delays", 4)]
    code, told = partita("assets", "delete", "delays", "--yes")
    assert (code, told["kind"]) == (0, "delete")
    assert held(made, asset_id) == {}
    assert client.get("/api/v1/runs/1").json()["cells"]["published"] == 4 + 16 + 4, "what ran is not forgotten"
    entry = client.get("/api/v1/audit", params={"action": "asset_delete"}).json()["entries"][0]
    assert entry["detail"]["cells"] == 4
    made.activate()
    assert made.asset_id("delays") == asset_id
    assert client.get("/api/v1/asset", params={"key": "delays"}).json()["counts"] == {"missing": 31}
    assert partita("assets", "delete", "nothing", "--yes")[0] == 2
