"""What every service stands on: the store, the catalogs, the logs, and how to wake the others.

Owns no question of its own. `Backend` is made once per process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from partita.core.catalog import CatalogCache
from partita.core.logs import LogStore
from partita.core.store.postgres.store import PostgresStore


@dataclass(frozen=True, slots=True)
class Backend:
    """`who` asks through `kind` ("api" or "cli"): both are written on what is launched. `wake` tells the channels of a duty's
    answer to the other processes."""

    store: PostgresStore
    catalogs: CatalogCache
    logs: LogStore
    wake: Callable[[Iterable[str]], None]
    who: str
    kind: str


def earliest(*instants: datetime | None) -> datetime | None:
    known = [one for one in instants if one is not None]
    return min(known) if known else None
