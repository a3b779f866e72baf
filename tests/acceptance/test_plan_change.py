"""In the browser: a launch is refused because the plan changed; what changed is a view, and the new plan is launched from it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from .chromium import opened
from .conftest import Deploy

pytestmark = pytest.mark.browser

CONFIG = """
[[location]]
name = "shop"
modules = ["shop_assets"]
"""
ASSETS = """
from partita.sdk import Context, Relation, Static, asset, defaults

defaults(owner="team:test")
shops = Static("Aachen", "Berlin", "Celle", "Dessau")

@asset(partitions=shops)
def orders(context: Context) -> Relation:
    return Relation.from_rows([{"shop": context.partition.key}])

@asset(partitions=shops)
def letters(orders: Relation) -> Relation:
    return orders
"""


def test_the_difference_is_looked_at_before_the_new_plan_is_launched(deploy: Deploy, browser: Browser) -> None:
    shop = deploy({"partita.toml": CONFIG, "shop_assets.py": ASSETS})
    shop.start("dev")
    shop.wait_serving()
    with opened(
        browser, viewport={"width": 1440, "height": 900}, base_url=shop.api, reduced_motion="reduce"
    ) as context:
        page = context.new_page()
        page.goto("/plan?selection=letters&upstream=1&as=run")
        page.get_by_role("button", name="Preview plan").click()
        confirm = page.get_by_test_id("confirm-plan")
        expect(confirm).to_have_text("Materialize 8 cells")

        shop.run("materialize", "orders", "--partitions", "Aachen, Berlin", "--yes")
        confirm.click()
        change = page.get_by_test_id("plan-change")
        expect(change).to_contain_text("The plan changed since it was shown; nothing ran.")
        rows = page.get_by_test_id("plan-changed")
        expect(rows).to_have_count(1)
        expect(rows).to_contain_text(re.compile("orders.*Aachen, Berlin.*−2.*dropped out"))
        assert shop.query("SELECT count(*) FROM run") == [(1,)]
        expect(confirm).to_have_text("Launch the new plan: 6 cells")
        page.reload()  # the view is in the address
        expect(change).to_be_visible()

        confirm.click()
        page.wait_for_url("**/runs/2")
    shop.wait("the letters are made", lambda: shop.query("SELECT state FROM run WHERE id = 2") == [("success",)])
