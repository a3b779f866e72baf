"""What of history goes, what has gone, and how large the tables are."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from partita.core.config import Config
from partita.core.decide.retention import first_kept, next_day
from partita.core.store.queries import tables_read as sql
from partita.core.store.queries.api_read import Row, one, rows
from partita.ui.api.models.retention import ArchivedDay, RetentionView, TableSize
from partita.ui.api.services.base import Backend

_DEAD = 0.2
_DEAD_ROWS = 10_000  # below that a vacuum is not worth a word


class RetentionService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def view(self, config: Config, limit: int) -> RetentionView:
        """The days that went last, at most `limit` of them, what would go, and what keeps it."""
        keep = config.retention.days
        with self._backend.store.begin(durable=False) as tx:
            at = tx.now()
            days = tx.archive_days(limit)
            oldest = tx.oldest_history()
            why = "" if oldest is None or not keep else next_day(oldest, tx.archive_holds(oldest), at, keep).why
        before = first_kept(at, keep) if keep else None
        runs, tasks = self._old(before)
        return RetentionView(
            keep_days=keep,
            folder=str(config.archive),
            oldest=oldest,
            before=before,
            runs=runs,
            tasks=tasks,
            held=why,
            days=[
                ArchivedDay(
                    day=one.day,
                    state=one.state.value,
                    rows=dict(one.rows),
                    exported_at=one.exported_at,
                    done_at=one.done_at,
                )
                for one in days
            ],
        )

    def tables(self) -> list[TableSize]:
        """All tables, the largest first."""
        with self._backend.store.read() as reader:
            return [_size(row) for row in rows(reader, sql.TABLES)]

    def _old(self, before: date | None) -> tuple[int, int]:
        if before is None:
            return 0, 0
        with self._backend.store.read() as reader:
            found = one(reader, sql.OLD_RUNS, before=datetime.combine(before, time(), tzinfo=UTC))
        return (0, 0) if found is None else (int(found["runs"]), int(found["tasks"]))


def _size(row: Row) -> TableSize:
    rows_there, dead = int(row["rows"]), int(row["dead"])
    share = dead / (rows_there + dead) if rows_there + dead else 0.0
    return TableSize(
        name=row["name"],
        rows=rows_there,
        dead_rows=dead,
        bytes=int(row["bytes"]),
        index_bytes=int(row["index_bytes"]),
        vacuumed_at=row["vacuumed_at"],
        bloated=dead >= _DEAD_ROWS and share > _DEAD,
    )
