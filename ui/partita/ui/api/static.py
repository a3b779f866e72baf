"""The single-page UI from the wheel: hashed assets for ever, the index never cached, every other path is the SPA's.

Owns caching, the content security policy and the path prefix. Without a build it says so and gives the command. Never serves a
file outside its folder, and never answers an unknown API path with a page.
"""

from __future__ import annotations

import html
import mimetypes
from functools import lru_cache
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.datastructures import MutableHeaders
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from partita.ui.api.errors import answer

FOLDER = Path(__file__).parent.parent / "static"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
)
_SECURITY = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_FOR_EVER = "public, max-age=31536000, immutable"
_NOT_BUILT = """<!doctype html><meta charset="utf-8"><title>partita</title>
<h1>The UI is not built</h1>
<p>This installation has no <code>partita/ui/static</code>. In a clone, run <code>make ui</code> and load this page again.</p>
<p>The API works without it: <code>{prefix}/openapi.json</code>, <code>{prefix}/healthz</code>.</p>
"""


class SecurityHeaders:
    """Adds the headers to every answer, streams included (so no buffering middleware)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")  # what has none of its own is state of this moment
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


class UnderPath:
    """Serves under a prefix, whether the proxy in front strips it from the path or not."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = "/" + prefix.strip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["path"]
            inside = path == self._prefix or path.startswith(f"{self._prefix}/")
            scope = {**scope, "root_path": self._prefix, "path": path if inside else self._prefix + path}
        await self._app(scope, receive, send)


def install(app: FastAPI, folder: Path = FOLDER) -> None:
    async def page(request: Request, path: str) -> Response:
        return _answer(folder, path, str(request.scope.get("root_path", "")))

    app.add_api_route("/{path:path}", page, methods=["GET", "HEAD"], include_in_schema=False)


def _answer(folder: Path, path: str, prefix: str) -> Response:
    if path == "api" or path.startswith("api/"):
        return answer(404, f"there is no /{path}", fix="see /openapi.json for what exists")
    found = _file(folder, path)
    if found is not None:
        kind, _ = mimetypes.guess_type(found.name)
        caching = _FOR_EVER if path.startswith("assets/") else "no-cache"
        return FileResponse(found, media_type=kind, headers={"cache-control": caching})
    if path.startswith("assets/"):
        # An old page after an upgrade asks for a file that is gone: a page in its place would be run as a script.
        return answer(404, f"there is no /{path}", fix="load the page again")
    index = folder / "index.html"
    if not index.is_file():
        return HTMLResponse(_NOT_BUILT.format(prefix=html.escape(prefix)), status_code=503)
    return HTMLResponse(_index(index, index.stat().st_mtime_ns, prefix), headers={"cache-control": "no-cache"})


def _file(folder: Path, path: str) -> Path | None:
    if not path or path == "index.html":
        return None
    candidate = (folder / path).resolve()
    return candidate if candidate.is_relative_to(folder.resolve()) and candidate.is_file() else None


@lru_cache(maxsize=8)
def _index(index: Path, _mtime_ns: int, prefix: str) -> str:
    """The page with its links under the prefix; `<base>` tells the scripts where the API is."""
    text = index.read_text(encoding="utf-8")
    quoted = html.escape(prefix, quote=True)
    for attribute in ("src", "href"):
        text = text.replace(f'{attribute}="/', f'{attribute}="{quoted}/')
    return text.replace("<head>", f'<head><base href="{quoted}/" />', 1)
