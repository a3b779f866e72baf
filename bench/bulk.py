"""A hundred thousand cells launched in one transaction, their assets paused and resumed, and cancelled: rows of `backfill.py`.

The scheduler and the code server are the shipped commands; nobody works, so that every task is there to be cancelled. Launching
is what confirming a plan does: planning it again, making its tasks with their edges, and writing them. "Cancelled" is
when the person has the answer: from then on nothing of the backfill starts any more and it holds no slot, and its first thousand
tasks are terminal. The others become so in bounded visits of the schedulers; how long until the last one stands beside it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import harness

from partita.core.catalog import CatalogCache
from partita.core.duties.backfills import cancel_backfill
from partita.core.duties.launch import launch
from partita.core.duties.pause import pause, resume
from partita.core.duties.values import NewBackfill
from partita.core.planner import PlanRequest, plan, replan, to_launch
from partita.core.runtime.deployed import Deployed
from partita.core.store.open import open_store
from partita.core.store.postgres.store import PostgresStore
from partita.core.store.values import AssetId

MODULE = """
from typing import Annotated
from partita.sdk import Context, From, Hourly, InputCell, Output, Static, all_, asset, rolling

all_hours = Hourly("2000-01-01", end="{whole}", tz="UTC")
half = Hourly("2000-01-01", end="{half}", tz="UTC")
keys = Static(*(f"p{{n:05}}" for n in range({wide})))
Cells = tuple[InputCell, ...]

def made(key, partitions):
    @asset(key=key, partitions=partitions, io=None, owner="team:bench")
    def each(context: Context) -> Output:
        return Output(data_version="1")
    return each

made("independent", all_hours)
base, left = made("base", half), made("left", keys)

@asset(partitions=half, io=None, owner="team:bench")
def windows(base: Annotated[Cells, From(base, rolling(hours=30, edge="clip"))]) -> Output:
    return Output(data_version="1")

@asset(partitions=keys, io=None, owner="team:bench")
def right(left: Annotated[Cells, From(left, all_())]) -> Output:
    return Output(data_version="1")
"""
CONFIG = '[[location]]\nname = "bulk"\nmodules = ["bulk"]\n'
SHAPES = {"": "independent", "_rolling": "base or windows", "_all": "left or right"}
TOLD = {
    "": "independent cells",
    "_rolling": "cells, half of them windows of 30 over the others",
    "_all": "cells, and as many that each read all of them",
}


@dataclass(frozen=True, slots=True)
class Bulk:
    tasks: int
    created_s: float
    created_cpu_s: float
    cancelled_s: float
    ended_s: float
    paused_s: float  # its assets, while all of it was open
    resumed_s: float


def measure(bench: harness.Bench, *, cells: int) -> None:
    files = {
        "partita.toml": CONFIG,
        "bulk.py": MODULE.format(
            whole=harness.hours_after_2000(cells), half=harness.hours_after_2000(cells // 2), wide=cells // 10
        ),
    }
    with harness.project(files) as folder, Deployed(folder) as deployment:
        deployment.start("scheduler")
        deployment.start("code-server", "--location", "bulk")
        deployment.wait_serving()
        for name, selection in SHAPES.items():
            found = _one(deployment, selection)
            what = f"{found.tasks:,} {TOLD[name]}" if name != "_all" else f"{cells // 10:,} {TOLD[name]}"
            bench.below(f"enqueue{name}", f"created: {what}", found.created_s, "s", 5)
            bench.plain(f"enqueue{name}_cpu", "processor time of it, Postgres included", found.created_cpu_s, "s")
            bench.below(f"cancel{name}", "cancelled: nothing of it starts any more", found.cancelled_s, "s", 1)
            bench.plain(f"cancel{name}_ends", "until its last task has ended", found.ended_s, "s")
            bench.plain(f"pause{name}", "its assets paused: every open task of them says so", found.paused_s, "s")
            bench.plain(f"resume{name}", "and let go again", found.resumed_s, "s")


def _one(deployment: Deployed, selection: str) -> Bulk:
    store = open_store(deployment.database_url, pool_size=2)
    catalog = CatalogCache(store.read).active()
    with store.read() as reader:
        shown = plan(catalog, reader, PlanRequest(selection, as_of=reader.now()))
    started, used = time.perf_counter(), _cpu_s(deployment)
    with store.read() as reader:
        fresh = replan(catalog, reader, shown)
    backfill = NewBackfill("bulk", 8, "bench")
    made = launch(
        store, to_launch(fresh, catalog, cause={"kind": "cli", "by": "bench"}, backfill=backfill, lane="backfill")
    )
    created_s, created_cpu_s = time.perf_counter() - started, _cpu_s(deployment) - used
    assert made.backfill_id is not None
    open_steps = "SELECT count(*) FROM task WHERE run_id = %s AND kind = 'step' AND finished_at IS NULL"
    assert deployment.query(open_steps, made.run_id) == [(fresh.task_count,)], "every planned task is there"
    paused_s, resumed_s = _paused(store, [one.asset_id for one in fresh.assets], fresh.task_count)
    started = time.perf_counter()
    done = cancel_backfill(store, made.backfill_id, who="bench")
    cancelled_s = time.perf_counter() - started
    queued = "SELECT count(*) FROM task WHERE run_id = %s AND state IN ('queued', 'running')"
    assert deployment.query(queued, made.run_id) == [(0,)], "nothing of it holds a slot"
    store.notify(done.channels)
    deployment.wait("all have ended", lambda: deployment.query(open_steps, made.run_id) == [(0,)])
    ended_s = time.perf_counter() - started
    other = "SELECT count(*) FROM task WHERE run_id = %s AND state <> 'cancelled'"
    assert deployment.query(other, made.run_id) == [(0,)], "none of them ended as anything but cancelled"
    store.close()
    return Bulk(fresh.task_count, created_s, created_cpu_s, cancelled_s, ended_s, paused_s, resumed_s)


def _paused(store: PostgresStore, assets: list[AssetId], tasks: int) -> tuple[float, float]:
    """The seconds that pausing and resuming assets take, of which so many tasks are open."""
    began = time.perf_counter()
    held = pause(store, assets, who="bench", reason="", said={})
    between = time.perf_counter()
    resume(store, assets, who="bench", reason="", said={})
    assert held.tasks == tasks, f"{held.tasks} of {tasks} open tasks are held"
    return between - began, time.perf_counter() - between


def _cpu_s(deployment: Deployed) -> float:
    """Of this process and the database's."""
    return time.process_time() + harness.cpu_seconds(harness.processes_of(deployment)["postgres"])
