"""The processes of the control plane: `run_scheduler`, `run_worker`, `run_triggerer`, and the parts of `partita dev`.

Owns the order of start and stop. Everything may also be killed: what a process held is judged by the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from partita.assets.queues import ALL_QUEUES, DEFAULT_QUEUE
from partita.core.catalog import CatalogCache
from partita.core.config import Config, check_addresses
from partita.core.runtime.deployment import Deployment
from partita.core.runtime.directory import Near, StoreDirectory
from partita.core.runtime.scheduler import Scheduler
from partita.core.runtime.servers import ManagedServer, read_announcements
from partita.core.runtime.stopping import stop_event
from partita.core.runtime.triggerer import Triggerer
from partita.core.runtime.watch import reload_on_change
from partita.core.runtime.worker import Worker

log = logging.getLogger(__name__)

Extra = Callable[[Deployment, asyncio.Event], Awaitable[None]]
"""A further part of a process, such as the API: serves until the event is set."""


def run_scheduler(config: Config) -> None:
    """One scheduler, until SIGTERM or SIGINT."""
    check_addresses(config)
    with Deployment(config) as deployment:
        scheduler = Scheduler(deployment, catalogs_of(deployment))
        deployment.start(("scheduler", "scheduler"))
        scheduler.start()
        try:
            asyncio.run(_until_stopped())
        finally:
            scheduler.stop()


def run_worker(config: Config) -> None:
    """One worker, until SIGTERM or SIGINT."""
    with Deployment(config) as deployment:
        asyncio.run(_serve(deployment, worker=True, extras=(), components=[("worker", "worker")]))


def run_triggerer(config: Config) -> None:
    """One triggerer, until SIGTERM or SIGINT."""
    with Deployment(config) as deployment:
        asyncio.run(
            _serve(deployment, worker=False, triggerer=True, extras=(), components=[("triggerer", "triggerer")])
        )


def run_parts(config: Config, *extras: tuple[str, Extra]) -> None:
    """A process that only serves extras (`partita api`)."""
    with Deployment(config) as deployment:
        parts = tuple(extra for _, extra in extras)
        asyncio.run(_serve(deployment, worker=False, extras=parts, components=[(kind, kind) for kind, _ in extras]))


def run_dev(config: Config, *extras: tuple[str, Extra]) -> None:
    """Everything on one machine: code-location servers as processes, all the rest in this one (S-045). Its worker is the only
    one, so it serves every queue."""
    check_addresses(config)
    config = config.model_copy(update={"worker": config.worker.model_copy(update={"queues": (ALL_QUEUES,)})})
    with Deployment(config) as deployment, ExitStack() as stack:
        scheduler = Scheduler(deployment, catalogs_of(deployment))
        for location in config.locations:
            if location.modules:
                server = ManagedServer(config, location)
                stack.callback(server.stop)
                server.start()
        stack.callback(scheduler.stop)
        parts = tuple(extra for _, extra in extras)
        if config.dev.reload:
            parts = (*parts, reload_on_change)
        components = [
            ("scheduler", "dev"),
            ("worker", "dev"),
            ("triggerer", "dev"),
            *((kind, "dev") for kind, _ in extras),
        ]
        asyncio.run(
            _serve(deployment, worker=True, triggerer=True, extras=parts, components=components, scheduler=scheduler)
        )


def catalogs_of(deployment: Deployment) -> CatalogCache:
    return CatalogCache(deployment.store.read)


def _near(config: Config) -> Near | None:
    """The code servers of this machine, for a worker that was told its queues: what they are for is here (S-148)."""
    if config.worker.queues is None:
        return None
    return lambda: {address for addresses in read_announcements(config).values() for address in addresses}


async def _serve(
    deployment: Deployment,
    *,
    worker: bool,
    triggerer: bool = False,
    extras: tuple[Extra, ...],
    components: list[tuple[str, str]],
    scheduler: Scheduler | None = None,
) -> None:
    stopping = stop_event()
    jobs: list[asyncio.Task[None]] = []
    served: Worker | None = None
    if worker:
        settings = deployment.config.worker
        served = Worker(
            deployment.store,
            StoreDirectory(deployment.store, catalogs_of(deployment), near=_near(deployment.config)),
            deployment.logs,
            deployment.hub,
            capacity=settings.capacity,
            lease_s=settings.lease_s,
            grace_s=settings.grace_s,
            queues=settings.queues or (DEFAULT_QUEUE,),
        )
        served.subscribe(asyncio.get_running_loop())
        deployment.count("worker", served.counts)
        jobs.append(asyncio.create_task(served.run(), name="worker"))
    watching: Triggerer | None = None
    if triggerer:
        own = deployment.config.triggerer
        catalogs = catalogs_of(deployment)
        watching = Triggerer(
            deployment.store,
            StoreDirectory(deployment.store, catalogs),
            deployment.hub,
            capacity=own.capacity,
            lease_s=own.lease_s,
            catalogs=catalogs,
        )
        watching.subscribe(asyncio.get_running_loop())
        jobs.append(asyncio.create_task(watching.run(), name="triggerer"))
    jobs += [asyncio.create_task(_as_coroutine(extra(deployment, stopping))) for extra in extras]
    deployment.start(*components)
    if scheduler is not None:
        scheduler.start()
    waiting = asyncio.create_task(stopping.wait())
    try:
        # A part that ends before it was asked to is a failure of the whole process: its supervisor starts it again.
        await asyncio.wait([waiting, *jobs], return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.set()
        waiting.cancel()
        if served is not None:
            served.stop()
        if watching is not None:
            watching.stop()
        results = await asyncio.gather(*jobs, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            raise result


async def _as_coroutine(part: Awaitable[None]) -> None:
    await part


async def _until_stopped() -> None:
    await stop_event().wait()
