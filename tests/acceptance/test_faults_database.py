"""The database goes away, is restarted, and loses connections, under shipped processes at work (S-156, S-237; law 2).

One deployment for all of them, over a server of the test's own behind a proxy. Each test asserts that its fault took effect.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from partita.core.embedded import EmbeddedPostgres
from partita.core.runtime.deployed import Deployed

from .faulty import MANY, Gate, Proxy, attempts, ended, launch, no_traceback, project, published_once, run_state, tasks

LEASE_S = 4.0


@dataclass
class House:
    """A deployment, the server that it uses, and the proxy between."""

    deployment: Deployed
    server: EmbeddedPostgres
    proxy: Proxy
    gate: Gate

    def backends(self) -> set[int]:
        """The server processes that work for the deployment, asked beside the proxy."""
        with psycopg.connect(self.server.url) as connection:
            rows = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'partita%'"
            ).fetchall()
        return {pid for (pid,) in rows}

    def pulse_age_s(self) -> float:
        with psycopg.connect(self.server.url) as connection:
            row = connection.execute("SELECT extract(epoch FROM clock_timestamp() - last_ok) FROM db_pulse").fetchone()
        assert row is not None
        return float(row[0])


def started(folder: Path, *, lease_s: float) -> Iterator[House]:
    folder.chmod(0o755)
    server = EmbeddedPostgres(folder / "server")
    server.start()
    socket_folder = server.url.rpartition("host=")[2]
    proxy = Proxy(f"{socket_folder}/.s.PGSQL.5432")
    gate = Gate(folder)
    for name, text in project(lease_s=lease_s).items():
        (folder / name).write_text(text)
    try:
        with Deployed(folder, env={"PARTITA_DATABASE_URL": proxy.url, "GATE": str(gate.path)}) as deployment:
            deployment.start("scheduler")
            deployment.start("code-server", "--location", "plain")
            deployment.start("worker")
            deployment.wait_serving()
            yield House(deployment, server, proxy, gate)
    finally:
        proxy.close()
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    yield from started(Path(tempfile.mkdtemp(prefix="pt-db-")), lease_s=LEASE_S)


def outlives_an_outage(house: House, *, outage_s: float, lease_s: float) -> None:
    """Attempts run on through it, some end in it; when it is over they are reported, and nobody was judged."""
    deployment = house.deployment
    run_id = launch(deployment, "gated")
    deployment.wait("all three run", lambda: tasks(deployment, run_id, "running") == 3)
    before = attempts(deployment, run_id)
    house.proxy.cut()
    gone_at = time.monotonic()
    with pytest.raises(psycopg.OperationalError):
        deployment.query("SELECT 1")
    house.gate.open()  # they end while nobody can be told
    deployment.wait("nobody is connected any more", lambda: not house.backends())
    # An outage has no event to wait for: it lasts until somebody ends it, and here that has to be longer than the lease.
    time.sleep(max(0.0, outage_s - (time.monotonic() - gone_at)))
    assert house.pulse_age_s() > max(lease_s, outage_s - 2.0), (
        "the fault took effect: the lease has lapsed by the clock"
    )
    house.proxy.mend()
    ended(deployment, run_id)
    assert attempts(deployment, run_id) == [(partition, 1, "success", worker) for partition, _, _, worker in before]
    assert deployment.query("SELECT count(*) FROM worker WHERE state = 'gone'") == [(0,)], "nobody was judged"
    published_once(deployment, run_id, 3)
    no_traceback(deployment)


def test_an_outage_longer_than_the_lease_loses_nobody(house: House) -> None:
    outlives_an_outage(house, outage_s=6.5, lease_s=LEASE_S)


@pytest.mark.chaos
def test_an_outage_of_a_minute_loses_nobody() -> None:
    """The default lease is half of it."""
    for made in started(Path(tempfile.mkdtemp(prefix="pt-db-")), lease_s=30.0):
        outlives_an_outage(made, outage_s=60.0, lease_s=30.0)


@pytest.mark.chaos  # the short form is the kill -9 of the server in test_kill
def test_a_restart_in_the_middle_of_a_run(house: House) -> None:
    deployment = house.deployment
    run_id = launch(deployment, "many")
    deployment.wait("it is in its middle", lambda: tasks(deployment, run_id, "success") > 5)
    before, others = house.server.pid, house.backends()
    house.server.stop()
    house.server.start()
    assert house.server.pid != before
    assert run_state(deployment, run_id) == "running", "it was restarted in the middle"
    deployment.wait("processes have connected anew", lambda: bool(house.backends() - others))
    ended(deployment, run_id)
    published_once(deployment, run_id, MANY)
    no_traceback(deployment)


def test_connections_that_are_ended_from_outside(house: House) -> None:
    """pg_terminate_backend of everybody, again and again: an administrator, a pooler, a fail-over."""
    deployment = house.deployment
    run_id = launch(deployment, "many")
    ended_backends: set[int] = set()
    for done in (3, 10, 20):
        deployment.wait("it goes on", lambda done=done: tasks(deployment, run_id, "success") >= done)  # type: ignore[misc]
        there = house.backends()
        with psycopg.connect(house.server.url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'partita%'"
            )
        assert there
        assert not there & house.backends()
        ended_backends |= there
    assert len(ended_backends) >= 8
    ended(deployment, run_id)
    published_once(deployment, run_id, MANY)
    no_traceback(deployment)


def test_connections_that_break_in_the_middle_of_anything(house: House) -> None:
    """Within a statement, an answer or a commit: whoever asked does not know whether it was done."""
    deployment = house.deployment
    run_id = launch(deployment, "many")
    deployment.wait("it is in its middle", lambda: tasks(deployment, run_id, "success") > 3)
    broken = house.proxy.broken
    with house.proxy.shaky(30_000):
        with psycopg.connect(house.server.url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'partita%'"
            )
        deployment.wait("connections break", lambda: house.proxy.broken - broken > 15)
    ended(deployment, run_id)
    published_once(deployment, run_id, MANY)
    no_traceback(deployment)
