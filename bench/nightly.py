"""The night beside a backfill: how much longer scheduled work takes while a hundred thousand cells of history are being made.

One deployment of the shipped scheduler and code server, two workers that speak the real protocol and run nothing
(`noop/worker.py`), and one backfill, which is paused and goes on again: a night without it and a night with it follow each other,
in pairs, so that what else the machine does falls on both. A night is runs of three tasks that come due at one instant and want
the same pool as the backfill. Its figure is the 99th percentile of the time from due to published over its tasks; the row is the
median of the pairs' ratios. Counted: every task of every night succeeded, and the backfill ran throughout the nights that had
it. The same in virtual time, with no machine in it, is `noop/ticks.py`.
"""

from __future__ import annotations

import time
from functools import partial
from statistics import median

import harness
from noop import fleet, ticks

from partita.core.catalog import CatalogCache
from partita.core.duties.backfills import pause, resume
from partita.core.duties.launch import launch
from partita.core.duties.values import NewBackfill
from partita.core.planner import PlanRequest, plan, to_launch
from partita.core.runtime.deployed import Deployed
from partita.core.store.open import open_store
from partita.core.store.postgres.store import PostgresStore
from partita.core.store.values import BackfillId

WORKERS = 2
CAPACITY = 500
POOLS = {"warehouse": 200, "lake": 200}
IN_A_TICK = 20  # tasks of the simulated night, of three ticks each
HISTORY = """
from partita.sdk import Hourly

@asset(partitions=Hourly("2000-01-01", end="{end}", tz="UTC"), io=None, owner="team:history", pool="warehouse")
def history(context: Context) -> Output:
    return Output(data_version="1")
"""


def main() -> None:
    options = harness.options(__doc__ or "")
    cells, runs, pairs = (20_000, 100, 2) if options.quick else (100_000, 400, 7)
    backlog, nights = (2_000, 20) if options.quick else (20_000, 100)
    workload = {"cells": cells, "runs": runs, "tasks": fleet.ROOTS * runs, "pairs": pairs, "pools": POOLS}
    bench = harness.Bench("nightly", workload)
    without, beside = measured(cells, runs, pairs)
    ratio = median(two / one for one, two in zip(without, beside, strict=True))
    bench.at_most(
        "nightly", "p99 of due to published beside a backfill over that without, median of pairs", ratio, "x", 2
    )
    bench.plain("without", "p99 of a night by itself, median", median(without), "s")
    bench.plain("beside", "p99 of a night beside the backfill, median", median(beside), "s")
    stream, full = (in_ticks(backlog, arrivals) for arrivals in ([IN_A_TICK] * nights, [8 * ticks.SLOTS]))
    what = "the same in simulated ticks, of a night that wants 60 of 100 slots at a time"
    bench.at_most("nightly_ticks", what, stream, "x", 1.1)
    bench.plain("nightly_ticks_full", "of one that wants all slots for long; it is due four of five", full, "x")
    bench.print(as_json=options.json)


def in_ticks(backlog: int, arrivals: list[int]) -> float:
    """The ratio in virtual time, of a night that brings so many tasks in each tick."""
    alone, beside = (harness.quantile(ticks.waits(cells, arrivals), 0.99) for cells in (0, backlog))
    return beside / alone


def measured(cells: int, runs: int, pairs: int) -> tuple[list[float], list[float]]:
    """The 99th percentile of each night, without the backfill and beside it."""
    files = fleet.files(2 * pairs * runs, POOLS)
    files["noop.py"] += HISTORY.format(end=harness.hours_after_2000(cells))
    with harness.project(files) as folder, Deployed(folder) as deployment:
        fleet.start(deployment, ["scheduler"])
        store = open_store(deployment.database_url, pool_size=4)
        backfill_id = backfill(store, cells)
        without: list[float] = []
        beside: list[float] = []
        with fleet.workers(deployment, WORKERS, CAPACITY):
            deployment.wait("the backfill runs", lambda: made(deployment) > 0)
            hold(deployment, store, backfill_id)
            for pair in range(pairs):
                without.append(night(deployment, store, 2 * pair * runs, runs))
                store.notify(resume(store, backfill_id, who="bench").channels)
                before = made(deployment)
                deployment.wait("the backfill goes on", partial(_more, deployment, before))
                beside.append(night(deployment, store, (2 * pair + 1) * runs, runs))
                assert cells > made(deployment) > before, "the backfill did not run beside the whole night"
                hold(deployment, store, backfill_id)
        store.close()
    return without, beside


def backfill(store: PostgresStore, cells: int) -> BackfillId:
    """The backfill, running."""
    catalog = CatalogCache(store.read).active()
    with store.read() as reader:
        found = plan(catalog, reader, PlanRequest("history", as_of=reader.now()))
    assert found.task_count == cells
    new = NewBackfill("history", None, "bench")
    made = launch(store, to_launch(found, catalog, cause={"kind": "cli", "by": "bench"}, backfill=new, lane="backfill"))
    store.notify(made.channels)
    assert made.backfill_id is not None
    return made.backfill_id


def hold(deployment: Deployed, store: PostgresStore, backfill_id: BackfillId) -> None:
    """Pauses it, and waits until nothing of it is on its way."""
    store.notify(pause(store, backfill_id, who="bench").channels)
    active = "SELECT count(*) FROM task WHERE state IN ('queued', 'running')"
    deployment.wait("the backfill rests", lambda: deployment.query(active) == [(0,)])


def night(deployment: Deployed, store: PostgresStore, first: int, runs: int) -> float:
    """The 99th percentile of the seconds from due to published, of runs that come due now."""
    [(before,)] = deployment.query("SELECT max(id) FROM run")
    with fleet.launching(deployment, store, fleet.launches(store, first + runs)[first:]):
        pass
    started = time.monotonic()
    left = "SELECT count(*) FROM task WHERE run_id > %s AND state <> 'success'"
    while deployment.query(left, before) != [(0,)]:
        assert time.monotonic() - started < 300, "the night did not end in five minutes"
        time.sleep(0.1)
    due = "(SELECT min(created_at) FROM run WHERE id > %s)"
    took = f"SELECT extract(epoch FROM finished_at - {due}) FROM task WHERE run_id > %s"
    rows = deployment.query(took, before, before)
    assert len(rows) == fleet.ROOTS * runs
    return harness.quantile([float(seconds) for (seconds,) in rows], 0.99)


def _more(deployment: Deployed, before: int) -> bool:
    return made(deployment) > before


def made(deployment: Deployed) -> int:
    """Cells of the backfill that are published."""
    [(found,)] = deployment.query(
        "SELECT count(*) FROM cell c JOIN asset a ON a.id = c.asset_id WHERE a.key = 'history' AND c.data_version IS NOT NULL"
    )
    return int(found)


if __name__ == "__main__":
    main()
