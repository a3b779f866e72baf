"""Opening the store of a database URL, and bringing its schema up to date."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, ProgrammingError
from sqlalchemy.pool import NullPool

from partita.assets import PartitaError
from partita.core.store.postgres.store import PostgresStore

_MIGRATIONS = Path(__file__).with_name("migrations")
_MIGRATION_LOCK = 0x7061_7274_6974_6101  # "partita", 1: the advisory lock of migrations
_MIGRATION_WAIT_S = 300
_REVISION = re.compile(r'^revision = "(.+)"\ndown_revision = (?:"(.+)"|None)$', re.MULTILINE)


class DatabaseUrlError(PartitaError, ValueError):
    """A database URL that is none, or one of something else than Postgres. Never repeats the URL: it may hold a password."""


def driver_url(url: str) -> str:
    """`postgresql://...` as SQLAlchemy wants it: with the psycopg 3 driver named. Raises DatabaseUrlError for another one."""
    rule = "partita keeps its state in Postgres 15 or later"
    fix = (
        "give postgresql://user@host:port/database by PARTITA_DATABASE_URL, or as url under [database] in partita.toml"
    )
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # ValueError: a port that is no number
        raise DatabaseUrlError("the database URL cannot be read", rule=rule, fix=fix) from None
    if parsed.drivername.split("+")[0] not in ("postgresql", "postgres"):
        raise DatabaseUrlError(f"the database URL begins with {parsed.drivername!r}", rule=rule, fix=fix)
    return parsed.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


def migrate(url: str) -> None:
    """Brings the schema to the newest revision. Safe when several processes start at once: one migrates, the others wait
    for it (up to five minutes) and find nothing to do."""
    engine = create_engine(
        driver_url(url),
        poolclass=NullPool,
        connect_args={"options": f"-c lock_timeout={_MIGRATION_WAIT_S * 1000} -c statement_timeout=0 -c timezone=UTC"},
    )
    try:
        if not _is_newest(engine):
            _migrate(engine)
    finally:
        engine.dispose()


def newest_revision() -> str:
    """The revision that this version of partita needs: the one that no other stands on. Reads what the migrations say of
    themselves, without importing them."""
    texts = [file.read_text(encoding="utf-8") for file in (_MIGRATIONS / "versions").glob("rev_*.py")]
    named = {found[1]: found[2] for text in texts if (found := _REVISION.search(text))}
    (newest,) = named.keys() - set(named.values())
    return newest


def _is_newest(engine: Engine) -> bool:
    """Whether there is nothing to migrate: the usual case, which a command should not pay Alembic's import for."""
    try:
        with engine.connect() as connection:
            found = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
    except ProgrammingError:  # an empty database
        return False
    return found == [newest_revision()]


def _migrate(engine: Engine) -> None:
    from alembic import command
    from alembic.config import Config

    # The lock lives on a connection of its own: Alembic commits on the one it migrates on.
    with engine.connect() as guard, engine.connect() as connection:
        guard.exec_driver_sql(f"SELECT pg_advisory_lock({_MIGRATION_LOCK})")
        guard.commit()
        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        connection.commit()


def open_store(
    url: str, *, pool_size: int = 8, lock_timeout_s: float = 5.0, statement_timeout_s: float = 30.0
) -> PostgresStore:
    """The store of a migrated database. `pool_size` is the most connections that this process's duties use at once; its
    readers have as many of their own. Opens no connection yet."""
    return PostgresStore(
        driver_url(url), pool_size=pool_size, lock_timeout_s=lock_timeout_s, statement_timeout_s=statement_timeout_s
    )
