"""Loads the working tree of locations as a deployment would: each in a server of its own, in its own environment.

Owns those servers, for the time of one load: they have the time limits of production, so that what loads here loads there.
Touches no database and leaves nothing running.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from partita.ui.cli.problems import UsageProblem

if TYPE_CHECKING:
    from partita.core.config import Config, LocationConfig
    from partita.grpc.client import CodeLocationClient
    from partita.grpc.v1.code_location_pb2 import LocationStatus
    from partita.ui.cli.check_rules import CheckedLocation

_STOP_S = 10.0
_START_S = 60.0
_AGAIN_S = 0.5
_PLATFORM_S = 150.0  # what a load may take beside its modules


def loadable(config: Config, names: Sequence[str]) -> list[LocationConfig]:
    """The locations of these names (none: all) whose modules are on this machine; raises when there is none."""
    chosen = [config.location(name) for name in names] if names else list(config.locations)
    local = [one for one in chosen if one.modules]
    if not local:
        raise UsageProblem(
            "there is nothing to load",
            rule="this loads the `modules` of [[location]] entries; locations with an `address` are loaded where they live",
            fix=f"name modules in {config.file.name}",
        )
    return local


async def load_all(config: Config, locations: Sequence[LocationConfig]) -> list[CheckedLocation]:
    """What the loader says of each location, side by side."""
    return list(await asyncio.gather(*(_load(config, one) for one in locations)))


async def _load(config: Config, location: LocationConfig) -> CheckedLocation:
    """Loads one location in a server of its own, and ends that."""
    from partita.assets import Snapshot
    from partita.grpc.client import CodeLocationClient, CodeServerError
    from partita.ui.cli.check_rules import CheckedLocation, CheckedModule

    limit_s = _PLATFORM_S + config.code_server.import_timeout_s * len(location.modules)
    try:
        with _server(config, location) as (process, announcement):
            async with asyncio.timeout(_START_S):
                address = await asyncio.to_thread(_address, announcement)
            async with asyncio.timeout(limit_s), CodeLocationClient(address) as client:
                status, body = await loaded(client, process)
    except (CodeServerError, OSError, TimeoutError) as error:
        return CheckedLocation(location.name, (), None, str(error) or f"it did not load within {limit_s:.0f} s")
    return CheckedLocation(
        location.name,
        tuple(CheckedModule(one.name, one.ok, one.error, one.import_seconds, one.warning) for one in status.modules),
        Snapshot.model_validate_json(body) if body is not None else None,
        status.error,
    )


async def loaded(client: CodeLocationClient, process: subprocess.Popen[bytes]) -> tuple[LocationStatus, bytes | None]:
    """The status of a server once it has loaded, and its definitions. A lost connection is no verdict while its process
    lives: a loaded machine may be late to answer. Raises LocationUnavailable when the process has ended."""
    from partita.grpc.client import LocationUnavailable

    while True:
        try:
            async with contextlib.aclosing(client.watch()) as statuses:
                async for status in statuses:
                    if not status.loading:
                        version = status.active_version
                        return status, (await client.definitions(version))[1] if version else None
            raise LocationUnavailable(client.address, "it stopped while it loaded")
        except LocationUnavailable:
            if process.poll() is not None:
                raise
        await asyncio.sleep(_AGAIN_S)  # a server that does not answer gives no event


@contextlib.contextmanager
def _server(config: Config, location: LocationConfig) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A server on a free port, for the time of the block, and the descriptor on which it says its address."""
    from partita.core.runtime.servers import server_command, server_env

    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            server_command(config, location, host="127.0.0.1", port=0, announce_fd=writing, parent_pid=os.getpid()),
            pass_fds=[writing],
            env=server_env(config, location),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    finally:
        os.close(writing)
    try:
        yield process, reading
    finally:
        os.close(reading)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(announcement: int) -> str:
    with open(announcement, closefd=False) as lines:
        line = lines.readline()
    if not line:
        raise OSError("its server ended before it listened; start it by hand to see why: partita code-server")
    return str(json.loads(line)["address"])
