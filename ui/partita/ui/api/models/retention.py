"""What of history goes, what has gone, and how large the tables are."""

from __future__ import annotations

from datetime import date, datetime

from partita.ui.api.models.base import Model


class ArchivedDay(Model):
    """A day (UTC) that went, or is going. `rows`: exported rows by table."""

    day: date
    state: str
    rows: dict[str, int]
    exported_at: datetime | None
    done_at: datetime | None


class RetentionView(Model):
    """`before`: history of earlier days goes (None: it is kept for ever); `runs` and `tasks` are how many of it finished runs are
    here still. `held` says what keeps the oldest day, "" when nothing does."""

    keep_days: float
    folder: str
    oldest: date | None
    before: date | None
    runs: int
    tasks: int
    held: str
    days: list[ArchivedDay]


class TableSize(Model):
    """Rows as the server last counted them. `bloated`: a fifth or more of many rows is dead: vacuum does not keep up."""

    name: str
    rows: int
    dead_rows: int
    bytes: int
    index_bytes: int
    vacuumed_at: datetime | None
    bloated: bool
