"""Midnight: 8,000 runs of three root tasks each come due at one instant (S-016), with pools and deadlines, under one, two and
three schedulers; among them 200 runs of two tasks in a row, which show how long the way takes inside the burst (S-011).

Schedulers and the code-location server are the shipped commands; two workers speak the real protocol and run nothing
(`noop/worker.py`), so that what is measured is the coordination. The clock runs from the first launch to the last publication,
and the launches are part of it. Afterwards the database is counted: every task one attempt, every cell published once, no slot
held. What three schedulers cost over one is told twice: as the median ratio of rates of pairs that follow each other, and as
processor time a task of everything, which other work on the machine moves less.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

import harness
import psutil
from noop import fleet

from partita.core.runtime.deployed import Deployed
from partita.core.store.open import open_store
from partita.core.store.postgres.store import PostgresStore

WORKERS = 2
CHAINS = 200
PAIRS = 3
CAPACITY = 500
POOLS = {"warehouse": 2_000, "lake": 1_000}
KILL_AFTER_S = 10.0
DEADLINE = "10s"  # some of them are missed: the duty that judges has its work inside the burst


@dataclass(frozen=True, slots=True)
class Burst:
    """What one burst came to; `cpu_ms` is processor time a task of Postgres, schedulers, workers and the launches."""

    rate: float
    behind_s: list[float]
    cpu_ms: float


def main() -> None:
    options = harness.options(__doc__ or "")
    runs, pairs = (1_000, 1) if options.quick else (8_000, PAIRS)
    workload = {
        "runs": runs,
        "tasks": fleet.ROOTS * runs + 2 * CHAINS,
        "workers": WORKERS,
        "pools": POOLS,
        "pairs": pairs,
    }
    bench = harness.Bench("burst", workload)
    found: dict[int, list[Burst]] = {1: [], 3: []}
    for _ in range(pairs):
        for schedulers, bursts in found.items():
            bursts.append(burst(runs, schedulers))
    if not options.quick:
        found[2] = [burst(runs, 2)]
    for schedulers in sorted(found):
        what = f"attempts a second from due to last publication, schedulers: {schedulers}"
        rate = median(one.rate for one in found[schedulers])
        bench.at_least(f"midnight_{schedulers}", what, rate, "tasks/s", 400)
    paired = list(zip(found[1], found[3], strict=True))
    ratio = median(three.rate / one.rate for one, three in paired)
    bench.at_least("three_over_one", "three schedulers' rate over one's, median of pairs", ratio, "x", 0.85)
    cpu = median(one.cpu_ms / three.cpu_ms for one, three in paired)
    bench.at_least("one_over_three_cpu", "processor time of one scheduler's burst over three's", cpu, "x", 0.85)
    bench.plain("cpu", "processor time a task of everything, one scheduler", median(b.cpu_ms for b in found[1]), "ms")
    behind = [seconds for one in found[3] for seconds in one.behind_s]
    bench.below("midnight_p99", "upstream commit to downstream queued, three schedulers", quantile(behind), "s", 10)
    if not options.quick:
        killed, held = burst(runs, 3, kill=True), burst(runs, 3, hold=True)
        bench.at_least("midnight_kill", "a scheduler of three killed at 10 s, or halfway", killed.rate, "tasks/s", 320)
        bench.at_least("midnight_xmin", "a snapshot held open throughout", held.rate, "tasks/s", 320)
    bench.print(as_json=options.json)


def quantile(values: list[float]) -> float:
    return harness.quantile(values, 0.99)


def burst(runs: int, schedulers: int, *, kill: bool = False, hold: bool = False) -> Burst:
    """One burst; the rows were counted."""
    names = [f"scheduler {n}" for n in range(schedulers)]
    tasks = fleet.ROOTS * runs + 2 * CHAINS
    with harness.project(fleet.files(runs, POOLS, deadline=DEADLINE)) as folder, Deployed(folder) as deployment:
        fleet.start(deployment, names)
        store = open_store(deployment.database_url, pool_size=4)
        asked = fleet.launches(store, runs, chains=CHAINS)
        with fleet.workers(deployment, WORKERS, CAPACITY) as started_workers:
            working = [psutil.Process(process.pid) for process in started_workers]
            cpu = cpu_seconds(deployment, working)
            with snapshot_held(store, hold), fleet.launching(deployment, store, asked):
                started = time.monotonic()
                killed = False
                while (done := published(deployment)) != tasks:
                    if kill and not killed and (time.monotonic() - started > KILL_AFTER_S or 2 * done > tasks):
                        cpu -= harness.cpu_seconds([psutil.Process(deployment.processes[names[0]].pid)])
                        deployment.kill(names[0])
                        killed = True
                    assert time.monotonic() - started < 600, f"only {done} of {tasks} cells after ten minutes"
                    time.sleep(0.25)
            cpu = cpu_seconds(deployment, working) - cpu
            assert killed is kill, "the burst was over before its scheduler was killed"
        [(seconds,)] = deployment.query(
            "SELECT extract(epoch FROM (SELECT max(finished_at) FROM attempt) - (SELECT min(created_at) FROM run))"
        )
        fleet.count(deployment, runs, chains=CHAINS)
        behind = deployment.query(
            "SELECT extract(epoch FROM t.queued_at - a.finished_at) FROM task t JOIN task_edge e ON e.downstream_id = t.id"
            " JOIN attempt a ON a.task_id = e.upstream_id"
        )
        store.close()
    assert len(behind) == CHAINS
    return Burst(tasks / float(seconds), [float(s) for (s,) in behind], 1000 * cpu / tasks)


def cpu_seconds(deployment: Deployed, working: list[psutil.Process]) -> float:
    found = harness.processes_of(deployment)
    return harness.cpu_seconds([*found["postgres"], *found["partita"], *working, psutil.Process()])


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


if __name__ == "__main__":
    main()
