"""Who may ask: pages of this origin only, under the names of this machine.

This release has no sign-in, so a browser must not be made to launch or cancel runs by some other site: neither by a form that
posts here (checked by Sec-Fetch-Site, else Origin), nor by a name that was rebound to the loopback address (checked by Host).
Programs send none of these headers and are not affected.
"""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from partita.ui.api.errors import answer

MOST_BYTES = 16 * 1024**2
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN = frozenset({"same-origin", "none"})


class SameOrigin:
    """`hosts` are the names under which this API is known; None for any (a proxy in front decides)."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = refused(scope["method"], Headers(scope=scope), self._hosts) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
            return
        what, rule, fix = refusal
        await answer(403, what, rule=rule, fix=fix)(scope, receive, send)


class BodyLimit:
    """A request is read whole before it is judged, so what is too large is not read: 413, by its length or while it comes."""

    def __init__(self, app: ASGIApp, most_bytes: int = MOST_BYTES) -> None:
        self._app = app
        self._most = most_bytes
        self._rule = f"the body of a request has at most {most_bytes // 1024**2} MB"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        said = Headers(scope=scope).get("content-length", "") if scope["type"] == "http" else ""
        if said.isdecimal() and int(said) > self._most:
            refusal = answer(413, "the request is too large", rule=self._rule, fix="send it in several parts")
            await refusal(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most:
                raise HTTPException(413, self._rule)  # the application lets it through to its handler
            return message

        await self._app(scope, counted, send)


def refused(method: str, headers: Headers, hosts: Collection[str] | None) -> tuple[str, str, str] | None:
    """What, rule and fix of the refusal; None when the request may pass."""
    host = headers.get("host", "")
    name = _name(host)
    if hosts is not None and host and name not in hosts and not name.endswith(".localhost"):
        fix = "use localhost, or start `partita api --public-host NAME` behind your proxy"
        return f"this API is not known as {name!r}", f"it answers to {', '.join(sorted(hosts))}", fix
    if method in _SAFE:
        return None
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    # The browser itself says where the page is from; Origin alone misleads behind proxies that set another Host.
    foreign = site not in _OWN if site is not None else origin is not None and urlsplit(origin).netloc != host
    if foreign:
        return (
            "a page of another site asked for this",
            "only this UI's own pages may change something",
            "use the UI or the CLI",
        )
    return None


def _name(host: str) -> str:
    """The host name of a Host header, without port and brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
