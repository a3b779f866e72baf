"""The wire form of streams: what a client of the standard reads is what was sent; silence is broken by pings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.ui.api import sse
from partita.ui.api.services.events import Subscription


def read(block: bytes) -> dict[str, str]:
    """One message, as the standard's algorithm reads it."""
    fields: dict[str, list[str]] = {}
    for line in block.decode().split("\n"):
        if line:
            name, _, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))
    return {name: "\n".join(values) for name, values in fields.items()}


@given(body=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")))
def test_a_frame_carries_any_text(body: str) -> None:
    block = sse.frame(body, event="lines", position="7")
    assert block.endswith(b"\n\n")
    assert block.count(b"\n\n") == 1
    assert read(block) == {"event": "lines", "id": "7", "data": body}


def test_a_silent_stream_pings(monkeypatch: pytest.MonkeyPatch) -> None:
    class Feed:
        @asynccontextmanager
        async def subscribe(self, after: int | None) -> AsyncIterator[Subscription]:
            yield Subscription()

    async def first_two(feed: Any) -> list[bytes]:
        messages = sse._events(feed, None)
        try:
            return [await anext(messages) for _ in range(3)]
        finally:
            await messages.aclose()  # type: ignore[attr-defined]

    monkeypatch.setattr(sse, "PING_S", 0.001)
    blocks = asyncio.run(first_two(Feed()))
    assert [read(block).get("event") for block in blocks] == [None, "ping", "ping"]
