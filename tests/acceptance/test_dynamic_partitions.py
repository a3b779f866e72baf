"""Keys of a dynamic scheme in a deployment of real processes: added, made by real code, followed, removed, remembered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from partita.core.runtime.deployed import Deployed
from partita.sdk.io.lake import read_relation

from .conftest import Deploy

CONFIG = """
[[location]]
name = "shop"
modules = ["shop_assets"]
"""
ASSETS = """
from typing import Annotated

from partita.sdk import Context, Dynamic, From, Multi, Relation, Static, all_, asset, defaults, eager

defaults(owner="team:test")
customers = Dynamic("customers", cap=20)

@asset(partitions=customers)
def orders(context: Context) -> Relation:
    return Relation.from_rows([{"customer": context.partition.key, "amount": len(context.partition.key)}])

@asset(partitions=Multi(customer=customers, kind=Static("paid", "open")))
def bills(context: Context) -> Relation:
    keys = context.partition.dimensions
    return Relation.from_rows([{"customer": keys["customer"], "kind": keys["kind"]}])

@asset(partitions=customers, automation=eager())
def letters(context: Context) -> Relation:
    return Relation.from_rows([{"dear": context.partition.key}])

@asset(io=None, fan_out=2)
def inbox(context: Context) -> None:
    context.add_partitions(customers, ["initech", "umbrella"])

@asset(partitions=customers, deps=[inbox])
def welcomes(context: Context) -> Relation:
    return Relation.from_rows([{"to": context.partition.key}])

@asset
def report(orders: Annotated[Relation, From("orders", all_)]) -> Relation:
    return orders.sql("select sum(amount) as amount, count(*) as n from self")
"""
ODD = 'acme, "inc" / ../x'


@pytest.fixture
def shop(deploy: Deploy) -> Deployed:
    made = deploy({"partita.toml": CONFIG, "shop_assets.py": ASSETS})
    made.start("dev", "--no-reload")
    made.wait_serving()
    return made


def states(shop: Deployed, key: str) -> dict[str, str]:
    page = json.loads(shop.run("partitions", key, "--json"))
    return {one["partition"]: one["state"] for one in page["items"]}


def made(shop: Deployed, key: str) -> set[str]:
    """The partitions of an asset that hold something."""
    rows = shop.query(
        "SELECT c.partition FROM cell c JOIN asset a ON a.id = c.asset_id WHERE a.key = %s AND c.data_version IS NOT NULL",
        key,
    )
    return {row[0] for row in rows}


def ended(shop: Deployed, key: str) -> bool:
    return bool(shop.query("SELECT 1 FROM dynamic_key WHERE key = %s AND ended IS NOT NULL", key))


def report(shop: Deployed) -> dict[str, object]:
    [(location,)] = shop.query("SELECT c.location FROM cell c JOIN asset a ON a.id = c.asset_id WHERE a.key = 'report'")
    rows: list[dict[str, object]] = read_relation([location]).dicts()
    return rows[0]


def test_keys_from_the_first_to_the_history_of_the_last(shop: Deployed, scratch: Path) -> None:
    (scratch / "keys.txt").write_text(f"globex\n{ODD}\n")
    shop.run(
        "partitions", "add", "customers", "--from-file", str(scratch / "keys.txt"), "--metadata", "from=crm", "--yes"
    )
    assert states(shop, "orders") == {"globex": "missing", ODD: "missing"}
    # A new key is an event for what is eager and has all it needs.
    shop.wait("the letters follow", lambda: made(shop, "letters") == {"globex", ODD})

    shop.run("materialize", "orders or bills or report", "--yes")
    assert states(shop, "orders") == {"globex": "fresh", ODD: "fresh"}
    assert len(made(shop, "bills")) == 4
    assert report(shop) == {"amount": 6 + len(ODD), "n": 2}

    shop.run("partitions", "remove", "customers", ODD, "--yes")
    assert states(shop, "orders") == {"globex": "fresh"}
    why = json.loads(shop.run("why", "orders", ODD, "--json"))
    assert why["state"] == "removed"
    assert "what it held and its history stay" in why["sentence"]
    [(held,)] = shop.query(
        "SELECT c.location FROM cell c JOIN asset a ON a.id = c.asset_id WHERE a.key = 'orders' AND c.partition = %s",
        ODD,
    )
    assert read_relation([held]).dicts() == [{"customer": ODD, "amount": len(ODD)}]
    shop.run("materialize", "report", "--yes")
    assert report(shop) == {"amount": 6, "n": 1}

    # A time to live: a scheduler ends the key, and the key alone.
    shop.run("partitions", "add", "customers", "guest", "--ttl", "1s", "--yes")
    shop.wait("the guest is gone", lambda: ended(shop, "guest"))
    assert list(states(shop, "orders")) == ["globex"]
    last = json.loads(shop.run("partitions", "list", "customers", "--ended", "--json"))["items"][0]
    assert (last["key"], last["ended_by"]) == ("guest", "ttl")

    # What an asset finds at run time is there from its commit on, and the letters follow; again it is no news (S-023).
    for _ in range(2):
        shop.run("materialize", "inbox or welcomes", "--mode", "all", "--yes")
    shop.wait("letters to all", lambda: {"initech", "umbrella"} <= made(shop, "letters"))
    keys = json.loads(shop.run("partitions", "list", "customers", "--json"))["items"]
    assert [(one["key"], one["added_by"]) for one in keys[-2:]] == [("initech", "inbox"), ("umbrella", "inbox")]
    [(lives, letters)] = shop.query(
        "SELECT (SELECT count(*) FROM dynamic_key WHERE key = 'initech'), (SELECT count(*) FROM automation_request q"
        " JOIN asset a ON a.id = q.asset_id WHERE a.key = 'letters' AND q.partition = 'initech')"
    )
    assert (lives, letters) == (1, 1)
    # What reads it is made over them in the run that found them, before that ends.
    found = shop.query(
        "SELECT r.state, count(*) FILTER (WHERE a.key = 'inbox'), count(*) FILTER (WHERE c.partition = 'initech')"
        " FROM run r JOIN task t ON t.run_id = r.id JOIN task_cell c ON c.task_id = t.id JOIN asset a ON a.id = c.asset_id"
        " WHERE a.key IN ('inbox', 'welcomes') AND c.state = 'published' GROUP BY r.id, r.state ORDER BY r.id"
    )
    assert tuple(found[0]) == ("success", 1, 1)  # the second run made the same data: unchanged
