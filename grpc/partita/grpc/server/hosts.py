"""A host of triggers as the supervisor sees it: commands in, events out, and its end.

Owns noticing that a host is silent or blocked, and ending it; whoever watches opens another one. Refuses to know how
processes start (`warm`) and gRPC. Runs on the event loop's thread only.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable

from partita.grpc import limits
from partita.grpc.server import frames, procs
from partita.grpc.server.attempt import Exit, Source
from partita.grpc.server.lines import LineSplitter, clean_text
from partita.grpc.server.turns import Note
from partita.grpc.server.wire import MAX_TRACEBACK_CHARS
from partita.grpc.v1 import code_location_pb2 as pb

_log = logging.getLogger("partita.code_server")

SILENCE_S = 30.0
"""A host that says nothing for so long hangs, thread and all: it is killed."""


_NAMED = 8
_OWN_SIGNALS = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}


def _by_itself(exit_code: int) -> bool:
    """Whether something inside ended it; a kill from outside, or for want of memory, is nobody's in particular."""
    return exit_code >= 0 or -exit_code in _OWN_SIGNALS


class TriggerHost:
    """A running host. `events()` yields what its triggers bring until it ends; `why` then says how."""

    def __init__(
        self, host_id: str, send_signal: Callable[[int], None], note: Note, suspects: set[str] | None = None
    ) -> None:
        """`note` says which trigger is running, and is removed at the end. `suspects` are those that were in a call when the
        host before this one ended; its end leaves there whom the next one has to keep apart."""
        self.host_id = host_id
        self.pid = 0
        self.why = ""
        self._send_signal = send_signal
        self._note = note
        self._suspects: set[str] = set() if suspects is None else suspects
        self._loop = asyncio.get_running_loop()
        self._frames = frames.FrameBuffer()
        self._sources: list[Source] = []
        self._commands: socket.socket | None = None
        self._outbox: deque[bytes] = deque()
        self._watched: set[str] = set()
        self._events: list[pb.TriggerEvent] = []
        self._woken = asyncio.Event()
        self._heard_s = self._loop.time()
        self._timer = self._loop.call_later(SILENCE_S, self._check_silence)
        self.ended = asyncio.Event()

    def __repr__(self) -> str:
        state = f"ended ({self.why})" if self.ended.is_set() else "running"
        return f"<TriggerHost {self.host_id} pid={self.pid} watches={len(self._watched)} {state}>"

    def attach(self, channel: socket.socket, commands: socket.socket, stdout_fd: int, stderr_fd: int) -> None:
        """Begin to read. Takes over the descriptors and closes them at the end."""
        self._commands = commands
        self._sources = [
            Source(channel.detach(), self._on_channel, self._nothing),
            *(Source(fd, self._on_output(), self._nothing) for fd in (stdout_fd, stderr_fd)),
        ]

    def command(self, command: pb.TriggerCommand) -> None:
        """Watch, or stop to watch."""
        match command.WhichOneof("kind"):
            case "watch":
                watch = command.watch
                self._watched.add(watch.wait)
                self._send(
                    {
                        "t": "watch",
                        "wait": watch.wait,
                        "trigger": watch.trigger,
                        "args": json.loads(watch.args or b"{}"),
                        "poll_s": watch.poll_seconds or None,
                        "since_s": watch.since_us / 1e6,
                    }
                )
            case "unwatch":
                self._watched.discard(command.unwatch.wait)
                self._send({"t": "unwatch", "wait": command.unwatch.wait})

    async def events(self) -> AsyncIterator[list[pb.TriggerEvent]]:
        """Yield what came, many at once, until the host ends."""
        while True:
            await self._woken.wait()
            if not self.ended.is_set():
                await asyncio.sleep(limits.FLUSH_AFTER_S)  # for company
            batch, self._events = self._events, []
            self._woken.clear()
            done = self.ended.is_set()
            if batch:
                yield batch
            if done:
                return

    def begin(self, message: bytes) -> None:
        """Tell the process what it is."""
        self._write(message)

    def on_started(self, pid: int) -> None:
        """The process exists."""
        self.pid = pid

    def on_exit(self, exited: Exit) -> None:
        """The process is gone."""
        if self.ended.is_set():
            return
        if not self.why and not exited.error:
            how = procs.describe_exit(exited.code or 0)
            self.why = f"the host of triggers {how}"
            self._find(how, by_itself=_by_itself(exited.code or 0))
        self.why = self.why or exited.error
        self._note.remove()
        self._timer.cancel()
        for source in self._sources:
            source.close()
        if self._commands is not None:
            self._loop.remove_writer(self._commands.fileno())
            self._commands.close()
        self.ended.set()
        self._woken.set()

    def kill(self, why: str) -> None:
        """End it; triggers have nothing to tidy up that may take its time."""
        if not self.ended.is_set():
            self.why = self.why or why
            self._send_signal(signal.SIGKILL)

    def _check_silence(self) -> None:
        silent_s = self._loop.time() - self._heard_s
        if silent_s >= SILENCE_S:
            _log.error("the host of triggers %d says nothing for %.0f s: it is killed", self.pid, silent_s)
            self._blame(
                f"it held the process of all triggers for {silent_s:.0f} s, and not even the interpreter could go on"
            )
            self.kill(f"the host of triggers hung: it said nothing for {silent_s:.0f} s")
        else:
            self._timer = self._loop.call_later(SILENCE_S - silent_s, self._check_silence)

    def _send(self, frame: frames.Frame) -> None:
        self._write(frames.encode(frame))

    def _write(self, payload: bytes) -> None:
        self._outbox.append(payload)
        if len(self._outbox) == 1:
            self._flush()

    def _flush(self) -> None:
        if self.ended.is_set() or self._commands is None:
            return
        while self._outbox:
            try:
                sent = self._commands.send(self._outbox[0])
            except BlockingIOError:
                self._loop.add_writer(self._commands.fileno(), self._flush)
                return
            except OSError:  # it died: its exit tells
                self._outbox.clear()
                break
            rest = self._outbox.popleft()[sent:]
            if rest:
                self._outbox.appendleft(rest)
        self._loop.remove_writer(self._commands.fileno())

    def _on_channel(self, chunk: bytes) -> None:
        self._heard_s = self._loop.time()
        try:
            for frame in self._frames.feed(chunk):
                self._on_frame(frame)
        except (frames.FrameError, KeyError, TypeError, ValueError, AttributeError) as error:
            # User code can reach the socket: a broken stream ends the host, not the server.
            self._frames = frames.FrameBuffer()
            self.kill(f"the host of triggers broke its channel: {type(error).__name__}: {error}")

    def _on_frame(self, frame: frames.Frame) -> None:
        match frame["t"]:
            case "fired":
                payload = str(frame["payload"]).encode()
                self._add(pb.TriggerEvent(fired=pb.TriggerFired(wait=frame["wait"], payload=payload)))
                self._watched.discard(frame["wait"])
            case "broken":
                self._broken(frame["wait"], clean_text(frame["error"]), frame["traceback"])
            case "blocked":
                why = "it blocked the event loop of all triggers: await, or do slow things in asyncio.to_thread"
                if frame["wait"] in self._watched:
                    self._broken(frame["wait"], why, "")
                self.kill(f"the trigger of wait {frame['wait']}: {why}")
            case "beat":
                pass
            case other:
                raise frames.FrameError(f"unknown frame {other!r}")

    def _blame(self, why: str) -> None:
        """The trigger whose turn it is ends here, so that the next host can go on with the others."""
        if (wait := self._note.name) in self._watched:
            self._broken(wait, why, "")

    def _find(self, how: str, *, by_itself: bool) -> None:
        """Who ended it: whoever had its turn, or was in a call to a thread, alone. Of several, those who were among several
        before: the next host begins their calls one by one, so that the last that began did it; and nobody has its turn twice by
        chance."""
        calls = [wait for wait in self._note.calls if wait in self._watched]
        turn = [wait for wait in [self._note.name] if wait in self._watched and wait not in calls]
        among = list(dict.fromkeys([*calls, *turn])) if by_itself else turn
        again = [wait for wait in among if wait in self._suspects]
        self._suspects.clear()
        if len(among) == 1 or again:
            found = (again or among)[-1]
            when = "was in a call to a thread" if found in calls else "ran"
            self._broken(found, f"the process of all triggers {how} while this one {when}", "")
        elif among:
            self._suspects.update(among)
            named = ", ".join(among[:_NAMED]) + (f" and {len(among) - _NAMED} more" if len(among) > _NAMED else "")
            self.why += f", by one of the waits {named}: their calls to threads begin one after the other now"
            _log.error("%s", self.why)

    def _broken(self, wait: str, error: str, traceback: str) -> None:
        text = clean_text(traceback, MAX_TRACEBACK_CHARS)
        self._add(pb.TriggerEvent(broken=pb.TriggerBroken(wait=wait, error=error, traceback=text)))
        self._watched.discard(wait)

    def _add(self, event: pb.TriggerEvent) -> None:
        self._events.append(event)
        self._woken.set()

    def _on_output(self) -> Callable[[bytes], None]:
        splitter = LineSplitter()

        def deliver(chunk: bytes) -> None:
            for line in splitter.feed(chunk):
                _log.info("triggers %d: %s", self.pid, line)

        return deliver

    def _nothing(self) -> None:
        """The process' exit tells."""
