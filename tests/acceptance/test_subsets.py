"""A subsettable group in a deployment of real processes: only the needed members, together or not at all."""

from __future__ import annotations

import json

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
from partita.sdk import Context, Output, Relation, Static, any_size, asset, check, defaults, multi_asset

defaults(owner="team:test")
shops = Static("Aachen", "Berlin", "Celle")

@multi_asset(outs=["paid", "open", "late"], partitions=shops, batch=any_size(), subsettable=True)
def split(context: Context):
    for key in context.assets:
        for one in context.partitions:
            rows = [{"of": key, "shop": one.key, "asked": ",".join(sorted(context.assets))}]
            yield Output(Relation.from_rows(rows), asset=key, partition=one.key)

@check("late", blocking=True)
def nobody_is_late_in_celle(late: Relation) -> bool:
    return late.sql("select count(*) filter (shop = 'Celle') = 0 from self").scalar() is True

@multi_asset(outs=["front", "back"], subsettable=True)
def careless(context: Context) -> dict[str, Relation]:
    return {key: Relation.from_rows([{"n": 1}]) for key in ("front", "back")}
"""


@pytest.fixture(scope="module")
def shop(deploy_shared: Deploy) -> Deployed:
    made = deploy_shared({"partita.toml": CONFIG, "shop_assets.py": ASSETS})
    made.start("dev", "--no-reload")
    made.wait_serving()
    return made


def held(shop: Deployed) -> dict[str, dict[str, str]]:
    """Per asset and partition which members were asked for when it was made."""
    rows = shop.query(
        "SELECT a.key, c.partition, c.location FROM cell c JOIN asset a ON a.id = c.asset_id WHERE c.location IS NOT NULL"
    )
    found: dict[str, dict[str, str]] = {}
    for key, partition, location in rows:
        (row,) = read_relation([location]).dicts()
        found.setdefault(key, {})[partition] = str(row["asked"])
    return found


def planned(shop: Deployed, selection: str) -> dict[str, int]:
    plan = json.loads(shop.run("plan", selection, "--format", "json"))
    return {one["key"]: one["cells"] for one in plan["assets"]}


def test_only_the_needed_members_are_made_and_go_together(shop: Deployed) -> None:
    shop.run("materialize", "open", "--partitions", "Aachen, Berlin", "--yes")
    assert held(shop) == {"open": {"Aachen": "open", "Berlin": "open"}}

    # Celle needs all three, the others two; what was made already is not made again.
    assert planned(shop, "paid or open or late") == {"late": 3, "open": 1, "paid": 3}
    shop.run("materialize", "paid or open or late", "--yes", ok=(1,))
    # All members of Celle were judged together: the check of one keeps all of them back.
    assert held(shop) == {
        "late": {"Aachen": "late,paid", "Berlin": "late,paid"},
        "open": {"Aachen": "open", "Berlin": "open"},
        "paid": {"Aachen": "late,paid", "Berlin": "late,paid"},
    }
    tasks = shop.query("SELECT state, cell_count FROM task WHERE run_id = 2 ORDER BY id")
    assert sorted(tasks) == [("failed", 3), ("success", 4)]


def test_a_member_that_was_not_asked_for_is_refused_by_name(shop: Deployed) -> None:
    shop.run("materialize", "front", "--yes", ok=(1,))
    [(error,)] = shop.query("SELECT error FROM attempt ORDER BY id DESC LIMIT 1")
    assert "gave 'back', which it was not asked for" in error
    assert "this attempt makes front" in error
    shop.run("materialize", "front or back", "--yes")
    states = shop.query("SELECT a.key FROM cell c JOIN asset a ON a.id = c.asset_id WHERE c.data_version IS NOT NULL")
    assert {key for (key,) in states} >= {"front", "back"}
