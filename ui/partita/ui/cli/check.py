"""`partita check`: does everything load, and fit together? The first line of defence, for CI (S-063).

Owns running the loader: each location's own server, in its own environment, with the same time limit per module as in
production, so that what passes here loads there. Touches no database and starts nothing that stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from partita.ui.cli import options as o
from partita.ui.cli.output import Output, utc_now
from partita.ui.cli.problems import FAILED, UsageProblem

if TYPE_CHECKING:
    from partita.core.config import Config, LocationConfig
    from partita.grpc.client import CodeLocationClient
    from partita.grpc.v1.code_location_pb2 import LocationStatus
    from partita.ui.cli.check_rules import CheckedLocation, Finding

_STOP_S = 10.0
_START_S = 60.0
_AGAIN_S = 0.5
_PLATFORM_S = 150.0  # what a load may take beside its modules


def register(app: typer.Typer) -> None:
    app.command()(check)


def check(
    location: Annotated[list[str], typer.Option("--location", help="Only this location. Repeatable.")] = [],  # noqa: B006
    *,
    max_import_s: Annotated[
        float, typer.Option("--max-import-s", min=0, help="Warn of modules whose import takes longer.")
    ] = 5.0,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
    as_json: o.Json = False,
) -> None:
    """Import every module as a deployment would, and check the graph. Exit code 1 when something is wrong."""
    from partita.core.catalog import activation_problems
    from partita.ui.cli.check_rules import fails, findings_of
    from partita.ui.cli.session import configuration

    output = Output(json=as_json)
    config = configuration()
    chosen = _chosen(config, location)
    with (
        output.err.status(f"loading {', '.join(one.name for one in chosen)}")
        if not as_json
        else contextlib.nullcontext()
    ):
        checked = asyncio.run(_load_all(config, chosen))
    snapshots = [one.snapshot for one in checked if one.snapshot is not None]
    findings = findings_of(checked, activation_problems(snapshots, utc_now()), max_import_s=max_import_s)
    failed = fails(findings, strict=strict)
    if as_json:
        output.value(
            {
                "ok": not failed,
                "locations": [_location_json(one) for one in checked],
                "findings": [one.to_json() for one in findings],
            }
        )
    else:
        _say(checked, findings, output)
    if failed:
        raise typer.Exit(FAILED)


def _chosen(config: Config, names: list[str]) -> list[LocationConfig]:
    chosen = [config.location(name) for name in names] if names else list(config.locations)
    local = [one for one in chosen if one.modules]
    if not local:
        raise UsageProblem(
            "there is nothing to check",
            rule="check loads the `modules` of [[location]] entries; locations with an `address` are checked where they live",
            fix=f"name modules in {config.file.name}",
        )
    return local


async def _load_all(config: Config, locations: list[LocationConfig]) -> list[CheckedLocation]:
    return list(await asyncio.gather(*(_load(config, one) for one in locations)))


async def _load(config: Config, location: LocationConfig) -> CheckedLocation:
    """Loads one location in a server of its own, and ends that."""
    from partita.assets import Snapshot
    from partita.grpc.client import CodeLocationClient, CodeServerError
    from partita.ui.cli.check_rules import CheckedLocation, CheckedModule

    limit_s = _PLATFORM_S + config.code_server.import_timeout_s * len(location.modules)
    try:
        with _server(config, location) as (process, announcement):
            address = await asyncio.wait_for(asyncio.to_thread(_address, announcement), _START_S)
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


def _location_json(one: CheckedLocation) -> dict[str, object]:
    return {
        "name": one.name,
        "assets": len(one.snapshot.assets) if one.snapshot is not None else 0,
        "modules": [{"name": module.name, "ok": module.ok, "import_s": module.import_s} for module in one.modules],
    }


def _say(checked: list[CheckedLocation], findings: list[Finding], output: Output) -> None:
    from partita.ui.api.services.words import plural

    for one in checked:
        assets = len(one.snapshot.assets) if one.snapshot is not None else 0
        output.say(f"{one.name}: {plural(assets, 'asset')}, {plural(len(one.modules), 'module')}")
        for module in one.modules:
            output.say(
                Text(
                    f"  {'✓' if module.ok else '✕'} {module.name}  {module.import_s:.2f} s",
                    style="" if module.ok else "red",
                )
            )
    for finding in findings:
        style = "red" if finding.severity == "error" else "yellow"
        where = ": ".join(part for part in (finding.location, finding.subject) if part)
        output.say(Text(f"{finding.severity}: {where + ': ' if where else ''}{finding.what}", style=style))
        if finding.fix:
            output.say(f"  fix: {finding.fix}")
    errors = sum(1 for one in findings if one.severity == "error")
    output.say(
        f"{plural(errors, 'error')}, {plural(len(findings) - errors, 'warning')}"
        if findings
        else "Everything loads and fits together."
    )
