"""The supervisor's side of one zygote: start it, watch it import, hand it attempts, notice its death.

Owns the process and its control socket. Refuses to decide which version serves (`supervisor`) and how an attempt ended
(`attempt`). Runs on the event loop's thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable

from partita.grpc.server import frames, procs, wire
from partita.grpc.server.attempt import Attempt, Exit
from partita.grpc.server.ends import Ends, close_all, open_ends
from partita.grpc.server.hosts import TriggerHost
from partita.grpc.server.lines import LineSplitter
from partita.grpc.server.loading import Loaded, LoadOrder, LocationFailed, ModuleKilled, loaded, order_frame
from partita.grpc.server.turns import Note
from partita.grpc.v1 import code_location_pb2 as pb

_log = logging.getLogger("partita.code_server")

_TAIL_LINES = 40
_STOP_S = 5.0
_DUMP_S = 5.0
_DUMP_QUIET_S = 0.2
_PLATFORM_LIMIT_S = 120.0
"""For what is not a user's module: starting the interpreter, importing the SDK, building the snapshot."""


class ProcessGone(Exception):
    """The zygote has ended and took nothing of what it was asked; its exit may not have been told yet."""


class Warm:
    """A zygote process and the attempts that it runs."""

    def __init__(self, order: LoadOrder, on_exit: Callable[[Warm], None]) -> None:
        """Start the process. `on_exit` is called once, when it has ended and its attempts were told."""
        self._loop = asyncio.get_running_loop()
        self._order = order
        self._on_exit = on_exit
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        self._frames = frames.FrameBuffer()
        self._outbox: deque[tuple[bytes, tuple[int, ...]]] = deque()
        self._progress: asyncio.Queue[frames.Frame | None] = asyncio.Queue()
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._tail_grew = asyncio.Event()
        self._splitter = LineSplitter()
        self._uploads: set[asyncio.Task[None]] = set()
        self.attempts: dict[str, Attempt | TriggerHost] = {}
        self._suspects: set[str] = set()
        self.loaded: Loaded | None = None
        self.stopping = False
        self.exit_code: int | None = None
        self.exited = asyncio.Event()
        with theirs:
            self._process = _start_process(theirs.fileno(), order)
        assert self._process.stdout is not None
        self._output = self._process.stdout
        os.set_blocking(self._output.fileno(), False)
        self._loop.add_reader(self._output.fileno(), self._read_output)
        self._loop.add_reader(self._control.fileno(), self._read_control)
        threading.Thread(target=self._wait_for_exit, name=f"zygote-{self.pid}", daemon=True).start()
        self._send({"t": "load", **order_frame(order)})

    def __repr__(self) -> str:
        version = self.loaded.version[:12] if self.loaded else "loading"
        return f"<Warm pid={self.pid} version={version} attempts={len(self.attempts)}>"

    @property
    def pid(self) -> int:
        """Process id of the zygote."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can be given attempts."""
        return self.exit_code is None and not self.stopping

    async def load(self, module_limit_s: float) -> Loaded:
        """Wait until everything is imported. Raises LocationFailed or ModuleKilled; the process is gone then."""
        importing = ""
        while True:
            try:
                async with asyncio.timeout(module_limit_s if importing else _PLATFORM_LIMIT_S):
                    frame = await self._progress.get()
            except TimeoutError:
                where = await self._dump()
                await self.kill()
                if not importing:
                    raise LocationFailed(
                        f"loading took longer than {_PLATFORM_LIMIT_S:g} s outside the modules"
                    ) from None
                why = f"import took longer than {module_limit_s:g} s{where}"
                raise ModuleKilled(importing, why) from None
            if frame is None:
                why = f"the importing process {procs.describe_exit(self.exit_code or 0)}{self._last_words()}"
                raise ModuleKilled(importing, why) if importing else LocationFailed(why)
            match frame["t"]:
                case "importing":
                    importing = frame["module"]
                case "ready":
                    self.loaded = loaded(frame)
                    return self.loaded
                case "failed":
                    await self.exited.wait()
                    _log.warning("location %s failed to load:\n%s", self._order.location, frame["traceback"])
                    raise LocationFailed(frame["error"])
                case _:
                    importing = ""

    def start_attempt(self, request: pb.ExecuteRequest) -> Attempt:
        """Start the attempt's process. What goes wrong once it is under way is the attempt's end, not an error.

        Raises OSError when there are no descriptors left, ProcessGone when the zygote has ended (nothing was started:
        another may be asked), ValueError when the request holds text that is not UTF-8.
        """
        assert self.loaded is not None
        attempt_id = request.attempt_id
        step = self.loaded.unit(request)
        broken = {module.name: module.error for module in self.loaded.modules if not module.ok}
        # The zygote may have to spawn what it should fork, so a fresh interpreter always finds what to load.
        load = {**order_frame(self._order), "left_out": broken, "digest": step["digest"]}
        message = frames.encode({"request": wire.request_frame(request), "load": load})

        def send_signal(number: int) -> None:
            self._send({"t": "kill", "attempt": attempt_id, "signal": int(number)})

        ends = self._start(attempt_id, step["isolation"])
        attempt = Attempt(request, send_signal)
        self.attempts[attempt_id] = attempt
        self._upload(ends.upload, message)
        attempt.attach(ends.channel, ends.stdout, ends.stderr)
        return attempt

    def start_host(self, host_id: str) -> TriggerHost:
        """Start a process that runs triggers of this version.

        Raises OSError when there are no descriptors left, ProcessGone when the zygote has ended.
        """
        assert self.loaded is not None
        broken = {module.name: module.error for module in self.loaded.modules if not module.ok}
        load = {**order_frame(self._order), "left_out": broken}

        def send_signal(number: int) -> None:
            self._send({"t": "kill", "attempt": host_id, "signal": int(number)})

        note = Note.made()
        try:
            ends = self._start(host_id, "fork")
        except (OSError, ProcessGone):
            note.remove()
            raise
        host = TriggerHost(host_id, send_signal, note, self._suspects)
        self.attempts[host_id] = host
        host.attach(ends.channel, ends.upload, ends.stdout, ends.stderr)
        host.begin(frames.encode({"host": True, "note": note.path, "suspects": sorted(self._suspects), "load": load}))
        return host

    def _start(self, attempt_id: str, isolation: str) -> Ends:
        """Ask for a process and return our ends of it."""
        ends = open_ends()
        if not self._send({"t": "start", "attempt": attempt_id, "isolation": isolation}, ends.theirs):
            ends.close_ours()
            raise ProcessGone
        return ends

    async def stop(self) -> None:
        """End the process and what still runs in it. Returns when it is gone."""
        self.stopping = True
        if self.exit_code is None:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)  # the zygote reads the end and leaves
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_STOP_S):
                    await self.exited.wait()
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL. Returns when it is gone."""
        self.stopping = True
        if self.exit_code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        await self.exited.wait()

    def _upload(self, channel: socket.socket, payload: bytes) -> None:
        """Send the request down the channel and close this end of it: at once when it fits, else beside everything else."""
        sent = 0
        with contextlib.suppress(BlockingIOError):
            sent = channel.send(payload)
        if sent == len(payload):
            channel.close()
            return
        task = self._loop.create_task(self._upload_rest(channel, payload[sent:]))
        self._uploads.add(task)
        task.add_done_callback(self._uploads.discard)

    async def _upload_rest(self, channel: socket.socket, payload: bytes) -> None:
        with channel, contextlib.suppress(OSError):  # the child died: its exit tells
            await self._loop.sock_sendall(channel, payload)

    def _send(self, frame: frames.Frame, fds: tuple[int, ...] = ()) -> bool:
        """Queue a frame for the zygote; its descriptors are closed here once they are on their way.

        False when the zygote is known to be gone: then nothing of the frame reached it.
        """
        if self.exit_code is not None:
            close_all(fds)
            return False
        self._outbox.append((frames.encode(frame), fds))
        return len(self._outbox) > 1 or self._flush()

    def _flush(self) -> bool:
        """Send what fits; False when the zygote no longer listens."""
        while self._outbox:
            payload, fds = self._outbox[0]
            try:
                sent = socket.send_fds(self._control, [payload], fds) if fds else self._control.send(payload)
            except BlockingIOError:
                self._loop.add_writer(self._control.fileno(), self._flush)
                return True
            except OSError:  # the zygote is gone; its exit tells the attempts
                self._drop_outbox()
                self._loop.remove_writer(self._control.fileno())
                return False
            close_all(fds)
            self._outbox.popleft()
            if sent < len(payload):
                self._outbox.appendleft((payload[sent:], ()))
        self._loop.remove_writer(self._control.fileno())
        return True

    def _drop_outbox(self) -> None:
        for _, fds in self._outbox:
            close_all(fds)
        self._outbox.clear()

    def _read_control(self) -> bool:
        """Take what is there; False at the end or when nothing is left."""
        try:
            chunk = self._control.recv(256 * 1024)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self._loop.remove_reader(self._control.fileno())
            return False
        for frame in self._frames.feed(chunk):
            self._on_frame(frame)
        return True

    def _on_frame(self, frame: frames.Frame) -> None:
        match frame["t"]:
            case "started":
                if (attempt := self.attempts.get(frame["attempt"])) is not None:
                    attempt.on_started(frame["pid"])
            case "exit":
                exited = Exit(
                    frame.get("code"), frame.get("error", ""), frame.get("peak_rss_bytes", 0), frame.get("cpu_s", 0.0)
                )
                self._on_attempt_exit(frame["attempt"], exited)
            case _:
                self._progress.put_nowait(frame)

    def _on_attempt_exit(self, attempt_id: str, exited: Exit) -> None:
        attempt = self.attempts.pop(attempt_id, None)
        if attempt is not None:
            attempt.on_exit(exited)

    def _read_output(self) -> None:
        try:
            chunk = os.read(self._output.fileno(), 64 * 1024)
        except BlockingIOError:
            return
        lines = self._splitter.feed(chunk) if chunk else self._splitter.flush()
        for line in lines:
            self._tail.append(line)
            _log.info("zygote %d: %s", self.pid, line)
        self._tail_grew.set()
        if not chunk:
            self._loop.remove_reader(self._output.fileno())

    def _wait_for_exit(self) -> None:
        code = self._process.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed: the server ends anyway
            self._loop.call_soon_threadsafe(self._on_process_exit, code)

    def _on_process_exit(self, code: int) -> None:
        while self._read_control():
            pass
        self._read_output()
        self.exit_code = code
        self._loop.remove_reader(self._control.fileno())
        self._loop.remove_writer(self._control.fileno())
        self._loop.remove_reader(self._output.fileno())
        self._drop_outbox()
        self._control.close()
        self._output.close()
        for attempt_id in list(self.attempts):
            self._on_attempt_exit(attempt_id, Exit(None, self._death()))
        self._progress.put_nowait(None)
        self.exited.set()
        self._on_exit(self)

    def _death(self) -> str:
        return f"the process that holds the code (zygote {self.pid}) {procs.describe_exit(self.exit_code or 0)}"

    async def _dump(self) -> str:
        """Ask the hanging process where it is."""
        self._tail.clear()
        with contextlib.suppress(ProcessLookupError, TimeoutError):
            os.kill(self.pid, signal.SIGUSR2)
            patience_s = _DUMP_S
            while True:  # it comes in many small pieces
                self._tail_grew.clear()
                async with asyncio.timeout(patience_s):
                    await self._tail_grew.wait()
                patience_s = _DUMP_QUIET_S
        places = [line for line in self._explained() if line.startswith("File ")]
        return "; it was at\n" + "\n".join(places[:8]) if places else ""

    def _last_words(self) -> str:
        lines = self._explained()
        return "; its last output:\n" + "\n".join(lines) if lines else ""

    def _explained(self) -> list[str]:
        """The last output without the platform's own stack frames, addresses and paths: it becomes part of the snapshot."""
        root = f"{self._order.root}{os.sep}"
        kept: list[str] = []
        for line in self._tail:
            text = line.strip()
            if text.startswith('File "') and root not in text:
                continue
            if text and not text.startswith(("Current thread 0x", "Thread 0x", "Extension modules:")):
                kept.append(text.replace(root, ""))
        return kept


def _start_process(control_fd: int, order: LoadOrder) -> subprocess.Popen[bytes]:
    # -P: a file of the user named like a module of the standard library must not shadow it.
    # -u: what a module prints before it takes the process down must not die in a buffer.
    command = [sys.executable, "-P", "-u", "-m", "partita.grpc.server.zygote", str(control_fd), str(os.getpid())]
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        pass_fds=(control_fd,),
        start_new_session=True,  # Ctrl-C in a terminal is the supervisor's to handle
        cwd=order.root if order.root.is_dir() else None,
    )
