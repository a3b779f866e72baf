"""Server-sent events: framing, resuming by Last-Event-ID, pings; and the two streams of the API.

Owns the wire form. What is sent comes from the event feed and the log service. A consumer that does not keep up gets `resync`
instead of a growing queue: clients re-read what they show.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import StreamingResponse

if TYPE_CHECKING:
    from partita.ui.api.services.events import EventFeed
    from partita.ui.api.services.logs import LogService, LogSource

PING_S = 15.0
LOG_POLL_S = 0.5
_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


def frame(body: str, *, event: str | None = None, position: str | None = None) -> bytes:
    """One message. `body` may hold any text: each of its lines gets a `data:` of its own."""
    head = (f"id: {position}\n" if position is not None else "") + (f"event: {event}\n" if event else "")
    lines = "".join(f"data: {line}\n" for line in body.split("\n"))
    return f"{head}{lines}\n".encode()


def position_of(request: Request) -> int | None:
    """Where the client left off; None for a new one or an id that is not ours."""
    text = request.headers.get("last-event-id") or request.query_params.get("last_event_id") or ""
    return int(text) if text.isascii() and text.isdigit() else None


def event_stream(feed: EventFeed, request: Request) -> StreamingResponse:
    return _streaming(_events(feed, position_of(request)))


async def log_stream(logs: LogService, attempt_id: int, request: Request, *, offset: int) -> StreamingResponse:
    resumed = position_of(request)
    source = await run_in_threadpool(logs.source, attempt_id)
    return _streaming(_log_lines(logs, source, offset if resumed is None else resumed))


def _streaming(messages: AsyncIterator[bytes]) -> StreamingResponse:
    return StreamingResponse(messages, media_type="text/event-stream", headers=_HEADERS)


async def _events(feed: EventFeed, after: int | None) -> AsyncIterator[bytes]:
    async with feed.subscribe(after) as subscription:
        yield b"retry: 2000\n\n"
        while True:
            try:
                async with asyncio.timeout(PING_S):
                    message = await subscription.next()
            except TimeoutError:
                yield frame("{}", event="ping")
                continue
            if message is None:
                return
            if message.event is None:
                yield frame("{}", event="resync", position=str(message.position))
            else:
                yield frame(message.event.model_dump_json(), position=str(message.position))


async def _log_lines(logs: LogService, source: LogSource, offset: int) -> AsyncIterator[bytes]:
    quiet_s = 0.0
    yield b"retry: 2000\n\n"
    while True:
        page = await run_in_threadpool(logs.read, source, offset=offset)
        offset = page.next_offset
        if page.lines:
            quiet_s = 0.0
            body = json.dumps([line.model_dump(mode="json") for line in page.lines], ensure_ascii=False)
            yield frame(body, event="lines", position=str(offset))
        if page.complete:
            yield frame("{}", event="end", position=str(offset))
            return
        if page.lines:
            continue
        await asyncio.sleep(LOG_POLL_S)  # files have no events: workers append on other hosts too
        quiet_s += LOG_POLL_S
        # Whether the attempt has ended is asked before the next read, so that what was written until then is read.
        source = await run_in_threadpool(logs.refreshed, source)
        if quiet_s >= PING_S:
            quiet_s = 0.0
            yield frame("{}", event="ping")
