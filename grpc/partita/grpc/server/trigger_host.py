"""The process that runs triggers: user code of one version, thousands of coroutines on one event loop.

Owns the loop and its threads, the pauses' jitter, and noticing a trigger that blocks the loop. It is a child like an attempt's:
forked from the zygote, or a fresh interpreter. Frames in: `watch`, `unwatch`. Frames out: `fired`, `broken`, `blocked`, `beat`.
It imports neither gRPC nor anything that decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
import threading
import time
import traceback
import zlib
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from partita.grpc.server import frames
from partita.grpc.server.turns import Note, noted

T = TypeVar("T")

BEAT_S = 2.0
"""The host says that its loop turns."""

BLOCKED_S = 10.0
"""A loop that has not turned for so long is blocked by the trigger that is running."""

_THREADS = 32
"""Of a lane."""

_APART_S = 5.0
"""Between the beginnings of two calls of which one may have ended the process before this one."""

WAIT: ContextVar[str] = ContextVar("WAIT", default="")
"""Whose turn it is, and who is in a call to `asyncio.to_thread`."""

_PAYLOAD_BYTES = 64 * 1024
_READ_BYTES = 256 * 1024


class Host:
    """Runs until the channel closes."""

    def __init__(self, channel: socket.socket, note: Note, suspects: Collection[str] = ()) -> None:
        """`suspects` were in a call when the process before this one ended."""
        self._channel = channel
        self._note = note
        self._suspects = frozenset(suspects)
        self._lock = threading.Lock()
        self._buffer = frames.FrameBuffer()
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._closed = asyncio.Event()
        self._over = threading.Event()
        self._turned_s = time.monotonic()

    async def serve(self) -> None:
        """Watch what is asked for until nobody listens any more."""
        loop = asyncio.get_running_loop()
        loop.set_default_executor(_Lanes(self._note, self._suspects))
        loop.add_reader(self._channel.fileno(), self._read)
        threading.Thread(target=self._notice_blocking, args=(loop,), name="watchdog", daemon=True).start()
        while not self._closed.is_set():
            self._turned_s = time.monotonic()
            self._send({"t": "beat"})
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(BEAT_S):
                    await self._closed.wait()
        self._over.set()

    def _read(self) -> None:
        try:
            chunk = self._channel.recv(_READ_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if not chunk:
            asyncio.get_running_loop().remove_reader(self._channel.fileno())
            self._closed.set()
            return
        for frame in self._buffer.feed(chunk):
            if frame["t"] == "watch":
                self._watch(frame)
            elif frame["t"] == "unwatch":
                self._unwatch(frame["wait"])

    def _watch(self, frame: frames.Frame) -> None:
        wait = frame["wait"]
        self._unwatch(wait)
        task = asyncio.create_task(self._run(frame), name=wait)
        self._watches[wait] = task
        task.add_done_callback(lambda done: self._ended(wait, done))

    def _unwatch(self, wait: str) -> None:
        task = self._watches.pop(wait, None)
        if task is not None:
            task.cancel()

    def _ended(self, wait: str, task: asyncio.Task[None]) -> None:
        if self._watches.get(wait) is task:
            del self._watches[wait]

    async def _run(self, frame: frames.Frame) -> None:
        from partita.sdk.watching import watched

        wait = frame["wait"]
        WAIT.set(wait)
        # From the name of the wait, so that ten thousand that began together do not look together for ever.
        jitter = zlib.crc32(wait.encode()) / 2**31 - 1.0
        try:
            watching = watched(
                frame["trigger"], frame["args"], since_s=frame["since_s"], poll_s=frame["poll_s"], jitter=jitter
            )
            payload = await noted(watching, self._note, wait)
            text = json.dumps(payload)
            if len(text) > _PAYLOAD_BYTES:
                raise ValueError(
                    f"the payload takes {len(text):,} bytes, the limit is {_PAYLOAD_BYTES:,}: keep a reference to it"
                )
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # whatever user code raises is this wait's end and nobody else's
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            self._send({"t": "broken", "wait": wait, "error": text, "traceback": traceback.format_exc()})
        else:
            self._send({"t": "fired", "wait": wait, "payload": text})

    def _notice_blocking(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread of its own: nothing on the loop could say that the loop stands."""
        while not self._over.wait(BEAT_S):
            if time.monotonic() - self._turned_s < BLOCKED_S:
                continue
            running = asyncio.current_task(loop)
            self._send({"t": "blocked", "wait": running.get_name() if running is not None else ""})
            return

    def _send(self, frame: frames.Frame) -> None:
        with contextlib.suppress(OSError), self._lock:  # the supervisor is gone, and so will this process be
            self._channel.sendall(frames.encode(frame))


class _Lanes(ThreadPoolExecutor):
    """Threads for what triggers do in `asyncio.to_thread`, some for each lane (`watching.LANE`): a server that does not answer,
    or a disk that is gone, keeps the triggers of its own lane from looking and no others. Those that may have ended the process
    before this one begin one after the other, so that the next end names the one."""

    def __init__(self, note: Note, suspects: Collection[str]) -> None:
        super().__init__(max_workers=1)
        self._lanes: dict[str, ThreadPoolExecutor] = {}
        self._note = note
        self._suspects = suspects
        self._apart = threading.Lock()

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Called on the loop, in the context of the trigger."""
        from partita.sdk.watching import LANE

        name = LANE.get()
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = ThreadPoolExecutor(_THREADS, thread_name_prefix=name)
        return lane.submit(self._call, WAIT.get(), partial(fn, *args, **kwargs))

    def _call(self, wait: str, work: Callable[[], T]) -> T:
        alone = wait in self._suspects and self._apart.acquire(timeout=_APART_S)
        try:
            with self._note.call(wait):
                return work()
        finally:
            if alone:
                self._apart.release()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing is waited for: what hangs would keep the process."""
        for lane in self._lanes.values():
            lane.shutdown(wait=False, cancel_futures=True)


def run(channel: socket.socket, note: str, suspects: Collection[str] = ()) -> None:
    """Serve until the channel closes."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD))
    channel.setblocking(True)

    async def serve() -> None:
        await Host(channel, Note(note), suspects).serve()

    asyncio.run(serve())
