"""What share of the database's own limit the control plane reaches: a burst by the shipped processes, and one by bare SQL.

On one server, in one run: tasks are launched before anybody may take them, then a scheduler and two workers that run nothing take
them all; then as many again are taken by as many connections that only execute SQL, in the same batches (`noop/bare.py`). The
clock runs from the first admission to the last publication, by the rows that each left. Both must have left the same: attempts,
publications, events.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import astuple, dataclass

import harness
import psutil
import psycopg
from noop import bare, fleet

from partita.core.runtime.deployed import Deployed
from partita.core.runtime.deployment import Deployment
from partita.core.store.open import open_store

WORKERS = 2
CAPACITY = 500
POOLS = {"warehouse": 2_000, "lake": 1_000}
LEFT = """
    SELECT count(*) FILTER (WHERE kind = 'materialized'), count(*) FILTER (WHERE kind = 'task' AND body ->> 'state' = 'running'),
           count(*) FILTER (WHERE kind = 'task' AND body ->> 'state' = 'success') FROM event WHERE run_id > %s
"""


def main() -> None:
    options = harness.options(__doc__ or "")
    runs, pairs = (1_000, 1) if options.quick else (4_000, 3)
    bench = harness.Bench("limit", {"tasks": 3 * runs, "pairs": pairs, "workers": WORKERS, "pools": POOLS})
    ours, limit = measured(runs, pairs)
    shares = [one.rate / other.rate for one, other in zip(ours, limit, strict=True)]
    bench.at_least("share", "our burst as a share of bare SQL, median of pairs", statistics.median(shares), "x", 0.5)
    for name, found, what in (("ours", ours, "by the shipped processes"), ("bare", limit, "by bare SQL")):
        rate, cpu_ms = (statistics.median(values) for values in zip(*(astuple(one) for one in found), strict=True))
        bench.plain(name, f"admitted, claimed and finished {what}", rate, "tasks/s")
        bench.plain(f"{name}_cpu", "processor time of it, Postgres too", cpu_ms, "ms/task")
    bench.print(as_json=options.json)


@dataclass(frozen=True, slots=True)
class Took:
    """Tasks a second by the clock, and milliseconds of the processors for each: the rate says little on a busy machine."""

    rate: float
    cpu_ms: float


def measured(runs: int, pairs: int) -> tuple[list[Took], list[Took]]:
    """What each pair took, ours and bare SQL; the rows were counted."""
    ours: list[Took] = []
    limit: list[Took] = []
    with (
        harness.project(fleet.files(runs * pairs * 2, POOLS)) as folder,
        Deployed(folder) as deployment,
        Deployment(deployment.config),  # the embedded server stays while no scheduler is there
    ):
        fleet.start(deployment, ["scheduler"])
        for pair in range(pairs):
            ours.append(burst(deployment, 2 * pair * runs, runs, lambda: by_processes(deployment)))
            limit.append(burst(deployment, (2 * pair + 1) * runs, runs, lambda: by_sql(deployment)))
        deployment.wait("all runs end", lambda: open_runs(deployment) == 0)
        fleet.count(deployment, runs * pairs * 2)
    return ours, limit


def burst(deployment: Deployed, first: int, runs: int, take_all: Callable[[], float]) -> Took:
    """Some runs, those from the `first` on, that `take_all` takes from launched to published; it gives the processor time."""
    deployment.stop("scheduler")
    store = open_store(deployment.database_url)
    [(before,)] = deployment.query("SELECT coalesce(max(id), 0) FROM run")
    with fleet.launching(deployment, store, fleet.launches(store, first + runs)[first:]):
        pass
    store.close()
    with psycopg.connect(deployment.database_url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")
    cpu_s = take_all()
    left = deployment.query(LEFT, before)
    wanted = fleet.ROOTS * runs
    assert left == [(wanted, wanted, wanted)], (
        f"{left} events of publications, starts and ends, {wanted} of each were due"
    )
    [(seconds,)] = deployment.query(
        "SELECT extract(epoch FROM max(a.finished_at) - min(a.queued_at)) FROM attempt a WHERE a.run_id > %s", before
    )
    return Took(wanted / float(seconds), 1000 * cpu_s / wanted)


def by_processes(deployment: Deployed) -> float:
    """The workers are there before the scheduler is: nothing is queued until then."""
    with fleet.workers(deployment, WORKERS, CAPACITY) as workers:
        theirs = [psutil.Process(one.pid) for one in workers]
        before = harness.cpu_seconds([*theirs, *postgres(deployment)])
        theirs.append(psutil.Process(deployment.start("scheduler").pid))
        deployment.wait("all tasks end", lambda: open_tasks(deployment) == 0)
        return harness.cpu_seconds([*theirs, *postgres(deployment)]) - before


def by_sql(deployment: Deployed) -> float:
    """Then a scheduler comes back, and folds what bare SQL left to fold."""
    this = psutil.Process()
    before = harness.cpu_seconds([this, *postgres(deployment)])
    bare.run(deployment.database_url, WORKERS)
    spent = harness.cpu_seconds([this, *postgres(deployment)]) - before
    assert open_tasks(deployment) == 0, f"{open_tasks(deployment)} tasks were not taken"
    deployment.start("scheduler")
    return spent


def postgres(deployment: Deployed) -> list[psutil.Process]:
    """The database's processes."""
    return harness.processes_of(deployment)["postgres"]


def open_tasks(deployment: Deployed) -> int:
    """Tasks that have not ended."""
    [(found,)] = deployment.query("SELECT count(*) FROM task WHERE state <> 'success'")
    return int(found)


def open_runs(deployment: Deployed) -> int:
    """Runs that have not ended."""
    [(found,)] = deployment.query("SELECT count(*) FROM run WHERE state = 'running'")
    return int(found)


if __name__ == "__main__":
    main()
