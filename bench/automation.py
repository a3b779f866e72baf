"""Automation: how fast consumers follow, what a change and what nothing costs among many assets, many schedules at one instant,
and events from outside.

Schedulers are the shipped commands. `one_change` is measured in this process over an embedded Postgres, by processor time: the
duty that the scheduler calls, with an event as a publication leaves it.
"""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any

import harness
import psutil
from intake_events import intake

from partita.core.automation import run_automation
from partita.core.catalog import CatalogCache
from partita.core.runtime.deployed import Deployed
from partita.core.store.open import open_store
from partita.core.store.values import NewEvent

LEAD_S = 45  # from the first scheduler that serves to the tick
KILL_AFTER_S = 1.0
CONFIG = """
[[location]]
name = "auto"
modules = ["auto"]
"""
FOLLOWING = """
from partita.sdk import Context, Output, Static, asset, defaults, eager, on_cron

defaults(owner="team:bench")
keys = Static(*(f"p{n:04}" for n in range(%d)))

@asset(partitions=keys, io=None)
def up(context: Context) -> Output: ...

@asset(partitions=keys, deps=["up"], io=None, automation=eager())
def down(context: Context) -> Output: ...

for n in range(500):
    @asset(key=f"other_{n}", io=None, automation=on_cron("0 3 * * *", "Europe/Berlin"))
    def other(context: Context) -> Output: ...
"""
SCHEDULES = """
import os
from partita.sdk import Context, Daily, Output, asset, defaults, on_cron

defaults(owner="team:bench")
days = Daily("2026-01-01", tz="Europe/Berlin")
cron = os.environ["TICK"]

for n in range(%d):
    @asset(key=f"due_{n:05}", partitions=days, io=None, automation=on_cron(cron))
    def due(context: Context) -> Output: ...
"""
MANY = """
from partita.sdk import Context, Output, Static, asset, defaults, eager

defaults(owner="team:bench")
keys = Static(*(f"p{n:04}" for n in range(1000)))

for n in range(%d):
    @asset(key=f"a_{n:05}", partitions=keys, deps=[f"a_{n // 3 - 1:05}"] if n >= 3 else [], io=None, automation=eager())
    def one(context: Context) -> Output: ...
"""


def main() -> None:
    options = harness.options(__doc__ or "")
    times, schedules, many, seconds, fed = (30, 2_000, 1_000, 15, 8) if options.quick else (200, 20_000, 10_000, 60, 60)
    bench = harness.Bench("automation", {"times": times, "schedules": schedules, "eager_assets": many, "intake_s": fed})
    follow(bench, times)
    changes(bench, many, seconds)
    due_at_once(bench, schedules)
    intake(bench, fed)
    bench.print(as_json=options.json)


def follow(bench: harness.Bench, times: int) -> None:
    """Producer's commit to consumer's start, one after the other, beside five hundred schedules."""
    files = {"partita.toml": CONFIG, "auto.py": FOLLOWING % times}
    with harness.project(files) as folder, harness.deployed(folder, ("dev",)) as deployment:
        for n in range(times):
            materialize_up(deployment, f"p{n:04}")
            deployment.wait("the consumer follows", lambda n=n: followed(deployment) == n + 1)  # type: ignore[misc]
        hops = [
            float(row[0])
            for row in deployment.query(
                "SELECT extract(epoch FROM d.started_at - u.finished_at) * 1000 FROM cell c"
                " JOIN asset a ON a.id = c.asset_id AND a.key = 'up' JOIN attempt u ON u.id = c.published_attempt"
                " JOIN cell e ON e.partition = c.partition JOIN asset b ON b.id = e.asset_id AND b.key = 'down'"
                " JOIN attempt d ON d.id = e.published_attempt"
            )
        ]
    assert len(hops) == times, f"{len(hops)} consumers followed, {times} were to"
    bench.below("eager_p50", "producer's commit to eager consumer's start", harness.quantile(hops, 0.5), "ms", 200)
    bench.below("eager_p99", "the same", harness.quantile(hops, 0.99), "ms", 1_000)


def materialize_up(deployment: Deployed, key: str) -> None:
    plan = call(deployment, "/plans", {"selection": "up", "partitions": key, "as": "run"})
    call(deployment, f"/plans/{plan['id']}/launch", {"confirm_cells": plan["cell_count"]})


def call(deployment: Deployed, path: str, body: object) -> Any:
    request = urllib.request.Request(
        f"{deployment.api}/api/v1{path}", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


def followed(deployment: Deployed) -> int:
    [(n,)] = deployment.query(
        "SELECT count(*) FROM cell c JOIN asset a ON a.id = c.asset_id WHERE a.key = 'down' AND c.data_version IS NOT NULL"
    )
    return int(n)


def changes(bench: harness.Bench, many: int, seconds: int) -> None:
    """One change among many eager assets, evaluated; and a scheduler with nothing to do among them."""
    files = {"partita.toml": CONFIG, "auto.py": MANY % many}
    commands = (("code-server", "--location", "auto"), ("scheduler",))
    with harness.project(files) as folder, harness.deployed(folder, *commands) as deployment:
        time.sleep(5)  # what a start still does in the background is not idling
        scheduler = harness.processes_of(deployment)["partita"]
        before, started = harness.cpu_seconds(scheduler), time.monotonic()
        time.sleep(seconds)
        share = (harness.cpu_seconds(scheduler) - before) / (time.monotonic() - started) * 100
        owner = deployment.processes["scheduler"]
        owner.send_signal(signal.SIGSTOP)  # it would take the events itself, and Postgres ends with it
        cost = one_change(deployment)
        owner.send_signal(signal.SIGCONT)
    bench.below("one_change", f"one change among {many:,} eager assets, evaluated", cost, "ms CPU", 20)
    bench.below("idle", f"nothing changing among {many:,} eager assets", share, "% core", 1)


def one_change(deployment: Deployed) -> float:
    """The median of ten; the first one loads the definitions."""
    store = open_store(deployment.database_url, pool_size=2)
    catalogs = CatalogCache(store.read)
    assets = catalogs.active().assets
    root = next(asset for key, asset in assets.items() if key == "a_00000")
    costs = []
    for n in range(11):
        event = NewEvent("materialized", root.id, f"p{n:04}", None, None, {}, ("automation",))
        with store.begin() as tx:
            tx.append_events([event])
        spent = time.process_time()
        done = run_automation(store, catalogs)
        costs.append((time.process_time() - spent) * 1000)
        assert done.taken == 1, f"{done.taken} events were taken"
    store.close()
    return harness.quantile(costs[1:], 0.5)


def due_at_once(bench: harness.Bench, schedules: int) -> None:
    """All schedules tick at one instant, under three schedulers, of which one is killed midway."""
    soonest = datetime.now(UTC) + timedelta(seconds=LEAD_S + schedules / 250)
    tick = soonest.replace(second=0, microsecond=0) + timedelta(minutes=1)
    os.environ["TICK"] = f"{tick.minute} {tick.hour} {tick.day} {tick.month} *"
    files = {"partita.toml": CONFIG, "auto.py": SCHEDULES % schedules}
    names = [f"scheduler {n}" for n in range(3)]
    with harness.project(files) as folder, Deployed(folder) as deployment:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        deployment.env.pop("PYTHONDONTWRITEBYTECODE", None)
        deployment.start("code-server", "--location", "auto")
        for name in names:
            deployment.start("scheduler", name=name)
        deployment.wait_serving()
        deployment.wait("every clock has been looked at", lambda: ready(deployment, tick) == schedules)
        assert datetime.now(UTC) < tick, "the definitions took longer to load than the bench allows for: raise LEAD_S"
        time.sleep(max((tick - datetime.now(UTC)).total_seconds() - 1, 0))
        everything = [one for kind in harness.processes_of(deployment).values() for one in kind]
        before = harness.cpu_seconds(everything)
        deployment.wait("the first are asked for", lambda: asked(deployment) > 0)
        time.sleep(KILL_AFTER_S)
        killed = psutil.Process(deployment.processes[names[0]].pid)
        spent = harness.cpu_seconds([killed])
        deployment.kill(names[0])
        deployment.wait("all are asked for", lambda: asked(deployment) == schedules)
        spent += harness.cpu_seconds(everything) - before
        [(seconds, cells, tasks)] = deployment.query(
            "SELECT extract(epoch FROM max(q.at) - %s), count(DISTINCT q.asset_id), (SELECT count(*) FROM task)"
            " FROM automation_request q",
            tick,
        )
    assert (cells, tasks) == (schedules, schedules), f"{tasks} tasks of {cells} assets for {schedules} ticks"
    what = f"{schedules:,} schedules due at one instant, one of three schedulers killed"
    bench.below("schedules", what, float(seconds), "s", 10)
    bench.plain("schedules_cpu", "processor time of everything meanwhile, Postgres too", spent, "s")


def ready(deployment: Deployed, tick: datetime) -> int:
    [(n,)] = deployment.query("SELECT count(*) FROM automation_clock WHERE next_at = %s", tick)
    return int(n)


def asked(deployment: Deployed) -> int:
    [(n,)] = deployment.query("SELECT count(*) FROM automation_request")
    return int(n)


if __name__ == "__main__":
    main()
