"""What a person does in the browser: one partition, a range, its consumers, logs, cancelling, errors, keys (S-064).

One `partita dev` over an empty database serves all tests here; each uses assets of its own. Every wait is for something on the
page, and no page may log an error or have a request fail.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from partita.core.runtime.deployed import Deployed
from partita.sdk.io.lake import read_relation

from .chromium import Watched, find_chromium, need_built_ui, opened
from .conftest import FLIGHTS

pytestmark = pytest.mark.browser

WORK_MS = 240_000  # for a backfill to end on a busy machine
ZONE = "America/New_York"
ONE_DAY = "2013-01-02"
RANGE = [f"2013-01-{day:02}" for day in range(4, 10)]  # over the end of a week
CONFIG = """
[[location]]
name = "flights"
modules = ["flights_location.raw", "flights_location.marts"]
[[location]]
name = "health"
modules = ["health_location"]
[[location]]
name = "held"
modules = ["held_location"]
[worker]
grace_s = 1
"""
# Goes on when a line is written to the named pipe: a run that is open for exactly as long as a test wants.
HELD = """
import os

from partita.sdk import Context, asset


@asset(key="held/told", io=None)
def told(context: Context) -> None:
    with open(os.environ["HELD_PIPE"]) as pipe:
        for line in iter(pipe.readline, "end\\n"):
            context.log.warning("was told %s", line.strip())
    print("the end")


@asset(key="held/stuck", io=None)
def stuck(context: Context) -> None:
    context.log.info("holding")
    with open(os.environ["STUCK_PIPE"]) as pipe:
        pipe.readline()
"""


class Pipe:
    """A named pipe whose both ends stay open, so that neither a reader nor a writer waits for the other to come."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self._end = os.open(path, os.O_RDWR)

    def tell(self, line: str) -> None:
        os.write(self._end, f"{line}\n".encode())

    def close(self) -> None:
        os.close(self._end)


@pytest.fixture(scope="module")
def pipes() -> Iterator[dict[str, Pipe]]:
    folder = Path(tempfile.mkdtemp(prefix="pt-pipe-"))
    made = {name: Pipe(folder / name) for name in ("held", "stuck")}
    yield made
    for pipe in made.values():
        pipe.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def deployment(browser: Browser, flights_source: Path, pipes: dict[str, Pipe]) -> Iterator[Deployed]:
    """The example and a location of held assets, in a folder that may be changed, over an empty database."""
    folder = Path(tempfile.mkdtemp(prefix="pt-web-"))
    folder.chmod(0o755)  # the server of the database runs under another account when this is root
    for name in ("flights_location", "health_location"):
        shutil.copytree(FLIGHTS / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(FLIGHTS / "source.py", folder)
    (folder / "held_location.py").write_text(HELD)
    (folder / "partita.toml").write_text(CONFIG)
    env = {"FLIGHTS_SOURCE": str(flights_source), **{f"{name.upper()}_PIPE": str(p.path) for name, p in pipes.items()}}
    with Deployed(folder, env=env) as deployment:
        deployment.start("dev")
        deployment.wait_serving()
        assert deployment.query("SELECT count(*) FROM run") == [(0,)]
        yield deployment
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def watched(browser: Browser, deployment: Deployed) -> Iterator[Watched]:
    """A context with an empty profile; what its pages complained about fails the test at its end."""
    context = opened(
        browser,
        viewport={"width": 1440, "height": 900},
        base_url=deployment.api,
        timezone_id=ZONE,
        reduced_motion="reduce",
    )
    watched = Watched(context)
    yield watched
    context.close()
    assert watched.complaints == []


def test_from_an_empty_database_to_the_lake(watched: Watched, deployment: Deployed, flights_source: Path) -> None:
    page = watched.page("/")
    open_asset(page, "delays")
    expect(cells(page, "missing")).to_have_count(365)

    # One partition, with what it reads; another tab looks on and is never loaded again.
    onlooker = watched.page("/asset?key=delays")
    expect(cell(onlooker, ONE_DAY)).to_have_attribute("data-state", "missing")
    onlooker.evaluate("window.loadedOnce = true")
    page.bring_to_front()  # a tab in the background draws once a second, and clicks wait for frames
    cell(page, ONE_DAY).click()
    expect(page.get_by_test_id("selection-count")).to_have_text("1 selected")
    page.get_by_test_id("preview-plan").click()
    expect(page.get_by_test_id("plan-blocked")).to_be_visible()
    page.get_by_test_id("plan-with-upstream").click()
    count = confirm(page)
    expect(page.get_by_test_id("run-state")).to_have_attribute("data-state", "success", timeout=WORK_MS)
    expect(page.get_by_test_id("run-cells")).to_have_text(f"{count} published of {count} cells")
    expect(cell(onlooker, ONE_DAY)).to_have_attribute("data-state", "fresh")
    assert onlooker.evaluate("window.loadedOnce") is True

    # The log of a finished attempt.
    page.locator('[data-testid=task-row][data-step="raw/flights"]').click()
    expect(page.get_by_test_id("log-line").filter(has_text=f"departures on {ONE_DAY}")).to_be_visible()
    expect(page.get_by_test_id("log-panel")).to_have_attribute("data-complete", "true")

    # A range, by dragging.
    open_asset(page, "delays")
    drag(page, cell(page, RANGE[0]), cell(page, RANGE[-1]))
    expect(page.get_by_test_id("selection-count")).to_have_text(f"{len(RANGE)} selected")
    expect(page.get_by_test_id("selection-text")).to_have_value(f"{RANGE[0]}..{RANGE[-1]}")
    page.get_by_test_id("preview-plan").click()
    page.get_by_test_id("plan-with-upstream").click()
    page.get_by_test_id("backfill-name").fill("Early January")
    count = confirm(page)
    progress = page.get_by_test_id("backfill-progress")
    expect(progress).to_have_attribute("data-total", str(count))
    expect(progress).to_have_attribute("data-done", str(count), timeout=WORK_MS)
    expect(page.get_by_test_id("backfill-state")).to_have_attribute("data-state", "success")
    for day in RANGE:
        expect(cell(onlooker, day)).to_have_attribute("data-state", "fresh")

    # The eager consumer of the other location has followed, or does now.
    open_asset(page, "route_health")
    for day in (ONE_DAY, *RANGE):
        expect(cell(page, day)).to_have_attribute("data-state", "fresh", timeout=WORK_MS)
    expect(cells(page, "fresh")).to_have_count(1 + len(RANGE))

    assert published(deployment, "delays") == departures(flights_source, [ONE_DAY, *RANGE])


def test_a_log_tails_while_its_run_is_open(watched: Watched, pipes: dict[str, Pipe]) -> None:
    page = watched.page("/asset?key=held/told")
    launch_whole(page)
    page.get_by_test_id("task-row").click()
    for line in ("first", "second"):
        pipes["held"].tell(line)
        expect(page.get_by_test_id("log-line").filter(has_text=f"was told {line}")).to_be_visible()
    panel = page.get_by_test_id("log-panel")
    expect(panel).to_have_attribute("data-complete", "false")
    expect(page.get_by_test_id("run-state")).to_have_attribute("data-state", "running")
    pipes["held"].tell("end")
    expect(page.get_by_test_id("run-state")).to_have_attribute("data-state", "success")
    expect(panel).to_have_attribute("data-complete", "true")
    expect(page.get_by_test_id("log-line")).to_have_count(3)
    # The level and the search are in the address, so that what is seen can be sent on.
    page.get_by_label("Least level").select_option("warning")
    expect(page.get_by_test_id("log-line")).to_have_count(2)
    page.get_by_test_id("log-search").fill("second")
    expect(page.get_by_test_id("log-line")).to_have_count(1)
    page.reload()
    expect(page.get_by_test_id("log-line")).to_have_text(re.compile("was told second"))


def test_a_run_is_cancelled(watched: Watched) -> None:
    page = watched.page("/asset?key=held/stuck")
    launch_whole(page)
    page.get_by_test_id("task-row").click()
    expect(page.get_by_test_id("log-line").filter(has_text="holding")).to_be_visible()
    page.get_by_test_id("cancel-run").click()
    page.get_by_test_id("confirm-cancel-run").click()
    expect(page.get_by_test_id("run-state")).to_have_attribute("data-state", re.compile("^cancell?ed$"))
    expect(page.get_by_test_id("task-row")).to_have_attribute("data-state", "cancelled")
    expect(page.get_by_test_id("cancel-run")).to_have_count(0)


def test_a_module_that_does_not_load_is_shown_with_its_traceback(watched: Watched, deployment: Deployed) -> None:
    page = watched.page("/")
    rail(page, "Locations").click()
    held = page.locator('[data-testid=location][data-location="held"]')
    expect(held).to_have_attribute("data-state", "serving")
    module = deployment.folder / "held_location.py"
    module.write_text(f"{HELD}\n\nraise RuntimeError('a slip of the pen')\n")
    held.get_by_role("button", name="Reload location").click()
    expect(held).to_have_attribute("data-state", "broken")
    broken = held.locator('[data-testid=module][data-ok="false"]')
    expect(broken).to_contain_text("a slip of the pen")
    expect(broken).to_contain_text("held_location.py")
    expect(page.locator('[data-testid=location][data-location="flights"]')).to_have_attribute("data-state", "serving")
    # Its assets are there still, and say why they are old.
    open_asset(page, "held/told")
    expect(page.get_by_test_id("problem")).to_contain_text("a slip of the pen")
    page.go_back()
    module.write_text(HELD)
    rail(page, "Locations").click()
    held.get_by_role("button", name="Reload location").click()
    expect(held).to_have_attribute("data-state", "serving")


def test_the_keyboard_reaches_everything(watched: Watched) -> None:
    page = watched.page("/")
    expect(page.get_by_test_id("live-dot")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.get_by_test_id("palette-input").fill("raw/fli")
    expect(page.get_by_role("listbox", name="Results").get_by_role("option", selected=True)).to_contain_text(
        "raw/flights"
    )
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("raw/flights")
    # Arrows move over the days, shift extends, Escape clears.
    cell(page, "2013-01-01").focus()
    page.keyboard.press("ArrowRight")
    expect(cell(page, "2013-01-02")).to_be_focused()
    page.keyboard.press("Shift+ArrowRight")
    expect(page.get_by_test_id("selection-count")).to_have_text("2 selected")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("selection-bar")).to_have_count(0)
    page.keyboard.press("g")
    page.keyboard.press("g")
    expect(page.get_by_test_id("graph-canvas")).to_be_visible()


def test_what_is_missing_skips_on_a_laptop_and_fails_in_ci(tmp_path: Path) -> None:
    nowhere = {"PARTITA_CHROMIUM": str(tmp_path / "chromium")}
    with pytest.raises(pytest.skip.Exception, match=r"scripts/install-chromium\.sh"):
        find_chromium(nowhere)
    with pytest.raises(pytest.fail.Exception, match=r"scripts/install-chromium\.sh"):
        find_chromium({**nowhere, "CI": "true"})
    with pytest.raises(pytest.fail.Exception, match="make ui"):
        need_built_ui({"CI": "true"}, tmp_path / "index.html")


def open_asset(page: Page, key: str) -> None:
    """As one goes there: by the rail, then by the row."""
    rail(page, "Assets").click()
    page.locator(f'[data-testid=asset-row][data-key="{key}"]').click()
    expect(page.get_by_role("heading", level=1)).to_have_text(key)


def rail(page: Page, place: str) -> Locator:
    return page.get_by_role("navigation", name="Main").get_by_role("link", name=place)


def cell(page: Page, day: str) -> Locator:
    return page.locator(f'[data-testid=strip-cell][data-key="{day}"]')


def cells(page: Page, state: str) -> Locator:
    return page.locator(f"[data-testid=strip-cell][data-state={state}]")


def drag(page: Page, start: Locator, end: Locator) -> None:
    start.hover()
    page.mouse.down()
    end.hover()
    page.mouse.up()


def confirm(page: Page) -> int:
    """Presses the button that launches; it and the sentence say the same number of cells, which is returned."""
    button = page.get_by_test_id("confirm-plan")
    expect(button).to_have_text(re.compile(r"^Materialize [\d,]+ cells?$"))
    told = button.inner_text()
    expect(page.get_by_test_id("plan-sentence")).to_contain_text(told)
    button.click()
    return int(re.sub(r"\D", "", told))


def launch_whole(page: Page) -> None:
    """An asset without partitions, from its page to its run's page."""
    page.get_by_test_id("preview-plan").click()
    assert confirm(page) == 1
    expect(page.get_by_test_id("run-state")).to_be_visible()


def published(deployment: Deployed, key: str) -> dict[str, int]:
    """Rows by partition, read through the published pointers."""
    answer = json.loads(deployment.run("partitions", key, "--partitions", "all", "--json"))
    return {
        item["partition"]: read_relation([item["location"]]).count() for item in answer["items"] if item["location"]
    }


def departures(source: Path, days: list[str]) -> dict[str, int]:
    """Rows by local day, counted in the source."""
    statement = """
        SELECT strftime(timezone(?, time_hour), '%Y-%m-%d') AS day, count(*) FROM read_parquet(?) GROUP BY ALL
        """
    with duckdb.connect() as connection:
        rows = connection.execute(statement, [ZONE, str(source / "flights.parquet")]).fetchall()
    counts = dict(rows)
    return {day: counts[day] for day in days}
