"""What the tests of the code-location server share: a running server, requests, and what an attempt told."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from partita.grpc.client import CodeLocationClient
from partita.grpc.v1 import code_location_pb2 as pb


@dataclass
class CodeServer:
    """A running server process and its folder of user code, which the test may edit."""

    process: subprocess.Popen[bytes]
    address: str
    server_id: str
    root: Path

    @property
    def proc(self) -> psutil.Process:
        return psutil.Process(self.process.pid)

    def zygotes(self) -> list[psutil.Process]:
        return [child for child in self.proc.children() if _is_zygote(child)]

    def edit(self, module: str, text: str) -> None:
        (self.root / "shop" / f"{module}.py").write_text(text)


def _is_zygote(child: psutil.Process) -> bool:
    try:
        return "partita.grpc.server.zygote" in child.cmdline()
    except psutil.NoSuchProcess:  # it ended meanwhile; a zombie, too
        return False


StartServer = Callable[..., CodeServer]


@contextlib.asynccontextmanager
async def connected(server: CodeServer) -> AsyncIterator[CodeLocationClient]:
    """A client, once the first load has ended."""
    async with CodeLocationClient(server.address) as client:
        await settled(client)
        yield client


async def settled(client: CodeLocationClient) -> pb.LocationStatus:
    """The first status that is not loading."""
    async with contextlib.aclosing(client.watch()) as statuses:
        async for status in statuses:
            if not status.loading:
                return status
    raise AssertionError("the server stopped before it was loaded")


async def step_of(client: CodeLocationClient, asset: str, version: str = "") -> tuple[str, str]:
    """The version and the step id of an asset, read from the definitions as the control plane would."""
    version, snapshot = await client.definitions(version)
    assert snapshot is not None
    steps = {spec["key"]: spec["step"] for spec in json.loads(snapshot)["assets"]}
    return version, steps[asset]


async def request_for(client: CodeLocationClient, asset: str, attempt_id: str, **fields: object) -> pb.ExecuteRequest:
    """A request for one unpartitioned cell of the asset, in the active version unless `version` says otherwise."""
    version, step = await step_of(client, asset, str(fields.pop("version", "")))
    request = pb.ExecuteRequest(attempt_id=attempt_id, version=version, step=step, attempt_number=1, run_id=1, fence=1)
    request.MergeFrom(pb.ExecuteRequest(**fields))  # type: ignore[arg-type]
    if not request.cells:
        request.cells.append(pb.TargetCell(asset=asset, partition=""))
    return request


@dataclass
class Story:
    """What an attempt told, in order."""

    events: list[pb.ExecuteEvent]

    @property
    def kinds(self) -> list[str]:
        return [str(event.WhichOneof("kind")) for event in self.events]

    @property
    def finished(self) -> pb.Finished:
        assert self.kinds.count("finished") == 1
        assert self.kinds[-1] == "finished"
        return self.events[-1].finished

    @property
    def lines(self) -> list[pb.LogLine]:
        return [line for event in self.events if event.HasField("log") for line in event.log.lines]

    def said(self, stream: pb.LogLine.Stream) -> list[str]:
        return [line.text for line in self.lines if line.stream == stream]

    @property
    def cells(self) -> list[pb.CellOutcome]:
        return [event.cell for event in self.events if event.HasField("cell")]


async def run(client: CodeLocationClient, asset: str, attempt_id: str = "attempt-1", **fields: object) -> Story:
    """Run an attempt to its end."""
    request = await request_for(client, asset, attempt_id, **fields)
    return Story([event async for event in client.execute(request)])


class Running:
    """An attempt that is read on demand."""

    def __init__(self, client: CodeLocationClient, request: pb.ExecuteRequest) -> None:
        self.events: list[pb.ExecuteEvent] = []
        self._stream = client.execute(request)

    async def until_line(self, start: str) -> str:
        """Read until a captured line begins so; return it."""
        async for event in self._stream:
            self.events.append(event)
            for line in event.log.lines:
                if line.text.startswith(start):
                    return line.text
        raise AssertionError(f"no line began with {start!r}: {self.events}")

    @property
    def pid(self) -> int:
        return next(event.started.pid for event in self.events if event.HasField("started"))

    async def rest(self) -> Story:
        """Read to the end."""
        self.events += [event async for event in self._stream]
        return Story(self.events)

    async def leave(self) -> None:
        """Stop reading, which cancels the call."""
        await self._stream.aclose()


async def begin(client: CodeLocationClient, asset: str, attempt_id: str = "attempt-1", **fields: object) -> Running:
    """Start an attempt without reading it to its end."""
    return Running(client, await request_for(client, asset, attempt_id, **fields))


async def wait_gone(*pids: int, timeout_s: float = 60) -> None:
    """Wait until no such process exists, or fail."""
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            await asyncio.to_thread(psutil.Process(pid).wait, timeout_s)
