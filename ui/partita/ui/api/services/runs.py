"""Runs, tasks, attempts, backfills and the queue: read for people, and cancelled by them.

Owns the reading of state tables and a bounded cache of runs that have ended (their rows are immutable). Cancelling is a duty of
the core; this only names what is cancelled.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime
from threading import Lock

from partita.core.duties.runs import cancel_run
from partita.core.store.queries import api_runs as sql
from partita.core.store.queries.api_read import Row, Rows, now, number, one, rows
from partita.core.store.queries.reader import Reader
from partita.core.store.values import RunId
from partita.ui.api.models import (
    AssetProgress,
    AttemptDetail,
    BackfillList,
    BackfillView,
    PinView,
    QueueView,
    RunDetail,
    RunList,
    RunSummary,
    TaskDetail,
    TaskList,
    TaskRow,
)
from partita.ui.api.problems import NotFound
from partita.ui.api.services import run_views as views
from partita.ui.api.services.base import Backend, earliest

_ENDED_KEPT = 500
_CELLS_SHOWN = 500
_CHECKS_SHOWN = 500
_WAITING_SHOWN = 200


class RunService:
    """Thread-safe; every answer is one snapshot of the database."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._ended: OrderedDict[int, RunSummary] = OrderedDict()
        self._lock = Lock()

    # ------------------------------------------------------------------ runs

    def page(self, *, state: str | None = None, offset: int = 0, limit: int = 50) -> RunList:
        with self._backend.store.read() as reader:
            found = rows(reader, sql.LIST_RUNS, state=state, offset=offset, limit=limit)
            total = number(reader, sql.COUNT_RUNS, state=state)
            return RunList(runs=self._summaries(reader, found), total=total)

    def summary(self, run_id: int) -> RunSummary:
        with self._backend.store.read() as reader:
            return self._summaries(reader, [self._run(reader, run_id)])[0]

    def progress(self, run_id: int) -> list[AssetProgress]:
        """Per asset how many planned cells of the run show which state."""
        with self._backend.store.read() as reader:
            return views.progress(rows(reader, sql.CELLS_OF_RUNS, ids=[run_id]))

    def detail(self, run_id: int) -> RunDetail:
        with self._backend.store.read() as reader:
            row = self._run(reader, run_id)
            summary = self._summaries(reader, [row])[0]
            pins = rows(reader, sql.PINS_OF_RUN, run_id=run_id)
            path = rows(reader, sql.LAST_PATH, run_id=run_id)
        return RunDetail(
            **summary.model_dump(),
            plan_hash=row["plan_hash"],
            snapshots=[PinView(location=pin["location"], version=pin["version"]) for pin in pins],
            critical_path=[task["id"] for task in path],
        )

    def cancel(self, run_id: int) -> RunSummary:
        """Tasks that have not started are cancelled now; running ones are asked to stop."""
        with self._backend.store.read() as reader:
            self._run(reader, run_id)
        cancelled = cancel_run(self._backend.store, RunId(run_id), self._backend.who)
        self._backend.wake(cancelled.channels)
        return self.summary(run_id)

    # ------------------------------------------------------------------ tasks

    def tasks(
        self, run_id: int, *, state: str | None = None, asset: str | None = None, offset: int = 0, limit: int = 200
    ) -> TaskList:
        catalog = self._backend.catalogs.active()
        asset_id = catalog.asset(asset).id if asset is not None else None
        with self._backend.store.read() as reader:
            self._run(reader, run_id)
            chosen = {"run_id": run_id, "state": state, "asset_id": asset_id}
            found = rows(reader, sql.LIST_TASKS, **chosen, offset=offset, limit=limit)
            total = number(reader, sql.COUNT_TASKS, **chosen)
            return TaskList(total=total, tasks=self._task_rows(reader, found))

    def task(self, task_id: int) -> TaskDetail:
        with self._backend.store.read() as reader:
            found = rows(reader, sql.TASKS_BY_ID, ids=[task_id])
            if not found:
                raise _unknown("task", task_id)
            row = self._task_rows(reader, found)[0]
            cells = rows(reader, sql.CELLS_OF_TASK, task_id=task_id, limit=_CELLS_SHOWN)
        return TaskDetail(**row.model_dump(), cells=[views.task_cell(cell) for cell in cells])

    def attempt(self, attempt_id: int) -> AttemptDetail:
        with self._backend.store.read() as reader:
            row = one(reader, sql.ATTEMPT, attempt_id=attempt_id)
            if row is None:
                raise _unknown("attempt", attempt_id)
            checks = rows(reader, sql.CHECKS_OF_ATTEMPTS, ids=[attempt_id], limit=_CHECKS_SHOWN)
        return AttemptDetail(
            **views.attempt_summary(row).model_dump(),
            task_id=row["task_id"],
            run_id=row["run_id"],
            inputs=[dict(item) for item in row["inputs"]],
            checks=[views.check_result(check) for check in checks],
            traceback=row["traceback"],
        )

    def queue(self) -> QueueView:
        with self._backend.store.read() as reader:
            states = rows(reader, sql.OPEN_TASK_STATES)
            waiting = rows(reader, sql.WAITING_TASKS, limit=_WAITING_SHOWN)
            return QueueView(
                by_state={row["state"]: row["n"] for row in states},
                oldest_ready_at=earliest(*(row["oldest_ready_at"] for row in states)),
                waiting=self._task_rows(reader, waiting),
            )

    # ------------------------------------------------------------------ backfills

    def backfills(self, *, offset: int = 0, limit: int = 50) -> BackfillList:
        with self._backend.store.read() as reader:
            found = rows(reader, sql.LIST_BACKFILLS, offset=offset, limit=limit)
            total = number(reader, sql.COUNT_BACKFILLS)
            return BackfillList(backfills=[self._backfill(reader, row, now(reader)) for row in found], total=total)

    def backfill(self, backfill_id: int) -> BackfillView:
        with self._backend.store.read() as reader:
            row = self._backfill_row(reader, backfill_id)
            return self._backfill(reader, row, now(reader))

    def cancel_backfill(self, backfill_id: int) -> BackfillView:
        """Cancels every run of the backfill."""
        with self._backend.store.read() as reader:
            self._backfill_row(reader, backfill_id)
            runs = rows(reader, sql.RUNS_OF_BACKFILL, backfill_id=backfill_id)
        for run in runs:
            cancelled = cancel_run(self._backend.store, RunId(run["id"]), self._backend.who)
            self._backend.wake(cancelled.channels)
        return self.backfill(backfill_id)

    # ------------------------------------------------------------------ from rows

    def _summaries(self, reader: Reader, found: Sequence[Row]) -> list[RunSummary]:
        with self._lock:
            known = {row["id"]: self._ended[row["id"]] for row in found if row["id"] in self._ended}
        ids = [row["id"] for row in found if row["id"] not in known]
        states = _by(rows(reader, sql.TASK_STATES_OF_RUNS, ids=ids), "run_id") if ids else {}
        cells = _by(rows(reader, sql.CELLS_OF_RUNS, ids=ids), "run_id") if ids else {}
        answer = []
        for row in found:
            summary = known.get(row["id"])
            if summary is None:
                summary = views.run_summary(row, states.get(row["id"], []), cells.get(row["id"], []))
                self._keep(summary)
            answer.append(summary)
        return answer

    def _keep(self, summary: RunSummary) -> None:
        if summary.state == "running":
            return
        with self._lock:
            self._ended[summary.id] = summary
            while len(self._ended) > _ENDED_KEPT:
                self._ended.popitem(last=False)

    def _task_rows(self, reader: Reader, found: Rows) -> list[TaskRow]:
        ids = [row["id"] for row in found]
        if not ids:
            return []
        spans = _by(rows(reader, sql.CELL_RANGES_OF_TASKS, ids=ids), "task_id")
        attempts = _by(rows(reader, sql.ATTEMPTS_OF_TASKS, ids=ids), "task_id")
        catalog, at = self._backend.catalogs.active(), now(reader)
        return [
            views.task_row(row, spans.get(row["id"], []), attempts.get(row["id"], []), catalog, at) for row in found
        ]

    def _backfill(self, reader: Reader, row: Row, at: datetime) -> BackfillView:
        ids = [run["id"] for run in rows(reader, sql.RUNS_OF_BACKFILL, backfill_id=row["id"])]
        cells = rows(reader, sql.CELLS_OF_RUNS, ids=ids)
        states = rows(reader, sql.TASK_STATES_OF_RUNS, ids=ids)
        started_at = earliest(*(state["started_at"] for state in states))
        return views.backfill_view(row, cells, started_at=started_at, now=at)

    def _run(self, reader: Reader, run_id: int) -> Row:
        found = rows(reader, sql.RUNS_BY_ID, ids=[run_id])
        if not found:
            raise _unknown("run", run_id)
        return found[0]

    def _backfill_row(self, reader: Reader, backfill_id: int) -> Row:
        row = one(reader, sql.BACKFILL, backfill_id=backfill_id)
        if row is None:
            raise _unknown("backfill", backfill_id)
        return row


def _by(found: Rows, column: str) -> dict[int, list[Row]]:
    groups: dict[int, list[Row]] = {}
    for row in found:
        groups.setdefault(row[column], []).append(row)
    return groups


def _unknown(kind: str, asked: int) -> NotFound:
    return NotFound(
        f"there is no {kind} {asked}",
        fix=f"`partita {'backfill list' if kind == 'backfill' else 'runs'}` lists what there is",
    )
