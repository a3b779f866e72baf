"""What people do by hand, on real processes: in the browser and in the terminal, each shown before and kept in the audit."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from partita.core.runtime.deployed import Deployed

from .chromium import Watched, opened
from .conftest import Deploy

pytestmark = pytest.mark.browser

CONFIG = """
[[location]]
name = "hands"
modules = ["hands_assets"]
[worker]
lease_s = 20
grace_s = 1
"""
ASSETS = """
import os
import signal
import threading
from pathlib import Path
from partita.sdk import Context, Daily, Output, asset, defaults, eager

defaults(owner="team:test")
days = Daily("2024-01-01", end="2024-01-05")

@asset(partitions=days, io=None)
def raw(context: Context) -> Output:
    return Output(metadata={"n": 1})

@asset(partitions=days, io=None, deps=[raw], automation=eager())
def mart(context: Context) -> Output:
    return Output()

@asset(partitions=days, io=None)
def stubborn(context: Context) -> Output:
    if context.partition.key != "2024-01-01":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        Path(os.environ["PIDS"], context.partition.key).write_text(str(os.getpid()))
        threading.Event().wait()
    return Output()

@asset(partitions=days, io=None, deps=[stubborn])
def patient(context: Context) -> Output:
    return Output()
"""


@pytest.fixture
def deployment(deploy: Deploy, scratch: Path) -> Deployed:
    pids = scratch / "pids"
    pids.mkdir()
    made = deploy({"partita.toml": CONFIG, "hands_assets.py": ASSETS}, env={"PIDS": str(pids)})
    made.start("dev", "--no-reload")
    made.wait_serving()
    return made


def test_people_act_by_hand(deployment: Deployed, browser: Browser, scratch: Path) -> None:
    context = opened(browser, viewport={"width": 1280, "height": 800})
    watched = Watched(context)
    page = watched.page(f"{deployment.api}/")
    a_stubborn_task_is_cancelled(deployment, page, scratch / "pids")
    everything_is_paused_and_resumed(deployment, page)
    a_task_is_run_again(deployment, page)
    cells_are_marked_and_wiped(deployment, page)
    the_audit_tells(page)
    assert watched.complaints == []
    context.close()


def a_stubborn_task_is_cancelled(deployment: Deployed, page: Page, pids: Path) -> None:
    """It heeds no SIGTERM; what another task of the run published stays."""
    deployment.run("materialize", "stubborn or patient", "--partitions", "2024-01-01..2024-01-02", "--yes", "--detach")
    deployment.wait("it runs", lambda: (pids / "2024-01-02").exists() and (pids / "2024-01-02").read_text() != "")
    deployment.wait("the other is published", lambda: published(deployment, "patient") == 1)
    pid = int((pids / "2024-01-02").read_text())
    os.kill(pid, 0)  # it lives
    [(run, task)] = deployment.query("SELECT run_id, id FROM task WHERE step = 'stubborn' AND state = 'running'")
    page.goto(f"{deployment.api}/runs/{run}?task={task}")
    page.get_by_test_id("cancel-task").click()
    expect(page.get_by_test_id("cancel-task-preview")).to_have_text(
        "1 running task is asked to stop; 1 task below hears of it by its trigger rule. What is published stays."
    )
    page.get_by_placeholder("Why (may be left out)").fill("it never ends")
    picture(page, "cancel-task")
    page.get_by_test_id("confirm-cancel-task").click()
    deployment.wait("its attempt ended", lambda: states(deployment, int(run))["stubborn"] == {"success", "cancelled"})
    deployment.wait("its process is gone", lambda: not alive(pid))
    assert states(deployment, int(run))["patient"] == {"success", "upstream_failed"}
    assert (published(deployment, "stubborn"), published(deployment, "patient")) == (1, 1)


def everything_is_paused_and_resumed(deployment: Deployed, page: Page) -> None:
    """The big red button: shown on every page at once; automation goes on with what it missed."""
    page.get_by_role("link", name="Queue", exact=True).click()
    page.get_by_test_id("pause-all").click()
    expect(page.get_by_test_id("pause-preview")).to_contain_text("Pause everything: 0 open tasks wait")
    page.get_by_placeholder("Why: everybody reads it").fill("the source lies")
    page.get_by_test_id("confirm-pause").click()
    bar = page.get_by_test_id("pause-bar")
    expect(bar).to_contain_text("Everything is paused")
    deployment.run("materialize", "raw", "--partitions", "2024-01-01", "--yes", "--detach")
    deployment.wait(
        "the new task says why it waits",
        lambda: (
            deployment.query("SELECT reason_detail ->> 'why' FROM task WHERE step = 'raw'") == [("the source lies",)]
        ),
    )
    expect(page.get_by_test_id("queue-row")).to_contain_text("everything is paused by")
    picture(page, "paused")
    deployment.run("pause", "mart", "--reason", "not yet", "--yes")
    deployment.run("resume", "--all", "--yes")
    expect(bar).to_have_count(0)
    deployment.wait("it is made", lambda: published(deployment, "raw") == 1)
    page.goto(f"{deployment.api}/asset?key=mart")
    expect(page.get_by_test_id("asset-paused")).to_contain_text("not yet")
    picture(page, "asset-paused")
    deployment.wait(
        "its event waits", lambda: deployment.query("SELECT created_at > now() FROM event_todo") == [(True,)]
    )
    resume = page.get_by_test_id("confirm-resume")
    ready: list[bool] = []

    def late(route: Route) -> None:
        ready.append(resume.is_enabled())
        route.continue_()

    # What it would do is not shown yet: a press would do nothing, and the button says so.
    page.route("**/pauses/preview", late)
    page.get_by_test_id("resume-asset").click()
    resume.click()
    assert not ready[0]
    deployment.wait("what it missed is made", lambda: published(deployment, "mart") == 1)


def a_task_is_run_again(deployment: Deployed, page: Page) -> None:
    [(run, task)] = deployment.query("SELECT run_id, id FROM task WHERE step = 'raw' AND state = 'success'")
    page.goto(f"{deployment.api}/runs/{run}?task={task}")
    page.get_by_test_id("rerun-task").click()
    expect(page.get_by_test_id("plan")).to_contain_text("1 asked for again")
    page.get_by_test_id("run-tags").fill("ticket=DATA-7")
    picture(page, "plan-tags")
    page.get_by_test_id("confirm-plan").click()
    expect(page.get_by_role("link", name="ticket=DATA-7")).to_be_visible()
    deployment.wait("it is made again", lambda: attempts(deployment, "raw") == 2)


def cells_are_marked_and_wiped(deployment: Deployed, page: Page) -> None:
    """On a person's word, with a reason: the eager consumer follows; what was wiped comes back."""
    page.goto(f"{deployment.api}/asset?key=raw&cell=2024-01-02")
    page.get_by_test_id("by-hand-materialized").click()
    expect(page.get_by_test_id("by-hand-preview")).to_contain_text("1 cell counts as materialized")
    page.get_by_test_id("by-hand-reason").fill("delivered by mail")
    picture(page, "by-hand")
    page.get_by_test_id("confirm-by-hand").click()
    deployment.wait("its consumer follows", lambda: published(deployment, "mart") == 2)
    deployment.run("wipe", "mart", "--partitions", "all", "--reason", "wrong currency", "--yes")
    assert published(deployment, "mart") == 0
    page.goto(f"{deployment.api}/audit?action=wipe")
    page.get_by_test_id("take-back").click()
    deployment.wait("it is there again", lambda: published(deployment, "mart") == 2)


def the_audit_tells(page: Page) -> None:
    page.get_by_role("link", name="System", exact=True).click()
    page.get_by_role("link", name="Show the audit").click()
    entry = page.locator("[data-testid=audit-entry][data-action=cancel_task]")
    expect(entry).to_contain_text("it never ends")
    picture(page, "audit")


# ------------------------------------------------------------------ helpers


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("PARTITA_SCREENSHOTS"):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.screenshot(path=Path(folder) / f"{name}-{scheme}.png")


def alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def states(deployment: Deployed, run: int) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for step, state in deployment.query("SELECT step, state FROM task WHERE run_id = %s", run):
        found.setdefault(step, set()).add(state)
    return found


def attempts(deployment: Deployed, step: str) -> int:
    [(count,)] = deployment.query(
        "SELECT count(*) FROM attempt a JOIN task t ON t.id = a.task_id WHERE t.step = %s AND a.finished_at IS NOT NULL",
        step,
    )
    return int(count)


def published(deployment: Deployed, key: str) -> int:
    [(count,)] = deployment.query(
        "SELECT count(*) FROM cell c JOIN asset s ON s.id = c.asset_id WHERE s.key = %s AND c.data_version IS NOT NULL",
        key,
    )
    return int(count)
