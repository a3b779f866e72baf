"""The scheduler process: runs the duties of the control plane and follows the code-location servers.

N schedulers are all active and none is special: they meet only in Postgres, and what one holds another skips (S-029, S-118).
Two threads: coordination never waits for planning. A third one follows servers on an event loop of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import threading
from typing import Protocol

from partita.core.automation import run_automation, run_replans
from partita.core.catalog import CatalogCache
from partita.core.cells import fold_pages
from partita.core.duties.admit import admit
from partita.core.duties.explain import explain
from partita.core.duties.leases import pulse, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import fold_tallies
from partita.core.duties.values import Channel
from partita.core.runtime.deployment import Deployment
from partita.core.runtime.duties import Duty, DutyLoop
from partita.core.runtime.locations import LocationSync

log = logging.getLogger(__name__)


class _Outcome(Protocol):
    """What a duty reports: whom to wake, and whether it is worth calling again."""

    @property
    def channels(self) -> tuple[Channel, ...]: ...

    @property
    def more(self) -> bool: ...


class Scheduler:
    """Subscribes its duties on construction; `start` after the hub's other subscribers, `stop` before the deployment ends."""

    def __init__(self, deployment: Deployment, catalogs: CatalogCache) -> None:
        self._store = deployment.store
        self._hub = deployment.hub
        self._catalogs = catalogs
        self._holder = f"{platform.node()}-{os.getpid()}"
        self._coordination = DutyLoop("coordination", self._coordination_duties(), self._hub, note=self._note)
        self._planning = DutyLoop("planning", self._planning_duties(), self._hub, note=self._note)
        self._sync = LocationSync(deployment.store, deployment.config, deployment.hub)
        self._sync_thread = threading.Thread(target=self._run_sync, name="locations", daemon=True)
        self._sync_loop: asyncio.AbstractEventLoop | None = None
        self._sync_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._coordination.start()
        self._planning.start()
        self._sync_thread.start()

    def stop(self) -> None:
        if self._sync_loop is not None and self._sync_task is not None and not self._sync_loop.is_closed():
            self._sync_loop.call_soon_threadsafe(self._sync_task.cancel)
        self._coordination.stop()
        self._planning.stop()
        self._sync_thread.join(10)

    # ------------------------------------------------------------------ duties

    def _coordination_duties(self) -> list[Duty]:
        store = self._store
        return [
            Duty("admit", lambda: self._told(admit(store)), 1.0, (Channel.SCHEDULED,)),
            Duty("wake_retries", lambda: self._told(wake_retries(store)), 1.0),
            Duty("fold_tallies", lambda: self._told(fold_tallies(store)), 0.5),
            Duty("pulse", self._pulse, 1.0),
            Duty("sweep", lambda: self._told(sweep(store)), 2.0),
            Duty("explain", self._explain, 2.0),
        ]

    def _planning_duties(self) -> list[Duty]:
        return [
            Duty("automation", lambda: self._told(run_automation(self._store, self._catalogs)), 1.0, (Channel.TODO,)),
            Duty("replan", lambda: self._told(run_replans(self._store, self._catalogs)), 1.0, (Channel.TODO,)),
            Duty("fold_pages", lambda: fold_pages(self._store) > 0, 5.0),
            Duty("expire_plans", self._expire_plans, 300.0),
        ]

    def _told(self, outcome: _Outcome) -> bool:
        self._hub.wake(outcome.channels)
        return outcome.more

    def _pulse(self) -> bool:
        pulse(self._store)
        return False

    def _explain(self) -> bool:
        explain(self._store)
        return False

    def _expire_plans(self) -> bool:
        with self._store.begin(durable=False) as tx:
            tx.expire_plans()
        return False

    def _note(self, duty: str, ms: float) -> None:
        with self._store.begin(durable=False) as tx:
            tx.note_duty(duty, self._holder, ms)

    # ------------------------------------------------------------------ servers

    def _run_sync(self) -> None:
        try:
            asyncio.run(self._synchronise())
        except Exception:
            log.exception("following the code-location servers ended")

    async def _synchronise(self) -> None:
        self._sync_loop = asyncio.get_running_loop()
        self._sync_task = asyncio.create_task(self._keep_on())
        await asyncio.gather(self._sync_task, return_exceptions=True)

    async def _keep_on(self) -> None:
        while True:
            try:
                await self._sync.run()
            except Exception as error:  # the database is away at the start, say
                log.warning("following the code-location servers is interrupted: %s", str(error).partition("\n")[0])
                await asyncio.sleep(1.0)
