"""`Reader`: all queries over one snapshot of the database (`PostgresStore.read`)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection


class Reader:
    def __init__(self, connection: Connection, now: datetime) -> None:
        self._connection = connection
        self._now = now
