"""The single-page UI: caching, fallback, prefix, policy, and what never leaves the folder."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from partita.ui.api import static

PAGE = (
    '<!doctype html><html><head><link href="/favicon.svg" /><script src="/assets/main-1a2b.js"></script></head></html>'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    built = tmp_path / "static"
    (built / "assets").mkdir(parents=True)
    (built / "index.html").write_text(PAGE)
    (built / "favicon.svg").write_text("<svg/>")
    (built / "assets" / "main-1a2b.js").write_text("run()")
    (tmp_path / "secret.txt").write_text("no")
    return built


def ask(folder: Path, path: str, *, root_path: str = "") -> httpx.Response:
    app: Any = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(static.SecurityHeaders)
    if root_path:
        app.add_middleware(static.UnderPath, prefix=root_path)
    static.install(app, folder)

    async def get() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://host") as client:
            return await client.get(path)

    return asyncio.run(get())


def test_hashed_assets_are_kept_for_ever_and_the_page_never(folder: Path) -> None:
    asset = ask(folder, "/assets/main-1a2b.js")
    assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert asset.headers["content-type"].startswith("text/javascript")
    assert ask(folder, "/").headers["cache-control"] == "no-cache"
    assert ask(folder, "/favicon.svg").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/", "/asset?key=raw%2Fflights", "/runs/7", "/index.html"])
def test_every_path_of_the_ui_is_the_page(folder: Path, path: str) -> None:
    answer = ask(folder, path)
    assert answer.status_code == 200
    assert "main-1a2b.js" in answer.text


def test_an_asset_that_is_gone_and_an_unknown_api_path_are_no_pages(folder: Path) -> None:
    assert ask(folder, "/assets/old-ffff.js").status_code == 404
    assert ask(folder, "/api/v1/nothing").json()["error"]["what"] == "there is no /api/v1/nothing"


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt", "/assets/%2e%2e%2f%2e%2e%2fsecret.txt"]
)
def test_nothing_outside_the_folder_is_served(folder: Path, path: str) -> None:
    assert ask(folder, path).text != "no"


def test_the_policy_allows_this_origin_only(folder: Path) -> None:
    policy = ask(folder, "/").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert ask(folder, "/").headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/data/partita/runs/7", "/runs/7"], ids=["kept", "stripped"])
def test_under_a_prefix_the_links_of_the_page_carry_it(folder: Path, path: str) -> None:
    page = ask(folder, path, root_path="/data/partita/").text
    assert '<base href="/data/partita/" />' in page
    assert 'src="/data/partita/assets/main-1a2b.js"' in page
    assert ask(folder, "/data/partita/assets/main-1a2b.js", root_path="/data/partita").text == "run()"


def test_without_a_build_the_page_gives_the_command(tmp_path: Path) -> None:
    answer = ask(tmp_path / "none", "/")
    assert answer.status_code == 503
    assert "make ui" in answer.text
