"""Connecting to a code-location server when the answer is late, as on a machine under load."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from tests.integration.code_location.harness import StartServer

from partita.grpc.client import CodeLocationClient

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop")]

LATE_S = 1.0


@contextlib.asynccontextmanager
async def late(address: str) -> AsyncIterator[str]:
    """An address that leads to `address`; each connection through it hears nothing for a second."""
    host, port = address.rsplit(":", 1)

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while read := await source.read(1 << 16):
                target.write(read)
                await target.drain()
        target.close()

    async def relay(from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(host, int(port))
        onwards = asyncio.create_task(copy(from_client, to_server))
        await asyncio.sleep(LATE_S)
        await asyncio.gather(onwards, copy(from_server, to_client))

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as server:
        host_port = server.sockets[0].getsockname()
        yield f"{host_port[0]}:{host_port[1]}"


async def test_a_server_that_is_late_to_shake_hands_is_no_lost_server(start_server: StartServer) -> None:
    """The first attempt of a new connection used to be lost after a tenth of a second without the handshake."""
    server = start_server("fine")
    async with late(server.address) as address, CodeLocationClient(address) as client:
        assert (await client.status()).server_id == server.server_id
