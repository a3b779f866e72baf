"""Follows the code-location servers: what each can execute, which modules do not load, which definitions are active.

Every scheduler does this for all servers; each write is idempotent, so that they need not agree on who does it. A version becomes
active when the union of all locations with it is sound; else the location is shown as broken and the version before stays (S-060,
S-068). A failed load never retires an asset; only a successful load of a version that lacks it does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import partial
from typing import TypeVar

from partita.core.catalog import read_snapshot
from partita.core.config import Config
from partita.core.decide.caps import EACH_RUN_POOL, RUNNING_POOL, location_pool
from partita.core.duties.channels import Channel
from partita.core.runtime.activate import activate
from partita.core.runtime.servers import read_announcements, take_ended
from partita.core.runtime.wake import WakeHub
from partita.core.store.port import Store, StoreError
from partita.core.store.values import BUILT_IN_LANES, Lane, NewEvent, Pool
from partita.core.store.values_definitions import LocationState
from partita.grpc.client import CodeLocationClient, CodeServerError
from partita.grpc.v1 import code_location_pb2 as pb

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_LOOK_S = 1.0
_LEASE_S = 30.0
_RENEW_S = 8.0
_HANDED_OVER_S = 2 * _RENEW_S
"""What a scheduler that stops leaves of a server's lease: others that follow it renew it meanwhile, else it ends."""
_RECONNECT_S = 1.0
_AFTER_NONSENSE_S = 10.0


def _lanes(config: Config) -> list[Lane]:
    weights = {lane.name: lane.weight for lane in BUILT_IN_LANES}
    return [Lane(name, one.weight or weights.get(name, 1), one.reserved) for name, one in config.lanes.items()]


class _Standing(Enum):
    """Of a version that a server has, beside the active one of its location."""

    ACTIVE = "active"
    WANTED = "wanted"
    BEHIND = "behind"


class LocationSync:
    """Runs on its own event loop. `run` ends when cancelled."""

    def __init__(self, store: Store, config: Config, hub: WakeHub) -> None:
        self._store = store
        self._config = config
        self._hub = hub
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="locations")
        self._follows: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._connected: dict[str, set[str]] = {}
        self._behind: set[str] = set()
        self._met: set[tuple[str, str]] = set()
        """Servers whose first word was heard, or that did not answer."""
        self._met_more = asyncio.Condition()
        self._stopping = False

    async def run(self) -> None:
        self._stopping = False
        self._met.clear()
        await self._db(self._declare)
        try:
            while True:
                ended = take_ended(self._config)
                if ended:
                    await self._db(partial(self._forget, ended))
                wanted = self._addresses()
                for pair in wanted - self._follows.keys():
                    self._follows[pair] = asyncio.create_task(self._follow(*pair), name=f"follow {pair[1]}")
                for pair in self._follows.keys() - wanted:
                    self._follows.pop(pair).cancel()
                    await self._forget_met(pair)
                await asyncio.sleep(_LOOK_S)  # announcements are files of other processes
        finally:
            self._stopping = True
            follows = list(self._follows.values())
            for follow in follows:
                follow.cancel()
            await asyncio.gather(*follows, return_exceptions=True)
            self._follows.clear()

    def _addresses(self) -> set[tuple[str, str]]:
        announced = read_announcements(self._config)
        configured = {(one.name, one.address) for one in self._config.locations if one.address is not None}
        names = {one.name for one in self._config.locations}
        return configured | {
            (name, address) for name, addresses in announced.items() if name in names for address in addresses
        }

    def _declare(self) -> None:
        """The locations, pools and lanes of the configuration exist before any server answers."""
        with self._store.begin() as tx:
            for location in self._config.locations:
                tx.put_location(location.name)
            tx.configure_pools(Pool(name, slots) for name, slots in self._config.pools.items())
            tx.configure_lanes(_lanes(self._config))
            tx.set_caps(
                {RUNNING_POOL: self._config.limits.max_running, EACH_RUN_POOL: self._config.limits.max_active_per_run}
                | {location_pool(one.name): one.max_running for one in self._config.locations}
            )

    def _forget(self, server_ids: Sequence[str]) -> None:
        """Their leases may go on for half a minute, in which newer code would stand behind what nobody serves."""
        with self._store.begin() as tx:
            for server_id in server_ids:
                tx.remove_code_server(server_id)

    # ------------------------------------------------------------------ one server

    async def _follow(self, location: str, address: str) -> None:
        client = CodeLocationClient(address)
        server_id = ""
        renewal: asyncio.Task[None] | None = None
        try:
            while True:
                pause_s = _RECONNECT_S
                try:
                    first = True
                    async for status in client.watch():
                        if first:
                            self._connected.setdefault(location, set()).add(address)
                        if renewal is None or status.server_id != server_id:
                            server_id = status.server_id
                            if renewal is not None:
                                renewal.cancel()
                            renewal = asyncio.create_task(self._renew(location, address, server_id, client))
                        await self._take(location, address, client, status, first=first)
                        first = False
                except CodeServerError as error:
                    log.info("location %s: %s", location, error)
                except StoreError as error:
                    log.warning("location %s: its state cannot be stored: %s", location, error)
                except Exception:  # one server that says what we cannot use must not go unfollowed for ever
                    log.exception("location %s: what the server at %s says cannot be used", location, address)
                    pause_s = _AFTER_NONSENSE_S
                await self._meet(location, address)
                if renewal is not None:
                    renewal.cancel()
                    renewal = None
                if server_id and not self._stopping:
                    await self._gone(location, address, server_id)
                await asyncio.sleep(pause_s)
        finally:
            if renewal is not None:
                renewal.cancel()
            if server_id and self._stopping:
                await self._hand_over(server_id)
            elif server_id:
                await self._gone(location, address, server_id)
            await client.close()

    async def _take(
        self, location: str, address: str, client: CodeLocationClient, status: pb.LocationStatus, *, first: bool
    ) -> None:
        if status.location != location:
            await self._db(
                partial(
                    self._set_state, location, LocationState.BROKEN,
                    f"the server at {address} serves location `{status.location}`; correct its address", status,
                )
            )  # fmt: skip
            return
        problem = status.error
        if status.active_version:
            standing = await self._db(partial(self._standing, location, status.active_version, first=first))
            if first and standing is _Standing.WANTED:
                await self._meet_others(location, address)
                standing = await self._db(partial(self._standing, location, status.active_version, first=first))
            self._note_standing(location, address, status, standing)
            if standing is _Standing.WANTED:
                try:
                    version, body = await client.definitions(status.active_version)
                    if body is not None:
                        problem = await self._db(partial(self._activate, location, version, body)) or problem
                except CodeServerError as error:
                    problem = str(error)
        versions = [one.version for one in status.versions if one.accepts_new]
        await self._db(partial(self._put_server, location, address, status.server_id, versions))
        await self._meet(location, address)
        state = _state(status, problem)
        await self._db(partial(self._set_state, location, state, problem or None, status))
        self._hub.wake([Channel.QUEUED, Channel.EVENT])

    async def _meet_others(self, location: str, address: str) -> None:
        """Until all other servers of the location have been heard once: while no scheduler was there their leases ended, and the
        one that has the active version may be slower to answer than this one (S-068)."""
        await self._meet(location, address)  # first, for others wait for this one
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEASE_S), self._met_more:
                await self._met_more.wait_for(
                    lambda: all(pair in self._met for pair in self._follows if pair[0] == location)
                )

    async def _meet(self, location: str, address: str) -> None:
        async with self._met_more:
            self._met.add((location, address))
            self._met_more.notify_all()

    async def _forget_met(self, pair: tuple[str, str]) -> None:
        async with self._met_more:
            self._met.discard(pair)
            self._met_more.notify_all()

    async def _renew(self, location: str, address: str, server_id: str, client: CodeLocationClient) -> None:
        while True:
            await asyncio.sleep(_RENEW_S)
            try:
                listed = await self._db(partial(self._renew_now, server_id, _LEASE_S))
                if not listed or server_id in self._behind:
                    # Another scheduler lost sight of it, and we have not; or whoever served the active version may be gone.
                    await self._take(location, address, client, await client.status(), first=True)
            except (StoreError, CodeServerError) as error:
                log.debug("the lease of server %s was not renewed: %s", server_id, error)

    def _renew_now(self, server_id: str, lease_s: float) -> bool:
        with self._store.begin(durable=False) as tx:
            return tx.renew_code_server(server_id, lease_s)

    async def _hand_over(self, server_id: str) -> None:
        """We stop, not the server: it stays listed for those who follow it, too."""
        try:
            await self._db(partial(self._renew_now, server_id, _HANDED_OVER_S))
        except StoreError as error:
            log.debug("server %s stays listed until its lease ends: %s", server_id, error)

    async def _gone(self, location: str, address: str, server_id: str) -> None:
        self._behind.discard(server_id)
        self._connected.get(location, set()).discard(address)
        down = not self._connected.get(location)
        try:
            await self._db(partial(self._remove_server, location, server_id, down=down))
        except StoreError as error:
            log.debug("server %s stays listed until its lease ends: %s", server_id, error)

    # ------------------------------------------------------------------ transactions

    def _standing(self, location: str, version: str, *, first: bool) -> _Standing:
        """At first sight a version is wanted only when nobody serves the active one: of two servers with different versions, the
        one that we happen to meet second must not win. It is behind as long as the other one is there."""
        with self._store.begin() as tx:
            location_id = tx.put_location(location)
            active = tx.lock_locations().get(location_id)
            if active is None:
                return _Standing.WANTED
            [snapshot] = tx.read_snapshots([active])
            if snapshot.hash == version:
                return _Standing.ACTIVE
            served = any(
                snapshot.hash in server.versions
                for server in tx.live_code_servers()
                if server.location_id == location_id
            )
        return _Standing.BEHIND if first and served else _Standing.WANTED

    def _note_standing(self, location: str, address: str, status: pb.LocationStatus, standing: _Standing) -> None:
        if standing is not _Standing.BEHIND:
            self._behind.discard(status.server_id)
        elif status.server_id not in self._behind:
            self._behind.add(status.server_id)
            log.warning(
                "location %s: version %.12s of the server at %s is not made active while another server has the active one; "
                "stop that one, or `partita locations reload %s`", location, status.active_version, address, location,
            )  # fmt: skip

    def _activate(self, location: str, version: str, body: bytes) -> str:
        """Makes a version the active one of its location; returns what speaks against it, or nothing."""
        candidate = read_snapshot(body)
        with self._store.begin() as tx:
            done = activate(tx, location, candidate, version, body)
        if done.problem:
            log.warning("location %s: version %.12s is not activated: %s", location, version, done.problem)
            return done.problem
        for key, before in sorted((done.renamed or {}).items()):
            log.info("location %s: asset %s was %s; its history goes with it", location, key, before)
        for one in done.schemes:
            log.info(
                "location %s: asset %s has other partitions: %d cells stay, %d set aside, %d come back, %d tasks cancelled",
                location, one.key, one.kept, one.aside, one.back, one.cancelled,
            )  # fmt: skip
        log.info(
            "location %s: version %.12s is active: %d assets, %d kept, %d retired",
            location, version, done.assets, done.kept, len(done.retired),
        )  # fmt: skip
        return ""

    def _put_server(self, location: str, address: str, server_id: str, versions: list[str]) -> None:
        with self._store.begin() as tx:
            tx.put_code_server(server_id, tx.put_location(location), address, versions, _LEASE_S)

    def _set_state(self, location: str, state: LocationState, error: str | None, status: pb.LocationStatus) -> None:
        modules = [
            {
                "name": one.name,
                "ok": one.ok,
                "error": one.error,
                "import_s": round(one.import_seconds, 3),
                "warning": one.warning,
            }
            for one in status.modules
        ]
        with self._store.begin() as tx:
            tx.set_location_state(tx.put_location(location), state, error=error, modules=modules)

    def _remove_server(self, location: str, server_id: str, *, down: bool) -> None:
        with self._store.begin() as tx:
            tx.remove_code_server(server_id)
            if down:
                tx.set_location_state(
                    tx.put_location(location),
                    LocationState.DOWN,
                    error="no server of this location answers",
                    modules=[],
                )
                tx.append_events([NewEvent(kind="location", body={"location": location, "state": "down"})])

    async def _db(self, call: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _state(status: pb.LocationStatus, problem: str) -> LocationState:
    if status.loading and not status.active_version:
        return LocationState.LOADING
    if problem or not status.active_version or any(not module.ok for module in status.modules):
        return LocationState.BROKEN
    return LocationState.SERVING
