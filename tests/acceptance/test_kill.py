"""kill -9 of each kind of process in the middle of a backfill of March loses nothing and doubles nothing (S-010, S-012, S-052).

In the short form two kinds, and half of March.
Each test waits for a mid-run state in the database, kills, sees that the process is gone, and asserts in the end that every
cell was published exactly once and that the published rows are those of the source.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path

import psutil
import pytest

from partita.core.embedded import EmbeddedPostgres
from partita.core.runtime.deployed import Deployed
from partita.sdk import Relation
from partita.sdk.io.lake import read_relation

FIRST, LAST = "2013-03-01", "2013-03-31"
LAST_OF_SHORT = "2013-03-14"


def start(deployment: Deployed) -> None:
    """One process per role."""
    deployment.start("scheduler")
    for location in ("flights", "health"):
        deployment.start("code-server", "--location", location, name=f"code-server {location}")
    deployment.start("worker")
    deployment.wait_serving()


def kill_scheduler(deployment: Deployed) -> int:
    pid = deployment.kill("scheduler")
    deployment.start("scheduler")
    return pid


def kill_worker(deployment: Deployed) -> int:
    pid = deployment.kill("worker")
    deployment.start("worker")
    return pid


def kill_code_server(deployment: Deployed) -> int:
    pid = deployment.kill("code-server flights")
    deployment.start("code-server", "--location", "flights", name="code-server flights")
    return pid


def kill_runner(deployment: Deployed) -> int:
    """One attempt's own process: a child of the warm process, which is a child of the server."""
    server = psutil.Process(deployment.processes["code-server flights"].pid)
    found: list[psutil.Process] = []

    def running() -> bool:
        found[:] = [child for warm in server.children() for child in warm.children()]
        return bool(found)

    deployment.wait("an attempt runs in a child", running)
    found[0].kill()
    return found[0].pid


def kill_postgres(deployment: Deployed) -> int:
    pid = EmbeddedPostgres(deployment.config.postgres).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    return pid


KILLS: dict[str, Callable[[Deployed], int]] = {
    "scheduler": kill_scheduler,
    "worker": kill_worker,
    "code_server": kill_code_server,
    "runner": kill_runner,
    "postgres": kill_postgres,
}


# The short form kills what holds attempts and what holds the truth; the others in `make chaos`. Schedulers in turn are killed in
# `test_faults_schedulers`, a child and its server in `test_faults_workers`, triggerers in `test_waiting`.
SHORT = ("worker", "postgres")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind in SHORT else pytest.mark.chaos) for kind in KILLS]
)
def test_a_killed_process_loses_and_doubles_nothing(flights: Deployed, flights_source: Path, kind: str) -> None:
    """S-077, S-136."""
    start(flights)
    last = LAST_OF_SHORT if kind in SHORT else LAST
    flights.run("backfill", "create", "location:flights", "--from", FIRST, "--to", last, "--yes", "--no-wait")
    flights.wait("the backfill is in its middle", lambda: published(flights) > 20 and running(flights) > 0)
    pid = KILLS[kind](flights)
    flights.wait("the killed process is gone", partial(gone, pid))
    flights.wait("it was killed in the middle, not at the end", lambda: published(flights) < planned(flights))
    flights.wait("the backfill ends", lambda: state(flights) != "running")
    assert state(flights) == "success"
    # The eager consumer in the other location follows `delays`; it too must be complete and single.
    flights.wait("consumers have followed", lambda: idle(flights))
    check_published_once(flights)
    check_figures(flights, flights_source, FIRST, last)


@pytest.mark.prove
@pytest.mark.timeout(3600)
def test_a_year_survives_every_kill(flights: Deployed, flights_source: Path) -> None:
    """One backfill of the whole year; each kind of process is killed in its course, one after another."""
    start(flights)
    first, last = "2013-01-01", "2013-12-31"
    flights.run("backfill", "create", "*", "--from", first, "--to", last, "--yes", "--no-wait")
    total = planned(flights)
    for number, kind in enumerate(KILLS, start=1):
        share = total * number // (len(KILLS) + 1)
        flights.wait(f"{share} of {total} cells are published", partial(reached, flights, share), timeout_s=1200)
        pid = KILLS[kind](flights)
        flights.wait("the killed process is gone", partial(gone, pid))
    flights.wait("the backfill ends", lambda: state(flights) != "running", timeout_s=1800)
    assert state(flights) == "success"
    flights.wait("consumers have followed", lambda: idle(flights), timeout_s=300)
    check_published_once(flights)
    check_figures(flights, flights_source, first, last)
    assert "Nothing to do" in flights.run("plan", "*")


# ------------------------------------------------------------------ what the database and the lake hold


def published(deployment: Deployed) -> int:
    [(count,)] = deployment.query("SELECT count(*) FROM task_cell WHERE state = 'published'")
    return int(count)


def reached(deployment: Deployed, cells: int) -> bool:
    return published(deployment) >= cells


def gone(pid: int) -> bool:
    """Its parent may not have looked yet: what is left of it until then does nothing any more."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def planned(deployment: Deployed) -> int:
    [(count,)] = deployment.query("SELECT count(*) FROM task_cell")
    return int(count)


def running(deployment: Deployed) -> int:
    [(count,)] = deployment.query("SELECT count(*) FROM task WHERE state = 'running'")
    return int(count)


def idle(deployment: Deployed) -> bool:
    """No event waits for automation, and no task owns a cell."""
    return deployment.query("SELECT (SELECT count(*) FROM event_todo) + (SELECT count(*) FROM open_cell)") == [(0,)]


def state(deployment: Deployed) -> str:
    [(found,)] = deployment.query("SELECT state FROM backfill")
    return str(found)


def check_published_once(deployment: Deployed) -> None:
    doubled = deployment.query(
        "SELECT a.key, e.partition, count(*) FROM event e JOIN asset a ON a.id = e.asset_id"
        " WHERE e.kind = 'materialized' GROUP BY 1, 2 HAVING count(*) <> 1"
    )
    assert doubled == []
    lost = deployment.query(
        "SELECT s.key, c.partition, c.state, t.id, t.state, t.outcome, t.run_id, t.attempt_number, t.infra_losses, t.error"
        " FROM task_cell c JOIN task t ON t.id = c.task_id JOIN asset s ON s.id = c.asset_id WHERE c.state <> 'published'"
    )
    assert lost == []
    without_event = deployment.query(
        "SELECT count(*) FROM task_cell c WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.kind = 'materialized'"
        " AND e.asset_id = c.asset_id AND e.partition = c.partition)"
    )
    assert without_event == [(0,)]
    leaked = deployment.query(
        "SELECT count(*) FROM pool_slot s JOIN task t ON t.id = s.task_id WHERE t.state = 'success'"
    )
    assert leaked == [(0,)]
    assert deployment.query(
        "SELECT count(*) FROM open_cell o JOIN task t ON t.id = o.task_id WHERE t.state = 'success'"
    ) == [(0,)]


def check_figures(deployment: Deployed, source: Path, first: str, last: str) -> None:
    """What stands behind the published pointers of a range is what the source has of it, day by day."""
    rows = deployment.query(
        "SELECT c.partition, c.location FROM cell c JOIN asset a ON a.id = c.asset_id WHERE a.key = 'raw/flights'"
        " AND c.data_version IS NOT NULL ORDER BY 1"
    )
    assert len(rows) == (date.fromisoformat(last) - date.fromisoformat(first)).days + 1
    given = Relation.from_parquet(source / "flights.parquet").sql(
        "select timezone('America/New_York', time_hour)::date::varchar as key, count(*) from self"
        f" where key between '{first}' and '{last}' group by all order by key"
    )
    made = [(partition, read_relation([location]).count()) for partition, location in rows]
    assert made == given.fetchall()
