"""The process of a code-location server: start, announce the address, serve until told to stop, leave nothing behind.

Owns signals, the announcement and the order of shutdown. `serve` takes over the whole process; it refuses to run where
other children live, because it ends every orphan that it inherits.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from partita.grpc.server import procs

if TYPE_CHECKING:
    from grpc_health.v1 import health

    from partita.grpc.server.supervisor import Config, Supervisor

_log = logging.getLogger("partita.code_server")

_SHUTDOWN_GRACE_S = 5.0
_STREAM_GRACE_S = 1.0
_WANTED_FILES = 65536


def serve(
    location: str,
    root: Path,
    modules: Sequence[str],
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    announce_fd: int = 1,
    import_timeout_s: float | None = None,
    drain_s: float = 300.0,
    parent_pid: int | None = None,
) -> int:
    """Serve a code location until SIGTERM or SIGINT; return the exit code of the process.

    Once it listens, one JSON line `{"address", "server_id", "location", "pid"}` is written to `announce_fd` (stdout by
    default). `import_timeout_s` is per module and defaults to PARTITA_IMPORT_TIMEOUT_S or 60. With `parent_pid` the server
    stops when that process ends, even by kill -9; Linux ties this to the *thread* that started the server, so start it from
    one that lives on. Modules are still being imported when the address is announced.
    """
    # Ours forks nothing: zygotes are fresh interpreters. gRPC's fork handlers would only get in the way.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    from partita.grpc.server.supervisor import Config

    if parent_pid is not None:
        procs.die_with_parent(parent_pid, signal.SIGTERM)
    _raise_file_limit()
    limit_s = import_timeout_s or float(os.environ.get("PARTITA_IMPORT_TIMEOUT_S", "60"))
    config = Config(location, Path(root).resolve(), tuple(modules), import_timeout_s=limit_s, drain_s=drain_s)
    return asyncio.run(_serve(config, host, port, announce_fd))


async def _serve(config: Config, host: str, port: int, announce_fd: int) -> int:
    from partita.grpc.server import app
    from partita.grpc.server.supervisor import Supervisor

    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    supervisor = Supervisor(config)
    try:
        server, health_servicer, bound = await app.build_server(supervisor, host, port)
    except app.CannotListen as error:
        sys.stderr.write(f"code location {config.location!r}: {error}; choose another --port, or 0 for a free one\n")
        return 1
    procs.adopt_orphans()
    loop.add_signal_handler(signal.SIGCHLD, supervisor.end_orphans)
    await app.set_serving(health_servicer, False)
    await server.start()
    supervisor.start()
    health_task = asyncio.create_task(_follow_health(supervisor, health_servicer))
    address = f"[{host}]:{bound}" if ":" in host else f"{host}:{bound}"
    _announce(announce_fd, address=address, server_id=supervisor.server_id, location=config.location, pid=os.getpid())
    _log.info("code location %s listens on %s", config.location, address)
    try:
        await stop.wait()
    finally:
        health_task.cancel()
        for number in (signal.SIGTERM, signal.SIGINT):  # a second signal means: at once
            loop.add_signal_handler(number, os._exit, 1)
        await health_servicer.enter_graceful_shutdown()
        await supervisor.close(_SHUTDOWN_GRACE_S)
        await server.stop(_STREAM_GRACE_S)
        supervisor.end_orphans()
    return 0


async def _follow_health(supervisor: Supervisor, health_servicer: health.aio.HealthServicer) -> None:
    """Serving means: a version can be executed."""
    from partita.grpc.server import app

    async for status in supervisor.watch():
        await app.set_serving(health_servicer, any(version.accepts_new for version in status.versions))


def _announce(fd: int, **facts: object) -> None:
    line = json.dumps(facts).encode() + b"\n"
    with contextlib.suppress(BrokenPipeError):
        os.write(fd, line)
    if fd > 2:
        os.close(fd)


def _raise_file_limit() -> None:
    """Each attempt holds four descriptors; the usual soft limit of 1,024 would be reached at 250 attempts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(_WANTED_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
