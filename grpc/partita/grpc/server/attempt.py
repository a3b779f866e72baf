"""One attempt as the supervisor sees it: three descriptors and an exit report in, a stream of events out.

Owns how an attempt is stopped (SIGTERM, grace, SIGKILL), how it ended, and the batching of its events. Refuses to know
how processes start (`warm`) and gRPC. Runs on the event loop's thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import Enum
from typing import assert_never

from partita.grpc import limits
from partita.grpc.server import frames, procs, wire
from partita.grpc.server.lines import LineSplitter, LogGate, clean_text
from partita.grpc.v1 import code_location_pb2 as pb

_READ_BYTES = 256 * 1024
_PAUSE_ABOVE_BYTES = 8 * 1024 * 1024
"""Unsent events beyond this make the child wait: its pipes fill up. A slow reader costs time, never memory."""
_LINES_PER_EVENT = 1000
"""Keeps one event well below the batch size."""
_DRAIN_S = 2.0
"""How long output is still read after the process ended, when something else holds its pipes open."""


class StopCause(Enum):
    """Why the supervisor ends an attempt."""

    CANCELLED = "cancelled"
    TIMED_OUT = "timed out"
    SHUTDOWN = "the code-location server is stopping"


@dataclass(frozen=True, slots=True)
class Stop:
    """A decision to end an attempt; the first one counts."""

    cause: StopCause
    reason: str


@dataclass(frozen=True, slots=True)
class Exit:
    """How the process ended. `code` is negative for a signal, None when it never ran or nobody could see it end."""

    code: int | None
    error: str = ""
    peak_rss_bytes: int = 0
    cpu_s: float = 0.0


def decide_finish(stop: Stop | None, said: pb.Finished | None, exited: Exit, fault: str = "") -> pb.Finished:
    """Decide how the attempt ended from the supervisor's own decision, the child's last word and its exit.

    Work that was completed counts as completed even when a stop came too late. `fault` is a breach of the frame protocol.
    """
    if said is not None and (stop is None or said.status in (pb.Finished.SUCCESS, pb.Finished.SKIPPED)):
        end = said
    elif stop is not None:
        end = _stopped(stop, said)
    else:
        why = (
            fault
            or exited.error
            or f"the process of the attempt {procs.describe_exit(exited.code or 0)} without a result"
        )
        end = pb.Finished(status=pb.Finished.LOST, error=clean_text(why), retry_in_seconds=-1)
    end.at_us = time.time_ns() // 1000
    end.peak_rss_bytes = exited.peak_rss_bytes
    end.cpu_seconds = exited.cpu_s
    return end


def _stopped(stop: Stop, said: pb.Finished | None) -> pb.Finished:
    match stop.cause:
        case StopCause.CANCELLED:
            status = pb.Finished.CANCELLED
        case StopCause.TIMED_OUT:
            status = pb.Finished.TIMED_OUT
        case StopCause.SHUTDOWN:
            status = pb.Finished.LOST
        case never:
            assert_never(never)
    traceback = said.traceback if said is not None else ""
    return pb.Finished(status=status, error=clean_text(stop.reason), traceback=traceback, retry_in_seconds=-1)


class Source:
    """A descriptor that is read whenever it has something, until its end; `paused`: not before `pause(False)`."""

    def __init__(
        self, fd: int, deliver: Callable[[bytes], None], ended: Callable[[], None], *, paused: bool = False
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._fd = fd
        self._deliver = deliver
        self._ended = ended
        self._paused = paused
        os.set_blocking(fd, False)
        if not paused:
            self._loop.add_reader(fd, self._ready)

    @property
    def open(self) -> bool:
        return self._fd >= 0

    def pause(self, paused: bool) -> None:
        """Stop or resume reading."""
        if not self.open or paused == self._paused:
            return
        self._paused = paused
        if paused:
            self._loop.remove_reader(self._fd)
        else:
            self._loop.add_reader(self._fd, self._ready)

    def close(self) -> None:
        if self.open:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _ready(self) -> None:
        try:
            chunk = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # ECONNRESET: the peer died with unread bytes
            chunk = b""
        if chunk:
            self._deliver(chunk)
        else:
            self.close()
            self._ended()


class Attempt:
    """A running attempt. `batches()` yields its events until exactly one `finished`."""

    def __init__(self, request: pb.ExecuteRequest, send_signal: Callable[[int], None]) -> None:
        self.attempt_id = request.attempt_id
        self._trace = request.traceparent[3:35]
        self.pid = 0
        self._what = f"step {request.step!r}"
        if request.HasField("evaluation"):
            self._what = f"the evaluation of {request.evaluation.name!r}"
        self._timeout_s = request.timeout_seconds
        self._grace_s = request.grace_seconds or limits.DEFAULT_GRACE_S
        self._send_signal = send_signal
        self._loop = asyncio.get_running_loop()
        self._timers: list[asyncio.TimerHandle] = []
        self._sources: list[Source] = []
        self._frames = frames.FrameBuffer()
        self._gate = LogGate()
        self._stop: Stop | None = None
        self._said: pb.Finished | None = None
        self._exit: Exit | None = None
        self._fault = ""
        self._events: list[pb.ExecuteEvent] = []
        self._open_log: pb.LogLines | None = None
        self._pending_bytes = 0
        self._woken = asyncio.Event()
        self.ended = asyncio.Event()

    def __repr__(self) -> str:
        state = "ended" if self.ended.is_set() else self._stop.cause.value if self._stop else "running"
        trace = f" trace={self._trace}" if self._trace else ""
        return f"<Attempt {self.attempt_id} of {self._what} pid={self.pid} {state}{trace}>"

    def attach(self, channel: socket.socket, stdout_fd: int, stderr_fd: int) -> None:
        """Take over the descriptors and close them at the end. They are read from `on_started` on: `started` comes first."""
        outputs = ((stdout_fd, pb.LogLine.STDOUT), (stderr_fd, pb.LogLine.STDERR))
        self._sources.append(Source(channel.detach(), self._on_channel, self._maybe_finish, paused=True))
        for fd, stream in outputs:
            self._attach_output(fd, stream)

    def _attach_output(self, fd: int, stream: pb.LogLine.Stream) -> None:
        splitter = LineSplitter()

        def deliver(chunk: bytes) -> None:
            self._add_lines(stream, splitter.feed(chunk))

        def ended() -> None:
            self._add_lines(stream, splitter.flush())
            self._maybe_finish()

        self._sources.append(Source(fd, deliver, ended, paused=True))

    def on_started(self, pid: int) -> None:
        """The process exists: its time begins."""
        self.pid = pid
        self._pause_sources(False)
        self._add(pb.ExecuteEvent(started=pb.Started(pid=pid, at_us=time.time_ns() // 1000)))
        if self._timeout_s > 0:
            stop = Stop(StopCause.TIMED_OUT, f"{self._what} ran longer than its timeout of {self._timeout_s:g} s")
            self._timers.append(self._loop.call_later(self._timeout_s, self.stop, stop))

    def on_exit(self, exited: Exit) -> None:
        """The process is gone. Its last output may still be on the way."""
        if self._exit is None:
            self._exit = exited
            self._pause_sources(False)
            self._timers.append(self._loop.call_later(_DRAIN_S, self._finish))
            self._maybe_finish()

    def stop(self, stop: Stop) -> None:
        """SIGTERM now, SIGKILL for the group after the grace period. Later calls change nothing."""
        if self._stop is not None or self._exit is not None:
            return
        self._stop = stop
        if self.pid:
            self._pause_sources(False)  # a child that waits for us to read could not hear SIGTERM
        if self._grace_s > 0:
            self._send_signal(signal.SIGTERM)
            self._timers.append(self._loop.call_later(self._grace_s, self._send_signal, signal.SIGKILL))
        else:
            self._send_signal(signal.SIGKILL)

    def kill(self) -> None:
        """SIGKILL without grace, whatever was decided before."""
        if self._exit is None:
            self._send_signal(signal.SIGKILL)

    async def batches(self) -> AsyncIterator[pb.ExecuteEvents]:
        """Yield events, many in one message: what came within the flush time, cut at the batch size."""
        while True:
            await self._woken.wait()
            if not self.ended.is_set() and self._pending_bytes < limits.EVENT_BATCH_BYTES:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(limits.FLUSH_AFTER_S):
                        await self.ended.wait()
            events, self._events, self._open_log = self._events, [], None
            self._pending_bytes = 0
            self._woken.clear()
            if self._exit is None:
                self._pause_sources(False)
            done = self.ended.is_set()
            for batch in _cut(events):
                yield batch
            if done:
                return

    def _add(self, event: pb.ExecuteEvent) -> None:
        self._open_log = None
        self._events.append(event)
        self._grew(event.ByteSize())

    def _add_line(self, line: pb.LogLine) -> None:
        if self._open_log is None:
            event = pb.ExecuteEvent(log=pb.LogLines())
            self._events.append(event)
            self._open_log = event.log
        self._open_log.lines.append(line)
        if len(self._open_log.lines) >= _LINES_PER_EVENT:
            self._open_log = None
        self._grew(len(line.text) + 16)

    def _grew(self, size: int) -> None:
        self._pending_bytes += size
        self._woken.set()
        if self._pending_bytes > _PAUSE_ABOVE_BYTES and self._exit is None and self._stop is None:
            self._pause_sources(True)

    def _pause_sources(self, paused: bool) -> None:
        for source in self._sources:
            source.pause(paused)

    def _add_lines(self, stream: pb.LogLine.Stream, texts: list[str]) -> None:
        at_us = time.time_ns() // 1000
        self._admit([pb.LogLine(at_us=at_us, stream=stream, text=text) for text in texts])

    def _admit(self, lines: list[pb.LogLine]) -> None:
        now_s = self._loop.time()
        for line in lines:
            if self._gate.admit(line.text, now_s):
                self._notice(self._gate.take_notice(now_s))
                self._add_line(line)

    def _notice(self, text: str) -> None:
        if text:
            at_us = time.time_ns() // 1000
            self._add_line(pb.LogLine(at_us=at_us, stream=pb.LogLine.SYSTEM, level="WARNING", text=text))

    def _on_channel(self, chunk: bytes) -> None:
        try:
            for frame in self._frames.feed(chunk):
                self._on_frame(frame)
        except (frames.FrameError, KeyError, TypeError, ValueError, AttributeError) as error:
            # The process runs user code, which can reach the socket: a broken stream ends the attempt, not the server.
            self._fault = f"the attempt's process broke its channel: {type(error).__name__}: {error}"
            self._frames = frames.FrameBuffer()
            self._send_signal(signal.SIGKILL)

    def _on_frame(self, frame: frames.Frame) -> None:
        match frame["t"]:
            case "log":
                self._admit(wire.log_lines(frame))
            case "cell":
                event, notice = wire.cell_event(frame)
                self._add(event)
                self._notice(notice)
            case "check":
                event, notice = wire.check_event(frame)
                self._add(event)
                self._notice(notice)
            case "result":
                self._said = wire.finished(frame)
            case "terminated":
                # Without a stop of ours somebody else sent SIGTERM to the process: a loss.
                error = "the process of the attempt got SIGTERM from outside"
                self._said = pb.Finished(status=pb.Finished.LOST, error=error, retry_in_seconds=-1)
                self._said.traceback = clean_text(frame["traceback"], wire.MAX_TRACEBACK_CHARS)
            case "gone":
                self._said = pb.Finished(status=pb.Finished.VERSION_GONE, error=clean_text(frame["error"]))
            case other:
                raise frames.FrameError(f"unknown frame {other!r}")

    def _maybe_finish(self) -> None:
        if self._exit is not None and not any(source.open for source in self._sources):
            self._finish()

    def _finish(self) -> None:
        if self.ended.is_set() or self._exit is None:
            return
        for timer in self._timers:
            timer.cancel()
        for source in self._sources:
            source.close()
        self._notice(self._gate.take_notice(self._loop.time(), last=True))
        self._add(pb.ExecuteEvent(finished=decide_finish(self._stop, self._said, self._exit, self._fault)))
        self.ended.set()


def _cut(events: list[pb.ExecuteEvent]) -> list[pb.ExecuteEvents]:
    """Group events into messages of about the batch size, in order."""
    batches: list[pb.ExecuteEvents] = []
    current: list[pb.ExecuteEvent] = []
    size = 0
    for event in events:
        event_size = event.ByteSize()
        if current and size + event_size > limits.EVENT_BATCH_BYTES:
            batches.append(pb.ExecuteEvents(events=current))
            current, size = [], 0
        current.append(event)
        size += event_size
    if current:
        batches.append(pb.ExecuteEvents(events=current))
    return batches


def refusal(status: pb.Finished.Status, error: str) -> pb.ExecuteEvents:
    """The whole stream of an attempt that was never started."""
    end = pb.Finished(status=status, error=clean_text(error), retry_in_seconds=-1, at_us=time.time_ns() // 1000)
    return pb.ExecuteEvents(events=[pb.ExecuteEvent(finished=end)])
