"""The browser of the acceptance tests: Debian's Chromium over the built web application.

Owns finding both and saying how to get them: on a laptop what is missing skips a test, in CI it fails it. Owns how long a page is
waited for, and `Watched`, which keeps whatever a page complains about.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

REPO = Path(__file__).resolve().parents[2]
BUILT = REPO / "ui" / "partita" / "ui" / "static" / "index.html"
DEBIAN = Path("/usr/bin/chromium")
# Without a sandbox, as containers give none; without the calls that a browser makes home at every start.
ARGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE_MS = 120_000
"""For one thing to appear, on whatever machine: the five seconds that are usual say more of its load than of the page."""


@contextmanager
def browsing() -> Iterator[Browser]:
    need_built_ui()
    program = find_chromium()
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


def opened(browser: Browser, **options: Any) -> BrowserContext:
    """A context with an empty profile, which waits as long as everything here."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    return context


def find_chromium(environ: Mapping[str, str] = os.environ) -> Path:
    """`PARTITA_CHROMIUM`, else Debian's, else the `chromium` on PATH; skips the test, or fails it in CI, without any."""
    named = environ.get("PARTITA_CHROMIUM")
    if named is not None:
        found = Path(named) if os.access(named, os.X_OK) else None
        missing = f"PARTITA_CHROMIUM={named} is no program"
    else:
        on_path = shutil.which("chromium", path=environ.get("PATH", ""))
        found = DEBIAN if os.access(DEBIAN, os.X_OK) else Path(on_path) if on_path else None
        missing = "Chromium is not installed"
    return found or unavailable(f"{missing}: run scripts/install-chromium.sh", environ)


def need_built_ui(environ: Mapping[str, str] = os.environ, built: Path = BUILT) -> None:
    """Skips the test, or fails it in CI, when the web application is not built."""
    if not built.is_file():
        unavailable("the web application is not built: run `make ui`", environ)


def unavailable(message: str, environ: Mapping[str, str]) -> NoReturn:
    if environ.get("CI", "").lower() not in {"", "0", "false"}:
        pytest.fail(message)
    pytest.skip(message)


class Watched:
    """The pages of a context and their complaints: errors on the console, uncaught exceptions, requests that failed."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.complaints: list[str] = []
        context.on("page", self._watch)

    def page(self, url: str) -> Page:
        page = self.context.new_page()
        page.goto(url)
        return page

    def _watch(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", self._error)
        page.on("requestfailed", self._failed)
        page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"console {message.type}: {message.text}")

    def _error(self, error: Error) -> None:
        self.complaints.append(f"uncaught: {error}")

    def _failed(self, request: Request) -> None:
        # The application gives requests up when their view goes away; that is no failure.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"{request.method} {request.url}: {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.request.method} {response.url}: {response.status}")
