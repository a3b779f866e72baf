"""What attempts cost that only run: thousands are held for a while by workers that do nothing but renew their leases
(S-015, S-017).

A lease is a row per worker, not per attempt, so what the database writes meanwhile must not grow with the attempts. Measured over
the window: processor time of all workers and of the database's processes that serve them, polls included, and every row that any
table wrote, whoever wrote it. Before and after, the attempts are counted: none may have been lost, and all are published in the
end.
"""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

import harness
import psutil
import psycopg
from noop import fleet

from partita.core.runtime.deployed import Deployed
from partita.core.store.open import open_store

WORKERS = 4
SETTLE_S = 15.0
BACKENDS = (
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND application_name LIKE 'partita%%'"
)
ROWS = "SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_user_tables"


@dataclass(frozen=True, slots=True)
class Held:
    """What a window cost: shares of a core in percent, of lease traffic and of the whole deployment; rows written a second."""

    core: float
    whole: float
    writes: float


def main() -> None:
    options = harness.options(__doc__ or "")
    counts, seconds = ((7_200,), 30.0) if options.quick else ((7_200, 20_000), 300.0)
    bench = harness.Bench("concurrency", {"seconds": seconds, "workers": WORKERS})
    for attempts in counts:
        found = held(attempts, seconds)
        what = f"{attempts:,} attempts held"
        bench.below(f"held_{attempts}", f"{what}: workers and what serves them", found.core, "% core", 1)
        bench.below(f"held_{attempts}_writes", f"{what}: rows written, all tables", found.writes, "rows/s", 100)
        bench.plain(f"held_{attempts}_whole", f"{what}: the whole deployment, Postgres too", found.whole, "% core")
    bench.print(as_json=options.json)


def held(attempts: int, seconds: float) -> Held:
    """The cost of holding so many attempts for so long; the rows were counted."""
    runs = -(-attempts // fleet.ROOTS)
    attempts = runs * fleet.ROOTS
    pools = {"warehouse": attempts, "lake": attempts}
    with harness.project(fleet.files(runs, pools)) as folder, Deployed(folder) as deployment:
        fleet.start(deployment, ["scheduler"])
        store = open_store(deployment.database_url)
        asked = fleet.launches(store, runs)
        others = backends(deployment)
        with fleet.workers(deployment, WORKERS, -(-attempts // WORKERS), "--hold") as workers:
            with fleet.launching(deployment, store, asked):
                deployment.wait("all attempts run", lambda: running(deployment) == attempts, timeout_s=600)
            store.close()
            settle(deployment)
            theirs = [psutil.Process(pid) for pid in {one.pid for one in workers} | (backends(deployment) - others)]
            found = window(deployment, theirs, seconds)
            assert running(deployment) == attempts, f"{running(deployment)} of {attempts} attempts still run"
            assert deployment.query("SELECT count(*) FROM attempt") == [(attempts,)], "an attempt was lost"
            for one in workers:
                one.send_signal(signal.SIGUSR1)
            deployment.wait("all attempts end", lambda: running(deployment) == 0, timeout_s=600)
            deployment.wait("the pages follow", lambda: deployment.query("SELECT count(*) FROM cell_change") == [(0,)])
        fleet.count(deployment, runs)
    return found


def settle(deployment: Deployed) -> None:
    """What a start, a launch and a claim leave behind is no holding: neither threads that still end nor rows to be cleaned up."""
    with psycopg.connect(deployment.database_url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
    time.sleep(SETTLE_S)


def window(deployment: Deployed, theirs: list[psutil.Process], seconds: float) -> Held:
    """What the workers and their backends (`theirs`), and all processes, did in so many seconds."""
    known = {one.pid: one for kind in harness.processes_of(deployment).values() for one in kind}
    whole = list((known | {one.pid: one for one in theirs}).values())
    rows, began, started = written(deployment), [harness.cpu_seconds(one) for one in (theirs, whole)], time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - started
    core, all_of_it = (
        100 * (harness.cpu_seconds(one) - before) / took for one, before in zip((theirs, whole), began, strict=True)
    )
    return Held(core, all_of_it, (written(deployment) - rows) / took)


def backends(deployment: Deployed) -> set[int]:
    """The database's processes that serve ours, by pid."""
    return {pid for (pid,) in deployment.query(BACKENDS)}


def written(deployment: Deployed) -> int:
    """The rows written so far; a backend that is idle may report its own up to ten seconds later."""
    [(found,)] = deployment.query(ROWS)
    return int(found)


def running(deployment: Deployed) -> int:
    """The attempts that workers hold."""
    [(found,)] = deployment.query("SELECT count(*) FROM attempt WHERE finished_at IS NULL")
    return int(found)


if __name__ == "__main__":
    main()
