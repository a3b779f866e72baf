"""Which of two servers with different versions decides: the one whose version is active, not the one that answers first (S-068).

What is followed is the production one, over the store in memory and scripted code servers on loopback ports.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from partita.assets import AssetSpec, Snapshot, StepSpec, asset_key, canonical_json, snapshot_hash, to_spec
from partita.core.config import Config, LocationConfig
from partita.core.runtime.activate import activate
from partita.core.runtime.locations import LocationSync
from partita.core.runtime.wake import WakeHub
from partita.core.store.memory import MemoryStore
from partita.grpc.v1 import code_location_pb2 as pb
from partita.grpc.v1 import code_location_pb2_grpc as pb_grpc

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop")]

LOCATION = "shop"
WITHIN_S = 60.0


def snapshot_of(key: str) -> Snapshot:
    spec = AssetSpec(
        key=asset_key(key), step=key, partitions=to_spec(None), inputs=(), fingerprint="f", dependency_hash="none"
    )
    return Snapshot(location=LOCATION, assets=(spec,), steps=(StepSpec(id=key, assets=(spec.key,), function="m:f"),))


@dataclass
class Scripted(pb_grpc.CodeLocationServicer):
    """Has one version, and says so once it may."""

    snapshot: Snapshot
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def version(self) -> str:
        return snapshot_hash(self.snapshot)

    def status(self) -> pb.LocationStatus:
        return pb.LocationStatus(
            location=LOCATION,
            active_version=self.version,
            versions=[pb.VersionStatus(version=self.version, accepts_new=True)],
            server_id=f"server of {self.version[:8]}",
        )

    async def WatchStatus(
        self, request: pb.GetStatusRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[pb.LocationStatus]:
        self.asked.set()
        await self.may_answer.wait()
        yield self.status()
        await asyncio.Event().wait()

    async def GetDefinitions(
        self, request: pb.GetDefinitionsRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[pb.DefinitionsChunk]:
        body = canonical_json(self.snapshot)
        yield pb.DefinitionsChunk(header=pb.DefinitionsHeader(hash=self.version, total_bytes=len(body)))
        yield pb.DefinitionsChunk(body=body)


@contextlib.asynccontextmanager
async def listening(servicer: Scripted) -> AsyncIterator[str]:
    server = grpc.aio.server()
    pb_grpc.add_CodeLocationServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


@dataclass
class World:
    store: MemoryStore
    sync: LocationSync
    older: Scripted
    newer: Scripted
    newer_at: str

    def active(self) -> str:
        with self.store.begin() as tx:
            [snapshot_id] = tx.lock_locations().values()
            assert snapshot_id is not None
            return tx.read_snapshots([snapshot_id])[0].hash

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN_S):
            while not holds():  # noqa: ASYNC110 - what the store holds is no event
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def following(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """Two servers that nobody has followed for long: the version of the older one is active, its lease has ended."""
    older, newer = Scripted(snapshot_of("before")), Scripted(snapshot_of("afterwards"))
    store = MemoryStore()
    with store.begin() as tx:
        assert not activate(tx, LOCATION, older.snapshot, older.version, canonical_json(older.snapshot)).problem
    location = LocationConfig(name=LOCATION, root=tmp_path, modules=("shop",))
    sync = LocationSync(store, Config(file=tmp_path / "partita.toml", locations=(location,)), WakeHub("unused"))
    async with listening(older) as older_at, listening(newer) as newer_at:
        monkeypatch.setattr(sync, "_addresses", lambda: {(LOCATION, older_at), (LOCATION, newer_at)})
        running = asyncio.create_task(sync.run())
        try:
            yield World(store, sync, older, newer, newer_at)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def test_the_first_to_answer_does_not_win_over_the_one_that_has_the_active_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a time without schedulers no server is listed: the newer one used to be made active when it was quicker."""
    async with following(tmp_path, monkeypatch) as world:
        world.newer.may_answer.set()
        await world.until(lambda: (LOCATION, world.newer_at) in world.sync._met)
        world.older.may_answer.set()
        await world.until(lambda: len(world.store.rows("code_server")) == 2)
        assert world.active() == world.older.version


async def test_one_that_does_not_answer_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with following(tmp_path, monkeypatch) as world:
        await world.older.asked.wait()
        world.newer.may_answer.set()
        await world.until(lambda: (LOCATION, world.newer_at) in world.sync._met)
        monkeypatch.setattr(world.sync, "_addresses", lambda: {(LOCATION, world.newer_at)})  # it has ended
        await world.until(lambda: world.active() == world.newer.version)
