"""A worker in doubt: whatever goes wrong on the way, no task stays `running` for ever behind a lease that lives (law 2).

The worker is the production one, over the store in memory and a scripted code server on a loopback port.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from partita.assets import AssetKey, AssetSpec, Snapshot, StepSpec, asset_key, to_spec
from partita.core.catalog import Catalog, CatalogInputs, StoredSnapshot
from partita.core.duties.admit import admit
from partita.core.duties.launch import launch
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import cancel_run
from partita.core.duties.values import Launch, LaunchCell, LaunchTask
from partita.core.duties.values_attempts import Claims, InputResolver
from partita.core.logs import LogStore
from partita.core.runtime.wake import WakeHub
from partita.core.runtime.worker import Pin, Served, Worker
from partita.core.store.memory import MemoryStore
from partita.core.store.port import Store, Tx, Unavailable
from partita.core.store.values import AssetId, CellRef, LocationId, RetryPolicy, RunId, SnapshotId
from partita.grpc.client import CodeLocationClient
from partita.grpc.v1 import code_location_pb2 as pb
from partita.grpc.v1 import code_location_pb2_grpc as pb_grpc

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop")]

LOCATION, SNAPSHOT = LocationId(1), SnapshotId(1)
PIN = (LOCATION, SNAPSHOT)
KEYS = ("good", "bad")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WITHIN_S = 60.0


def catalog() -> Catalog:
    specs = tuple(
        AssetSpec(
            key=asset_key(key), step=key, partitions=to_spec(None), inputs=(), fingerprint="f", dependency_hash="none"
        )
        for key in KEYS
    )
    steps = tuple(StepSpec(id=one.step, assets=(one.key,), function="m:f") for one in specs)
    stored = StoredSnapshot(LOCATION, "loc", SNAPSHOT, "v1", Snapshot(location="loc", assets=specs, steps=steps))
    return Catalog([stored], {AssetKey(key): AssetId(at) for at, key in enumerate(KEYS, 1)})


class Scripted(pb_grpc.CodeLocationServicer):
    """Writes each cell, with metadata by asset; a `held` step runs until it is let go, and Cancel never answers."""

    def __init__(self) -> None:
        self.metadata: dict[str, bytes] = {}
        self.held = asyncio.Event()
        self.held.set()
        self.cancels = 0

    async def Execute(
        self, request: pb.ExecuteRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> AsyncIterator[pb.ExecuteEvents]:
        await self.held.wait()
        cells = [
            pb.ExecuteEvent(
                cell=pb.CellOutcome(
                    asset=one.asset,
                    partition=one.partition,
                    kind=pb.CellOutcome.WRITTEN,
                    data_version=f"v{request.attempt_id}",
                    metadata=self.metadata.get(one.asset, b""),
                )
            )
            for one in request.cells
        ]
        end = pb.ExecuteEvent(finished=pb.Finished(status=pb.Finished.SUCCESS, retry_in_seconds=-1))
        yield pb.ExecuteEvents(events=[*cells, end])

    async def Cancel(self, request: pb.CancelRequest, context: grpc.aio.ServicerContext[Any, Any]) -> pb.CancelReply:
        self.cancels += 1
        await self.held.wait()
        return pb.CancelReply(known=True)


@dataclass
class OneServer:
    """The directory of a deployment with one version on one server."""

    address: str
    known: Catalog
    breaks: int = 0
    """How many times the next looks at the catalog fail."""
    executing: bool = False

    def served(self) -> Mapping[Pin, Served]:
        return {PIN: Served("v1", (self.address,))}

    def catalog(self, run_id: RunId) -> Catalog:
        if self.breaks and self.executing:
            self.breaks -= 1
            raise RuntimeError("the catalog cannot be read just now")
        return self.known

    def prepare(self, run_ids: Collection[RunId]) -> None: ...

    @property
    def resolver(self) -> InputResolver:
        return CatalogInputs(lambda run_id: self.known)


class Deaf:
    """A store of which the first commit of a claim that started something is not heard of."""

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self.unheard = 1

    def run(self, work: Callable[[Tx], Any], *, durable: bool = True) -> Any:
        found = self.store.run(work, durable=durable)
        started = isinstance(found, tuple) and isinstance(found[0], Claims) and found[0].claimed
        if started and self.unheard:
            self.unheard -= 1
            raise Unavailable("the database does not answer: the connection was lost")
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@dataclass
class World:
    store: MemoryStore
    servicer: Scripted
    directory: OneServer
    worker: Worker
    job: asyncio.Task[None] = field(repr=False)

    def launch(self) -> RunId:
        tasks = tuple(
            LaunchTask(
                kind="step", step=key, location_id=LOCATION, snapshot_id=SNAPSHOT,
                cells=(LaunchCell(CellRef(AssetId(at), ""), "missing"),), retry=RetryPolicy(max_retries=0),
            )
            for at, key in enumerate(KEYS, 1)
        )  # fmt: skip
        made = launch(self.store, Launch(tasks, {}, "h", NOW, {"kind": "person", "by": "ada"}, (PIN,)))
        return made.run_id

    def tasks(self) -> dict[str, dict[str, Any]]:
        return {row["step"]: row for row in self.store.rows("task")}

    async def until(self, holds: Callable[[], bool]) -> None:
        """Does what schedulers do until it holds."""
        async with asyncio.timeout(WITHIN_S):
            while not holds():
                wake_retries(self.store)
                admit(self.store)
                await asyncio.sleep(0.02)

    async def until_ended(self) -> None:
        await self.until(
            lambda: all(row["state"] in {"success", "failed", "cancelled"} for row in self.tasks().values())
        )


@contextlib.asynccontextmanager
async def serving(tmp_path: Path, *, deaf: bool = False, lease_s: float = 30.0) -> AsyncIterator[World]:
    servicer = Scripted()
    server = grpc.aio.server()
    pb_grpc.add_CodeLocationServicer_to_server(servicer, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    store = MemoryStore()
    directory = OneServer(f"127.0.0.1:{port}", catalog())
    seen: Store = Deaf(store) if deaf else store
    worker = Worker(seen, directory, LogStore(tmp_path), WakeHub("unused"), capacity=4, lease_s=lease_s, grace_s=0.1)
    job = asyncio.create_task(worker.run())
    try:
        yield World(store, servicer, directory, worker, job)
    finally:
        servicer.held.set()
        worker.stop()
        await job
        await server.stop(0)


async def test_a_report_that_cannot_be_stored_fails_its_task_and_holds_up_no_other(tmp_path: Path) -> None:
    """Metadata that no reader can take used to stop all reports of the worker for ever."""
    async with serving(tmp_path) as world:
        world.servicer.metadata["bad"] = b'{"x":' + b"[" * 700 + b"]" * 700 + b"}"
        world.launch()
        await world.until_ended()
        tasks = world.tasks()
    assert tasks["good"]["state"] == "success"
    assert tasks["bad"]["state"] == "failed"
    assert "could not be stored" in tasks["bad"]["error"]


async def test_attempts_of_a_claim_whose_commit_was_not_heard_of_are_given_back(tmp_path: Path) -> None:
    """The database committed and the connection was lost before it said so: nobody ran what the lease kept alive."""
    async with serving(tmp_path, deaf=True) as world:
        world.launch()
        await world.until_ended()
        tasks = world.tasks()
    assert {row["state"] for row in tasks.values()} == {"success"}
    assert sum(row["infra_losses"] for row in tasks.values()) >= 1
    assert all(row["user_failures"] == 0 for row in tasks.values())


async def test_giving_back_leaves_alone_what_runs(tmp_path: Path) -> None:
    async with serving(tmp_path, deaf=True) as world:
        world.worker._store.unheard = 0  # type: ignore[attr-defined]
        world.servicer.held.clear()
        world.launch()
        await world.until(lambda: all(row["state"] == "running" for row in world.tasks().values()))
        world.worker._in_doubt = True
        world.worker._claimable.set()
        await world.until(lambda: not world.worker._in_doubt)
        world.servicer.held.set()
        await world.until_ended()
        tasks = world.tasks()
    assert [(row["state"], row["infra_losses"], row["attempt_number"]) for row in tasks.values()] == [
        ("success", 0, 1),
        ("success", 0, 1),
    ]


async def test_an_attempt_that_breaks_inside_the_worker_is_lost_and_tried_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as world:
        original = world.worker._execute

        async def execute(*arguments: Any) -> Any:
            if world.directory.breaks:
                world.directory.breaks -= 1
                raise RuntimeError("the catalog cannot be read just now")
            return await original(*arguments)

        world.directory.breaks = 1
        world.worker._execute = execute  # type: ignore[method-assign, assignment]
        world.launch()
        await world.until_ended()
        tasks = world.tasks()
    assert {row["state"] for row in tasks.values()} == {"success"}
    assert sorted(row["infra_losses"] for row in tasks.values()) == [0, 1]


async def test_a_server_that_does_not_answer_a_cancel_costs_no_lease(tmp_path: Path) -> None:
    """Ten seconds for each attempt that is to stop are more than a lease; other locations' attempts hang on it."""
    async with serving(tmp_path, lease_s=1.5) as world:
        world.servicer.held.clear()
        run_id = world.launch()
        await world.until(lambda: all(row["state"] == "running" for row in world.tasks().values()))
        cancel_run(world.store, run_id, "ada")
        await world.until(lambda: world.servicer.cancels > 0)
        renewals: set[datetime] = set()

        def renewed() -> bool:
            renewals.update(row["lease_expires_at"] for row in world.store.rows("worker"))
            return len(renewals) > 10

        await world.until(renewed)
        assert len(world.store.rows("worker")) == 1


async def test_a_lost_lease_is_found_out_once(tmp_path: Path) -> None:
    """The loops that claim and renew may both find it out: the second one ended what the first had begun anew."""
    async with serving(tmp_path) as world:
        await world.until(lambda: bool(world.store.rows("worker")))
        old = world.worker.id
        with world.store.begin() as tx:
            tx.mark_workers_gone([old])
        await asyncio.gather(world.worker._lease_lost(old), world.worker._lease_lost(old))
        assert {row["id"]: row["state"] for row in world.store.rows("worker")} == {old: "gone", world.worker.id: "live"}


async def test_servers_that_come_and_go_leave_no_connections_behind(tmp_path: Path) -> None:
    async with serving(tmp_path) as world:
        before = {f"127.0.0.1:{port}": CodeLocationClient(f"127.0.0.1:{port}") for port in range(1, 41)}
        world.worker._clients.update(before)
        world.launch()
        await world.until_ended()
        assert list(world.worker._clients) == [world.directory.address]


@pytest.mark.parametrize("turns", range(8))
async def test_a_wake_up_beside_the_stop_does_not_keep_the_worker(tmp_path: Path, turns: int) -> None:
    """A wait that ended in the turn in which its loop was told to end used to swallow that: the stop waited for ever."""
    async with serving(tmp_path) as world:
        await world.until(lambda: bool(world.store.rows("worker")))
        world.worker._claimable.set()
        world.worker._cancelled.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        world.worker.stop()
        async with asyncio.timeout(WITHIN_S):
            await world.job
        assert [row["state"] for row in world.store.rows("worker")] == ["draining"]
