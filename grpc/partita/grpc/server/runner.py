"""Runs one attempt inside its own process and reports it in frames: forked from the zygote, or as a fresh interpreter.

Owns the process set-up of an attempt (session, parent death, stdin/stdout/stderr, SIGTERM as an exception in user code)
and the translation between frames and `partita.sdk.runtime`. Refuses to decide how the attempt ended when the process
does not live to say so: that is the supervisor's.

As a fresh interpreter (`isolation="spawn"`, or modules that start threads): `python -m partita.grpc.server.runner FD PPID`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import io
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from partita.grpc.server import frames, procs

if TYPE_CHECKING:
    from partita.assets import Snapshot
    from partita.sdk.runtime import CellOutcome, CheckOutcome, Evaluated, LoadedLocation, StepRequest, StepResult

_HANDLED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)


class Terminated(BaseException):
    """The attempt was cancelled or timed out. Raised in user code so that its `finally` blocks run before SIGKILL."""


class FrameReporter:
    """The `Reporter` of an attempt: each report becomes one frame, whole and in order, from whichever thread."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._lock = threading.RLock()
        self._main = threading.get_ident()
        self._held = 0
        self._due = False

    def cell(self, outcome: CellOutcome) -> None:
        """Report what became of a cell."""
        self.send(
            {
                "t": "cell",
                "asset": outcome.asset,
                "partition": outcome.partition,
                "kind": outcome.kind.value,
                "data_version": outcome.data_version,
                "location": outcome.location,
                "metadata": _json_text(outcome.metadata),
                "error": outcome.error,
            }
        )

    def check(self, outcome: CheckOutcome) -> None:
        """Report a check."""
        self.send(
            {
                "t": "check",
                "check": outcome.check,
                "asset": outcome.asset,
                "partition": outcome.partition,
                "passed": outcome.passed,
                "blocking": outcome.blocking,
                "detail": _json_text(outcome.detail),
            }
        )

    def log(self, level: str, text: str) -> None:
        """Report a log entry of one or more lines."""
        self.send({"t": "log", "at_us": time.time_ns() // 1000, "level": level, "text": text})

    def result(self, result: StepResult) -> None:
        """Report the end."""
        self.send(
            {
                "t": "result",
                "status": result.status.value,
                "error": result.error,
                "traceback": result.traceback,
                "retry_in_s": result.retry_in_s,
                "deferral": _deferral_frame(result),
                "added": {scheme: list(keys) for scheme, keys in result.added.items()},
            }
        )

    def evaluated(self, found: Evaluated) -> None:
        """Report the end of an evaluation."""
        from partita.sdk.runtime import StepStatus

        frame = {"t": "result", "error": found.error, "traceback": found.traceback, "retry_in_s": -1.0}
        if found.error:
            self.send({**frame, "status": StepStatus.FAILED.value})
        else:
            self.send(
                {
                    **frame,
                    "status": StepStatus.SUCCESS.value,
                    "evaluated": json.dumps(found.to_json(), separators=(",", ":")),
                }
            )

    def send(self, frame: frames.Frame) -> None:
        """Send one frame. SIGTERM in the middle is held back until the frame is whole."""
        payload = frames.encode(_masked(frame))
        on_main = threading.get_ident() == self._main
        if on_main:
            self._held += 1
        try:
            with self._lock:
                self._channel.sendall(payload)
        finally:
            if on_main:
                self._held -= 1
        if on_main and self._due and not self._held:
            self._due = False
            raise Terminated

    def on_sigterm(self, _number: int, _frame: FrameType | None) -> None:
        """Raise in user code, once; a second SIGTERM must not break the `finally` blocks that the first one started."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self._held:
            self._due = True
        else:
            raise Terminated


_SAID = ("text", "error", "traceback")


def _masked(frame: frames.Frame) -> frames.Frame:
    """The frame without the secrets that this process has looked up (S-035)."""
    return frame | {name: _mask(str(frame[name])) for name in _SAID if frame.get(name)}


def _mask(text: str) -> str:
    secrets = sys.modules.get("partita.sdk.secrets")  # the process that forks loads it with the SDK
    return text if secrets is None else str(secrets.mask(text))


class _MaskedStream(io.TextIOWrapper):
    """Standard output of user code. What a program that it starts writes does not come by here."""

    def write(self, text: str) -> int:
        super().write(_mask(text))
        return len(text)


class _ReportHandler(logging.Handler):
    """Carries the standard library's log records of user code and its libraries to the attempt's log."""

    def __init__(self, reporter: FrameReporter) -> None:
        super().__init__()
        self._reporter = reporter
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        with contextlib.suppress(OSError):  # the supervisor is gone, and so will this process be
            try:
                text = self.format(record)
            except Exception:  # a bad format string must not fail the attempt
                self.handleError(record)
            else:
                self._reporter.log(record.levelname, text)


def enter_process(*, zygote_pid: int, stdout_fd: int, stderr_fd: int) -> None:
    """Make a forked child its own session, tied to the zygote's life, with captured output. Signals are blocked here."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    for number in _HANDLED_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    procs.die_with_parent(zygote_pid)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(stdout_fd, 1)
    os.dup2(stderr_fd, 2)
    for fd in (null, stdout_fd, stderr_fd):
        if fd > 2:
            os.close(fd)
    with contextlib.suppress(
        OSError
    ):  # when memory runs out, the attempt goes first and not the process that holds the code
        Path("/proc/self/oom_score_adj").write_text("500")


def run(channel: socket.socket, location: LoadedLocation | None, message: frames.Frame | None = None) -> NoReturn:
    """Run the attempt whose request is `message`, or arrives on `channel`, and end the process."""
    code = 1
    try:
        message = message or frames.receive(channel)
        if message is not None and message.get("host"):
            _run_triggers(channel, message["note"], message["suspects"])
        elif message is not None:  # else the supervisor gave the attempt up before it began
            assert location is not None
            _run(channel, location, message["request"])
        code = 0
    except BrokenPipeError:
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        _flush_output()
        os._exit(code)  # no atexit and no destructors: they belong to the zygote


def _run_triggers(channel: socket.socket, note: str, suspects: Sequence[str]) -> None:
    from partita.grpc.server import trigger_host  # here: the process that forks never loads asyncio

    trigger_host.run(channel, note, suspects)


def _run(channel: socket.socket, location: LoadedLocation, request: Mapping[str, Any]) -> None:
    from partita.sdk.runtime import StepResult, StepStatus, run_step

    reporter = FrameReporter(channel)
    try:
        _listen(reporter)
        if request["traceparent"]:
            os.environ["TRACEPARENT"] = request[
                "traceparent"
            ]  # what the user's own tracing, and what it starts, goes by
        if request["evaluation"] is not None:
            found = _evaluate(location, *request["evaluation"])
            _flush_output()
            reporter.evaluated(found)
            return
        result = run_step(location, request_of(request), reporter)
        _flush_output()
        reporter.result(result)
    except Terminated:
        _flush_output()
        reporter.send({"t": "terminated", "traceback": traceback.format_exc()})
    except OSError:
        raise
    except BaseException as error:  # SystemExit and its like: the function's doing, not a loss
        _flush_output()
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        reporter.result(StepResult(StepStatus.FAILED, text, traceback.format_exc()))


def _evaluate(location: LoadedLocation, name: str, given: str) -> Evaluated:
    from partita.sdk.runtime import evaluate

    return evaluate(location.evaluators[name], json.loads(given))


def _listen(reporter: FrameReporter) -> None:
    """Begin to hear SIGTERM and the standard library's logging."""
    for fd, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is getattr(sys, f"__{name}__"):  # a user's own stream object keeps its ways
            # The inherited one is unbuffered: two system calls for each print.
            raw = open(fd, "wb", closefd=False)  # noqa: SIM115
            stream = _MaskedStream(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
    root = logging.getLogger()
    if root.level > logging.INFO and not root.handlers:
        root.setLevel(logging.INFO)  # nobody chose the default WARNING
    root.addHandler(_ReportHandler(reporter))
    signal.signal(signal.SIGTERM, reporter.on_sigterm)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED_SIGNALS)


def _flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()


def _deferral_frame(result: StepResult) -> frames.Frame | None:
    asked = result.deferral
    if asked is None:
        return None
    return {
        "place": asked.place,
        "trigger": asked.trigger,
        "args": json.dumps(asked.args),
        "label": asked.label,
        "deadline_s": asked.deadline_s,
        "poll_s": asked.poll_s or 0.0,
    }


def _json_text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), default=str) if value else ""


def request_of(frame: Mapping[str, Any]) -> StepRequest:
    """Rebuild the request of the SDK from its frame (`wire.request_frame` made it)."""
    from partita.sdk.runtime import FiredWait, InputBinding, InputCell, StepRequest, TargetCell

    return StepRequest(
        attempt_id=frame["attempt_id"],
        step=frame["step"],
        cells=tuple(TargetCell(*cell) for cell in frame["cells"]),
        inputs=tuple(
            InputBinding(
                name=binding["name"],
                upstream=binding["upstream"],
                io=binding["io"],
                partitions_spec=binding["partitions_spec"].encode(),
                cells=tuple(InputCell(*cell) for cell in binding["cells"]),
            )
            for binding in frame["inputs"]
        ),
        params=json.loads(frame["params"]) if frame["params"] else None,
        attempt_number=frame["attempt_number"],
        run_id=frame["run_id"],
        fence=frame["fence"],
        traceparent=frame["traceparent"],
        events=tuple(
            FiredWait(place, trigger, json.loads(args), json.loads(payload))
            for place, trigger, args, payload in frame["events"]
        ),
    )


def step_digests(snapshot: Snapshot) -> dict[str, str]:
    """A digest per step over the definitions of its assets: what a fresh interpreter must find again on disk."""
    from partita.assets import canonical_json

    digests: dict[str, Any] = {}
    for asset in snapshot.assets:
        digests.setdefault(asset.step, hashlib.sha256()).update(canonical_json(asset))
    return {step: digest.hexdigest() for step, digest in digests.items()}


def evaluator_digests(snapshot: Snapshot) -> dict[str, str]:
    """As `step_digests`, of observers, schedules and sensors by name."""
    from partita.assets import canonical_json

    return {one.name: hashlib.sha256(canonical_json(one)).hexdigest() for one in snapshot.evaluators}


def main(argv: list[str]) -> NoReturn:
    """Entry of a fresh interpreter: load the location as the zygote did, then run the attempt."""
    fd, parent_pid = map(int, argv)
    procs.die_with_parent(parent_pid)
    faulthandler.enable()
    os.set_inheritable(fd, False)
    with socket.socket(fileno=fd) as channel:
        message = frames.receive(channel)
        if message is None:
            os._exit(0)
        if message.get("host"):
            _load_modules(message["load"])
            run(channel, None, message)
        location = _load(channel, message)
        if location is None:
            os._exit(0)
        run(channel, location, message)


def _load_modules(load: frames.Frame) -> None:
    """For a host of triggers: what lies on disk now, since a trigger is found by its path and has no digest."""
    from partita.sdk.runtime import load_location

    load_location(load["location"], Path(load["root"]), load["modules"], left_out=load["left_out"])


def _load(channel: socket.socket, message: frames.Frame) -> LoadedLocation | None:
    """Load the modules again; None when what lies on disk is not the version that was asked for."""
    from partita.sdk.runtime import load_location

    load, step, evaluation = message["load"], message["request"]["step"], message["request"]["evaluation"]
    try:
        location = load_location(
            load["location"],
            Path(load["root"]),
            load["modules"],
            on_progress=lambda *_: None,
            left_out=load["left_out"],
        )
    except Exception as error:
        frames.send(channel, {"t": "gone", "error": f"the location does not load any more: {error}"})
        return None
    found = (
        step_digests(location.snapshot).get(step)
        if evaluation is None
        else evaluator_digests(location.snapshot).get(evaluation[0])
    )
    if found != load["digest"]:
        what = f"step {step!r}" if evaluation is None else repr(evaluation[0])
        rule = "a fresh interpreter can only run what lies on disk; reload the location and run again"
        frames.send(channel, {"t": "gone", "error": f"{what} changed on disk since this version was loaded: {rule}"})
        return None
    return location


if __name__ == "__main__":
    main(sys.argv[1:])
