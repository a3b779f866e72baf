"""Backfills: read for people, and paused, resumed, changed and cancelled by them.

Owns which cells count (a retried cell by its last task) and what a person may leave out when changing one. What is allowed is
decided by the core.
"""

from __future__ import annotations

from collections.abc import Sequence

from partita.core.decide.backfills import check_open
from partita.core.duties.backfills import cancel_backfill, change, pause, resume
from partita.core.store.queries import api_backfills as sql
from partita.core.store.queries.api_read import Row, number, one, rows
from partita.core.store.queries.api_runs import OPEN_STEPS_OF_RUNS
from partita.core.store.queries.reader import Reader
from partita.core.store.values import BackfillId
from partita.ui.api.models import BackfillList, BackfillMatrix, BackfillSettings, BackfillView, CancelPreview
from partita.ui.api.problems import NotFound
from partita.ui.api.services import backfill_views as views
from partita.ui.api.services.base import Backend
from partita.ui.api.services.run_views import cancel_preview

# What a state of the matrix stands for in the tables.
_STORED = {"fresh": ["published"], "scheduled": ["scheduled", "none"]}


class BackfillService:
    """Thread-safe; every answer is one snapshot of the database."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def page(self, *, offset: int = 0, limit: int = 50) -> BackfillList:
        with self._backend.store.read() as reader:
            found = rows(reader, sql.LIST_BACKFILLS, offset=offset, limit=limit)
            total = number(reader, sql.COUNT_BACKFILLS)
            return BackfillList(backfills=[self._view(reader, row) for row in found], total=total)

    def get(self, backfill_id: int) -> BackfillView:
        with self._backend.store.read() as reader:
            return self._view(reader, self._row(reader, backfill_id))

    def open(self, backfill_id: int, to: str) -> BackfillView:
        """As `get`; `to` is what somebody is about to be asked, as a verb. Raises NotFound, and BackfillRefused for one that has
        ended."""
        with self._backend.store.read() as reader:
            row = self._row(reader, backfill_id)
            check_open(views.backfill_of(row), to)
            return self._view(reader, row)

    def cells(
        self, backfill_id: int, *, states: Sequence[str] = (), offset: int = 0, limit: int = 200
    ) -> BackfillMatrix:
        """A page of the matrix; with `states` only partitions that have a cell in one of them."""
        stored = [state for asked in states for state in _STORED.get(asked, [asked])] or None
        with self._backend.store.read() as reader:
            ids = self._row(reader, backfill_id)["run_ids"]
            total = number(reader, sql.COUNT_PARTITIONS, ids=ids, states=stored)
            found = rows(reader, sql.PARTITIONS_OF_BACKFILL, ids=ids, states=stored, offset=offset, limit=limit)
            partitions = [row["partition"] for row in found]
            cells = rows(reader, sql.CELLS_OF_PARTITIONS, ids=ids, partitions=partitions) if partitions else []
        return views.matrix(partitions, cells, total=total, offset=offset)

    def pause_preview(self, backfill_id: int) -> CancelPreview:
        """What pausing it would meet now. Changes nothing."""
        with self._backend.store.read() as reader:
            row = self._row(reader, backfill_id)
            return views.pause_preview(row, rows(reader, OPEN_STEPS_OF_RUNS, ids=row["run_ids"]))

    def pause(self, backfill_id: int, reason: str = "") -> BackfillView:
        """Raises BackfillRefused, as the next three."""
        self._known(backfill_id)
        done = pause(self._backend.store, BackfillId(backfill_id), who=self._backend.who, reason=reason)
        self._backend.wake(done.channels)
        return self.get(backfill_id)

    def resume(self, backfill_id: int, reason: str = "") -> BackfillView:
        self._known(backfill_id)
        done = resume(self._backend.store, BackfillId(backfill_id), who=self._backend.who, reason=reason)
        self._backend.wake(done.channels)
        return self.get(backfill_id)

    def change(self, backfill_id: int, settings: BackfillSettings) -> BackfillView:
        """What the settings leave out stays as it is."""
        before = self.get(backfill_id)
        given = settings.model_fields_set
        done = change(
            self._backend.store,
            BackfillId(backfill_id),
            max_active=settings.max_active if "max_active" in given else before.max_active,
            priority=settings.priority if "priority" in given else before.priority,
            who=self._backend.who,
            reason=settings.reason,
        )
        self._backend.wake(done.channels)
        return self.get(backfill_id)

    def cancel_preview(self, backfill_id: int) -> CancelPreview:
        """What cancelling the backfill would meet now. Changes nothing."""
        with self._backend.store.read() as reader:
            ids = self._row(reader, backfill_id)["run_ids"]
            return cancel_preview("backfill", backfill_id, rows(reader, OPEN_STEPS_OF_RUNS, ids=ids))

    def cancel(self, backfill_id: int, reason: str = "") -> BackfillView:
        """Nothing of it starts from now on; its tasks end, very many of them over the next seconds. One that has ended, or
        is being cancelled, stays as it is."""
        before = self.get(backfill_id)
        if before.state == "running":
            done = cancel_backfill(self._backend.store, BackfillId(backfill_id), who=self._backend.who, reason=reason)
            self._backend.wake(done.channels)
        return self.get(backfill_id)

    def _known(self, backfill_id: int) -> None:
        with self._backend.store.read() as reader:
            self._row(reader, backfill_id)

    def _view(self, reader: Reader, row: Row) -> BackfillView:
        cells = rows(reader, sql.CELLS_OF_BACKFILL, ids=row["run_ids"])
        rate = one(reader, sql.RATE_OF_RUNS, ids=row["run_ids"]) if row["state"] == "running" else None
        return views.backfill_view(row, cells, rate)

    def _row(self, reader: Reader, backfill_id: int) -> Row:
        row = one(reader, sql.BACKFILL, backfill_id=backfill_id)
        if row is None:
            raise NotFound(f"there is no backfill {backfill_id}", fix="`partita backfill list` lists what there is")
        return row
