"""A partition scheme that changes on disk: days become hours and days again. What becomes of the cells is chosen in the browser
and on the command line, from a preview; nothing is dropped (DESIGN section 5, laws 6 and 8)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from partita.core.runtime.deployed import Deployed
from partita.sdk.io.lake import read_relation

from .chromium import opened
from .conftest import Deploy

pytestmark = pytest.mark.browser

CONFIG = """
[[location]]
name = "shop"
modules = ["shop_assets"]
[dev]
reload = false
"""
DAILY = """
from partita.sdk import Context, Daily, Hourly, Relation, asset

slices = Daily("2026-03-01", end="2026-03-04")

@asset(partitions=slices)
def orders(context: Context) -> Relation:
    return Relation.from_rows([{"slice": context.partition.key}])

@asset(partitions=Daily("2026-03-01", end="2026-03-04"))
def letters(orders: Relation) -> Relation:
    return orders.sql("select count(*) as n, min(slice) as first from self")
"""
HOURLY = DAILY.replace('slices = Daily("2026-03-01"', 'slices = Hourly("2026-03-01"')


def test_days_become_hours_and_days_again(deploy: Deploy, browser: Browser) -> None:
    shop = deploy({"partita.toml": CONFIG, "shop_assets.py": DAILY})
    shop.start("dev")
    shop.wait_serving()
    shop.run("materialize", "orders", "--partitions", "2026-03-01..2026-03-02", "--yes")
    days = held(shop)
    assert sorted(days) == ["2026-03-01", "2026-03-02"]
    with opened(
        browser, viewport={"width": 1440, "height": 900}, base_url=shop.api, reduced_motion="reduce"
    ) as context:
        page = context.new_page()

        activate(shop, HOURLY)
        assert held(shop) == {}
        page.goto("/locations")
        page.get_by_role("link", name="Choose what becomes of its cells").click()
        offered(page, keep=(0, 0, 0, 0, 72), derive=(0, 0, 0, 0, 72), restart=(0, 0, 0, 0, 72))
        expect(page.get_by_test_id("scheme-choice")).to_contain_text(
            "no missing window is made of whole published windows"
        )
        page.get_by_role("button", name="Leave cells as they are").click()
        expect(page.get_by_test_id("scheme-change")).to_contain_text(
            "2 cells made as daily from 2026-03-01 (UTC) are set aside"
        )

        # A whole day of hours, and nearly one.
        hours = "2026-03-03T00:00..2026-03-03T23:00, 2026-03-02T00:00..2026-03-02T22:00"
        shop.run("materialize", "orders", "--partitions", hours, "--yes")
        made = held(shop)
        assert len(made) == 47

        activate(shop, DAILY)
        assert held(shop) == days, "the days came back with their scheme"
        page.goto("/asset?key=orders")
        line = page.get_by_test_id("scheme-change")
        expect(line).to_contain_text("47 cells made as hourly from 2026-03-01 (UTC) are set aside")
        line.get_by_role("button").click()
        offered(page, keep=(2, 0, 0, 0, 1), derive=(2, 0, 1, 0, 0), restart=(0, 0, 0, 2, 3))
        page.reload()  # the choice is in the address
        confirm = page.get_by_test_id("confirm-scheme")
        expect(confirm).to_have_text("Derive 1 cell")
        assert held(shop) == days, "nothing happened before it was confirmed"
        confirm.click()
        expect(line).to_contain_text("Done: 2 kept, 1 derived of 24")

    assert sorted(held(shop)) == ["2026-03-01", "2026-03-02", "2026-03-03"]
    assert {key: version for key, version in held(shop).items() if key in days} == days
    shop.run("materialize", "letters", "--partitions", "all", "--yes")
    assert planned(shop, "orders or letters") == {}
    assert read_letters(shop) == {
        "2026-03-01": (1, "2026-03-01"),
        "2026-03-02": (1, "2026-03-02"),
        "2026-03-03": (24, "2026-03-03T00:00+00:00"),
    }, "what reads the derived day reads all its hours"

    # On the command line: start anew, and take that back. The hours are where they were all along.
    assert "3 set aside" in shop.run("assets", "scheme", "orders", "--restart", "--yes")
    assert held(shop) == {}
    assert "3 come back" in shop.run("assets", "scheme", "orders", "--keep", "--yes")
    assert planned(shop, "orders or letters") == {}
    activate(shop, HOURLY)
    assert held(shop) == made


def offered(page: Page, **choices: tuple[int, int, int, int, int]) -> None:
    """Stay, come back, derived, set aside, missing after."""
    for choice, counts in choices.items():
        row = page.locator(f'[data-testid=scheme-option][data-choice="{choice}"]')
        expect(row.locator("td.num")).to_have_text([re.compile(f"^{n}$") for n in counts])


def activate(shop: Deployed, text: str) -> None:
    (shop.folder / "shop_assets.py").write_text(text)
    shop.run("locations", "reload", "shop", "--yes")


def held(shop: Deployed) -> dict[str, str]:
    """What the cells of `orders` hold now."""
    return dict(
        shop.query(
            "SELECT c.partition, c.data_version FROM cell c JOIN asset a ON a.id = c.asset_id"
            " WHERE a.key = 'orders' AND c.data_version IS NOT NULL ORDER BY 1"
        )
    )


def read_letters(shop: Deployed) -> dict[str, tuple[Any, Any]]:
    found = shop.query(
        "SELECT c.partition, c.location FROM cell c JOIN asset a ON a.id = c.asset_id WHERE a.key = 'letters' ORDER BY 1"
    )
    told = {key: read_relation([location]).dicts()[0] for key, location in found}
    return {key: (row["n"], row["first"]) for key, row in told.items()}


def planned(shop: Deployed, selection: str) -> dict[str, Any]:
    plan = json.loads(shop.run("plan", selection, "--partitions", "all", "--json"))
    return {asset["key"]: asset["by_reason"] for asset in plan["assets"] if asset["by_reason"]}
