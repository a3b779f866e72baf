"""The store when connections break, servers restart and processes start at once."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from queue import Queue
from threading import Barrier

import psycopg
import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from tests.acceptance.faulty import Proxy
from tests.integration.store.pauses import in_thread

import partita.core.store.migrations
from partita.core.embedded import EmbeddedPostgres
from partita.core.store.listen import Listener
from partita.core.store.open import SchemaTooNew, migrate, newest_revision, open_store
from partita.core.store.pool import Pool
from partita.core.store.port import Unavailable
from partita.core.store.postgres import PostgresStore
from partita.core.store.urls import conninfo_of
from partita.core.store.values import WorkerId


def _kill_backends(url: str, application: str = "partita") -> int:
    with psycopg.connect(url, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = %s"
            " AND datname = current_database()",
            [application],
        ).fetchall()
    return len(rows)


def test_pooled_connections_that_were_closed_meanwhile_are_replaced(store: PostgresStore, pg_url: str) -> None:
    with store.begin() as one, store.begin() as two, store.begin() as three:
        assert one.live_workers() == two.live_workers() == three.live_workers() == []
    assert _kill_backends(pg_url) == 3
    with store.begin() as tx:
        tx.put_worker(WorkerId("w1"), "host", 1, 1, 10)
    with store.read() as reader:
        assert reader.capacity() == 1


def test_a_transaction_that_loses_its_connection_is_unavailable_and_wrote_nothing(
    store: PostgresStore, pg_url: str
) -> None:
    def lose() -> None:
        with store.begin() as tx:
            tx.put_worker(WorkerId("w1"), "host", 1, 1, 10)
            _kill_backends(pg_url)
            tx.live_workers()

    with pytest.raises(Unavailable):
        lose()
    with store.begin() as tx:
        assert tx.live_workers() == []


def test_a_database_that_is_not_there_is_unavailable(pg_server: EmbeddedPostgres) -> None:
    nowhere = open_store(pg_server.url.replace("/partita?", "/no_such_database?"))
    with pytest.raises(Unavailable, match="no_such_database"), nowhere.begin():
        pass
    nowhere.close()


def _ask_until_it_fails(store: PostgresStore) -> None:
    """A backend may answer for a moment after its postmaster died."""
    while True:
        store.run(lambda tx: tx.live_workers())


def test_a_store_outlives_its_server() -> None:
    root = Path(tempfile.mkdtemp(prefix="pt-pg-"))
    root.chmod(0o755)
    server = EmbeddedPostgres(root)
    outliving = open_store(server.start())
    try:
        migrate(server.url)
        outliving.run(lambda tx: tx.put_worker(WorkerId("w1"), "host", 1, 1, 600))
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(Unavailable):
            _ask_until_it_fails(outliving)
        server.start()
        assert [worker.id for worker in outliving.run(lambda tx: tx.live_workers())] == ["w1"]
    finally:
        outliving.close()
        server.stop()
        shutil.rmtree(root)


def test_readers_cannot_write(store: PostgresStore) -> None:
    with store.read() as reader, pytest.raises(Exception, match="read-only"):
        reader._connection.execute("INSERT INTO pool (name, slots) VALUES ('x', 1)")


def test_a_reader_sees_one_snapshot(store: PostgresStore) -> None:
    with store.read() as reader:
        assert reader.capacity() == 0
        with store.begin() as tx:
            tx.put_worker(WorkerId("w1"), "host", 1, 4, 10)
        assert reader.capacity() == 0
    with store.read() as reader:
        assert reader.capacity() == 4


def test_four_processes_that_migrate_at_once_make_one_schema(pg_server: EmbeddedPostgres) -> None:
    name = "migrated_at_once"
    with psycopg.connect(pg_server.url, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
    url = pg_server.url.replace("/partita?", f"/{name}?")
    start = Barrier(4)

    def one() -> None:
        start.wait(60)
        migrate(url)

    for future in [in_thread(one) for _ in range(4)]:
        future.result(60)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("0027_workers",)]
        assert connection.execute("SELECT count(*) FROM pool").fetchone() == (1,)
    with psycopg.connect(pg_server.url, autocommit=True) as connection:
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def test_a_schema_of_a_newer_version_is_refused_by_its_name(pg_url: str) -> None:
    """An older build that is started after an upgrade: nothing is changed, and the fix is said."""
    with psycopg.connect(pg_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999_of_tomorrow'")
    with pytest.raises(SchemaTooNew, match=r"9999_of_tomorrow.*never taken back.*or a newer one"):
        migrate(pg_url)
    with psycopg.connect(pg_url) as connection:
        connection.execute("UPDATE alembic_version SET version_num = %s", [newest_revision()])


def test_a_schema_that_is_up_to_date_is_recognised_without_alembic(pg_url: str) -> None:
    """Every command opens the database: it must not pay for importing what it does not need."""
    code = (
        f"import sys; from partita.core.store.open import migrate; migrate({pg_url!r});"
        " print({'alembic', 'sqlalchemy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_newest_revision_is_alembics_head() -> None:
    folder = Path(partita.core.store.migrations.__file__).parent
    config = Config()
    config.set_main_option("script_location", str(folder))
    assert ScriptDirectory.from_config(config).get_heads() == [newest_revision()]


@pytest.mark.parametrize("url", ["sqlite:///x.db", "mysql://u@h/d"])
def test_another_database_is_refused_with_the_form_to_give(url: str) -> None:
    with pytest.raises(ValueError, match="postgresql://user@host:port/database"):
        conninfo_of(url)


def test_a_listener_hears_what_is_notified_and_of_gaps(store: PostgresStore, pg_url: str) -> None:
    heard: Queue[str] = Queue()
    with Listener(
        pg_url, ["partita_queued", "Odd channel"], lambda channel, _: heard.put(channel), lambda: heard.put("gap")
    ):
        assert heard.get(timeout=60) == "gap"
        store.notify(["partita_queued", "Odd channel", "nobody"])
        assert {heard.get(timeout=60), heard.get(timeout=60)} == {"partita_queued", "Odd channel"}
        assert _kill_backends(pg_url, "partita-listen") == 1
        assert heard.get(timeout=60) == "gap"
        store.notify(["partita_queued"])
        assert heard.get(timeout=60) == "partita_queued"
    assert heard.empty()


def test_connections_give_up_a_server_that_vanished(pg_server: EmbeddedPostgres) -> None:
    """Half a minute, idle or in a statement: the kernel's own limits are hours, and a scheduler would wait as long."""
    proxy = Proxy(f"{pg_server.url.rpartition('host=')[2]}/.s.PGSQL.5432")
    try:
        pool = Pool(conninfo_of(proxy.url), size=1, options="")
        with pool.connection() as connection, socket.socket(fileno=os.dup(connection.pgconn.socket)) as seen:
            names = ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT", "TCP_USER_TIMEOUT")
            assert [seen.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in names] == [10, 5, 4, 30_000]
        pool.close()
    finally:
        proxy.close()
