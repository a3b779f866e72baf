"""The scheduler process: runs the duties of the control plane and follows the code-location servers.

N schedulers are all active and none is special: they meet only in Postgres, and what one holds another skips (S-029, S-118).
Coordination never waits for planning, and neither for alerts or for those who are told: each has a thread. One more follows
servers, on an event loop of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import threading
from dataclasses import asdict
from typing import Any

from partita.core.alerts import Matchers, Routing, deliver, raise_alerts, watch_alerts
from partita.core.automation import (
    Limits,
    run_asked,
    run_automation,
    run_clocks,
    run_fan_outs,
    run_new_keys,
    run_rebuilds,
    run_replans,
    tend_requests,
)
from partita.core.automation.jobs import job_planner
from partita.core.catalog import CatalogCache
from partita.core.cells import fold_pages
from partita.core.duties.channels import Channel
from partita.core.duties.intake import forget_reports
from partita.core.duties.jobs import run_jobs
from partita.core.duties.values import LEASE_S
from partita.core.freshness import look_at_freshness
from partita.core.retention import Archive, retain
from partita.core.runtime.coordination import (
    ASKED,
    CHANGES,
    CLOCKS,
    FLOOR_S,
    FRESHNESS,
    NOTICES,
    SIGNALS,
    Coordination,
)
from partita.core.runtime.deployment import Deployment
from partita.core.runtime.duties import Duty, DutyLoop, Ran
from partita.core.runtime.locations import LocationSync

log = logging.getLogger(__name__)

_NOTES_S = 15.0
_WATCH_S = 15.0
_FAN_OUT_GAP_S = 0.2  # between looks for gates that have ended: tasks become ready much more often than runs fan out
_RETAIN_S = 600.0
_RETAIN_GAP_S = 0.1  # between visits that delete: about five thousand tasks a second at most
_HISTORY = "history"
_FRESHNESS_GAP_S = 2.0  # publications that come together are looked at together


class Scheduler:
    """Subscribes its duties on construction; `start` after the hub's other subscribers, `stop` before the deployment ends."""

    def __init__(self, deployment: Deployment, catalogs: CatalogCache) -> None:
        self._store = deployment.store
        automation = deployment.config.automation
        self._limits = Limits(automation.max_cells, automation.approval_days * 86_400.0)
        self._hub = deployment.hub
        self._catalogs = catalogs
        self._holder = f"{platform.node()}-{os.getpid()}"
        self._duties = Coordination(
            deployment.store,
            deployment.hub,
            version_grace_s=deployment.config.code_server.version_grace_s,
            longest_lease_s=max(LEASE_S, deployment.config.worker.lease_s, deployment.config.triggerer.lease_s),
        )
        notes = Duty("notes", self._note, _NOTES_S)
        self._coordination = DutyLoop("coordination", [*self._duties.duties(), notes], self._hub)
        self._planning = DutyLoop("planning", self._planning_duties(), self._hub)
        deployment.count("scheduler", self.counts)
        self._routing = Routing.of(deployment.config)
        self._alerts = DutyLoop("alerts", self._alert_duties(), self._hub)
        self._notices = DutyLoop("notices", [Duty("notices", self._deliver, FLOOR_S, (NOTICES,))], self._hub)
        self._archive = Archive(deployment.store, deployment.config.archive)
        self._keep_days = deployment.config.retention.days
        self._history = DutyLoop("history", self._history_duties(), self._hub)
        self._sync = LocationSync(deployment.store, deployment.config, deployment.hub)
        self._sync_thread = threading.Thread(target=self._run_sync, name="locations", daemon=True)
        self._sync_loop: asyncio.AbstractEventLoop | None = None
        self._sync_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._coordination.start()
        self._planning.start()
        self._alerts.start()
        self._notices.start()
        self._history.start()
        self._sync_thread.start()

    def stop(self) -> None:
        if self._sync_loop is not None and self._sync_task is not None and not self._sync_loop.is_closed():
            self._sync_loop.call_soon_threadsafe(self._sync_task.cancel)
        self._coordination.stop()
        self._planning.stop()
        self._alerts.stop()
        self._notices.stop()
        self._history.stop()
        self._sync_thread.join(10)

    def counts(self) -> dict[str, Any]:
        """What the duties of this process have cost and met since it started."""
        loops = (self._coordination, self._planning, self._history)
        return {"duties": {name: asdict(done) for loop in loops for name, done in loop.done.items() if done.runs}}

    # ------------------------------------------------------------------ duties

    def _planning_duties(self) -> list[Duty]:
        return [
            Duty("automation", self._automate, FLOOR_S, (Channel.TODO,)),
            Duty("fan_out", self._fan_out, FLOOR_S, (Channel.TODO, Channel.SCHEDULED), gap_s=_FAN_OUT_GAP_S),
            Duty("new_keys", self._new_keys, FLOOR_S, (Channel.TODO,)),
            Duty("asked", self._asked, FLOOR_S, (Channel.TODO, ASKED)),
            Duty("clocks", self._clocks, FLOOR_S, (CLOCKS,)),
            Duty("jobs", self._jobs, FLOOR_S),
            Duty("rebuild", self._rebuild, FLOOR_S, (Channel.TODO,)),
            Duty("tend_requests", lambda: tend_requests(self._store) < 0, 60.0),
            Duty("replan", self._replan, FLOOR_S, (Channel.TODO,)),
            Duty("fold_pages", self._fold_pages, FLOOR_S, (CHANGES,), gap_s=5.0),
            Duty("expire_plans", self._expire_plans, 300.0),
            Duty("forget_reports", lambda: forget_reports(self._store), 60.0),
        ]

    def _alert_duties(self) -> list[Duty]:
        matchers = Matchers(self._routing, self._catalogs)
        return [
            Duty("raise_alerts", lambda: self._duties.told(raise_alerts(self._store, matchers)), FLOOR_S, (SIGNALS,)),
            Duty("freshness", self._freshness, FLOOR_S, (FRESHNESS, Channel.EVENT), gap_s=_FRESHNESS_GAP_S),
            Duty("watch_alerts", lambda: self._duties.told(watch_alerts(self._store, matchers)), _WATCH_S),
        ]

    def _history_duties(self) -> list[Duty]:
        """None where history is kept for ever. Woken by itself while there is more, with a gap: nobody waits for it."""
        if not self._keep_days:
            return []
        return [Duty("retain", self._retain, _RETAIN_S, (_HISTORY,), gap_s=_RETAIN_GAP_S)]

    def _retain(self) -> Ran:
        done = retain(self._store, self._archive.export, keep_days=self._keep_days)
        if done.more:
            self._hub.wake_here([_HISTORY])
        return Ran(False, done.deleted)

    def _freshness(self) -> Ran:
        return self._duties.told(look_at_freshness(self._store, self._catalogs))

    def _deliver(self) -> Ran:
        return self._duties.told(deliver(self._store, self._routing))

    def _automate(self) -> Ran:
        return self._duties.told(run_automation(self._store, self._catalogs, limits=self._limits))

    def _fan_out(self) -> Ran:
        return self._duties.told(run_fan_outs(self._store, self._catalogs))

    def _new_keys(self) -> Ran:
        return self._duties.told(run_new_keys(self._store, self._catalogs, limits=self._limits))

    def _asked(self) -> Ran:
        return self._duties.told(run_asked(self._store, self._catalogs, limits=self._limits))

    def _clocks(self) -> Ran:
        return self._duties.told(run_clocks(self._store, self._catalogs, limits=self._limits))

    def _jobs(self) -> Ran:
        planner = job_planner(self._store.read, self._catalogs, self._limits)
        return self._duties.told(run_jobs(self._store, planner))

    def _rebuild(self) -> Ran:
        return self._duties.told(run_rebuilds(self._store, self._catalogs, limits=self._limits))

    def _replan(self) -> Ran:
        return self._duties.told(run_replans(self._store, self._catalogs))

    def _fold_pages(self) -> Ran:
        folded = fold_pages(self._store)
        return Ran(folded > 0, folded)

    def _expire_plans(self) -> bool:
        with self._store.begin(durable=False) as tx:
            tx.expire_plans()
        return False

    def _note(self) -> bool:
        with self._store.begin(durable=False) as tx:
            for loop in (self._coordination, self._planning, self._alerts, self._notices, self._history):
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
