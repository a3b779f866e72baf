"""Keys of dynamic schemes through REST, plans, runs and automation: added, seen by all at once, removed, history kept (law 8)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from partita.assets import Dynamic, Multi, Static
from partita.assets.specs import EagerSpec
from partita.core.automation import run_new_keys
from partita.core.duties.dynamic import expire_keys
from partita.ui.cli import run

Partita = Callable[..., tuple[int, Any, str]]
CUSTOMERS = Dynamic("customers", cap=5)
KINDS = Static("x", "y")


def assets(world: Any) -> list[Any]:
    return [
        world.spec("crm", CUSTOMERS, kind="external"),
        world.spec("orders", CUSTOMERS, {"crm": CUSTOMERS}),
        world.spec("report", None, {"orders": CUSTOMERS}),
        world.spec("grid", Multi(customer=CUSTOMERS, kind=KINDS)),
        world.spec("profile", CUSTOMERS, {"crm": CUSTOMERS}, automation=EagerSpec()),
        world.spec("letter", CUSTOMERS, {"orders": CUSTOMERS}, automation=EagerSpec()),
    ]


@pytest.fixture
def shop(world: Any) -> Any:
    world.activate(assets(world), checks=())
    return world


@pytest.fixture
def partita(shop: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Partita:
    (tmp_path / "partita.toml").write_text("")
    monkeypatch.setenv("PARTITA_PROJECT", str(tmp_path))
    monkeypatch.setenv("PARTITA_HOME", str(tmp_path))
    monkeypatch.setenv("PARTITA_DATABASE_URL", shop.url)

    def command(*arguments: str) -> tuple[int, Any, str]:
        capsys.readouterr()
        code = run([*arguments, "--json"])
        told = capsys.readouterr()
        return code, json.loads(told.out), told.err

    return command


def ask(client: httpx.Client, method: str, path: str, status: int = 200, **sent: Any) -> Any:
    answer = client.request(method, f"/api/v1{path}", **sent)
    assert answer.status_code == status, answer.text
    return answer.json()


def add(client: httpx.Client, *keys: str, status: int = 200, **more: Any) -> Any:
    return ask(client, "POST", "/dynamic/keys", status, json={"scheme": "customers", "keys": list(keys), **more})


def remove(client: httpx.Client, *keys: str, status: int = 200) -> Any:
    return ask(client, "DELETE", "/dynamic/keys", status, json={"scheme": "customers", "keys": list(keys)})


def keys(client: httpx.Client, **asked: Any) -> list[str]:
    page = ask(client, "GET", "/dynamic/keys", params={"scheme": "customers", **asked})
    return [one["key"] for one in page["items"]]


def partitions(client: httpx.Client, key: str) -> dict[str, str]:
    page = ask(client, "GET", "/asset/partitions", params={"key": key})
    return {one["partition"]: one["state"] for one in page["items"]}


def test_keys_are_added_seen_made_removed_and_remembered(shop: Any, client: httpx.Client) -> None:
    for key in ("orders", "grid"):
        assert partitions(client, key) == {}
        assert ask(client, "GET", "/asset/strip", params={"key": key})["size"] == 0
    done = add(client, "globex", 'a, "key"', metadata={"from": "crm"})
    assert done == {"added": 2, "prolonged": 0, "unchanged": 0, "removed": 0, "present": 2}
    assert keys(client) == ["globex", 'a, "key"']
    assert keys(client, search="GLOB") == ["globex"]
    assert keys(client, offset=1, limit=1) == ['a, "key"']
    assert partitions(client, "orders") == {"globex": "missing", 'a, "key"': "missing"}
    assert len(partitions(client, "grid")) == 4
    [scheme] = ask(client, "GET", "/dynamic")["schemes"]
    assert (scheme["name"], scheme["cap"], scheme["present"]) == ("customers", 5, 2)
    assert scheme["assets"] == ["crm", "grid", "letter", "orders", "profile"]
    detail = ask(client, "GET", "/asset", params={"key": "grid"})
    assert [one["scheme"] for one in detail["partitions"]["dims"]] == ["customers", None]

    shop.launch("orders or report", **{"as": "backfill"})
    assert shop.work() == 3
    assert partitions(client, "orders") == {"globex": "fresh", 'a, "key"': "fresh"}

    assert remove(client, "globex")["present"] == 1
    assert partitions(client, "orders") == {'a, "key"': "fresh"}
    assert keys(client, ended=True) == ["globex"]
    # Absence is not deletion: what it held, who made it and when can be read.
    cell = ask(client, "GET", "/asset/cell", params={"key": "orders", "partition": "globex"})
    assert (cell["state"], cell["published"]["data_version"]) == ("removed", "v1")
    assert len(cell["attempts"]) == 1
    assert "key 'globex' of 'customers' was removed by ann at " in cell["reasons"][0]["text"]
    why = ask(client, "GET", "/why", params={"key": "orders", "partition": "globex"})
    assert why["state"] == "removed"
    assert "what it held and its history stay" in why["sentence"]
    grid = ask(client, "GET", "/asset/cell", params={"key": "grid", "partition": '["globex","x"]'})
    assert (grid["state"], grid["dimensions"]) == ("removed", {"customer": "globex", "kind": "x"})
    # What reads all keys holds one that is no more.
    assert ask(client, "GET", "/why", params={"key": "report"})["state"] == "stale"

    add(client, "globex")
    assert partitions(client, "orders") == {'a, "key"': "fresh", "globex": "fresh"}
    assert ask(client, "GET", "/why", params={"key": "report"})["state"] == "fresh"


def test_a_refused_change_changes_nothing(shop: Any, client: httpx.Client) -> None:
    add(client, "a", "b", "c")
    before = ask(client, "GET", "/dynamic/keys", params={"scheme": "customers"})
    bad = add(client, "ok", " blank", "", status=400)["error"]
    assert "2 of 3 keys for dynamic partitions 'customers' cannot be" in bad["what"]
    assert "' blank' is not legal" in bad["what"]
    over = add(client, "c", "d", "e", "f", status=400)["error"]
    assert over["what"] == "dynamic partitions 'customers' would have 6 keys (3 and 3 more)"
    assert (over["rule"], over["fix"].partition(",")[0]) == ("the cap is 5", "remove keys")
    gone = remove(client, "a", "zz", status=404)["error"]
    assert gone["what"] == "dynamic partitions 'customers' have no key 'zz'"
    unknown = ask(client, "GET", "/dynamic/keys", 404, params={"scheme": "customer"})["error"]
    assert "'customers'" in unknown["fix"]
    assert add(client, "d", confirm_new=2, status=409)["error"]["what"].startswith("2 new keys of 'customers' were")
    for ttl in (-1, 1e300):
        add(client, "d", ttl_s=ttl, status=400)
    assert ask(client, "GET", "/dynamic/keys", params={"scheme": "customers"}) == before
    never = ask(client, "GET", "/why", 404, params={"key": "orders", "partition": "zz"})["error"]
    assert never["fix"].endswith("to add it: partita partitions add customers zz")


def test_previews_say_what_a_change_would_bring_about(shop: Any, client: httpx.Client) -> None:
    def preview(verb: str, *wanted: str, status: int = 200) -> Any:
        body = {"verb": verb, "scheme": "customers", "keys": list(wanted)}
        return ask(client, "POST", "/dynamic/keys/preview", status, json=body)

    add(client, "a")
    shown = preview("add", "a", "b", "c")
    assert (shown["new"], shown["known"], shown["present_after"]) == (2, 1, 3)
    cells = {one["asset"]: (one["cells"], one["follows"]) for one in shown["impacts"]}
    assert cells["grid"] == (4, False)
    assert cells["profile"] == (2, True)
    assert shown["cli"] == "partita partitions add customers a b c"
    assert preview("add", *"abcdef", status=400)["error"]["rule"] == "the cap is 5"
    shop.launch("orders", partitions="a")
    gone = preview("remove", "a")
    assert gone["open_cells"] == 1
    assert gone["sentence"].endswith("1 cell in progress will still be made")
    assert keys(client) == ["a"]


def test_a_plan_is_refused_when_keys_changed_since_it_was_shown(shop: Any, client: httpx.Client) -> None:
    add(client, "a", "b")
    plan = ask(client, "POST", "/plans", json={"selection": "orders"})
    remove(client, "a")
    add(client, "c")
    # Shown with the keys that it was made with, whatever there is now.
    again = ask(client, "GET", f"/plans/{plan['id']}")
    assert again["assets"] == plan["assets"]
    refused = ask(client, "POST", f"/plans/{plan['id']}/launch", 409, json={"confirm_cells": 2})["error"]
    assert "keys of 'customers': 'c' came in and 'a' went" in refused["what"]


def test_an_open_task_of_a_removed_key_ends_as_it_was_planned(shop: Any, client: httpx.Client) -> None:
    """A run sees the keys that it was launched with: what it was to make, it makes; nothing new is asked for."""
    add(client, "a", "b")
    shop.launch("orders or report")
    remove(client, "a")
    add(client, "c")
    assert shop.work() == 3
    cell = ask(client, "GET", "/asset/cell", params={"key": "orders", "partition": "a"})
    assert (cell["state"], cell["published"]["data_version"]) == ("removed", "v1")
    assert partitions(client, "orders") == {"b": "fresh", "c": "missing"}
    # It read a and b, as planned; by now it would read b and c.
    assert ask(client, "GET", "/why", params={"key": "report"})["state"] == "stale"


def test_a_new_key_wakes_the_eager_assets_that_it_slices(shop: Any, client: httpx.Client) -> None:
    add(client, "a", "b")
    asked = run_new_keys(shop.store, shop.catalogs)
    # `profile` reads what is there; `letter` waits for orders, which nobody makes.
    assert (asked.taken, asked.requested) == (4, 2)
    assert shop.work() == 2
    assert partitions(client, "profile") == {"a": "fresh", "b": "fresh"}
    assert partitions(client, "letter") == {"a": "missing", "b": "missing"}
    assert run_new_keys(shop.store, shop.catalogs).taken == 0
    # Known keys are no event, and one that is gone before anybody looked asks for nothing.
    add(client, "a", "c")
    remove(client, "c")
    assert run_new_keys(shop.store, shop.catalogs).requested == 0
    # An upstream that is under way: decided again at its end.
    add(client, "d")
    shop.launch("orders", partitions="d")
    waits = run_new_keys(shop.store, shop.catalogs)
    assert (waits.requested, waits.waiting) == (1, 1)
    shop.work()
    assert run_new_keys(shop.store, shop.catalogs).requested == 1


def test_keys_expire(shop: Any, client: httpx.Client) -> None:
    add(client, "a", ttl_s=0.001)
    add(client, "b", ttl_s=3600)
    with shop.store.read() as reader:
        assert reader.pending().expired_keys
    assert expire_keys(shop.store).keys == 1
    with shop.store.read() as reader:
        assert not reader.pending().expired_keys
    assert keys(client) == ["b"]
    why = ask(client, "GET", "/why", params={"key": "orders", "partition": "a"})
    assert "key 'a' of 'customers' expired at" in why["sentence"]


def test_the_command_line(shop: Any, partita: Partita, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text("globex\nacme, inc\r\n\n")
    code, added, _ = partita(
        "partitions", "add", "customers", "zz", "--from-file", str(tmp_path / "keys.txt"), "--ttl", "2d",
        "--metadata", "from=crm", "--yes",
    )  # fmt: skip
    assert (code, added["done"]["added"]) == (0, 3)
    code, page, _ = partita("partitions", "list", "customers")
    assert [(one["key"], one["metadata"]) for one in page["items"]] == [
        (key, {"from": "crm"}) for key in ("zz", "globex", "acme, inc")
    ]
    assert all(one["expires_at"] for one in page["items"])
    code, cells, _ = partita("partitions", "--state", "missing", "orders")  # an asset, as ever
    assert [one["partition"] for one in cells["items"]] == ["zz", "globex", "acme, inc"]
    code, plan, _ = partita("plan", "orders", "--partition", "acme, inc")
    assert (code, plan["cell_count"]) == (0, 1)
    code, refused, _ = partita("partitions", "remove", "customers", "zz", "nobody", "--yes")
    assert (code, refused["error"]["what"]) == (2, "dynamic partitions 'customers' have no key 'nobody'")
    code, refused, _ = partita("partitions", "remove", "customers", "zz")
    assert (code, refused["error"]["fix"]) == (2, "read the plan above, then add --yes")
    code, removed, _ = partita("partitions", "remove", "customers", "zz", "--yes")
    assert (code, removed["done"]["removed"], removed["done"]["present"]) == (0, 1, 2)
    code, told, _ = partita("why", "orders", "zz")
    assert (code, told["state"]) == (0, "removed")
    code, refused, _ = partita("why", "orders", "globx")
    assert code == 2
    assert "to add it: partita partitions add customers globx" in refused["error"]["fix"]
    code, refused, _ = partita("partitions", "add", "customers", "k", "--ttl", "soon", "--yes")
    assert (code, refused["error"]["what"]) == (2, "--ttl is 'soon'")
    code, schemes, _ = partita("partitions", "list")
    assert [one["name"] for one in schemes["schemes"]] == ["customers"]
    for arguments in (("add", "customers"), ("add", "customers", "--from-file", str(tmp_path / "none"))):
        assert partita("partitions", *arguments, "--yes")[0] == 2
