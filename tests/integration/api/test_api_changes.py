"""Changed definitions over REST: which function changed, accept with preview and undo, held back, a location's difference."""

from __future__ import annotations

from typing import Any

import httpx

from partita.core.cells.fold import fold_pages

ASK = {"selection": "raw/flights", "partitions": "2013-01-01..2013-01-03"}


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(f"/api/v1{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def post(client: httpx.Client, path: str, body: dict[str, Any] | None = None, status: int = 200) -> Any:
    answer = client.post(f"/api/v1{path}", json=body or {})
    assert answer.status_code == status, answer.text
    return answer.json()


def changed(world: Any) -> None:
    """Three days of flights made, then their code changed."""
    world.activate()
    world.launch("raw/flights", partitions="2013-01-01..2013-01-03")
    world.work()
    world.activate(
        [
            one.model_copy(update={"fingerprint": "raw/flights-2"}) if one.key == "raw/flights" else one
            for one in world.assets
        ]
    )


def test_a_stale_cell_names_the_function_that_changed(world: Any, client: httpx.Client) -> None:
    changed(world)
    cell = get(client, "/asset/cell", key="raw/flights", partition="2013-01-02")
    assert cell["state"] == "stale"
    assert cell["code_change"]["changed"] == ["flights.assets.flights"]
    assert [one["text"] for one in cell["reasons"]] == ["its code changed (flights.assets.flights changed)"]
    why = get(client, "/why", key="raw/flights", partition="2013-01-02")
    assert why["sentence"] == "raw/flights 2013-01-02 is stale: its code changed (flights.assets.flights changed)"


def test_accept_is_shown_confirmed_as_shown_and_taken_back(world: Any, client: httpx.Client) -> None:
    changed(world)
    shown = post(client, "/acceptances/preview", ASK)
    assert shown["cells"] == 3
    assert shown["assets"][0]["change"]["changed"] == ["flights.assets.flights"]
    other = post(client, "/acceptances", {**ASK, "reason": "same", "confirm_cells": 2}, status=409)
    assert other["error"]["what"] == "2 cells were confirmed, and 3 would be accepted now"
    post(client, "/acceptances", {**ASK, "reason": "", "confirm_cells": 3}, status=422)
    assert get(client, "/asset", key="raw/flights")["counts"]["stale"] == 3
    done = post(client, "/acceptances", {**ASK, "reason": "only a log line", "confirm_cells": 3})
    assert (done["cells"], done["passed_over"]) == (3, 0)
    assert "stale" not in get(client, "/asset", key="raw/flights")["counts"]
    cell = get(client, "/asset/cell", key="raw/flights", partition="2013-01-02")
    assert cell["code_change"] is None
    post(client, f"/acceptances/{done['id']}/undo")
    [listed] = get(client, "/acceptances")
    assert (listed["reason"], listed["undone_by"]) == ("only a log line", "ann")
    assert get(client, "/asset", key="raw/flights")["counts"]["stale"] == 3
    again = post(client, f"/acceptances/{done['id']}/undo", status=400)
    assert "taken back by ann already" in again["error"]["what"]


def test_a_change_that_was_folded_between_two_looks_is_seen(world: Any, client: httpx.Client) -> None:
    """The counts of an asset are kept; a change whose row is gone again before anybody looked must still show."""
    changed(world)
    while fold_pages(world.store):
        pass
    assert get(client, "/asset", key="raw/flights")["counts"]["stale"] == 3
    post(client, "/acceptances", {**ASK, "reason": "same", "confirm_cells": 3})
    while fold_pages(world.store):
        pass
    assert "stale" not in get(client, "/asset", key="raw/flights")["counts"]


def test_what_holds_the_data_of_an_asset_back(world: Any, client: httpx.Client) -> None:
    world.activate()
    found = get(client, "/asset/held-back", key="delays")
    assert found["reaches"] is None
    assert found["path"][0]["key"] == "delays"
    assert found["path"][-1]["key"] in {"raw/flights", "weather"}
    assert "held back by" in found["sentence"]


def test_a_location_tells_what_its_last_activation_changed(world: Any, client: httpx.Client) -> None:
    world.activate()
    first = get(client, "/locations/flights/diff")
    assert first["against"] is None
    assert first["sentence"] == "This is the first version of the location."
    changed(world)
    diff = get(client, "/locations/flights/diff")
    assert diff["waiting"] is False
    assert [(one["key"], one["kind"], one["lines"]) for one in diff["assets"]] == [
        ("raw/flights", "changed", ["code: flights.assets.flights changed"])
    ]
    unknown = client.get("/api/v1/locations/nowhere/diff")
    assert unknown.status_code == 404


def test_params_that_do_not_fit_are_refused_before_anything_runs(world: Any, client: httpx.Client) -> None:
    world.activate()
    ask = {"selection": "delays", "upstream": True, "params": {"floor": "three"}}
    refused = post(client, "/plans", ask, status=400)
    assert refused["error"]["what"] == "asset 'delays' does not take floor='three'"
    assert refused["error"]["fix"] == "floor is: type integer"
    assert get(client, "/runs")["total"] == 0


def test_the_last_activation_is_told_after_rollbacks_too(world: Any, client: httpx.Client) -> None:
    """first, second, third, back to first, on to second: what was active before is the first, not what was made last."""

    def deploy(code: str) -> str:
        world.activate([world.spec("orders", code=code)], checks=())
        return str(get(client, "/locations/flights/diff")["version"])

    first, _, third = deploy("1"), deploy("2"), deploy("3")
    deploy("1")
    assert get(client, "/locations/flights/diff")["against"] == third
    deploy("2")
    assert get(client, "/locations/flights/diff")["against"] == first
