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

from partita.core.automation import (
    Limits,
    run_automation,
    run_new_keys,
    run_rebuilds,
    run_replans,
    tend_requests,
)
from partita.core.catalog import CatalogCache
from partita.core.cells import fold_pages
from partita.core.duties.values import Channel
from partita.core.runtime.coordination import CHANGES, FLOOR_S, Coordination
from partita.core.runtime.deployment import Deployment
from partita.core.runtime.duties import Duty, DutyLoop
from partita.core.runtime.locations import LocationSync

log = logging.getLogger(__name__)

_NOTES_S = 15.0


class Scheduler:
    """Subscribes its duties on construction; `start` after the hub's other subscribers, `stop` before the deployment ends."""

    def __init__(self, deployment: Deployment, catalogs: CatalogCache) -> None:
        self._store = deployment.store
        automation = deployment.config.automation
        self._limits = Limits(automation.max_cells, automation.approval_days * 86_400.0)
        self._hub = deployment.hub
        self._catalogs = catalogs
        self._holder = f"{platform.node()}-{os.getpid()}"
        self._duties = Coordination(deployment.store, deployment.hub)
        notes = Duty("notes", self._note, _NOTES_S)
        self._coordination = DutyLoop("coordination", [*self._duties.duties(), notes], self._hub)
        self._planning = DutyLoop("planning", self._planning_duties(), self._hub)
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

    def _planning_duties(self) -> list[Duty]:
        return [
            Duty("automation", self._automate, FLOOR_S, (Channel.TODO,)),
            Duty("new_keys", self._new_keys, FLOOR_S, (Channel.TODO,)),
            Duty("rebuild", self._rebuild, FLOOR_S, (Channel.TODO,)),
            Duty("tend_requests", lambda: tend_requests(self._store) < 0, 60.0),
            Duty("replan", self._replan, FLOOR_S, (Channel.TODO,)),
            Duty("fold_pages", lambda: fold_pages(self._store) > 0, FLOOR_S, (CHANGES,), gap_s=5.0),
            Duty("expire_plans", self._expire_plans, 300.0),
        ]

    def _automate(self) -> bool:
        return self._duties.told(run_automation(self._store, self._catalogs, limits=self._limits))

    def _new_keys(self) -> bool:
        return self._duties.told(run_new_keys(self._store, self._catalogs, limits=self._limits))

    def _rebuild(self) -> bool:
        return self._duties.told(run_rebuilds(self._store, self._catalogs, limits=self._limits))

    def _replan(self) -> bool:
        return self._duties.told(run_replans(self._store, self._catalogs))

    def _expire_plans(self) -> bool:
        with self._store.begin(durable=False) as tx:
            tx.expire_plans()
        return False

    def _note(self) -> bool:
        with self._store.begin(durable=False) as tx:
            for loop in (self._coordination, self._planning):
                for name, (failures, error) in loop.failing.items():
                    tx.note_duty(name, self._holder, None, failures=failures, error=error)
                for name in loop.last_ms.keys() - loop.failing.keys():
                    tx.note_duty(name, self._holder, loop.last_ms[name])
        return False

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
