"""The gRPC face of a code-location server: the servicer, health and reflection.

Owns the mapping between calls and the supervisor. Refuses state of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from partita.grpc import limits
from partita.grpc.server.attempt import Attempt, Stop, StopCause
from partita.grpc.server.hosts import TriggerHost
from partita.grpc.server.supervisor import DuplicateAttempt, Supervisor
from partita.grpc.v1 import code_location_pb2 as pb
from partita.grpc.v1 import code_location_pb2_grpc as pb_grpc

SERVICE_NAME = pb.DESCRIPTOR.services_by_name["CodeLocation"].full_name


class CannotListen(Exception):
    """The address is taken, or not this machine's."""


class CodeLocationServicer(pb_grpc.CodeLocationServicer):
    """Answers the calls of `code_location.proto`."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor

    async def GetStatus(
        self, request: pb.GetStatusRequest, context: grpc.aio.ServicerContext[pb.GetStatusRequest, pb.LocationStatus]
    ) -> pb.LocationStatus:
        """Answer with what the server holds now."""
        return self._supervisor.status()

    async def WatchStatus(
        self, request: pb.GetStatusRequest, context: grpc.aio.ServicerContext[pb.GetStatusRequest, pb.LocationStatus]
    ) -> AsyncIterator[pb.LocationStatus]:
        """Stream the status at each change."""
        async for status in self._supervisor.watch():
            yield status

    async def GetDefinitions(
        self,
        request: pb.GetDefinitionsRequest,
        context: grpc.aio.ServicerContext[pb.GetDefinitionsRequest, pb.DefinitionsChunk],
    ) -> AsyncIterator[pb.DefinitionsChunk]:
        """Stream the snapshot of a version, or only its header when the caller has it."""
        loaded = self._supervisor.definitions(request.version)
        if loaded is None:
            what = f"version {request.version[:12]}" if request.version else "an active version"
            await context.abort(grpc.StatusCode.NOT_FOUND, f"{what} is not loaded in this server")
        unchanged = request.known_hash == loaded.version
        total = 0 if unchanged else len(loaded.snapshot)
        yield pb.DefinitionsChunk(
            header=pb.DefinitionsHeader(hash=loaded.version, unchanged=unchanged, total_bytes=total)
        )
        for start in range(0, total, limits.CHUNK_BYTES):
            yield pb.DefinitionsChunk(body=loaded.snapshot[start : start + limits.CHUNK_BYTES])

    async def Reload(
        self, request: pb.ReloadRequest, context: grpc.aio.ServicerContext[pb.ReloadRequest, pb.LocationStatus]
    ) -> pb.LocationStatus:
        """Load again, and answer when the new version serves or has failed."""
        await self._supervisor.reload()
        return self._supervisor.status()

    async def Execute(
        self, request: pb.ExecuteRequest, context: grpc.aio.ServicerContext[pb.ExecuteRequest, pb.ExecuteEvents]
    ) -> None:
        """Run an attempt and stream its events. A call that is cancelled, or whose caller vanished, ends the attempt."""
        if not request.attempt_id:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "attempt_id is empty; every attempt has an id")
        try:
            started = await self._supervisor.execute(request)
        except DuplicateAttempt as duplicate:
            await context.abort(grpc.StatusCode.ALREADY_EXISTS, str(duplicate))
        except ValueError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"attempt {request.attempt_id}: {error}")
        if not isinstance(started, Attempt):
            await context.write(started)
            return
        # Written by hand and not yielded: a cancelled call then raises here at once, wherever it waits.
        try:
            async for batch in started.batches():
                await context.write(batch)
        finally:
            started.stop(Stop(StopCause.CANCELLED, "the call that ran the attempt was cancelled or lost"))

    async def RunTriggers(
        self,
        requests: AsyncIterator[pb.TriggerCommands],
        context: grpc.aio.ServicerContext[pb.TriggerCommands, pb.TriggerEvents],
    ) -> None:
        """Run triggers of one version for as long as the caller listens."""
        commands = _flat(requests)
        first = await anext(commands, None)
        if first is None or first.WhichOneof("kind") != "open":
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the first command opens the triggers of a version")
        host = await self._supervisor.open_host(first.open.version)
        if isinstance(host, str):
            await context.abort(grpc.StatusCode.NOT_FOUND, host)
        obeying = asyncio.create_task(_obey(host, commands))
        try:
            async for events in host.events():
                await context.write(pb.TriggerEvents(events=events))
        finally:
            obeying.cancel()
            host.kill("nobody watches any more")
        await context.abort(grpc.StatusCode.UNAVAILABLE, host.why)

    async def Cancel(
        self, request: pb.CancelRequest, context: grpc.aio.ServicerContext[pb.CancelRequest, pb.CancelReply]
    ) -> pb.CancelReply:
        """Stop an attempt."""
        return pb.CancelReply(known=self._supervisor.cancel(request.attempt_id, request.reason))


async def _flat(requests: AsyncIterator[pb.TriggerCommands]) -> AsyncIterator[pb.TriggerCommand]:
    async for message in requests:
        for command in message.commands:
            yield command


async def _obey(host: TriggerHost, commands: AsyncIterator[pb.TriggerCommand]) -> None:
    async for command in commands:
        host.command(command)
    host.kill("its caller has no more commands")


async def build_server(
    supervisor: Supervisor, host: str, port: int
) -> tuple[grpc.aio.Server, health.aio.HealthServicer, int]:
    """Return a server that is not started yet, its health service and the port that it will listen on.

    Raises CannotListen when the address cannot be bound.
    """
    server = grpc.aio.server(options=limits.SERVER_OPTIONS)
    pb_grpc.add_CodeLocationServicer_to_server(CodeLocationServicer(supervisor), server)  # type: ignore[no-untyped-call]
    health_servicer = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, server)
    reflection.enable_server_reflection((SERVICE_NAME, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    try:
        bound = server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except RuntimeError as error:
        raise CannotListen(f"cannot listen on {host}:{port}") from error
    return server, health_servicer, bound


async def set_serving(health_servicer: health.aio.HealthServicer, serving: bool) -> None:
    """Set the health of the server as a whole and of its service."""
    serving_status = health_pb2.HealthCheckResponse.SERVING
    status = serving_status if serving else health_pb2.HealthCheckResponse.NOT_SERVING
    for name in ("", SERVICE_NAME):
        await health_servicer.set(name, status)
