"""Code-location servers as processes of this host: the command that starts one, its announcement, and keeping it alive.

A server says its address in a file `<location>-<pid>.json` in the deployment's announcement folder; schedulers follow that folder
and the addresses that the configuration names. The file outlives its process: a scheduler takes it, and the server out of the
list, instead of waiting for its lease to end. The control plane starts servers as separate programs and never imports them.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from partita.core.config import Config, ConfigError, LocationConfig
from partita.core.runtime.stopping import parent_to_stop_with

log = logging.getLogger(__name__)

_GRACE_S = 8.0
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0
_STEADY_S = 60.0


class Announced(TypedDict):
    """What a server says of itself once it listens."""

    location: str
    address: str
    server_id: str
    pid: int


def server_command(
    config: Config, location: LocationConfig, *, host: str, port: int, announce_fd: int, parent_pid: int | None = None
) -> list[str]:
    """The command line of the server of a location. Raises ConfigError for a location that is served elsewhere."""
    if not location.modules:
        raise ConfigError(
            what=f"location `{location.name}` has no modules to load",
            rule=f"its server runs at {location.address}",
            fix="start it there, or name its `modules` here",
        )
    modules = [part for module in location.modules for part in ("--module", module)]
    return [
        str(location.python or sys.executable), "-P", "-m", "partita.grpc.server",
        "--location", location.name, "--root", str(location.root), *modules,
        "--host", host, "--port", str(port), "--announce-fd", str(announce_fd),
        "--import-timeout", str(config.code_server.import_timeout_s),
        *(("--parent-pid", str(parent_pid)) if parent_pid is not None else ()),
    ]  # fmt: skip


def server_env(config: Config, location: LocationConfig) -> dict[str, str]:
    """User code gets no way to the database (law: it holds no credentials)."""
    hidden = {"PARTITA_DATABASE_URL", "PARTITA_DATABASE_REPLICA_URL"}
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    env.setdefault("PARTITA_LAKE", str(config.home / "lake"))
    return {**env, **location.env}


def announcement(config: Config, location: str, pid: int) -> Path:
    return config.announcements / f"{location}-{pid}.json"


def read_announcements(config: Config) -> dict[str, list[str]]:
    """The announced addresses of processes that live, by location."""
    found: dict[str, list[str]] = {}
    for _, facts in _announced(config):
        if _lives(facts["pid"]):
            found.setdefault(facts["location"], []).append(facts["address"])
    return found


def take_ended(config: Config) -> list[str]:
    """The ids of servers whose process has ended, on this host; each once: their announcements are removed."""
    ended = [(file, facts["server_id"]) for file, facts in _announced(config) if not _lives(facts["pid"])]
    for file, _ in ended:
        file.unlink(missing_ok=True)
    return [server_id for _, server_id in ended]


def _announced(config: Config) -> Iterator[tuple[Path, Announced]]:
    for file in sorted(config.announcements.glob("*.json")):
        try:
            facts = json.loads(file.read_text())
            yield (
                file,
                {
                    "location": str(facts["location"]),
                    "address": str(facts["address"]),
                    "server_id": str(facts["server_id"]),
                    "pid": int(facts["pid"]),
                },
            )
        except (OSError, ValueError, KeyError):
            continue  # being written


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() or not Path("/proc/self").exists()


def exec_server(config: Config, location: LocationConfig, *, host: str, port: int) -> None:
    """Becomes the server (`partita code-server`): same pid, so that signals and supervisors meet the server itself. It ends with
    its parent where that was asked for, as every other process does."""
    config.announcements.mkdir(parents=True, exist_ok=True)
    file = announcement(config, location.name, os.getpid())
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.set_inheritable(fd, True)
    command = server_command(config, location, host=host, port=port, announce_fd=fd, parent_pid=parent_to_stop_with())
    os.execve(command[0], command, server_env(config, location))


class ManagedServer:
    """One server process that is started again when it ends by itself; `partita dev` has one for each location."""

    def __init__(self, config: Config, location: LocationConfig, *, host: str = "127.0.0.1") -> None:
        self._config = config
        self._location = location
        self._host = host
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"server-{location.name}", daemon=True)

    def __repr__(self) -> str:
        return f"<ManagedServer {self._location.name} pid={self.pid}>"

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self) -> None:
        self._config.announcements.mkdir(parents=True, exist_ok=True)
        self._thread.start()

    def stop(self) -> None:
        """SIGTERM, the grace period, SIGKILL."""
        self._stopping.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)
        self._thread.join(_GRACE_S)
        if process is not None and process.poll() is None:
            process.kill()
        self._thread.join(_GRACE_S)

    def _keep(self) -> None:
        pause = _FIRST_PAUSE_S
        while not self._stopping.is_set():
            started = time.monotonic()
            try:
                code = self._serve()
            except OSError as error:
                log.error("the server of location %s cannot be started: %s", self._location.name, error)
                code = None
            if self._stopping.is_set():
                return
            log.warning("the server of location %s ended (exit code %s); starting it again", self._location.name, code)
            pause = _FIRST_PAUSE_S if time.monotonic() - started > _STEADY_S else min(pause * 2, _LONGEST_PAUSE_S)
            self._stopping.wait(pause if pause > 2 * _FIRST_PAUSE_S else 0)

    def _serve(self) -> int:
        # The announcement goes to a scratch file that is named after the pid once it is known.
        scratch = self._config.announcements / f".{self._location.name}-{os.getpid()}-{id(self)}"
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            command: Sequence[str] = server_command(
                self._config, self._location, host=self._host, port=0, announce_fd=fd, parent_pid=os.getpid()
            )
            process = subprocess.Popen(
                command, pass_fds=[fd], env=server_env(self._config, self._location), stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is ours: servers are stopped in order, after the worker
            )  # fmt: skip
        finally:
            os.close(fd)
        self._process = process
        scratch.rename(announcement(self._config, self._location.name, process.pid))
        if self._stopping.is_set():
            process.send_signal(signal.SIGTERM)
        return process.wait()
