"""Makes the pictures of docs/images from a deployment of the flights example that has lived a little.

    .venv/bin/python scripts/screenshots.py                # needs `make ui` and scripts/install-chromium.sh
    .venv/bin/python scripts/screenshots.py --only run

The example runs from a copy in a scratch folder whose source lacks 6 February: January is backfilled, the code of `delays`
changes and only a part is made again, and in February one day fails its check. Nothing on the pictures is made up.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import duckdb
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from partita.core.runtime.deployed import Deployed

REPO = Path(__file__).resolve().parents[1]
EXAMPLE = REPO / "examples" / "flights"
SIZE: ViewportSize = {"width": 1440, "height": 900}
LOST_DAY = "2013-02-06"
PATIENCE_MS = 60_000
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=sorted(PICTURES), action="append", help="only this picture (repeatable)")
    parser.add_argument("--out", type=Path, default=REPO / "docs" / "images", help="folder of the pictures")
    asked = parser.parse_args()
    chromium = os.environ.get("PARTITA_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed: run scripts/install-chromium.sh")
    asked.out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="pt-shots-"))
    folder.chmod(0o755)  # the server of the database runs under another account when this is root
    try:
        with (
            Deployed(folder, env={"FLIGHTS_SOURCE": str(prepare(folder))}) as deployment,
            sync_playwright() as playwright,
        ):
            live_a_little(deployment)
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            for name in asked.only or PICTURES:
                for theme in THEMES:
                    shoot(browser, deployment, name, theme, asked.out / f"{name}-{theme}.png")
            browser.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def prepare(folder: Path) -> Path:
    """A copy of the example that may be changed; returns its source, without one day."""
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", ".partita"))
    sys.path.insert(0, str(folder))
    files: Path = importlib.import_module("source").prepare(folder / "source")
    whole, holed = files / "flights.parquet", folder / "holed.parquet"
    with duckdb.connect() as connection:
        rows = connection.read_parquet(str(whole))
        rows.filter(f"timezone('America/New_York', time_hour)::date <> DATE '{LOST_DAY}'").write_parquet(str(holed))
    holed.replace(whole)
    return files


def live_a_little(deployment: Deployed) -> None:
    deployment.start("dev")
    deployment.wait_serving()
    january = ("--from", "2013-01-01", "--to", "2013-01-31")
    deployment.run("backfill", "create", "location:flights", *january, "--name", "January", "--yes")
    deployment.wait("route_health follows", lambda: followed(deployment))
    marts = deployment.folder / "flights_location" / "marts.py"
    marts.write_text(marts.read_text().replace("w.temp, w.wind_speed", "w.temp, w.wind_gust, w.wind_speed"))
    deployment.run("locations", "reload", "flights", "--yes")
    deployment.run("materialize", "delays", "--from", "2013-01-01", "--to", "2013-01-24", "--mode", "all", "--yes")
    february = ("--from", "2013-02-01", "--to", "2013-02-08")
    deployment.run("materialize", "raw/* or delays", *february, "--yes", ok=(1,))
    deployment.wait("route_health follows", lambda: followed(deployment))


def followed(deployment: Deployed) -> bool:
    """Every published day of `delays` has its `route_health`, and nothing runs."""
    return published(deployment, "delays") <= published(deployment, "route_health") and deployment.query(
        "SELECT count(*) FROM run WHERE finished_at IS NULL"
    ) == [(0,)]


def published(deployment: Deployed, key: str) -> set[str]:
    answer = json.loads(deployment.run("partitions", key, "--partitions", "all", "--json"))
    return {cell["partition"] for cell in answer["items"] if cell["location"]}


def shoot(browser: Browser, deployment: Deployed, name: str, theme: Theme, to: Path) -> None:
    context = browser.new_context(
        viewport=SIZE, device_scale_factor=1, color_scheme=theme, reduced_motion="reduce", base_url=deployment.api,
        timezone_id="America/New_York", locale="en-US",
    )  # fmt: skip
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    page = context.new_page()
    PICTURES[name](page)
    page.wait_for_load_state("load")
    expect(page.locator(".skeleton")).to_have_count(0)
    page.mouse.move(0, 0)  # no tips
    page.screenshot(path=to, animations="disabled")
    context.close()
    print(f"{to.relative_to(REPO) if to.is_relative_to(REPO) else to}  {to.stat().st_size / 1000:.0f} kB")


def graph(page: Page) -> None:
    page.goto("/graph?node=delays")
    expect(page.get_by_test_id("graph-panel")).to_contain_text("stale")
    expect(page.locator("canvas[data-zoom]")).to_be_visible()


def asset(page: Page) -> None:
    page.goto("/asset?key=delays")
    page.locator('[data-testid=strip-cell][data-key="2013-01-25"]').hover()
    page.mouse.down()
    page.locator('[data-testid=strip-cell][data-key="2013-02-10"]').hover()
    page.mouse.up()
    expect(page.get_by_test_id("selection-bar")).to_contain_text("17 selected")
    expect(page.get_by_test_id("selection-bar")).to_contain_text("stale")


def plan(page: Page) -> None:
    asset(page)
    page.get_by_test_id("preview-plan").click()
    for option in ("Include what is needed upstream", "Include what depends on it downstream"):
        shown = page.get_by_test_id("plan")
        expect(shown).to_be_visible()
        before = shown.get_attribute("data-plan")
        page.get_by_text(option).click()
        expect(shown).not_to_have_attribute("data-plan", before or "")
    expect(page.get_by_test_id("confirm-plan")).to_be_visible()


def run(page: Page) -> None:
    page.goto("/runs?state=failed")
    page.get_by_test_id("run-row").first.click()
    page.locator("[data-testid=task-row][data-state=failed]").click()
    expect(page.get_by_test_id("log-line").last).to_contain_text("there_are_flights")


PICTURES: dict[str, Callable[[Page], None]] = {"graph": graph, "asset": asset, "plan": plan, "run": run}

if __name__ == "__main__":
    sys.exit(main())
