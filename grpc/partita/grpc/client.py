"""The control plane's end of the wire: an asynchronous client of one code-location server.

Owns deadlines, bounded concurrency and the translation of lost connections. Refuses to retry, to cache, and to import
anything of the SDK or of the server: what is in a snapshot is bytes to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from types import TracebackType
from typing import NoReturn, Self

# Before gRPC is imported: its fork handlers stop its threads around every fork of the process, and now and then for ever.
# Nothing forks from here but to execute another program, which needs none of them.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

import grpc
import grpc.aio

from partita.assets import PartitaError
from partita.grpc import limits
from partita.grpc.v1 import code_location_pb2 as pb
from partita.grpc.v1 import code_location_pb2_grpc as pb_grpc

__all__ = ["CallRefused", "CodeLocationClient", "CodeServerError", "LocationUnavailable", "VersionNotLoaded"]

_LOST = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.CANCELLED,  # by the other side: our own cancellation is asyncio.CancelledError
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
    }
)


class CodeServerError(PartitaError):
    """A call to a code-location server that did not work. `address` is the server's."""

    def __init__(self, address: str, what: str, *, rule: str = "", fix: str = "") -> None:
        super().__init__(what, rule=rule, fix=fix)
        self.address = address

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.address, self.what)


class LocationUnavailable(CodeServerError):
    """The server cannot be reached, or the connection was lost. Whatever ran there may still run for a moment."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(
            address,
            f"the code-location server at {address} is unavailable: {why}",
            fix="Start it, or look into its log; calls work again once it listens",
        )
        self.why = why

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.address, self.why)


class VersionNotLoaded(CodeServerError):
    """The server does not hold the version that was asked for."""


class CallRefused(CodeServerError):
    """The server understood the call and refuses it: a duplicate attempt, a message over the size limit."""


class CodeLocationClient:
    """A connection to one code-location server. Bound to the event loop that it was made in."""

    def __init__(
        self, address: str, *, max_calls: int = 256, deadline_s: float = 10.0, reload_deadline_s: float = 600.0
    ) -> None:
        """`max_calls` bounds the calls in flight: gRPC cancels bursts of thousands. Deadlines are those of unary calls."""
        self.address = address
        self._deadline_s = deadline_s
        self._reload_deadline_s = reload_deadline_s
        self._slots = asyncio.Semaphore(max_calls)
        self._channel = grpc.aio.insecure_channel(address, options=limits.CLIENT_OPTIONS)
        self._stub = pb_grpc.CodeLocationStub(self._channel)  # type: ignore[no-untyped-call]

    def __repr__(self) -> str:
        return f"<CodeLocationClient {self.address}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def status(self) -> pb.LocationStatus:
        """Return the state of the server."""
        with self._translated():
            status: pb.LocationStatus = await self._stub.GetStatus(pb.GetStatusRequest(), timeout=self._deadline_s)
            return status

    async def watch(self) -> AsyncGenerator[pb.LocationStatus]:
        """Yield the status now and after each change. Ends when the server stops; raises LocationUnavailable when lost."""
        call = self._stub.WatchStatus(pb.GetStatusRequest())
        try:
            with self._translated():
                async for status in call:
                    yield status
        finally:
            call.cancel()

    async def definitions(self, version: str = "", known_hash: str = "") -> tuple[str, bytes | None]:
        """Return the hash and the snapshot of a version ("" for the active one); None when the hash is the known one.

        Raises VersionNotLoaded when the server does not hold it.
        """
        request = pb.GetDefinitionsRequest(version=version, known_hash=known_hash)
        header: pb.DefinitionsHeader | None = None
        body = bytearray()
        with self._translated():
            async with self._slots:
                call = self._stub.GetDefinitions(request, timeout=self._reload_deadline_s)
                async for chunk in call:
                    if chunk.WhichOneof("part") == "header":
                        header = chunk.header
                    else:
                        body += chunk.body
        if header is None or (not header.unchanged and len(body) != header.total_bytes):
            raise LocationUnavailable(self.address, "the stream of definitions ended early")
        return header.hash, None if header.unchanged else bytes(body)

    async def reload(self) -> pb.LocationStatus:
        """Have the modules loaded again; returns when the new version serves or has failed."""
        with self._translated():
            async with self._slots:
                status: pb.LocationStatus = await self._stub.Reload(pb.ReloadRequest(), timeout=self._reload_deadline_s)
            return status

    async def execute(self, request: pb.ExecuteRequest) -> AsyncGenerator[pb.ExecuteEvent]:
        """Run an attempt; yield its events, the last of which is `finished`.

        Leaving the iteration early (or being cancelled) ends the attempt. Raises LocationUnavailable when the connection is
        lost before `finished`: the attempt is lost too, the server ends it.
        """
        async with contextlib.aclosing(self.execute_batches(request)) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    async def execute_batches(self, request: pb.ExecuteRequest) -> AsyncGenerator[list[pb.ExecuteEvent]]:
        """As `execute`, in the groups in which events arrive: what one group brings can be stored in one transaction."""
        finished = False
        async with self._slots:
            call = self._stub.Execute(request)
            try:
                with self._translated():
                    async for message in call:
                        events = list(message.events)
                        finished = finished or any(event.WhichOneof("kind") == "finished" for event in events)
                        yield events
            finally:
                call.cancel()
        if not finished:
            raise LocationUnavailable(
                self.address, f"the stream of attempt {request.attempt_id} ended without a result"
            )

    async def run_triggers(
        self, version: str, commands: AsyncIterator[list[pb.TriggerCommand]]
    ) -> AsyncGenerator[list[pb.TriggerEvent]]:
        """Watch triggers of a version: yield what they bring while `commands` go there. Ends only by an error or by leaving it.

        Raises VersionNotLoaded, and LocationUnavailable when the connection or the host of the triggers is lost: what was
        watched there is to be watched anew.
        """

        call = self._stub.RunTriggers()

        # A task of ours, and no iterator for gRPC to read: of a call that has ended it would be left waiting for ever.
        async def send() -> None:
            opening = pb.TriggerCommand(open=pb.OpenTriggers(version=version))
            try:
                await call.write(pb.TriggerCommands(commands=[opening]))
                async for some in commands:
                    await call.write(pb.TriggerCommands(commands=some))
            except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
                pass  # the call has ended: who reads is told how
            except BaseException:
                call.cancel()
                raise

        sending = asyncio.create_task(send(), name=f"triggers to {self.address}")
        try:
            with self._translated():
                async for message in call:
                    yield list(message.events)
        finally:
            call.cancel()
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        raise LocationUnavailable(self.address, "the stream of triggers ended")

    async def cancel(self, attempt_id: str, reason: str) -> bool:
        """Stop an attempt: SIGTERM, grace, SIGKILL. False when the server does not know it (any more)."""
        with self._translated():
            request = pb.CancelRequest(attempt_id=attempt_id, reason=reason)
            reply: pb.CancelReply = await self._stub.Cancel(request, timeout=self._deadline_s)
            return reply.known

    async def close(self) -> None:
        """Close the connection; attempts that run through it end."""
        await self._channel.close()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except grpc.aio.AioRpcError as error:
            self._raise(error)
        except grpc.aio.UsageError as error:
            raise LocationUnavailable(self.address, str(error)) from error

    def _raise(self, error: grpc.aio.AioRpcError) -> NoReturn:
        code, details = error.code(), error.details() or "no details"
        if code in _LOST:
            raise LocationUnavailable(self.address, f"{code.name}: {details}") from error
        if code is grpc.StatusCode.NOT_FOUND:
            raise VersionNotLoaded(self.address, f"{self.address}: {details}") from error
        raise CallRefused(self.address, f"{self.address} refuses the call ({code.name}): {details}") from error
