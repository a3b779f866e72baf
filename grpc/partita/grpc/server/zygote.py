"""The zygote: the process that imports one code version's modules and forks a child per attempt.

Owns user code in memory. It stays single-threaded, because a fork copies only the calling thread and with it every lock
that another one held. It never imports gRPC, whose threads and fork handlers are the classic case of that. It decides
nothing about attempts: it starts, signals and reaps what the supervisor asks for, and reports.

Entry: `python -P -u -m partita.grpc.server.zygote FD PPID`, with the control socket at FD.
Frames in: `load` (once), `start` (with three descriptors: channel, stdout, stderr), `kill`.
Frames out: `importing`, `imported`, then `ready` or `failed`; `started`, `exit`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from partita.grpc.server import frames, procs, runner

if TYPE_CHECKING:
    from partita.sdk.runtime import LoadedLocation

# Libraries that start threads as soon as they are imported, unless told otherwise: numpy's OpenBLAS a pool, pyarrow's
# jemalloc one in the background. Measured: with these, importing numpy, pyarrow and duckdb leaves a single thread.
_QUIET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
_BLOCKED_AROUND_FORK = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)
_READ_BYTES = 64 * 1024


class Loader:
    """Imports the modules and watches what they do to the process: how long they take, which start threads."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._began_s = 0.0
        self._threads = procs.thread_count()
        self.import_seconds: dict[str, float] = {}
        self.warnings: dict[str, str] = {}

    def load(self, order: frames.Frame) -> LoadedLocation:
        """Load the location. Raises what `load_location` raises: a fault that is not one module's."""
        from partita.sdk.runtime import load_location

        return load_location(
            order["location"],
            Path(order["root"]),
            order["modules"],
            on_progress=self._progress,
            left_out=order["left_out"],
        )

    def _progress(self, stage: str, module: str) -> None:
        now_s = time.monotonic()
        if stage == "importing":
            self._began_s = now_s
        else:
            self.import_seconds[module] = now_s - self._began_s
            self._count_threads(module)
        frames.send(self._control, {"t": stage, "module": module})

    def _count_threads(self, module: str) -> None:
        threads = procs.thread_count()
        if threads > self._threads:
            started = threads - self._threads
            self.warnings[module] = (
                f"importing it starts {started} thread{'s' if started > 1 else ''}, which a fork would not copy: attempts of "
                'this location run in fresh interpreters (isolation="spawn"), slower by the time the imports take. '
                "Start threads inside functions instead"
            )
        self._threads = threads


class Zygote:
    """Forks, signals and reaps attempts until the control socket closes."""

    def __init__(self, control: socket.socket, location: LoadedLocation, environment: Mapping[str, str | None]) -> None:
        self._control = control
        self._location = location
        self._environment = environment
        self._attempts: dict[int, str] = {}
        self._pids: dict[str, int] = {}
        self._buffer = frames.FrameBuffer()
        self._fds: deque[int] = deque()
        # What the user's modules started while they were imported lives as long as the zygote.
        self._spared = procs.children()
        self._wakeup, self._wakeup_in = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) if procs.LINUX else _pipe()
        self._stopping = False

    def serve(self) -> None:
        """Work until the supervisor closes the control socket or SIGTERM arrives; then end every attempt."""
        procs.adopt_orphans()
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to be woken
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self._wakeup_in, warn_on_full_buffer=False)
        poller = select.poll()
        poller.register(self._control, select.POLLIN)
        poller.register(self._wakeup, select.POLLIN)
        try:
            while not self._stopping:
                ready = {fd for fd, _ in poller.poll()}
                if self._wakeup in ready:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wakeup, 4096)
                    self._reap()
                if self._control.fileno() in ready and not self._read():
                    break
        except (BrokenPipeError, ConnectionResetError):
            pass  # the supervisor is gone
        finally:
            self._end_all()

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _read(self) -> bool:
        chunk, fds, _, _ = socket.recv_fds(self._control, _READ_BYTES, 16)
        self._fds.extend(fds)
        for frame in self._buffer.feed(chunk):
            if frame["t"] == "start":
                self._start(frame)
            elif frame["t"] == "kill":
                self._kill(frame["attempt"], frame["signal"])
        return bool(chunk)

    def _start(self, frame: frames.Frame) -> None:
        attempt, fds = frame["attempt"], [self._fds.popleft() for _ in range(3)]
        try:
            # The check is repeated because a thread that appears late would be just as deadly.
            if frame["isolation"] == "fork" and procs.thread_count() == 1:
                pid = self._fork(*fds)
            else:
                pid = self._spawn(*fds)
        except OSError as error:
            frames.send(
                self._control, {"t": "exit", "attempt": attempt, "error": f"no process could be started: {error}"}
            )
            return
        finally:
            for fd in fds:
                os.close(fd)
        self._attempts[pid] = attempt
        self._pids[attempt] = pid
        frames.send(self._control, {"t": "started", "attempt": attempt, "pid": pid})

    def _fork(self, channel_fd: int, stdout_fd: int, stderr_fd: int) -> int:
        """Return the pid of the child; the child never returns."""
        zygote_pid = os.getpid()
        # Else a signal meant for the child might run the zygote's handler in it.
        signal.pthread_sigmask(signal.SIG_BLOCK, _BLOCKED_AROUND_FORK)
        try:
            pid = os.fork()
            if pid == 0:
                self._become_child(zygote_pid, channel_fd, stdout_fd, stderr_fd)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _BLOCKED_AROUND_FORK)
        return pid

    def _become_child(self, zygote_pid: int, channel_fd: int, stdout_fd: int, stderr_fd: int) -> NoReturn:
        try:
            runner.enter_process(zygote_pid=zygote_pid, stdout_fd=stdout_fd, stderr_fd=stderr_fd)
            self._control.close()
            for fd in (self._wakeup, self._wakeup_in, *self._fds):
                os.close(fd)
            restore_environment(self._environment)
            os.set_inheritable(channel_fd, False)
            runner.run(socket.socket(fileno=channel_fd), self._location)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def _spawn(self, channel_fd: int, stdout_fd: int, stderr_fd: int) -> int:
        """Return the pid of a fresh interpreter which loads the location itself."""
        environment = dict(os.environ)
        for name, value in self._environment.items():
            environment.pop(name, None)
            if value is not None:
                environment[name] = value
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "partita.grpc.server.runner", str(channel_fd), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=stdout_fd,
            stderr=stderr_fd,
            pass_fds=(channel_fd,),
            env=environment,
            start_new_session=True,
        )
        process.returncode = 0  # reaped in _reap, together with the forked ones: Popen must not try
        return process.pid

    def _kill(self, attempt: str, signal_number: int) -> None:
        pid = self._pids.get(attempt)
        if pid is not None:  # not reaped yet, so that the pid is still its own
            procs.signal_group(pid, signal_number)

    def _reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            pid = ended.si_pid
            if pid in self._attempts:
                procs.signal_group(pid, signal.SIGKILL)  # whatever it left in its group, while the pid is still taken
            _, status, usage = os.wait4(pid, 0)
            self._kill_strays()
            attempt = self._attempts.pop(pid, None)
            if attempt is None:
                continue
            del self._pids[attempt]
            frames.send(
                self._control,
                {
                    "t": "exit",
                    "attempt": attempt,
                    "code": os.waitstatus_to_exitcode(status),
                    "peak_rss_bytes": usage.ru_maxrss * (1024 if procs.LINUX else 1),
                    "cpu_s": usage.ru_utime + usage.ru_stime,
                },
            )

    def _kill_strays(self) -> None:
        """End what left its attempt's group and outlived it: as their adopted parent we are the only one to find them."""
        for pid in procs.children() - self._attempts.keys() - self._spared:
            procs.signal_group(pid, signal.SIGKILL)

    def _end_all(self) -> None:
        for pid in self._attempts:
            procs.signal_group(pid, signal.SIGKILL)
        for pid in list(self._attempts):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        for pid in procs.children():
            procs.signal_group(pid, signal.SIGKILL)


def _pipe() -> tuple[int, int]:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    return read_end, write_end


def quiet_thread_pools() -> dict[str, str | None]:
    """Tell numeric libraries to start no threads; return what the environment said before."""
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ.update(_QUIET)
    return before


def restore_environment(before: Mapping[str, str | None]) -> None:
    """Undo `quiet_thread_pools`, for the libraries that a child loads and the processes that it starts."""
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _ready_frame(location: LoadedLocation, loader: Loader) -> frames.Frame:
    from partita.assets import canonical_json, snapshot_hash

    snapshot = location.snapshot
    threads = procs.thread_count()
    can_fork = procs.LINUX and threads == 1
    digests = runner.step_digests(snapshot)
    spawned = {asset.step for asset in snapshot.assets if asset.isolation == "spawn"}
    warnings = dict(loader.warnings) if threads > 1 else {}
    if threads > 1 and not warnings and snapshot.modules:  # started by the platform's own imports: say it somewhere
        warnings[snapshot.modules[0].name] = (
            f"{threads} threads run after the import: attempts run in fresh interpreters"
        )
    told = {name: [text] for name, text in warnings.items()}
    for name, texts in _clock_warnings(location).items():
        told.setdefault(name, []).extend(texts)
    modules: list[dict[str, Any]] = [
        {
            "name": module.name,
            "ok": module.ok,
            "error": module.error or "",
            "import_s": loader.import_seconds.get(module.name, 0.0),
            "warning": "\n".join(told.get(module.name, ())),
        }
        for module in snapshot.modules
    ]
    return {
        "t": "ready",
        "hash": snapshot_hash(snapshot),
        "snapshot": canonical_json(snapshot).decode("utf-8"),
        "steps": {
            step.id: {
                "isolation": "fork" if can_fork and step.id not in spawned else "spawn",
                "digest": digests.get(step.id, ""),
            }
            for step in snapshot.steps
        },
        "evaluators": {
            name: {"isolation": "fork" if can_fork else "spawn", "digest": digest}
            for name, digest in runner.evaluator_digests(snapshot).items()
        },
        "modules": modules,
    }


def _clock_warnings(location: LoadedLocation) -> dict[str, list[str]]:
    """By the listed module that loaded the step; those of a module that is not listed itself come with the package above it."""
    from partita.sdk.runtime import clock_warnings

    listed = [module.name for module in location.snapshot.modules]
    found: dict[str, list[str]] = {}
    for name, texts in clock_warnings({step: one.step.function for step, one in location.steps.items()}).items():
        owner = next((one for one in listed if name == one or name.startswith(f"{one}.")), listed[0])
        found.setdefault(owner, []).extend(texts)
    return found


def main(argv: list[str]) -> int:
    """Load, report, serve. Returns the exit code."""
    fd, parent_pid = map(int, argv)
    procs.die_with_parent(parent_pid)
    faulthandler.enable()  # a crash in C code leaves its traceback on stderr, which is captured
    faulthandler.register(signal.SIGUSR2)  # and a hang shows where it hangs, when asked
    os.set_inheritable(fd, False)
    environment = quiet_thread_pools()
    control = socket.socket(fileno=fd)
    order = frames.receive(control)
    if order is None:
        return 0
    loader = Loader(control)
    try:
        location = loader.load(order)
        ready = _ready_frame(location, loader)
    except Exception as error:
        frames.send(control, {"t": "failed", "error": str(error), "traceback": traceback.format_exc()})
        return 1
    sys.stdout.flush()
    sys.stderr.flush()
    gc.collect()
    gc.freeze()  # children must not copy pages only because a collection touched their objects
    zygote = Zygote(control, location, environment)
    # From here on the handler ends the attempts first; during imports nothing but SIGKILL is sure to work.
    procs.die_with_parent(parent_pid, signal.SIGTERM)
    frames.send(control, ready)
    zygote.serve()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
