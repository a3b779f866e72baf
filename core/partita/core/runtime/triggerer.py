"""The triggerer: leases waits and has them watched in code locations, each version by a host of its own there; and evaluates
observers, schedules and sensors under the same lease.

Owns one lease and the waits under it. All state that matters is in Postgres: a triggerer may die or hang at any moment, and
within its lease others watch what it watched. It runs no user code and decides nothing: the hosts look, the duties write.
One asyncio loop; the lease is renewed on it, so that a loop that stands loses its lease. Database calls run on a few threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import platform
import uuid
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Protocol

from partita.core.automation.values import ActiveCatalog
from partita.core.decide.waits import Broken, Fired
from partita.core.duties.channels import Channel
from partita.core.duties.waits import disown_waits, register_triggerer, report_waits, retire_triggerer, watch
from partita.core.runtime.calls import RETRY_S, StoreCalls, first_line, is_outage
from partita.core.runtime.evaluations import Evaluations
from partita.core.runtime.wake import WakeHub
from partita.core.runtime.worker import Pin, Served
from partita.core.store.port import Store
from partita.core.store.values_waits import TriggererId, Wait, WaitKey
from partita.grpc.client import CodeLocationClient, CodeServerError
from partita.grpc.v1 import code_location_pb2 as pb

log = logging.getLogger(__name__)

_POLL_S = 1.0
_RENEWALS_PER_LEASE = 5
_CLAIM_AT_ONCE = 1000
_FLUSH_MOST = 500
_IDLE_S = 30.0
"""A version of which nothing is watched for so long needs no host any more."""
_PATIENCE_S = 10.0
"""A version that no server has had for so long cannot be watched: its waits are let go of, and people see that nobody does."""
_LEASE_SHARE = 0.8
"""Of `lease_s`, after which a silent one is given up: the rest is for noticing it and for taking all of its waits, so that
they have moved when `lease_s` is over (S-172)."""


class ServedVersions(Protocol):
    """What a triggerer reads about the deployment."""

    def serving(self, known: Mapping[Pin, str], /) -> Mapping[Pin, Served]:
        """The versions of waits that nobody watches, and the `known` ones, as far as live servers have them."""


class Triggerer:
    """`run()` serves until `stop()`; what it watched is free for others at once then."""

    def __init__(
        self,
        store: Store,
        versions: ServedVersions,
        hub: WakeHub,
        *,
        capacity: int,
        lease_s: float,
        catalogs: ActiveCatalog | None = None,
    ) -> None:
        """Without `catalogs` it evaluates nothing."""
        self._store = store
        self._versions = versions
        self._hub = hub
        self._capacity = capacity
        self._lease_s = lease_s * _LEASE_SHARE
        self._id = _new_id()
        self._hosts: dict[Pin, _Host] = {}
        self._reports: asyncio.Queue[Fired | Broken] = asyncio.Queue()
        self._news = asyncio.Event()
        self._stopping = asyncio.Event()
        self._doubt = False  # what is ours in the database may be unknown here: a visit failed, maybe after its commit
        self._calls = StoreCalls(lambda: f"triggerer {self._id}")
        self._evaluations: Evaluations | None = None
        if catalogs is not None:
            self._evaluations = Evaluations(store, catalogs, hub, self._calls, self._news.set)

    def __repr__(self) -> str:
        return f"<Triggerer {self._id} {self.watching} waits>"

    @property
    def id(self) -> TriggererId:
        return self._id

    @property
    def watching(self) -> int:
        """How many waits it watches."""
        return sum(len(host.waits) for host in self._hosts.values())

    def subscribe(self, loop: asyncio.AbstractEventLoop) -> None:
        """Connects the wake-ups; before the hub starts."""

        def woken() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: we are stopping
                loop.call_soon_threadsafe(self._news.set)

        self._hub.subscribe([Channel.WAIT], woken)

    async def run(self) -> None:
        """Serves until `stop` is called from this loop."""
        await self._calls.insist(partial(self._register, self._id), "register")
        loops = [
            asyncio.create_task(self._watch_loop(), name="watch"),
            asyncio.create_task(self._report_loop(), name="report"),
        ]
        try:
            await self._stopping.wait()
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await self._close_hosts()
            if self._evaluations is not None:
                await self._evaluations.cancel()
                await self._evaluations.close()
            await self._calls.once(partial(retire_triggerer, self._store, self._id))
            self._calls.close()

    def stop(self) -> None:
        self._stopping.set()

    # ------------------------------------------------------------------ what is watched

    def _register(self, triggerer_id: TriggererId) -> None:
        register_triggerer(self._store, triggerer_id, host=platform.node(), pid=os.getpid(), lease_s=self._lease_s)

    async def _watch_loop(self) -> None:
        """Takes waits on when there is news and once a second; the same visit renews the lease."""
        while True:
            self._news.clear()
            try:
                more = await self._visit()
            except Exception as error:  # the database is away: nobody judges leases then either
                log.warning("triggerer %s cannot go on: %s", self._id, first_line(error), exc_info=not is_outage(error))
                self._doubt = True
                await asyncio.sleep(RETRY_S)
                continue
            if more:
                continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(_POLL_S, self._lease_s / _RENEWALS_PER_LEASE)):
                    await self._news.wait()

    async def _visit(self) -> bool:
        if self._doubt:
            known_keys = [wait.key for host in self._hosts.values() for wait in host.waits.values()]
            await self._calls.once(partial(disown_waits, self._store, self._id, known_keys))
            self._doubt = False
        known = {pin: host.version for pin, host in self._hosts.items()}
        served = await self._calls.once(partial(self._versions.serving, known))
        room = min(self._capacity - self.watching, _CLAIM_AT_ONCE)
        visit = partial(watch, self._store, self._id, sorted(served), room, lease_s=self._lease_s)
        watched = await self._calls.once(visit)
        if not watched.live:
            await self._lease_lost()
            return True
        for key in watched.dropped:
            self._drop(key)
        for wait in watched.claimed:
            self._take(wait, served)
        for pin, host in self._hosts.items():
            host.served(served.get(pin))
        await self._close_idle()
        await self._let_go()
        more = self._evaluations is not None and await self._evaluations.begin(self._id, served)
        return more or len(watched.claimed) == room > 0

    async def _lease_lost(self) -> None:
        log.warning("triggerer %s lost its lease: others watch its %d waits now", self._id, self.watching)
        await self._close_hosts()
        if self._evaluations is not None:
            await self._evaluations.cancel()
        again = _new_id()
        await self._calls.insist(partial(self._register, again), "register again")
        self._id = again

    def _take(self, wait: Wait, served: Mapping[Pin, Served]) -> None:
        assert wait.location_id is not None
        assert wait.snapshot_id is not None
        pin = (wait.location_id, wait.snapshot_id)
        host = self._hosts.get(pin)
        if host is None:
            host = self._hosts[pin] = _Host(served[pin], self._reports)
        host.add(wait)

    def _drop(self, key: WaitKey) -> None:
        for host in self._hosts.values():
            host.drop(key)

    async def _close_idle(self) -> None:
        now_s = asyncio.get_running_loop().time()
        for pin, host in list(self._hosts.items()):
            if host.idle_since_s is not None and now_s - host.idle_since_s > _IDLE_S:
                await self._hosts.pop(pin).close()

    async def _let_go(self) -> None:
        now_s = asyncio.get_running_loop().time()
        gone = [
            pin
            for pin, host in self._hosts.items()
            if host.unserved_since_s is not None and now_s - host.unserved_since_s > _PATIENCE_S
        ]
        for pin in gone:
            await self._hosts.pop(pin).close()
        self._doubt = self._doubt or bool(gone)  # the next visit gives back what is not watched here

    async def _close_hosts(self) -> None:
        hosts = list(self._hosts.values())
        self._hosts.clear()
        await asyncio.gather(*(host.close() for host in hosts), return_exceptions=True)

    # ------------------------------------------------------------------ what came

    async def _report_loop(self) -> None:
        while True:
            batch = [await self._reports.get()]
            while len(batch) < _FLUSH_MOST and not self._reports.empty():
                batch.append(self._reports.get_nowait())
            try:
                reported = await self._calls.insist(
                    partial(report_waits, self._store, batch), "report events", refusals=3
                )
            except Exception:
                # They are still open in the database: whoever claims them next looks again.
                log.exception("triggerer %s: %d events cannot be stored", self._id, len(batch))
                continue
            self._hub.wake(reported.channels)
            self._news.set()  # what ended is let go of at once


class _Host:
    """The waits of one version, and the stream to the code location that watches them; opened again when it is lost."""

    def __init__(self, served: Served, reports: asyncio.Queue[Fired | Broken]) -> None:
        self.waits: dict[str, Wait] = {}
        self.idle_since_s: float | None = None
        self.unserved_since_s: float | None = None
        self._served = served
        self._reports = reports
        self._turn = 0
        self._commands: asyncio.Queue[pb.TriggerCommand] = asyncio.Queue()
        self._task = asyncio.create_task(self._keep(), name=f"triggers {served.version[:12]}")

    @property
    def version(self) -> str:
        return self._served.version

    def served(self, served: Served | None) -> None:
        """The servers that have the version now; None: none has."""
        if served is not None:
            self._served, self.unserved_since_s = served, None
        elif self.unserved_since_s is None:
            self.unserved_since_s = asyncio.get_running_loop().time()

    def add(self, wait: Wait) -> None:
        self.idle_since_s = None
        self.waits[_name(wait.key)] = wait
        self._commands.put_nowait(_watch(wait))

    def drop(self, key: WaitKey) -> None:
        if self.waits.pop(_name(key), None) is not None:
            self._commands.put_nowait(pb.TriggerCommand(unwatch=pb.UnwatchTrigger(wait=_name(key))))
            self._note_idle()

    def _note_idle(self) -> None:
        if not self.waits:
            self.idle_since_s = asyncio.get_running_loop().time()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _keep(self) -> None:
        pause_s = 0.1
        while True:
            self._turn += 1
            addresses = self._served.addresses
            client = CodeLocationClient(addresses[self._turn % len(addresses)])
            began_s = asyncio.get_running_loop().time()
            try:
                await self._stream(client)
            except CodeServerError as error:
                log.warning("triggers of version %s are watched anew: %s", self._served.version[:12], error)
            except Exception:
                log.exception("triggers of version %s are watched anew", self._served.version[:12])
            finally:
                await client.close()
            lived_s = asyncio.get_running_loop().time() - began_s
            pause_s = 0.1 if lived_s > 10.0 else min(pause_s * 2, 10.0)
            await asyncio.sleep(pause_s)

    async def _stream(self, client: CodeLocationClient) -> None:
        self._commands = asyncio.Queue()  # of an earlier stream: all are said again
        for wait in self.waits.values():
            self._commands.put_nowait(_watch(wait))
        async with contextlib.aclosing(
            client.run_triggers(self._served.version, self._to_send(self._commands))
        ) as events:
            async for batch in events:
                for event in batch:
                    self._hear(event)

    async def _to_send(self, commands: asyncio.Queue[pb.TriggerCommand]) -> AsyncIterator[list[pb.TriggerCommand]]:
        while True:
            batch = [await commands.get()]
            while len(batch) < _CLAIM_AT_ONCE and not commands.empty():
                batch.append(commands.get_nowait())
            yield batch

    def _hear(self, event: pb.TriggerEvent) -> None:
        fired = event.WhichOneof("kind") == "fired"
        wait = self.waits.pop(event.fired.wait if fired else event.broken.wait, None)
        if wait is None:
            return
        if fired:
            self._reports.put_nowait(Fired(wait.key, json.loads(event.fired.payload)))
        else:
            log.info("wait %s of task %d broke: %s", wait.label, wait.task_id, event.broken.error)
            self._reports.put_nowait(Broken(wait.key, event.broken.error))
        self._note_idle()


def _watch(wait: Wait) -> pb.TriggerCommand:
    since = wait.since.timestamp() if wait.since is not None else 0.0
    return pb.TriggerCommand(
        watch=pb.WatchTrigger(
            wait=_name(wait.key),
            trigger=wait.trigger,
            args=json.dumps(dict(wait.args)).encode(),
            poll_seconds=wait.poll_s or 0.0,
            since_us=int(since * 1_000_000),
        )
    )


def _name(key: WaitKey) -> str:
    return f"{key.task_id}.{key.place}.{key.stint}"


def _new_id() -> TriggererId:
    return TriggererId(f"{platform.node()}-{os.getpid()}-{uuid.uuid4().hex[:6]}")
