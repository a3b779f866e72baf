"""Loading and reloading user code: one broken module harms no other, and no version changes under a run."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from pathlib import Path

import grpc.aio
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from tests.integration.code_location.harness import (
    StartServer,
    begin,
    connected,
    request_for,
    run,
    settled,
    wait_gone,
)

from partita.grpc import limits
from partita.grpc.client import CodeLocationClient, VersionNotLoaded
from partita.grpc.v1 import code_location_pb2 as pb
from partita.ui.api.services.system import reload_all
from partita.ui.api.services.words import reloaded_text

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop")]

VERSION_TWO = '''
from partita.sdk import asset

@asset(io=None)
def fine() -> None:
    """Changed."""
    print("version two")
'''


def modules_of(status: pb.LocationStatus) -> dict[str, pb.ModuleStatus]:
    return {module.name.removeprefix("shop."): module for module in status.modules}


async def test_each_broken_module_is_reported_and_the_others_serve(start_server: StartServer) -> None:
    """S-013, S-055, S-056, S-060: raising, hanging, leaving and crashing at import, each with its own words."""
    server = start_server("steady", "raises", "hangs", "exits", "segfaults", "fine", import_timeout_s=4)
    async with connected(server) as client:
        modules = modules_of(await client.status())
        assert {name for name, module in modules.items() if module.ok} == {"steady", "fine"}
        assert "LookupError: the module is broken" in modules["raises"].error
        assert "import took longer than 4 s" in modules["hangs"].error
        assert 'File "shop/hangs.py", line 5' in modules["hangs"].error, "where it hangs"
        assert "exited with code 7" in modules["exits"].error
        assert "about to leave" in modules["exits"].error, "its last output"
        assert "killed by SIGSEGV" in modules["segfaults"].error
        assert 'File "shop/segfaults.py", line 5' in modules["segfaults"].error
        for asset in ("noop", "fine"):
            assert (await run(client, asset, f"of-{asset}")).finished.status == pb.Finished.SUCCESS
        _, snapshot = await client.definitions()
        assert snapshot is not None
        assert str(server.root).encode() not in snapshot, "no path of this machine is part of a version"
        assert b"never_defined" not in snapshot, "what a broken module had defined is rolled back"
        assert modules["fine"].import_seconds < 4, "its own, not that of those before it"


async def test_a_module_that_starts_threads_makes_attempts_spawn(start_server: StartServer) -> None:
    async with connected(start_server("threads", "fine")) as client:
        modules = modules_of(await client.status())
        assert "starts 1 thread" in modules["threads"].warning
        assert modules["fine"].warning == ""
        story = await run(client, "beside_threads")
        assert story.said(pb.LogLine.STDOUT) == ["main=partita.grpc.server.runner"]


async def test_heavy_libraries_do_not_cost_the_fork(start_server: StartServer) -> None:
    """numpy and pyarrow each start a thread at import unless they are told not to; duckdb must work after the fork."""
    async with connected(start_server("heavy")) as client:
        assert modules_of(await client.status())["heavy"].warning == ""
        story = await run(client, "counts")
        assert story.finished.status == pb.Finished.SUCCESS, story.finished
        assert story.said(pb.LogLine.STDOUT) == [
            "main=partita.grpc.server.zygote",
            "duckdb 4950, numpy 4950, pyarrow 4950",
        ]


async def test_a_missing_folder_is_the_locations_error(start_server: StartServer, tmp_path: Path) -> None:
    async with connected(start_server("fine", root=tmp_path / "nowhere")) as client:
        status = await client.status()
        assert status.active_version == ""
        assert "nowhere" in status.error
        events = [event async for event in client.execute(pb.ExecuteRequest(attempt_id="a", step="fine"))]
        assert events[-1].finished.status == pb.Finished.VERSION_GONE
        with pytest.raises(VersionNotLoaded):
            await client.definitions()


async def test_definitions_come_whole_and_only_when_unknown(start_server: StartServer) -> None:
    async with connected(start_server("steady", "fine")) as client:
        version, snapshot = await client.definitions()
        assert snapshot is not None
        assert len(snapshot) > 100_000
        assert version == (await client.status()).active_version
        assert version == hashlib.sha256(snapshot).hexdigest()
        assert {"hello", "fine"} <= {asset["key"] for asset in json.loads(snapshot)["assets"]}
        assert await client.definitions(version, known_hash=version) == (version, None)
        with pytest.raises(VersionNotLoaded, match="ffffffff"):
            await client.definitions("f" * 64)


async def test_two_servers_find_the_same_version(start_server: StartServer) -> None:
    """S-069: a version is a fact of the code, not of the process or the folder it lies in."""
    async with connected(start_server("steady")) as one, connected(start_server("steady")) as other:
        assert (await one.definitions())[0] == (await other.definitions())[0]
        assert (await one.status()).server_id != (await other.status()).server_id


async def test_reload_serves_the_new_beside_the_old(start_server: StartServer) -> None:
    """S-061: a run keeps the code that it started with, while new runs get the new code."""
    server = start_server("steady", "fine")
    async with connected(server) as client:
        old = (await client.status()).active_version
        running = await begin(client, "sleeps", "long", grace_seconds=0.2)
        await running.until_line("ready")
        pinned = await request_for(client, "fine", "pinned")
        server.edit("fine", VERSION_TWO)
        status = await client.reload()
        assert status.active_version != old
        assert {version.version: version.running_attempts for version in status.versions} == {
            status.active_version: 0,
            old: 1,
        }
        assert all(version.accepts_new for version in status.versions)
        new = await run(client, "fine", "new")
        assert new.said(pb.LogLine.STDOUT) == ["version two"]
        said = [line.text async for event in client.execute(pinned) for line in event.log.lines]
        assert said == ["version one"]
        await running.leave()


async def test_an_old_version_goes_once_nothing_needs_it(start_server: StartServer) -> None:
    server = start_server("steady", "fine", drain_s=0)
    async with connected(server) as client:
        (first,) = server.zygotes()
        old = (await client.status()).active_version
        running = await begin(client, "sleeps", grace_seconds=0.2)
        await running.until_line("ready")
        server.edit("fine", VERSION_TWO)
        await client.reload()
        assert first.is_running(), "it still runs an attempt"
        await client.cancel("attempt-1", "drain")
        await running.rest()
        await wait_gone(first.pid)
        async with contextlib.aclosing(client.watch()) as statuses:
            async for status in statuses:
                if old not in [version.version for version in status.versions]:
                    break


async def test_many_reloads_do_not_pile_up_processes(start_server: StartServer) -> None:
    server = start_server("fine")
    async with connected(server) as client:
        zygotes = server.zygotes()
        for number in range(6):
            server.edit("fine", VERSION_TWO.replace("two", f"number {number}"))
            status = await client.reload()
            zygotes += [zygote for zygote in server.zygotes() if zygote not in zygotes]
        assert len(status.versions) == 3, "the active one and the two before it"
        await wait_gone(*(zygote.pid for zygote in zygotes[:-3]))
        assert len(server.zygotes()) == 3


async def test_the_last_good_version_of_a_broken_module_stays(start_server: StartServer) -> None:
    """S-060, S-068: a module that breaks must not make its assets disappear."""
    server = start_server("steady", "fine", drain_s=0)
    async with connected(server) as client:
        pinned = await request_for(client, "fine", "pinned")
        server.edit("fine", "raise LookupError('broken by an edit')")
        status = await client.reload()
        assert not modules_of(status)["fine"].ok
        assert pinned.version in [version.version for version in status.versions]
        events = [event async for event in client.execute(pinned)]
        assert events[-1].finished.status == pb.Finished.SUCCESS
        old = [zygote.pid for zygote in server.zygotes()]
        assert len(old) == 2, "the active version and the last that holds the module"
        server.edit("fine", VERSION_TWO)
        status = await client.reload()
        assert modules_of(status)["fine"].ok
        while pinned.version in [version.version for version in status.versions]:
            status = await _next_change(client, status)
        await wait_gone(*old)


async def test_whoever_reloads_hears_of_modules_that_do_not_load(start_server: StartServer) -> None:
    """Law 10: "new definitions become active now" was said of code that does not load, too."""
    server = start_server("steady", "fine")
    server.edit("fine", "raise LookupError('broken by an edit')")
    broken = await reload_all([server.address])
    assert reloaded_text(broken) == (
        "loaded again, and does not load whole: shop.fine (LookupError: broken by an edit);"
        " its assets stay on their last good definition"
    )
    server.edit("fine", VERSION_TWO)
    assert reloaded_text(await reload_all([server.address])) == "loaded again; new definitions become active now"


async def _next_change(client: CodeLocationClient, seen: pb.LocationStatus) -> pb.LocationStatus:
    async with contextlib.aclosing(client.watch()) as statuses:
        async for status in statuses:
            if status != seen:
                return status
    raise AssertionError("the server stopped")


async def test_reload_of_unchanged_code_is_the_same_version_in_a_new_process(start_server: StartServer) -> None:
    server = start_server("fine")
    async with connected(server) as client:
        before = await client.status()
        (first,) = server.zygotes()
        after = await client.reload()
        assert after.active_version == before.active_version
        assert len(after.versions) == 1
        await wait_gone(first.pid)
        assert (await run(client, "fine")).finished.status == pb.Finished.SUCCESS


async def test_watch_tells_of_a_reload(start_server: StartServer) -> None:
    server = start_server("fine")
    async with connected(server) as client, contextlib.aclosing(client.watch()) as statuses:
        first = await anext(statuses)
        server.edit("fine", VERSION_TWO)
        await client.reload()
        async for status in statuses:
            if status.active_version != first.active_version:
                break


@pytest.mark.prove
async def test_an_idle_connection_outlives_many_keepalive_pings(start_server: StartServer) -> None:
    """A server that counts our pings as abuse ends every stream after the third: a misspelt channel option is enough."""
    async with connected(start_server("fine")) as client, contextlib.aclosing(client.watch()) as statuses:
        first = await anext(statuses)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5 * limits.KEEPALIVE_S):
                await anext(statuses)
        assert (await client.status()).server_id == first.server_id


async def test_health_and_reflection_answer(start_server: StartServer) -> None:
    server = start_server("fine")
    async with connected(server) as client, grpc.aio.insecure_channel(server.address) as channel:
        await settled(client)
        watch = channel.unary_stream(
            "/grpc.health.v1.Health/Watch",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        call = watch(health_pb2.HealthCheckRequest(service="partita.grpc.v1.CodeLocation"))
        async for reply in call:
            if reply.status == health_pb2.HealthCheckResponse.SERVING:
                break
        call.cancel()
        list_services = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )
        asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        names = [
            service.name async for answer in list_services(asked) for service in answer.list_services_response.service
        ]
        assert "partita.grpc.v1.CodeLocation" in names
