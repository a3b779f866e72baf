"""Opening the store of a database URL, and bringing its schema up to date."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
from psycopg.errors import UndefinedTable

from partita.assets import PartitaError
from partita.core.store.postgres.store import PostgresStore
from partita.core.store.urls import conninfo_of

_MIGRATIONS = Path(__file__).with_name("migrations")
_MIGRATION_LOCK = 0x7061_7274_6974_6101  # "partita", 1: the advisory lock of migrations
_MIGRATION_WAIT_S = 300
_MIGRATING = f"-c lock_timeout={_MIGRATION_WAIT_S * 1000} -c statement_timeout=0 -c timezone=UTC"
_REVISION = re.compile(r'^revision = "(.+)"\ndown_revision = (?:"(.+)"|None)$', re.MULTILINE)


class SchemaTooNew(PartitaError):
    """A newer version of partita has brought the schema further than this one knows."""


def migrate(url: str) -> None:
    """Brings the schema to the newest revision. Safe when several processes start at once: one migrates, the others wait
    for it (up to five minutes) and find nothing to do."""
    conninfo = conninfo_of(url)
    with psycopg.connect(conninfo, autocommit=True, options=_MIGRATING) as guard:
        if not _is_newest(guard):
            # The lock lives on a connection of its own: Alembic commits on the one it migrates on.
            guard.execute("SELECT pg_advisory_lock(%s)", [_MIGRATION_LOCK])
            _migrate(conninfo)


def newest_revision() -> str:
    """The revision that this version of partita needs: the one that no other stands on. Reads what the migrations say of
    themselves, without importing them."""
    named = _revisions()
    (newest,) = named.keys() - set(named.values())
    return newest


def _revisions() -> dict[str, str]:
    """Each revision with the one that it stands on."""
    texts = [file.read_text(encoding="utf-8") for file in (_MIGRATIONS / "versions").glob("rev_*.py")]
    return {found[1]: found[2] for text in texts if (found := _REVISION.search(text))}


def _is_newest(connection: psycopg.Connection) -> bool:
    """Whether there is nothing to migrate: the usual case, which a command should not pay Alembic's import for. Raises
    SchemaTooNew."""
    try:
        found = connection.execute("SELECT version_num FROM alembic_version").fetchall()
    except UndefinedTable:  # an empty database
        return False
    known = _revisions()
    for (revision,) in found:
        if revision not in known:
            raise SchemaTooNew(
                f"the schema of the database is at {revision}, which this version of partita does not know",
                rule=f"it knows the schema up to {newest_revision()}, and a schema is never taken back",
                fix="start the version of partita that brought the schema there, or a newer one",
            )
    return found == [(newest_revision(),)]


def _migrate(conninfo: str) -> None:
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    # The engine only names the dialect: the connection is made as everywhere, from what libpq reads.
    engine = create_engine(
        "postgresql+psycopg://",
        poolclass=NullPool,
        creator=lambda: psycopg.connect(conninfo, options=_MIGRATING),
    )
    with engine.connect() as connection:
        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()


def open_store(
    url: str,
    *,
    replica_url: str | None = None,
    pool_size: int = 8,
    lock_timeout_s: float = 5.0,
    statement_timeout_s: float = 30.0,
) -> PostgresStore:
    """The store of a migrated database. `pool_size` is the most connections that this process's duties use at once; its
    readers have as many of their own, and so have those of a replica. Opens no connection yet."""
    return PostgresStore(
        conninfo_of(url),
        replica_url=None if replica_url is None else conninfo_of(replica_url),
        pool_size=pool_size,
        lock_timeout_s=lock_timeout_s,
        statement_timeout_s=statement_timeout_s,
    )
