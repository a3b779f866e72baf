"""Real Postgres for the integration tests: one embedded server a session, a migrated clone a test.

fsync is off: nothing here survives the session. Tests of durability start a server of their own.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from partita.core.embedded import EmbeddedPostgres

_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "max_connections": "200"}


@pytest.fixture(scope="session")
def pg_server() -> Iterator[EmbeddedPostgres]:
    # Under the system's temp folder and not pytest's: the socket path must stay short, and root's own folders keep others out.
    root = Path(tempfile.mkdtemp(prefix="pt-pg-"))
    os.chmod(root, 0o755)
    server = EmbeddedPostgres(root, settings=_FAST)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(root)


@pytest.fixture(scope="session")
def pg_template(pg_server: EmbeddedPostgres) -> str:
    """The name of a migrated, empty database that tests clone."""
    from partita.core.store.open import migrate

    name = "template_partita"
    _admin(pg_server, f'CREATE DATABASE "{name}"')
    migrate(_url(pg_server, name))
    return name


@pytest.fixture
def pg_url(pg_server: EmbeddedPostgres, pg_template: str) -> Iterator[str]:
    """The URL of a fresh migrated database."""
    name = f"t_{uuid4().hex[:12]}"
    _admin(pg_server, f'CREATE DATABASE "{name}" TEMPLATE "{pg_template}" STRATEGY file_copy')
    with psycopg.connect(_url(pg_server, name), autocommit=True) as connection:
        # The template's pulse is as old as the session: the clone would take that for an outage and extend all leases.
        connection.execute("UPDATE db_pulse SET last_ok = now()")
    yield _url(pg_server, name)
    _admin(pg_server, f'DROP DATABASE "{name}" WITH (FORCE)')


def _url(server: EmbeddedPostgres, database: str) -> str:
    return server.url.replace("/partita?", f"/{database}?")


def _admin(server: EmbeddedPostgres, statement: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(statement.encode())
