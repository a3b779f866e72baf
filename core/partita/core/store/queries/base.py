"""What every part of `Reader` shares: the connection, the instant of its snapshot, and running a statement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, TextClause


class ReaderPart:
    """The base of the parts of `Reader`."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now

    @property
    def now(self) -> datetime:
        """The instant of the snapshot (UTC), on the database's clock."""
        return self._now

    def _rows(self, statement: TextClause, **parameters: Any) -> Sequence[Any]:
        return self._connection.execute(statement, parameters).fetchall()
