"""Automatic requests above the limit on real processes: nothing runs until a person approves, on the page or in the terminal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from partita.core.runtime.deployed import Deployed

from .chromium import Watched, opened
from .conftest import Deploy

pytestmark = pytest.mark.browser

CONFIG = """
[[location]]
name = "limit"
modules = ["limit_assets"]
[automation]
max_cells = 3
"""
ASSETS = """
import os
from pathlib import Path
from partita.sdk import Context, Daily, Output, any_size, asset, defaults, eager

defaults(owner="team:test")
days = Daily("2024-01-01", end="2024-01-09")

@asset(partitions=days, io=None, batch=any_size())
def raw(context: Context) -> Output:
    return Output()

@asset(partitions=days, io=None, deps=[raw], automation=eager())
def mart(context: Context) -> Output:
    return Output()

@asset(partitions=days, io=None, automation=eager(), on_code_change="rebuild", automatic_limit=100)
def model(context: Context) -> Output:
    return Output(data_version="CODE")
"""


@pytest.fixture
def deployment(deploy: Deploy) -> Deployed:
    made = deploy({"partita.toml": CONFIG, "limit_assets.py": ASSETS})
    made.start("dev", "--no-reload")
    made.wait_serving()
    return made


def test_a_person_decides_about_what_is_above_the_limit(deployment: Deployed, browser: Browser) -> None:
    materialize(deployment, "raw", "--partitions", "2024-01-01..2024-01-03")
    deployment.wait("three cells are not above three", lambda: published(deployment, "mart") == 3)
    materialize(deployment, "raw")
    deployment.wait("the rest waits", lambda: len(waiting(deployment)) == 1)
    assert published(deployment, "mart") == 3
    approved_on_the_page(deployment, browser)
    deployment.wait("they are made", lambda: published(deployment, "mart") == 8)
    rejected_in_the_terminal(deployment)
    code_alone_rebuilds_where_the_asset_says_so(deployment)


def approved_on_the_page(deployment: Deployed, browser: Browser) -> None:
    context = opened(browser, viewport={"width": 1280, "height": 800})
    watched = Watched(context)
    page = watched.page(f"{deployment.api}/")
    need = page.get_by_text("automation asks for 5 cells of mart: approve or reject")
    expect(need).to_be_visible()
    need.click()
    held = page.get_by_test_id("held-request")
    expect(held).to_contain_text("Materialize 5 cells of 1 asset: 5 missing")
    expect(held.get_by_test_id("request-asset")).to_contain_text("2024-01-04..2024-01-08")
    if folder := os.environ.get("PARTITA_SCREENSHOTS"):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=Path(folder) / f"requests-{scheme}.png")
    approve = held.get_by_test_id("approve-request")
    expect(approve).to_have_text("Approve and materialize 5 cells")
    approve.click()
    expect(page.get_by_test_id("run-cells")).to_contain_text("of 5 cells")
    assert waiting(deployment) == []
    assert watched.complaints == []
    context.close()


def rejected_in_the_terminal(deployment: Deployed) -> None:
    materialize(deployment, "raw", "--mode", "all")
    deployment.wait("all eight wait", lambda: [one["cells"] for one in waiting(deployment)] == [8])
    (request,) = waiting(deployment)
    deployment.run("requests", "reject", str(request["id"]), "--reason", "not today", "--yes")
    assert waiting(deployment) == []
    deployment.wait("nothing is left to decide", lambda: deployment.query("SELECT count(*) FROM event_todo") == [(0,)])
    assert attempts(deployment, "mart") == 8
    [(who, reason)] = deployment.query("SELECT who, reason FROM audit WHERE action = 'request_reject'")
    assert (bool(who), reason) == (True, "not today")


def code_alone_rebuilds_where_the_asset_says_so(deployment: Deployed) -> None:
    materialize(deployment, "model")
    assert attempts(deployment, "model") == 8
    # Other code for all three; only `model` says that its history is to be made again.
    (deployment.folder / "limit_assets.py").write_text(
        ASSETS.replace("return Output()", "return Output(metadata={'n': 1})").replace('"CODE"', '"OTHER"')
    )
    deployment.run("locations", "reload", "limit", "--yes")
    deployment.wait("its history is made again", lambda: attempts(deployment, "model") == 16)
    deployment.wait("nothing is left to decide", lambda: deployment.query("SELECT count(*) FROM event_todo") == [(0,)])
    assert (attempts(deployment, "raw"), attempts(deployment, "mart")) == (3, 8)
    assert waiting(deployment) == []
    causes = deployment.query("SELECT cause ->> 'text' FROM run WHERE cause ->> 'kind' = 'rebuild'")
    assert causes == [("the code or the dependencies of model changed",)]


# ------------------------------------------------------------------ helpers


def materialize(deployment: Deployed, *asked: str) -> None:
    deployment.run("materialize", *asked, "--yes")


def waiting(deployment: Deployed) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(deployment.run("requests", "list", "--json"))["requests"]
    return found


def published(deployment: Deployed, key: str) -> int:
    [(count,)] = deployment.query(
        "SELECT count(*) FROM cell c JOIN asset s ON s.id = c.asset_id WHERE s.key = %s AND c.data_version IS NOT NULL",
        key,
    )
    return int(count)


def attempts(deployment: Deployed, step: str) -> int:
    [(count,)] = deployment.query(
        "SELECT count(*) FROM attempt a JOIN task t ON t.id = a.task_id WHERE t.step = %s", step
    )
    return int(count)
