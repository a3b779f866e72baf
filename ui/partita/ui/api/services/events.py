"""The live feed: one reader of the event table per process, fanned out to all streams.

Owns positions, the ring for resuming, and bounded queues. Without a subscriber it reads nothing at all. Events are read below
the oldest running transaction only, so that none is skipped (DESIGN section 6). A subscriber that falls behind, or comes back
after more than can be replayed, gets one "resync" and goes on: clients re-read what they show.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from partita.core.decide.traces import CAUSE, trace_of
from partita.core.store.port import StoreError
from partita.core.store.queries import api_system as sql
from partita.core.store.queries.api_read import Row, now, one, rows
from partita.core.store.queries.reader import Reader
from partita.ui.api.models import LiveEvent
from partita.ui.api.services.base import Backend

log = logging.getLogger(__name__)

POLL_S = 1.0
_PAUSE_S = 0.05  # between two reads: a storm of events is read in batches
QUEUE_LIMIT = 1_000
RING_LIMIT = 5_000
_BATCH = 1_000
_END_S = 5.0
_CATCH_UP = 2_000
_KINDS = frozenset(get_args(LiveEvent.model_fields["kind"].annotation))


@dataclass(frozen=True, slots=True)
class Position:
    """(xid, id) of the last event that was read: the order in which events become final."""

    xid: int
    id: int


@dataclass(frozen=True, slots=True)
class Message:
    """An event, or a resync when `event` is None; `position` is the id to resume from."""

    position: int
    event: LiveEvent | None


class Subscription:
    """One stream. Not more than QUEUE_LIMIT messages wait in it."""

    def __init__(self) -> None:
        self._waiting: deque[Message] = deque()
        self._filled = asyncio.Event()
        self._closed = False

    def __repr__(self) -> str:
        return f"<Subscription {len(self._waiting)} waiting{', closed' if self._closed else ''}>"

    def put(self, message: Message) -> None:
        if len(self._waiting) >= QUEUE_LIMIT:
            self._waiting.clear()
            message = Message(message.position, None)
        self._waiting.append(message)
        self._filled.set()

    def close(self) -> None:
        self._closed = True
        self._filled.set()

    async def next(self) -> Message | None:
        """The next message; None when the feed ends."""
        while not self._waiting:
            if self._closed:
                return None
            self._filled.clear()
            await self._filled.wait()
        return self._waiting.popleft()


class EventFeed:
    """Bound to the event loop that runs it. `on_wake` subscribes a callback to the wake-ups of the deployment; it is called at
    once, because subscriptions come before wake-ups start."""

    def __init__(self, backend: Backend, on_wake: Callable[[Callable[[], None]], None]) -> None:
        self._backend = backend
        self._position: Position | None = None
        self._ring: deque[LiveEvent] = deque(maxlen=RING_LIMIT)
        self._subscriptions: set[Subscription] = set()
        self._woken = asyncio.Event()
        self._entering = asyncio.Lock()
        self._ending = False
        self._loop: asyncio.AbstractEventLoop | None = None
        on_wake(self._wake)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        task = asyncio.create_task(self._follow(), name="event feed")
        try:
            yield
        finally:
            self._loop = None
            self.close()
            self._ending = True
            self._woken.set()
            # A read in flight is let finish, so that its connection goes back before the store is closed.
            await asyncio.wait({task}, timeout=_END_S)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def close(self) -> None:
        """Ends all streams, so that a server that stops does not wait for them."""
        for subscription in list(self._subscriptions):
            subscription.close()

    @asynccontextmanager
    async def subscribe(self, after: int | None) -> AsyncIterator[Subscription]:
        """A stream of what happens from now on, preceded by what happened after the event `after`."""
        subscription = Subscription()
        async with self._entering:
            if not self._subscriptions:  # asleep until now: what happened meanwhile is not this stream's
                self._ring.clear()
                self._position = None
                with suppress(StoreError):  # `_step` asks again
                    self._position = await asyncio.to_thread(self._end)
            self._subscriptions.add(subscription)
        self._woken.set()
        try:
            if after is not None:
                await self._replay(subscription, after)
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    async def _replay(self, subscription: Subscription, after: int) -> None:
        ids = [event.id for event in self._ring]
        if after in ids:
            for event in list(self._ring)[ids.index(after) + 1 :]:
                subscription.put(Message(event.id, event))
            return
        end = self._position
        missed = await asyncio.to_thread(self._missed, after, end)
        if missed is None:
            subscription.put(Message(end.id if end is not None else after, None))
            return
        for event in missed:
            subscription.put(Message(event.id, event))

    def _missed(self, after: int, end: Position | None) -> list[LiveEvent] | None:
        """The events between `after` and the feed's own position; None when they are unknown or too many."""
        with self._backend.store.read() as reader:
            row = one(reader, sql.EVENT_XID, id=after)
            if row is None or end is None:
                return None
            found, reached = _read(reader, Position(row["xid"], after), _CATCH_UP)
        if len(found) >= _CATCH_UP and reached is not None and (reached.xid, reached.id) < (end.xid, end.id):
            return None
        return [event for at, event in found if (at.xid, at.id) <= (end.xid, end.id)]

    # ------------------------------------------------------------------ the reader

    def _wake(self) -> None:
        loop = self._loop
        if loop is not None and self._subscriptions:
            with suppress(RuntimeError):  # the loop is closing
                loop.call_soon_threadsafe(self._woken.set)

    async def _follow(self) -> None:
        while not self._ending:
            if not self._subscriptions:
                self._woken.clear()
                await self._woken.wait()
                continue
            try:
                more = await self._step()
            except StoreError as error:
                log.debug("the event feed waits for the database: %s", error)
                more = False
            if not more:
                self._woken.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await self._woken.wait()
                await asyncio.sleep(_PAUSE_S)

    async def _step(self) -> bool:
        if self._position is None:
            self._position = await asyncio.to_thread(self._end)
            return False
        found, reached = await asyncio.to_thread(self._next, self._position)
        if reached is not None:
            self._position = reached
        for _, event in found:
            self._ring.append(event)
            for subscription in self._subscriptions:
                subscription.put(Message(event.id, event))
        return len(found) >= _BATCH

    def _end(self) -> Position:
        with self._backend.store.read() as reader:
            row = one(reader, sql.EVENTS_END)
        return Position(0, 0) if row is None else Position(row["xid"], row["id"])

    def _next(self, position: Position) -> tuple[list[tuple[Position, LiveEvent]], Position | None]:
        with self._backend.store.read() as reader:
            return _read(reader, position, _BATCH)


def _read(reader: Reader, after: Position, limit: int) -> tuple[list[tuple[Position, LiveEvent]], Position | None]:
    found = rows(reader, sql.EVENTS_AFTER, xid=after.xid, id=after.id, limit=limit)
    events = [(Position(row["xid"], row["id"]), live_event(row, now(reader))) for row in found]
    return [(at, event) for at, event in events if event is not None], events[-1][0] if events else None


def live_event(row: Row, at: datetime) -> LiveEvent | None:
    """The message of an event row; None for kinds that streams do not know (a newer scheduler may write them)."""
    if row["kind"] not in _KINDS:
        return None
    state = row["body"].get("state")
    return LiveEvent(
        id=row["id"],
        at=row["at"] or at,
        kind=row["kind"],
        asset=row["asset"],
        partition=row["partition"],
        run_id=row["run_id"],
        trace_id=_trace_id(row),
        task_id=row["task_id"],
        state=state if isinstance(state, str) else None,
    )


def _trace_id(row: Row) -> str | None:
    """Of the run; of what came from outside that of its report."""
    if row["cause"] is not None:
        return trace_of(row["run_id"], row["as_of"], row["cause"])
    given = row["body"].get(CAUSE)
    return None if given is None else str(given)[3:35]
