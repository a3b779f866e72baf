"""Automation in the browser: functions on a clock with their history, named jobs, params of a request (S-099, S-174, S-201).

One deployment serves all tests here. Every wait is for something on the page, and no page may log an error.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from partita.core.runtime.deployed import Deployed

from .chromium import Watched, opened
from .conftest import Deploy

pytestmark = pytest.mark.browser

CONFIG = """
[[location]]
name = "shop"
modules = ["shop_assets"]
"""
ASSETS = """
from pathlib import Path

from pydantic import BaseModel, Field
from partita.sdk import Context, Daily, Output, Request, ScheduleContext, SensorContext, asset, eager, schedule, sensor

FOLDER = Path(__file__).parent


class Needed(BaseModel):
    customer: str = Field(description="Whose figures")
    floor: int = 3


@asset(key="mart/customer", io=None)
def customer(context: Context, params: Needed) -> Output:
    return Output(metadata={"customer": params.customer})


@asset(key="mart/other", io=None)
def other(context: Context, params: Needed) -> Output:
    return Output()


@asset(io=None)
def plain() -> Output:
    return Output()


@asset(io=None, partitions=Daily("2025-01-01", end="2025-04-01"))
def source(context: Context) -> Output:
    return Output()


@asset(io=None, deps=[source], partitions=Daily("2025-01-01", end="2025-04-01"), automation=eager())
def follows(context: Context) -> Output:
    return Output()


@sensor(every="1h")
def mailbox(context: SensorContext) -> list[Request]:
    print("looking into the mailbox")
    if not (FOLDER / "mended").exists():
        raise ConnectionError("imap.example.org does not answer")
    context.cursor = "17"
    return [Request(plain, mode="all", key="mail-17")]


@schedule("30 2 * * *", tz="Europe/Berlin")
def nightly(context: ScheduleContext) -> list[Request]:
    return []
"""


@pytest.fixture(scope="module")
def deployment(deploy_shared: Deploy) -> Deployed:
    made = deploy_shared({"partita.toml": CONFIG, "shop_assets.py": ASSETS})
    made.start("dev")
    made.wait_serving()
    return made


@pytest.fixture
def watched(browser: Browser, deployment: Deployed) -> Iterator[Watched]:
    context = opened(browser, viewport={"width": 1440, "height": 900}, base_url=deployment.api, reduced_motion="reduce")
    watched = Watched(context)
    yield watched
    context.close()
    assert watched.complaints == []


def test_a_sensor_says_why_it_fails_and_is_evaluated_paused_and_reset(watched: Watched, deployment: Deployed) -> None:
    page = watched.page("/automation")
    page.get_by_test_id("show-functions").click()
    row = named(page, "evaluator-row", "mailbox")
    expect(row).to_have_attribute("data-state", "failing")
    row.get_by_role("button").click()
    panel = page.get_by_test_id("evaluator-panel")
    panel.locator("[data-testid=evaluation-row][data-outcome=failed]").first.get_by_role("button").click()
    expect(panel.get_by_test_id("evaluation-more")).to_contain_text("looking into the mailbox")
    expect(panel.get_by_test_id("evaluation-more")).to_contain_text("imap.example.org does not answer")

    (deployment.folder / "mended").touch()
    panel.get_by_test_id("run-evaluator").click()
    expect(panel.get_by_test_id("run-evaluator-preview")).to_contain_text("It is due at once, without a cursor")
    panel.get_by_test_id("confirm-run-evaluator").click()
    expect(row).to_have_attribute("data-state", "ok")
    expect(panel.get_by_test_id("evaluator-cursor")).to_have_text('"17"')
    expect(panel.get_by_test_id("evaluator-asked").get_by_role("link")).to_contain_text("#")

    panel.get_by_test_id("reset-evaluator").click()
    panel.get_by_test_id("cursor-field").fill("")
    expect(panel.get_by_test_id("reset-evaluator-preview")).to_contain_text('Its cursor is "17" now; it becomes none')
    panel.get_by_test_id("reset-evaluator-reason").fill("from the start")
    panel.get_by_test_id("confirm-reset-evaluator").click()
    expect(panel.get_by_test_id("reset-evaluator-form")).to_have_count(0)

    panel.get_by_test_id("pause-evaluator").click()
    panel.get_by_test_id("confirm-pause-evaluator").click()
    expect(row).to_have_attribute("data-state", "paused")
    panel.get_by_test_id("resume-evaluator").click()
    panel.get_by_test_id("confirm-resume-evaluator").click()
    expect(row).to_have_attribute("data-state", "ok")
    done = deployment.query("SELECT action FROM audit WHERE action LIKE 'evaluator_%%' ORDER BY id")
    assert [action for (action,) in done] == [
        "evaluator_evaluate", "evaluator_cursor", "evaluator_pause", "evaluator_resume",
    ]  # fmt: skip


def test_another_state_of_what_a_condition_reads_is_tried(watched: Watched) -> None:
    page = watched.page("/automation")
    page.locator("[data-testid=consumer-row][data-key=follows]").get_by_test_id("try-toggle").click()
    tried = page.get_by_test_id("try-state")
    expect(tried.get_by_test_id("tried-cell")).to_contain_text("the condition of follows 2025-03-31 does not hold")
    tried.locator("select[data-key=source]").select_option("updated")
    expect(tried.get_by_test_id("tried-cell")).to_contain_text("follows 2025-03-31 would be asked for: missing")


def test_a_job_is_shown_run_paused_and_resumed(watched: Watched, deployment: Deployed) -> None:
    deployment.run("jobs", "add", "figures", "mart/customer", "--param", 'customer="acme"', "--mode", "all",
                   "--tag", "team=ops", "--cron", "0 4 * 3 sun", "--tz", "Europe/Berlin", "--yes")  # fmt: skip
    page = watched.page("/automation?job=figures")
    panel = page.get_by_test_id("job-panel")
    expect(panel.get_by_test_id("ticks").get_by_role("listitem")).to_have_count(5)
    marked = deployment.run("jobs", "show", "figures").count("UTC*")
    assert marked >= 1, "of five Sundays in March one is the last"
    expect(panel.get_by_test_id("clock-change")).to_have_count(marked)

    panel.get_by_test_id("pause-job").click()
    panel.get_by_test_id("pause-job-reason").fill("the books are closed")
    panel.get_by_test_id("confirm-pause-job").click()
    expect(panel).to_contain_text("the books are closed")
    panel.get_by_test_id("resume-job").click()
    expect(panel.get_by_test_id("resume-job-preview")).to_have_text("No tick passed since it was paused.")
    panel.get_by_test_id("confirm-resume-job").click()
    expect(panel.get_by_test_id("pause-job")).to_be_visible()

    # By hand, with another param for this time.
    panel.get_by_test_id("run-job").click()
    expect(page.get_by_test_id("run-tags")).to_have_value("team=ops, job=figures")
    param(page, "floor").fill("7")
    page.get_by_test_id("apply-params").click()
    expect(page.get_by_test_id("apply-params")).to_have_count(0)
    page.get_by_test_id("confirm-plan").click()
    expect(page.get_by_test_id("run-params")).to_contain_text("floor=7")
    expect(page.get_by_test_id("run-params")).to_contain_text('customer="acme"')
    expect(page.get_by_role("link", name="job=figures")).to_be_visible()
    assert deployment.query("SELECT lane FROM task WHERE step = 'mart/customer'") == [("scheduled",)]


def test_a_needed_param_is_asked_for_and_a_large_launch_warns(watched: Watched) -> None:
    page = watched.page("/asset?key=mart/other")
    page.get_by_test_id("preview-plan").click()
    param(page, "customer").fill("beta")
    page.get_by_test_id("apply-params").click()
    expect(page.get_by_test_id("plan-sentence")).to_contain_text("1 cell")
    assert all("400" in told for told in watched.complaints), "the plan without it was refused, and nothing else"
    watched.complaints.clear()
    page.goto("/plan?selection=source")
    page.get_by_role("button", name="Preview plan").click()
    warning = page.get_by_test_id("plan-warning")
    expect(warning).to_contain_text("90 tasks of source read from outside, and no pool or max_active limits them")
    page.get_by_placeholder("no limit").fill("4")
    expect(warning).to_have_count(0)


def test_a_plan_is_kept_as_a_job_with_its_params_tags_and_limit(watched: Watched, deployment: Deployed) -> None:
    """Issue 4 (named jobs): what is kept is what was shown, with the next ticks before it is kept."""
    page = watched.page("/plan?selection=mart/customer&mode=all&as=run&params=%7B%22customer%22%3A%22acme%22%7D")
    page.get_by_test_id("apply-params").click()
    page.get_by_test_id("run-tags").fill("team=ops")
    page.get_by_test_id("max-active").fill("2")
    page.get_by_test_id("keep-job").click()
    page.get_by_test_id("job-name").fill("kept")
    page.get_by_test_id("job-cron").fill("30 6 * * 1-5")
    page.get_by_test_id("job-tz").fill("Europe/Berlin")
    page.get_by_test_id("preview-job").click()
    expect(page.get_by_test_id("keep-job-preview")).to_contain_text("at 30 6 * * 1-5 in Europe/Berlin")
    expect(page.get_by_test_id("ticks").get_by_role("listitem")).to_have_count(5)
    page.get_by_test_id("max-active").fill("3")
    expect(page.get_by_test_id("confirm-keep-job")).to_have_count(0)  # it would be another than the one that was shown
    page.get_by_test_id("preview-job").click()
    page.get_by_test_id("confirm-keep-job").click()
    expect(named(page, "job-row", "kept")).to_contain_text("30 6 * * 1-5 Europe/Berlin")
    expect(page.get_by_test_id("job-panel")).to_contain_text("at most 3")
    kept = deployment.query(
        "SELECT request -> 'params', request -> 'mode', tags, cron, tz, max_active FROM job WHERE name = 'kept'"
    )
    assert kept == [({"customer": "acme"}, ["all"], {"team": "ops"}, "30 6 * * 1-5", "Europe/Berlin", 3)]


def named(page: Page, what: str, name: str) -> Locator:
    return page.locator(f'[data-testid={what}][data-name="{name}"]')


def param(page: Page, name: str) -> Locator:
    return page.locator(f"[data-testid=param][data-name={name}] .field")
