"""A deployment of real processes, driven from outside: the demo, the acceptance tests and the benches start it through this.

Owns starting the shipped commands (`python -m partita.ui.cli ...`) over one project, waiting for what they bring about, and
ending them. It knows the processes as anybody would: by command, exit code, log and database.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.request import urlopen

import psycopg

from partita.core.config import Config, load_config
from partita.core.embedded import EmbeddedPostgres
from partita.core.runtime.stopping import STOP_WITH_PARENT

_POLL_S = 0.05
_ANSWER_S = 10.0
_STOP_S = 40.0
_TAIL_LINES = 40
_WITH_API = ("dev", "api")
_PORTS_FROM, _PORTS_TO = 20_000, 32_000


class DeployedError(RuntimeError):
    """A process ended or did not bring about what was waited for; the message carries the end of its log."""


class Deployed:
    """The processes of one project folder. A context manager: on exit everything is stopped, in reverse order."""

    def __init__(self, folder: Path, *, port: int = 0, env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.port = port or free_port()
        hidden = {"PARTITA_DATABASE_URL", "PARTITA_HOME", "PARTITA_PROJECT", "PARTITA_LAKE", "PARTITA_API_PORT"}
        inherited = {name: value for name, value in os.environ.items() if name not in hidden}
        self.env = {
            **inherited, "PARTITA_PROJECT": str(folder), "PARTITA_API_PORT": str(self.port), STOP_WITH_PARENT: str(os.getpid()),
            **(env or {}),
        }  # fmt: skip
        self.config: Config = load_config(folder, environ=self.env)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.config.home.mkdir(parents=True, exist_ok=True)
        self.log = self.config.home / "deployed.log"
        self._has_api = False
        self._log_from = self.log.stat().st_size if self.log.exists() else 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # ------------------------------------------------------------------ processes

    def start(self, *command: str, name: str | None = None) -> subprocess.Popen[bytes]:
        """Starts `partita COMMAND...`; its output goes to `log`. `name` (default: the command) finds it again."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "partita.ui.cli", *command],
                env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,  # Ctrl-C is for whoever drives: it stops the processes once, in order
            )  # fmt: skip
        self.processes[name or command[0]] = process
        self._has_api = self._has_api or command[0] in _WITH_API
        return process

    def complete(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs `partita COMMAND...` to its end, whatever that is."""
        return subprocess.run(
            [sys.executable, "-m", "partita.ui.cli", *command],
            env=self.env, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def run(self, *command: str, ok: tuple[int, ...] = (0,)) -> str:
        """Runs `partita COMMAND...` to its end and returns what it printed; raises DeployedError for another exit code."""
        done = self.complete(*command)
        if done.returncode not in ok:
            raise DeployedError(
                f"`partita {' '.join(command)}` ended with {done.returncode}\n{done.stdout}{done.stderr}\n{self.tail()}"
            )
        return done.stdout

    def kill(self, name: str) -> int:
        """kill -9; returns the pid, which is gone when this returns."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()
        return process.pid

    def stop(self, *names: str) -> None:
        """SIGINT to all processes at once unless some are named, as a machine that shuts down; SIGKILL after a while."""
        chosen = [self.processes.pop(name) for name in names or tuple(self.processes)]
        for process in reversed(chosen):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
        for process in reversed(chosen):
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def tail(self) -> str:
        """The end of the processes' common log, without what those of an earlier time wrote."""
        try:
            written = self.log.read_bytes()[self._log_from :].decode(errors="replace")
            return "\n".join(written.splitlines()[-_TAIL_LINES:])
        except OSError:
            return ""

    # ------------------------------------------------------------------ what they bring about

    def wait(self, what: str, condition: Callable[[], bool], *, timeout_s: float = 240.0) -> None:
        """Until `condition` holds. There is no event for "the database holds ...", so it is asked again and again."""
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                if condition():
                    return
            except (OSError, psycopg.Error):
                pass  # not up yet, or down in between
            ended = [name for name, process in self.processes.items() if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                why = f"{', '.join(ended)} ended" if ended else f"not within {timeout_s:g} s"
                raise DeployedError(f"{what}: {why}\n{self.tail()}")
            time.sleep(_POLL_S)

    def wait_serving(self) -> None:
        """Until every configured location serves an active version (broken modules allowed), and the API answers if one was
        started."""
        wanted = len(self.config.locations)
        self.wait(
            "all code locations serve",
            lambda: self.query("SELECT count(*) FROM location WHERE active_snapshot_id IS NOT NULL") == [(wanted,)],
        )
        if self._has_api:
            self.wait("the API answers", self._answers)

    def _answers(self) -> bool:
        with urlopen(f"{self.api}/healthz", timeout=_ANSWER_S) as answer:
            return bool(answer.status == HTTPStatus.OK)

    @property
    def database_url(self) -> str:
        return self.config.database.url or EmbeddedPostgres(self.config.postgres).url

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def query(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(statement.encode(), values).fetchall()


def free_port() -> int:
    """A port that nobody listens on, below those that the kernel gives to connections: one of these may take a port between
    this look and the moment in which a process of ours listens on it."""
    for port in random.SystemRandom().sample(range(_PORTS_FROM, _PORTS_TO), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise DeployedError(f"none of a hundred ports from {_PORTS_FROM} to {_PORTS_TO} is free")
