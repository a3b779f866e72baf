"""An asset keeps its cells, versions and history when its key changes, and what reads it notices nothing (DESIGN section 1)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from partita.core.runtime.deployed import Deployed

from .conftest import Deploy

CONFIG = """
[[location]]
name = "shop"
modules = ["shop"]
[[location]]
name = "reports"
modules = ["reports"]
[dev]
reload = false
[worker]
grace_s = 1
"""
SHOP = """
from typing import Annotated
from partita.sdk import Context, Daily, From, Relation, asset

days = Daily("2026-03-01", end="2026-03-04")

@asset(partitions=days)
def orders(context: Context) -> Relation:
    return Relation.from_sql(f"select '{context.partition.key}' as day, 7 as amount")

@asset(partitions=days)
def totals(rows: Annotated[Relation, From(orders)]) -> Relation:
    return rows.sql("select sum(amount)::bigint as total from self")
"""
RENAMED = SHOP.replace(
    "@asset(partitions=days)\ndef orders",
    '@asset(key="raw/orders", partitions=days, renamed_from="orders")\ndef raw_orders',
).replace("From(orders)", "From(raw_orders)")
REPORTS = """
from typing import Annotated
from partita.sdk import Daily, From, Relation, asset, remote

@asset(partitions=Daily("2026-03-01", end="2026-03-04"))
def report(rows: Annotated[Relation, From(remote("orders", location="shop"))]) -> Relation:
    return rows.sql("select max(day) as day from self")
"""


@pytest.fixture(scope="module")
def deployment(deploy_shared: Deploy) -> Deployed:
    """Each test begins with the code that is deployed here, and leaves it so."""
    made = deploy_shared({"partita.toml": CONFIG, "shop.py": SHOP, "reports.py": REPORTS})
    made.start("dev")
    made.wait_serving()
    made.run("materialize", "orders or totals or report", "--partitions", "all", "--yes")
    return made


def test_a_rename_that_cannot_be_is_refused_and_changes_nothing(deployment: Deployed) -> None:
    twice = SHOP + '\n@asset(partitions=days, renamed_from="orders", io=None)\ndef other() -> None: ...\n'
    write(deployment, "shop.py", twice)
    assert "'other' says renamed_from='orders', and 'orders' is still defined" in deployment.run(
        "diff", "shop", ok=(2,)
    )
    deployment.run("locations", "reload", "shop", "--yes", ok=(0, 1))
    assert "is still defined" in deployment.run("locations")
    assert len(cells(deployment, "orders")) == 3
    # Forgotten at first: the diff says which line to add.
    write(deployment, "shop.py", RENAMED.replace(', renamed_from="orders"', ""))
    write(deployment, "reports.py", REPORTS.replace('"orders"', '"raw/orders"'))
    assert 'renamed_from="orders"' in deployment.run("diff", ok=(1,))
    write(deployment, "shop.py", SHOP)
    write(deployment, "reports.py", REPORTS)
    reload(deployment, "shop")


def test_a_renamed_asset_keeps_everything_and_its_readers_stay_fresh(deployment: Deployed) -> None:
    before = cells(deployment, "orders")
    assert len(before) == 3
    asset_id = ids(deployment)["orders"]

    write(deployment, "shop.py", RENAMED)
    told = json.loads(deployment.run("diff", "shop", "--json"))
    assert told["outcome"] == "nothing_stale"
    assert told["locations"][0]["renamed"] == [{"before": "orders", "after": "raw/orders"}]
    reload(deployment, "shop")

    assert ids(deployment)["raw/orders"] == asset_id
    assert cells(deployment, "raw/orders") == before
    # Neither the asset itself, nor what reads it, nor what reads it from another location under the key of before.
    assert planned(deployment, "raw/orders or totals or report") == {}
    # What its readers read is where it was: one of them is made again, another asset's day is read by the new key.
    deployment.run("materialize", "totals or report", "--partitions", "2026-03-02", "--mode", "all", "--yes")
    assert planned(deployment, "raw/orders or totals or report") == {}

    # One more step, and a deployment that is rolled back over both.
    write(
        deployment,
        "shop.py",
        RENAMED.replace('"raw/orders"', '"raw/sales"').replace('="orders"', '=["raw/orders", "orders"]'),
    )
    reload(deployment, "shop")
    assert ids(deployment)["raw/sales"] == asset_id
    write(deployment, "shop.py", SHOP)
    reload(deployment, "shop")
    assert ids(deployment)["orders"] == asset_id
    assert planned(deployment, "orders or totals or report") == {}


def write(deployment: Deployed, name: str, text: str) -> None:
    (deployment.folder / name).write_text(text)


def reload(deployment: Deployed, location: str) -> None:
    deployment.run("locations", "reload", location, "--yes")


def ids(deployment: Deployed) -> dict[str, int]:
    return dict(deployment.query("SELECT key, id FROM asset WHERE retired_at IS NULL"))


def cells(deployment: Deployed, key: str) -> list[Any]:
    return deployment.query(
        "SELECT c.partition, c.data_version, c.location, c.published_attempt FROM cell c JOIN asset a ON a.id = c.asset_id"
        f" WHERE a.key = '{key}' ORDER BY 1"
    )


def planned(deployment: Deployed, selection: str) -> dict[str, Any]:
    plan = json.loads(deployment.run("plan", selection, "--partitions", "all", "--json"))
    return {
        asset["key"]: {reason: found["count"] for reason, found in asset["by_reason"].items() if found["count"]}
        for asset in plan["assets"]
    }
