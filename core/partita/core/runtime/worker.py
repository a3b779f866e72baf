"""The worker: claims queued tasks, runs each as an attempt in its code-location server, reports what came out.

Owns one lease and the attempts under it. All state that matters is in Postgres: a worker
may die at any moment. It decides nothing about tasks; the duties it calls do. One asyncio loop; database calls run on a few
threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Protocol

from partita.assets.queues import ALL_QUEUES, DEFAULT_QUEUE
from partita.core.catalog import Catalog
from partita.core.duties.channels import Channel
from partita.core.duties.claim import claim
from partita.core.duties.leases import disown, register, renew, retire
from partita.core.duties.values_attempts import AttemptResult, Claimed, InputResolver
from partita.core.logs import LogStore
from partita.core.runtime.attempts import Outcomes, lost_result, to_request
from partita.core.runtime.calls import RETRY_S, StoreCalls, first_line, is_outage
from partita.core.runtime.reports import Reports
from partita.core.runtime.wake import WakeHub
from partita.core.store.port import Store
from partita.core.store.values import AttemptId, LocationId, RunId, SnapshotId, Task, TaskCell, WorkerId
from partita.grpc.client import CodeLocationClient, CodeServerError
from partita.grpc.v1 import code_location_pb2 as pb

log = logging.getLogger(__name__)

_POLL_S = 1.0
_RENEWALS_PER_LEASE = 5
_CLIENTS_KEPT = 32

Pin = tuple[LocationId, SnapshotId]


@dataclass(frozen=True, slots=True)
class Served:
    """A version that queued tasks wait for and live servers execute."""

    version: str
    addresses: tuple[str, ...]
    queues: tuple[str, ...] = (DEFAULT_QUEUE,)  # of the tasks that are queued for it


class Directory(Protocol):
    """What a worker reads about the deployment; implemented over the store."""

    def served(self) -> Mapping[Pin, Served]:
        """The versions that queued tasks are pinned to and that a live server accepts."""

    def catalog(self, run_id: RunId) -> Catalog:
        """The catalog that a run is pinned to."""

    def prepare(self, runs: Mapping[RunId, int], /) -> None:
        """Reads what the catalogs of these runs, at these revisions of dynamic keys, need, together."""

    @property
    def resolver(self) -> InputResolver: ...


@dataclass(slots=True)
class _Live:
    claimed: Claimed
    client: CodeLocationClient
    job: asyncio.Task[None]


class Worker:
    """`run()` serves until `stop()`; attempts that still run then get the grace period and are given back."""

    def __init__(
        self,
        store: Store,
        directory: Directory,
        logs: LogStore,
        hub: WakeHub,
        *,
        capacity: int,
        lease_s: float,
        grace_s: float,
        queues: Collection[str] = (DEFAULT_QUEUE,),
    ) -> None:
        self._store = store
        self._directory = directory
        self._logs = logs
        self._hub = hub
        self._capacity = capacity
        self._lease_s = lease_s
        self._grace_s = grace_s
        self._queues = frozenset(queues)
        self._id = _new_id()
        self._live: dict[AttemptId, _Live] = {}
        self._in_doubt = False
        """Whether the database may hold attempts of ours that are not among `_reports.unreported`."""
        self._cancels: dict[AttemptId, asyncio.Task[None]] = {}
        self._clients: dict[str, CodeLocationClient] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._turn = 0
        self._claimable = asyncio.Event()
        self._cancelled = asyncio.Event()
        self._stopping = asyncio.Event()
        self._entering = asyncio.Lock()
        self._calls = StoreCalls(lambda: f"worker {self._id}")
        self._reports = Reports(store, self._calls, hub, flushed=self._claimable.set, doubt=self._doubt)

    def __repr__(self) -> str:
        return f"<Worker {self._id} {len(self._live)}/{self._capacity} attempts>"

    @property
    def id(self) -> WorkerId:
        return self._id

    def counts(self) -> dict[str, dict[str, int]]:
        """Attempts that were reported since the process started, by outcome."""
        return {"attempts": dict(self._reports.outcomes)}

    def subscribe(self, loop: asyncio.AbstractEventLoop) -> None:
        """Connects the wake-ups; before the hub starts."""
        self._hub.subscribe([Channel.QUEUED], partial(_set_from_thread, loop, self._claimable))
        self._hub.subscribe([Channel.CANCEL], partial(_set_from_thread, loop, self._cancelled))

    async def run(self) -> None:
        """Serves until `stop` is called from this loop."""
        await self._calls.insist(partial(self._register, self._id), "register")
        loops = [
            asyncio.create_task(self._claim_loop(), name="claim"),
            asyncio.create_task(self._lease_loop(), name="lease"),
        ]
        flusher = asyncio.create_task(self._reports.run(), name="flush")
        try:
            await self._stopping.wait()
        finally:
            ending = [*loops, *self._cancels.values()]
            for loop in ending:
                loop.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
            await self._give_back()
            await self._reports.empty()
            flusher.cancel()
            await asyncio.gather(flusher, return_exceptions=True)
            closing = [*self._closing, *(client.close() for client in self._clients.values())]
            await asyncio.gather(*closing, return_exceptions=True)
            await self._calls.once(partial(retire, self._store, self._id))
            self._calls.close()

    def stop(self) -> None:
        self._stopping.set()

    def _doubt(self) -> None:
        self._in_doubt = True

    # ------------------------------------------------------------------ lease

    def _register(self, worker_id: WorkerId) -> None:
        swept = register(
            self._store,
            worker_id,
            host=platform.node(),
            pid=os.getpid(),
            capacity=self._capacity,
            lease_s=self._lease_s,
            queues=self._queues,
            version=version("partita"),
        )
        self._hub.wake(swept.channels)

    async def _lease_loop(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._lease_s / _RENEWALS_PER_LEASE):
                    await self._cancelled.wait()
            self._cancelled.clear()
            worker_id = self._id
            try:
                renewed = await self._calls.once(partial(renew, self._store, worker_id, lease_s=self._lease_s))
            except Exception as error:  # the database is away: nobody judges leases then either
                log.warning("worker %s cannot renew its lease: %s", self._id, first_line(error))
                await asyncio.sleep(RETRY_S)
                continue
            if not renewed.live:
                await self._lease_lost(worker_id)
            for task_id, attempt_id in renewed.cancelled:
                self._cancel_soon(attempt_id, f"task {task_id} was cancelled")

    async def _lease_lost(self, worker_id: WorkerId) -> None:
        """Both loops may find it out; the second one must not end what the first has begun anew."""
        async with self._entering:
            if worker_id != self._id:
                return
            log.warning(
                "worker %s lost its lease: its %d attempts are lost; registering again", worker_id, len(self._live)
            )
            for live in list(self._live.values()):
                live.job.cancel()  # leaving the stream ends the child; its result could not be published anyway
            self._reports.unreported.clear()  # of its former life; whatever they report is refused
            again = _new_id()
            await self._calls.insist(partial(self._register, again), "register again")
            self._id = again
        self._claimable.set()

    # ------------------------------------------------------------------ claim

    async def _claim_loop(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._claimable.wait()
            self._claimable.clear()
            if self._in_doubt:
                await self._disown()
            # Slots are free before their results are committed, but not without end: while nothing can be committed, nothing
            # more is taken on than is in hand.
            free = min(self._capacity - len(self._live), 2 * self._capacity - len(self._reports.unreported))
            if free <= 0:
                continue  # the end of an attempt and a commit set the event
            try:
                await self._claim(free)
            except Exception as error:
                log.warning("worker %s cannot claim: %s", self._id, first_line(error), exc_info=not is_outage(error))
                self._in_doubt = True  # it may have been committed
                await asyncio.sleep(RETRY_S)

    async def _disown(self) -> None:
        """Gives back what nobody runs: our lease would keep it running for ever. Between claims only."""
        self._in_doubt = False
        known = frozenset(self._reports.unreported)
        swept = await self._calls.insist(
            partial(disown, self._store, self._id, known, lease_s=self._lease_s), "give back what it does not know of"
        )
        if swept.retried or swept.ended:
            log.warning(
                "worker %s gives back %d attempts that it does not know of", self._id, swept.retried + swept.ended
            )
        self._hub.wake(swept.channels)

    async def _claim(self, free: int) -> None:
        worker_id = self._id
        served = {
            pin: one for pin, one in (await self._calls.once(self._directory.served)).items() if self._of_ours(one)
        }
        if not served:
            return
        claims = await self._calls.once(
            partial(
                claim,
                self._store,
                worker_id,
                sorted(served),
                free,
                self._directory.resolver,
                self._log_name,
                lease_s=self._lease_s,
                prepare=self._directory.prepare,
                queues=sorted({queue for one in served.values() for queue in self._of_ours(one)}),
            )
        )
        self._hub.wake(claims.channels)
        if not claims.live:
            await self._lease_lost(worker_id)
            return
        for claimed in claims.claimed:
            self._start(claimed, served)
        if claims.more or len(claims.claimed) == free:
            self._claimable.set()

    def _of_ours(self, served: Served) -> list[str]:
        """The queues of what is queued for a version, as far as they are ours."""
        return [queue for queue in served.queues if ALL_QUEUES in self._queues or queue in self._queues]

    def _log_name(self, task: Task, cells: Sequence[TaskCell], attempt_id: AttemptId) -> str:
        """By asset, partition and attempt (S-226); of several cells the first one names the log."""
        first = cells[0].cell
        asset = self._directory.catalog(task.run_id).by_id[first.asset_id]
        return self._logs.name(
            asset=asset.key, partition=first.partition, run_id=task.run_id, task_id=task.id, attempt_id=attempt_id
        )

    def _start(self, claimed: Claimed, served: Mapping[Pin, Served]) -> None:
        task = claimed.task
        assert task.location_id is not None
        assert task.snapshot_id is not None
        server = served[(task.location_id, task.snapshot_id)]
        self._turn += 1
        address = server.addresses[self._turn % len(server.addresses)]
        client = self._clients.get(address)
        if client is None:
            self._close_clients()
            client = self._clients[address] = CodeLocationClient(address)
        self._reports.unreported.add(claimed.attempt_id)
        job = asyncio.create_task(self._attempt(claimed, client, server.version), name=f"attempt {claimed.attempt_id}")
        self._live[claimed.attempt_id] = _Live(claimed, client, job)

    def _close_clients(self) -> None:
        """Each restart of a server brings a new address: those that nothing runs at are closed when there are many."""
        if len(self._clients) < _CLIENTS_KEPT:
            return
        used = {live.client.address for live in self._live.values()}
        for address in self._clients.keys() - used:
            closing = asyncio.create_task(self._clients.pop(address).close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    # ------------------------------------------------------------------ attempt

    async def _attempt(self, claimed: Claimed, client: CodeLocationClient, version: str) -> None:
        result: AttemptResult | None = None
        try:
            result = await self._execute(claimed, client, version)
        except Exception as error:  # without a result the task would run for ever: our lease says that we are at it
            log.exception(
                "worker %s: attempt %s cannot go on; trace %s", self._id, claimed.attempt_id, claimed.trace_id
            )
            result = lost_result(claimed, f"its worker could not go on with it: {type(error).__name__}: {error}")
        finally:
            del self._live[claimed.attempt_id]
            if result is not None:  # cancelled with the lease: whatever it did is refused anyway
                self._reports.put(result)
            self._claimable.set()

    async def _execute(self, claimed: Claimed, client: CodeLocationClient, version: str) -> AttemptResult:
        catalog = await self._calls.once(partial(self._directory.catalog, claimed.task.run_id))
        outcomes = Outcomes(claimed, catalog)
        name = claimed.log or self._log_name(claimed.task, claimed.cells, claimed.attempt_id)
        writer = self._logs.writer(name, trace_id=claimed.trace_id)
        request = to_request(claimed, version, catalog, grace_s=self._grace_s)
        result: AttemptResult | None = None
        try:
            async for batch in client.execute_batches(request):
                lines: list[tuple[int, str, str, str]] = []
                for event in batch:
                    match event.WhichOneof("kind"):
                        case "log":
                            lines.extend(
                                (line.at_us, pb.LogLine.Stream.Name(line.stream).lower(), line.level, line.text)
                                for line in event.log.lines
                            )
                        case "cell":
                            outcomes.add_cell(event.cell)
                        case "check":
                            outcomes.add_check(event.check)
                        case "finished":
                            result = outcomes.result(event.finished)
                if lines:
                    writer.write(lines)
        except CodeServerError as error:
            result = lost_result(claimed, str(error))
        assert result is not None, "the client raises when a stream ends without a result"
        if result.error:
            writer.write([(_now_us(), "system", "ERROR", result.traceback or result.error)])
        writer.close(_now_us())
        if writer.lost:
            lost = {"log_lines_lost": writer.lost, "log_lost_because": writer.why}
            result = result._replace(usage={**(result.usage or {}), **lost})
        return result

    def _cancel_soon(self, attempt_id: AttemptId, reason: str) -> None:
        """Beside the renewal of the lease, which no server that hangs may hold up."""
        if attempt_id in self._live and attempt_id not in self._cancels:
            self._cancels[attempt_id] = asyncio.create_task(
                self._cancel(attempt_id, reason), name=f"cancel {attempt_id}"
            )
            self._cancels[attempt_id].add_done_callback(lambda _: self._cancels.pop(attempt_id))

    async def _cancel(self, attempt_id: AttemptId, reason: str) -> None:
        live = self._live.get(attempt_id)
        if live is None:
            return
        try:
            await live.client.cancel(str(attempt_id), reason)
        except CodeServerError as error:
            log.info("attempt %s: its server cannot be asked to cancel it: %s", attempt_id, error)

    async def _give_back(self) -> None:
        """At an orderly stop: every attempt is cancelled as an infrastructure loss, to be tried again elsewhere."""
        jobs = [live.job for live in self._live.values()]
        for live in list(self._live.values()):
            self._reports.put(lost_result(live.claimed, f"worker {self._id} was stopped"))
            live.job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)


def _set_from_thread(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: we are stopping
        loop.call_soon_threadsafe(event.set)


def _new_id() -> WorkerId:
    return WorkerId(f"{platform.node()}-{os.getpid()}-{uuid.uuid4().hex[:6]}")


def _now_us() -> int:
    return time.time_ns() // 1000
