"""kill -9 of each process of a code-location server, and its orderly end: nothing is left behind, nothing is forgotten."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys

import psutil
import pytest
from tests.integration.code_location.harness import (
    StartServer,
    begin,
    connected,
    request_for,
    run,
    wait_gone,
)

from partita.grpc.client import CodeLocationClient, LocationUnavailable
from partita.grpc.v1 import code_location_pb2 as pb

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop")]


async def test_a_killed_child_is_a_loss_with_the_signal_named(start_server: StartServer) -> None:
    async with connected(start_server("steady")) as client:
        running = await begin(client, "sleeps")
        await running.until_line("ready")
        psutil.Process(running.pid).kill()
        finished = (await running.rest()).finished
        assert finished.status == pb.Finished.LOST
        assert "SIGKILL" in finished.error


async def test_sigterm_from_outside_is_a_loss_too(start_server: StartServer) -> None:
    async with connected(start_server("steady")) as client:
        running = await begin(client, "sleeps")
        await running.until_line("ready")
        psutil.Process(running.pid).terminate()
        finished = (await running.rest()).finished
        assert finished.status == pb.Finished.LOST
        assert "SIGTERM from outside" in finished.error


async def test_a_killed_zygote_loses_its_attempts_and_is_replaced(start_server: StartServer) -> None:
    server = start_server("steady")
    async with connected(server) as client:
        version = (await client.status()).active_version
        running = await begin(client, "has_family")
        near, far = map(int, (await running.until_line("ready")).split()[1:])
        (zygote,) = server.zygotes()
        again = await request_for(client, "noop", "again")
        zygote.kill()
        finished = (await running.rest()).finished
        assert finished.status == pb.Finished.LOST
        assert f"zygote {zygote.pid}" in finished.error
        assert "SIGKILL" in finished.error
        await wait_gone(zygote.pid, running.pid, near, far)
        # The same version, pinned, works at once: the call waits for the new process.
        events = [event async for event in client.execute(again)]
        assert events[-1].finished.status == pb.Finished.SUCCESS
        assert (await client.status()).active_version == version
        (replacement,) = server.zygotes()
        assert replacement.pid != zygote.pid


async def test_a_zygote_that_dies_again_and_again_comes_back(start_server: StartServer) -> None:
    server = start_server("steady")
    async with connected(server) as client:
        request = await request_for(client, "noop", "none")
        for number in range(3):
            (zygote,) = server.zygotes()
            zygote.kill()
            await wait_gone(zygote.pid)
            request.attempt_id = f"attempt-{number}"
            events = [event async for event in client.execute(request)]
            assert events[-1].finished.status == pb.Finished.SUCCESS, events


async def test_a_killed_server_takes_everything_with_it(start_server: StartServer) -> None:
    server = start_server("steady")
    async with connected(server) as client:
        running = await begin(client, "has_family")
        near, far = map(int, (await running.until_line("ready")).split()[1:])
        (zygote,) = server.zygotes()
        server.process.kill()
        with pytest.raises(LocationUnavailable):
            await running.rest()
        await wait_gone(zygote.pid, running.pid, near, far)


async def test_a_server_killed_while_it_imports_takes_the_importer_with_it(start_server: StartServer) -> None:
    server = start_server("hangs")
    async with CodeLocationClient(server.address) as client, contextlib.aclosing(client.watch()) as statuses:
        assert (await anext(statuses)).loading
    (zygote,) = server.zygotes()
    server.process.kill()
    await wait_gone(zygote.pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_an_orderly_stop_ends_attempts_and_tells_their_workers(
    start_server: StartServer, number: signal.Signals
) -> None:
    server = start_server("steady")
    async with connected(server) as client:
        running = await begin(client, "has_family", grace_seconds=0.3)
        near, far = map(int, (await running.until_line("ready")).split()[1:])
        (zygote,) = server.zygotes()
        server.process.send_signal(number)
        finished = (await running.rest()).finished
        assert finished.status == pb.Finished.LOST
        assert "stopping" in finished.error
        assert await asyncio.to_thread(server.process.wait, 60) == 0
        await wait_gone(zygote.pid, running.pid, near, far)


async def test_a_stop_while_a_module_hangs_is_prompt(start_server: StartServer) -> None:
    server = start_server("hangs", "fine")
    server.process.terminate()
    assert await asyncio.to_thread(server.process.wait, 60) == 0


async def test_watchers_are_told_the_end(start_server: StartServer) -> None:
    server = start_server("fine")
    async with connected(server) as client:
        watching = client.watch()
        await anext(watching)
        server.process.terminate()
        async for _ in watching:
            pass
        assert await asyncio.to_thread(server.process.wait, 60) == 0


async def test_a_port_in_use_is_refused_in_words(start_server: StartServer) -> None:
    server = start_server("fine")
    port = server.address.rpartition(":")[2]
    command = [
        sys.executable,
        "-m",
        "partita.grpc.server",
        "--location",
        "second",
        "--module",
        "shop.fine",
        "--port",
        port,
    ]
    second = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, errors = await second.communicate()
    assert second.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in errors.decode()
    async with connected(server) as client:
        assert (await run(client, "fine")).finished.status == pb.Finished.SUCCESS


_PARENT = """
import os, subprocess, sys
command = [sys.executable, "-m", "partita.grpc.server", "--location", "shop", "--module", "shop.hangs", "--parent-pid"]
child = subprocess.Popen(command + [str(os.getpid())])
print(child.pid, flush=True)
child.wait()
"""


async def test_a_server_may_be_tied_to_its_parent() -> None:
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", _PARENT, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    server_pid = int(await parent.stdout.readline())
    await parent.stdout.readline()  # the announcement: it runs
    parent.kill()
    await parent.wait()
    await wait_gone(server_pid)
