"""Database URLs: which ones are ours, how they are shown, and what every connection is made with."""

from __future__ import annotations

import re

import psycopg
from psycopg.conninfo import conninfo_to_dict

from partita.assets import PartitaError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_RULE = "partita keeps its state in Postgres 15 or later"
_FIX = "give postgresql://user@host:port/database by PARTITA_DATABASE_URL, or as url under [database] in partita.toml"


# Of every connection: a server that vanished without a word (its host died, an address moved) is noticed within about half a
# minute, idle or in the middle of a statement. Without this a thread would wait for the kernel's limits: hours.
KEEPALIVE: dict[str, int] = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}


class DatabaseUrlError(PartitaError, ValueError):
    """A database URL that is none, or one of something else than Postgres. Never repeats the URL: it may hold a password."""


def conninfo_of(url: str) -> str:
    """The URL as the driver takes it: `postgresql+psycopg://`, as other tools write it, is the same database. Raises
    DatabaseUrlError for one that cannot be read and for another system's."""
    named = _SCHEME.match(url)
    if named is None:
        raise DatabaseUrlError("the database URL cannot be read", rule=_RULE, fix=_FIX)
    if named[1].split("+")[0] not in ("postgresql", "postgres"):
        raise DatabaseUrlError(f"the database URL begins with {named[1]!r}", rule=_RULE, fix=_FIX)
    plain = f"postgresql://{url[named.end() :]}"
    if not _can_be_read(plain):
        raise DatabaseUrlError("the database URL cannot be read", rule=_RULE, fix=_FIX)
    return plain


def shown(conninfo: str) -> str:
    """Which database this is, without its password."""
    parts = conninfo_to_dict(conninfo)
    return " ".join(f"{name}={parts[name]}" for name in ("host", "port", "dbname", "user") if parts.get(name))


def _can_be_read(url: str) -> bool:
    try:
        port = conninfo_to_dict(url).get("port")
    except psycopg.ProgrammingError:
        return False
    return port is None or all(one.isdigit() for one in str(port).split(","))
