"""Midnight: 8,000 runs of three root tasks each come due at one instant (S-016), with pools, under one, two and three schedulers.

Schedulers and the code-location server are the shipped commands; two workers speak the real protocol and run nothing
(`noop_worker.py`), so that what is measured is the coordination. The clock runs from the first launch to the last publication,
and the launches are part of it. Afterwards the database is counted: every task one attempt, every cell published once, no slot
held.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import harness

from partita.assets import AssetKey
from partita.core.catalog import CatalogAsset, CatalogCache
from partita.core.duties.launch import launch_all
from partita.core.duties.values import Launch, LaunchCell, LaunchTask
from partita.core.runtime.deployed import Deployed
from partita.core.runtime.wake import WakeHub
from partita.core.store.open import open_store
from partita.core.store.postgres.store import PostgresStore
from partita.core.store.values import CellRef, PoolUse

WORKERS = 2
CAPACITY = 500
POOLS = {"warehouse": 2_000, "lake": 1_000}
KILL_AFTER_S = 10.0
MODULE = """
from partita.sdk import Context, Output, Static, asset

keys = Static(*(f"p{i:04}" for i in range(%d)))

def root(n: int, pool: str) -> None:
    @asset(key=f"root_{n}", partitions=keys, io=None, pool=pool, owner="team:bench")
    def made(context: Context) -> Output:
        return Output(data_version="1")

for n, pool in enumerate(["warehouse", "warehouse", "lake"]):
    root(n, pool)
"""
CONFIG = f"""
[[location]]
name = "noop"
modules = ["noop"]

[pools]
warehouse = {POOLS["warehouse"]}
lake = {POOLS["lake"]}
"""


def main() -> None:
    options = harness.options(__doc__ or "")
    runs = 1_000 if options.quick else 8_000
    bench = harness.Bench("burst", {"runs": runs, "tasks": 3 * runs, "workers": WORKERS, "pools": POOLS})
    rates: dict[int, float] = {}
    for schedulers in (1, 3) if options.quick else (1, 2, 3):
        rates[schedulers] = burst(runs, schedulers)
        what = f"attempts a second from due to last publication, schedulers: {schedulers}"
        bench.at_least(f"midnight_{schedulers}", what, rates[schedulers], "tasks/s", 400)
    bench.at_least("three_over_one", "three schedulers' rate over one's", rates[3] / rates[1], "x", 0.85)
    if not options.quick:
        bench.at_least("midnight_kill", "a scheduler of three killed", burst(runs, 3, kill=True), "tasks/s", 320)
        bench.at_least("midnight_xmin", "a snapshot held open throughout", burst(runs, 3, hold=True), "tasks/s", 320)
    bench.print(as_json=options.json)


def burst(runs: int, schedulers: int, *, kill: bool = False, hold: bool = False) -> float:
    """Tasks a second; the rows were counted."""
    names = [f"scheduler {n}" for n in range(schedulers)]
    files = {"partita.toml": CONFIG, "noop.py": MODULE % runs}
    with harness.project(files) as folder, Deployed(folder) as deployment:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        deployment.env.pop("PYTHONDONTWRITEBYTECODE", None)
        for name in names:
            deployment.start("scheduler", name=name)
        deployment.start("code-server", "--location", "noop")
        deployment.wait_serving()
        store = open_store(deployment.database_url, pool_size=4)
        launches = due_at_midnight(store, runs)
        with workers(deployment), snapshot_held(store, hold), launching(deployment, store, launches):
            started = time.monotonic()
            killed = False
            while (done := published(deployment)) != 3 * runs:
                if kill and not killed and time.monotonic() - started > KILL_AFTER_S:
                    deployment.kill(names[0])
                    killed = True
                assert time.monotonic() - started < 600, f"only {done} of {3 * runs} cells after ten minutes"
                time.sleep(0.25)
        [(seconds,)] = deployment.query(
            "SELECT extract(epoch FROM (SELECT max(finished_at) FROM attempt) - (SELECT min(created_at) FROM run))"
        )
        count(deployment, runs)
        store.close()
    return 3 * runs / float(seconds)


def due_at_midnight(store: PostgresStore, runs: int) -> list[Launch]:
    """One run a partition: its cell of each of the three roots."""
    catalog = CatalogCache(store.read).active()
    roots = [catalog.assets[AssetKey(f"root_{n}")] for n in range(3)]
    now = datetime.now(UTC)

    return [
        Launch(
            tasks=tuple(root_task(root, f"p{n:04}") for root in roots),
            request={"selection": "*"},
            plan_hash=f"midnight-{n}",
            as_of=now,
            cause={"kind": "schedule", "by": "bench"},
            pins=catalog.vector,
            lane="scheduled",
        )
        for n in range(runs)
    ]


def root_task(root: CatalogAsset, key: str) -> LaunchTask:
    pools = tuple(PoolUse(use.name, use.slots) for use in root.spec.pools)
    cell = LaunchCell(CellRef(root.id, key), "missing", None)
    return LaunchTask("step", root.step.id, root.location_id, root.snapshot_id, cells=(cell,), pools=pools)


@contextmanager
def launching(deployment: Deployed, store: PostgresStore, launches: list[Launch]) -> Iterator[None]:
    """Launches on a thread of its own, and waits for its end."""
    hub = WakeHub(deployment.database_url)

    def work() -> None:
        for first in range(0, len(launches), 100):
            for launched in launch_all(store, launches[first : first + 100]):
                hub.wake(launched.channels)

    thread = threading.Thread(target=work, daemon=True)
    hub.start()
    thread.start()
    yield
    thread.join()
    hub.stop()


@contextmanager
def workers(deployment: Deployed) -> Iterator[None]:
    script = Path(__file__).with_name("noop_worker.py")
    with deployment.log.open("ab") as log:
        started = [
            subprocess.Popen(
                [sys.executable, str(script), str(deployment.folder), str(CAPACITY)], env=deployment.env,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )
            for _ in range(WORKERS)
        ]  # fmt: skip
    try:
        deployment.wait(
            "the workers are there", lambda: deployment.query("SELECT count(*) FROM worker") == [(WORKERS,)]
        )
        yield
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
        for process in started:
            process.wait(30)


@contextmanager
def snapshot_held(store: PostgresStore, hold: bool) -> Iterator[None]:
    """What a forgotten transaction does: no dead row of the burst can be removed."""
    if not hold:
        yield
        return
    with store.read() as reader:
        reader.pending()
        yield


def published(deployment: Deployed) -> int:
    [(found,)] = deployment.query("SELECT count(*) FROM cell WHERE data_version IS NOT NULL")
    return int(found)


def count(deployment: Deployed, runs: int) -> None:
    [(tasks, attempts, cells, slots, owners)] = deployment.query(
        "SELECT (SELECT count(*) FROM task WHERE state = 'success'), (SELECT count(*) FROM attempt WHERE outcome = 'success'),"
        " (SELECT count(*) FROM cell WHERE last_outcome = 'published'), (SELECT count(*) FROM pool_slot),"
        " (SELECT count(*) FROM open_cell)"
    )
    assert (tasks, attempts, cells, slots, owners) == (3 * runs, 3 * runs, 3 * runs, 0, 0), (
        f"{tasks} tasks, {attempts} attempts, {cells} cells for {3 * runs}; {slots} slots and {owners} owners left"
    )


if __name__ == "__main__":
    main()
