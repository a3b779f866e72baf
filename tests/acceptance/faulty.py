"""What the fault tests share: a small project whose attempts wait for the test, what the database says of its runs, and a
proxy between the processes and their database that can fail.

A fault test first asserts that its fault took effect, then what came of it. Its attempts hold no clock: a gated one waits at a
named pipe until the test opens it.
"""

from __future__ import annotations

import os
import random
import selectors
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from partita.core.runtime.deployed import Deployed

MANY = 40
ASSETS = f"""
import os
import signal

from partita.sdk import Context, Fail, Relation, RetryLater, RetryPolicy, Static, asset, defaults

defaults(owner="team:test", retries=RetryPolicy(1))

@asset(partitions=Static(*(f"p{{n:03d}}" for n in range({MANY}))))
def many(context: Context) -> Relation:
    return Relation.from_rows([{{"attempt": context.attempt_id}}])

@asset(partitions=Static("a", "b", "c"))
def gated(context: Context) -> Relation:
    # The first attempt waits until the test opens the gate; a later one passes.
    if context.attempt == 1:
        with open(os.environ["GATE"]) as gate:
            gate.read()
    return Relation.from_rows([{{"attempt": context.attempt_id}}])

@asset(partitions=Static(*(f"p{{n:03d}}" for n in range({MANY}))))
def paced(context: Context) -> Relation:
    with open(os.environ["GATE"]) as gate:
        gate.read()
    return Relation.from_rows([{{"attempt": context.attempt_id}}])

@asset(retries=RetryPolicy(1, delay="1d"))
def later(context: Context) -> Relation:
    if context.attempt == 1:
        raise RetryLater("the export is not there yet", after="0.5s")
    return Relation.from_rows([{{"attempt": context.attempt_id}}])

@asset(retries=RetryPolicy(3))
def never() -> Relation:
    raise Fail("the contract ended")

@asset(retries=RetryPolicy(1, delay="1d"), timeout="0.5s")
def endless() -> Relation:
    signal.pause()

@asset(retries=RetryPolicy(3, delay="0.3s", backoff="exponential", max_delay="1s"))
def flaky(context: Context) -> Relation:
    if context.attempt <= 3:
        raise RuntimeError(f"attempt {{context.attempt}} fails")
    return Relation.from_rows([{{"attempt": context.attempt_id}}])

@asset(partitions=Static("a", "b"))
def talkative(context: Context) -> Relation:
    for n in range(20_000):
        print(f"line {{n}} of {{context.partition.key}}")
    return Relation.from_rows([{{"attempt": context.attempt_id}}])
"""


def project(*, lease_s: float) -> dict[str, str]:
    """The files of the project, for the fixture `deploy`."""
    config = f"""
[[location]]
name = "plain"
modules = ["plain_assets"]
[pools]
default = 8
[worker]
lease_s = {lease_s}
grace_s = 1
"""
    return {"partita.toml": config, "plain_assets.py": ASSETS}


class Gate:
    """A named pipe at which attempts wait."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "gate"
        os.mkfifo(self.path)
        self.path.chmod(0o666)

    def open(self) -> None:
        """Lets everybody pass who waits now; waits until somebody does."""
        with self.path.open("w"):
            pass

    def nudge(self) -> None:
        """Lets pass who waits now, if anybody does."""
        with suppress(OSError):
            os.close(os.open(self.path, os.O_WRONLY | os.O_NONBLOCK))


# ------------------------------------------------------------------ what the database says


def launch(deployment: Deployed, selection: str, *options: str) -> int:
    """Asks for all partitions, fresh or not; returns the run's id."""
    deployment.run("materialize", selection, "--mode", "all", "--yes", "--no-wait", *options)
    [(run_id,)] = deployment.query("SELECT max(id) FROM run")
    return int(run_id)


def run_state(deployment: Deployed, run_id: int) -> str:
    [(state,)] = deployment.query("SELECT state FROM run WHERE id = %s", run_id)
    return str(state)


def ended(deployment: Deployed, run_id: int) -> None:
    """Waits for the end of a run and asserts that it succeeded."""
    deployment.wait(f"run {run_id} ends", lambda: run_state(deployment, run_id) != "running")
    assert run_state(deployment, run_id) == "success", deployment.tail()


def tasks(deployment: Deployed, run_id: int, state: str) -> int:
    [(count,)] = deployment.query("SELECT count(*) FROM task WHERE run_id = %s AND state = %s", run_id, state)
    return int(count)


def let_pass(deployment: Deployed, gate: Gate, run_id: int, done: int) -> None:
    """Opens the gate until so many tasks of the run have succeeded; what starts after that waits again."""

    def enough() -> bool:
        if tasks(deployment, run_id, "success") >= done:
            return True
        gate.nudge()
        return False

    deployment.wait(f"{done} tasks of run {run_id} succeed", enough)


def attempts(deployment: Deployed, run_id: int) -> list[tuple[Any, ...]]:
    """(partition, number, outcome, worker) of all attempts of a run."""
    return deployment.query(
        "SELECT c.partition, t.number, t.outcome, t.worker_id FROM attempt t JOIN task_cell c ON c.task_id = t.task_id"
        " WHERE t.run_id = %s ORDER BY 1, 2",
        run_id,
    )


def published_once(deployment: Deployed, run_id: int, cells: int) -> None:
    """Every cell of the run was published by it exactly once, and what stands behind the pointers is what was published."""
    told = deployment.query(
        "SELECT e.asset_id, e.partition, count(*) FROM event e WHERE e.kind = 'materialized' AND e.run_id = %s GROUP BY 1, 2",
        run_id,
    )
    assert len(told) == cells
    assert {row[2] for row in told} == {1}
    pointers = deployment.query(
        "SELECT location, published_attempt FROM cell WHERE published_run = %s AND location IS NOT NULL", run_id
    )
    assert len(pointers) == cells
    for location, attempt_id in pointers:
        assert f"/{attempt_id}.parquet" in location
        assert file_of(location).exists(), location
    nothing_left(deployment)


def file_of(location: str) -> Path:
    """The file of the lake at which a pointer points."""
    return Path(location.split("file://", 1)[1].partition("#")[0].partition("?")[0])


def nothing_left(deployment: Deployed) -> None:
    """No slot, owner or tally outlives its task."""
    deployment.wait(
        "what was held is given back",
        lambda: (
            deployment.query(
                "SELECT (SELECT count(*) FROM pool_slot), (SELECT count(*) FROM open_cell), (SELECT count(*) FROM run_tally)"
            )
            == [(0, 0, 0)]
        ),
    )


def no_traceback(deployment: Deployed) -> None:
    """A fault from outside is said in a sentence: whoever reads the log at night looks for what is wrong with the house."""
    written = deployment.log.read_text(errors="replace")
    at = written.find("Traceback")
    assert at < 0, written[max(at - 500, 0) : at + 3000]


def is_gone(pid: int) -> bool:
    """Its parent may not have looked yet: what is left of it until then does nothing any more."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


# ------------------------------------------------------------------ a network that fails


class Proxy:
    """Between the processes and the database's socket. `cut` breaks every connection and refuses new ones until `mend`; `shaky`
    breaks each connection after some bytes, wherever in a statement or an answer they end."""

    def __init__(self, upstream: str, *, seed: int = 0) -> None:
        self._upstream = upstream
        self._random = random.Random(seed)
        self._listening: socket.socket | None = None
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._left: dict[socket.socket, int] = {}
        self._bytes: int | None = None
        self._lock = threading.Lock()
        self._wake, self._woken = socket.socketpair()
        self._stopping = False
        self.broken = 0
        """How many connections were broken."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.mend()
        self._thread = threading.Thread(target=self._serve, name="proxy", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"postgresql://partita@127.0.0.1:{self.port}/partita"

    def cut(self) -> None:
        with self._lock:
            if self._listening is not None:
                self._listening.close()
                self._listening = None
            for one in list(self._pairs):
                self._break(one)
        self._wake.send(b".")

    def mend(self) -> None:
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", self.port))
        listening.listen(128)
        with self._lock:
            self._listening = listening
        self._wake.send(b".")

    @contextmanager
    def shaky(self, most_bytes: int) -> Iterator[None]:
        """Within the block no connection made in it lives longer than so many bytes."""
        self._bytes = most_bytes
        try:
            yield
        finally:
            self._bytes = None
            with self._lock:
                self._left.clear()

    def close(self) -> None:
        self._stopping = True
        self.cut()
        self._thread.join(10)
        self._wake.close()
        self._woken.close()

    def _serve(self) -> None:
        while not self._stopping:
            with self._lock, selectors.DefaultSelector() as selector:
                selector.register(self._woken, selectors.EVENT_READ)
                for end in self._pairs:
                    selector.register(end, selectors.EVENT_READ)
                if self._listening is not None:
                    selector.register(self._listening, selectors.EVENT_READ)
                self._lock.release()
                try:
                    ready = [key.fileobj for key, _ in selector.select()]
                finally:
                    self._lock.acquire()
                for one in ready:
                    assert isinstance(one, socket.socket)
                    self._turn(one)

    def _turn(self, one: socket.socket) -> None:
        if one is self._woken:
            one.recv(4096)
        elif one is self._listening:
            self._accept(one)
        elif one in self._pairs:
            self._carry(one)

    def _accept(self, listening: socket.socket) -> None:
        client, _ = listening.accept()
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._upstream)
        except OSError:
            _reset(client)
            server.close()
            return
        self._pairs[client], self._pairs[server] = server, client
        if self._bytes is not None:
            self._left[client] = self._left[server] = self._random.randint(200, self._bytes)

    def _carry(self, one: socket.socket) -> None:
        other = self._pairs[one]
        try:
            content = one.recv(65_536)
            left = self._left.get(one)
            if left is not None:
                content, self._left[one] = content[:left], left - len(content)
            other.sendall(content)
        except OSError:
            content = b""
        if not content or self._left.get(one, 1) <= 0:
            self._break(one)

    def _break(self, one: socket.socket) -> None:
        other = self._pairs.pop(one, None)
        if other is None:
            return
        del self._pairs[other]
        for end in (one, other):
            self._left.pop(end, None)
            _reset(end)
        self.broken += 1


def _reset(end: socket.socket) -> None:
    """Ends a connection without a word: the other side learns it by an error."""
    if end.family == socket.AF_INET:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()
