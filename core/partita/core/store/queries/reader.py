"""`Reader`: all queries over one snapshot of the database (`PostgresStore.read`)."""

from __future__ import annotations

from datetime import datetime

from partita.core.store.pool import Connection
from partita.core.store.queries.cells_read import CellsQueries
from partita.core.store.queries.definitions_read import DefinitionsQueries
from partita.core.store.queries.pending_read import PendingQueries
from partita.core.store.queries.plans_read import PlanQueries


class Reader(DefinitionsQueries, CellsQueries, PlanQueries, PendingQueries):
    """The readers of catalog, cells and planner. Takes no lock and writes nothing."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now

    @property
    def connection(self) -> Connection:
        """For statements that stream what no value has room for."""
        return self._connection

    def now(self) -> datetime:
        """The instant of the snapshot (UTC), on the database's clock."""
        return self._now
