"""Runs, tasks, attempts and the queue: read for people, and cancelled by them.

Owns the reading of state tables and a bounded cache of runs that have ended (their rows are immutable). Cancelling is a duty of
the core; this only names what is cancelled.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock

from partita.core.decide.runs import check_limitable
from partita.core.decide.traces import trace_of, traceparent
from partita.core.duties.run_limits import limit_run
from partita.core.duties.runs import cancel_run, cancel_tasks
from partita.core.store.queries import api_runs as sql
from partita.core.store.queries.api_read import Row, Rows, now, number, one, rows
from partita.core.store.queries.reader import Reader
from partita.core.store.values import RunId, TaskId
from partita.ui.api.models import (
    AssetProgress,
    AttemptDetail,
    CancelPreview,
    PinView,
    QueueView,
    RunDetail,
    RunList,
    RunSettings,
    RunSummary,
    TaskDetail,
    TaskList,
    TaskRow,
)
from partita.ui.api.problems import NotFound
from partita.ui.api.services import run_views as views
from partita.ui.api.services.base import Backend, earliest
from partita.ui.api.services.waits import waits_of_run, why_it_waits

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

    def page(
        self, *, state: str | None = None, tags: Mapping[str, str] | None = None, offset: int = 0, limit: int = 50
    ) -> RunList:
        """The newest runs, those in a state, with all of these tags."""
        asked = {"state": state, "names": list(tags or {}), "values": list((tags or {}).values())}
        with self._backend.store.history() as reader:
            found = rows(reader, sql.LIST_RUNS, **asked, offset=offset, limit=limit)
            total = number(reader, sql.COUNT_RUNS, **asked)
            return RunList(runs=self._summaries(reader, found), total=total)

    def summary(self, run_id: int) -> RunSummary:
        with self._backend.store.read() as reader:
            return self._summaries(reader, [self._run(reader, run_id)])[0]

    def progress(self, run_id: int) -> list[AssetProgress]:
        """Per asset how many planned cells of the run show which state."""
        with self._backend.store.read() as reader:
            return views.progress(rows(reader, sql.CELLS_OF_RUNS, ids=[run_id]))

    def detail(self, run_id: int) -> RunDetail:
        with self._of_run(run_id) as reader:
            row = self._run(reader, run_id)
            summary = self._summaries(reader, [row])[0]
            pins = rows(reader, sql.PINS_OF_RUN, run_id=run_id)
            params = one(reader, sql.PARAMS_OF_RUN, run_id=run_id)
            path = rows(reader, sql.LAST_PATH, run_id=run_id)
            waits = waits_of_run(reader, run_id) if row["finished_at"] is None else []
        return RunDetail(
            **summary.model_dump(),
            waits=waits,
            params={} if params is None else dict(params["params"]),
            plan_hash=row["plan_hash"],
            snapshots=[PinView(location=pin["location"], version=pin["version"]) for pin in pins],
            critical_path=[task["id"] for task in path],
            max_active=row["max_active"],
            times_out_at=row["times_out_at"],
            timed_out_at=row["timed_out_at"],
        )

    def cancel_preview(self, run_id: int) -> CancelPreview:
        """What cancelling the run would meet now. Changes nothing."""
        with self._backend.store.read() as reader:
            self._run(reader, run_id)
            return views.cancel_preview("run", run_id, rows(reader, sql.OPEN_STEPS_OF_RUNS, ids=[run_id]))

    def cancel(self, run_id: int, reason: str = "") -> RunSummary:
        """Tasks that have not started are cancelled now; running ones are asked to stop."""
        with self._backend.store.read() as reader:
            self._run(reader, run_id)
        cancelled = cancel_run(self._backend.store, RunId(run_id), self._backend.who, reason=reason)
        self._backend.wake(cancelled.channels)
        return self.summary(run_id)

    def limitable(self, run_id: int) -> RunDetail:
        """As `detail`. Raises NotFound, and RunRefused for one that takes no limit now: before anybody is asked."""
        shown = self.detail(run_id)
        for run in self._backend.store.run(lambda tx: tx.read_runs([RunId(run_id)]), durable=False):
            check_limitable(run)
        return shown

    def change(self, run_id: int, settings: RunSettings) -> RunDetail:
        """Raises NotFound, RunRefused."""
        with self._backend.store.read() as reader:
            self._run(reader, run_id)
        done = limit_run(
            self._backend.store,
            RunId(run_id),
            max_active=settings.max_active,
            who=self._backend.who,
            reason=settings.reason,
        )
        self._backend.wake(done.channels)
        return self.detail(run_id)

    # ------------------------------------------------------------------ tasks

    def tasks(
        self, run_id: int, *, state: str | None = None, asset: str | None = None, offset: int = 0, limit: int = 200
    ) -> TaskList:
        catalog = self._backend.catalogs.active()
        asset_id = catalog.asset(asset).id if asset is not None else None
        with self._of_run(run_id) as reader:
            self._run(reader, run_id)
            chosen = {"run_id": run_id, "state": state, "asset_id": asset_id}
            found = rows(reader, sql.LIST_TASKS, **chosen, offset=offset, limit=limit)
            total = number(reader, sql.COUNT_TASKS, **chosen)
            return TaskList(total=total, tasks=self._task_rows(reader, found))

    def task(self, task_id: int) -> TaskDetail:
        with self._backend.store.read() as reader:
            found = self._task(reader, task_id)
            row = self._task_rows(reader, [found])[0]
            cells = rows(reader, sql.CELLS_OF_TASK, task_id=task_id, limit=_CELLS_SHOWN)
            reason = why_it_waits(reader, found)
        told = row.model_copy(update={"reason": reason})
        return TaskDetail(**told.model_dump(), cells=[views.task_cell(cell) for cell in cells])

    def cancel_task_preview(self, task_id: int) -> CancelPreview:
        """What cancelling the task would meet now. Changes nothing."""
        with self._backend.store.read() as reader:
            task = self._task(reader, task_id)
            below = number(reader, sql.WAITING_BELOW, task_id=task_id)
        states = [] if task["state"] in views.TERMINAL else [{"state": task["state"], "n": 1}]
        return views.cancel_preview("task", task_id, states, below=below)

    def cancel_task(self, task_id: int, reason: str = "") -> TaskDetail:
        """One task: ended now, or asked to stop while it runs. One that has ended stays as it is."""
        with self._backend.store.read() as reader:
            self._task(reader, task_id)
        cancelled = cancel_tasks(self._backend.store, [TaskId(task_id)], who=self._backend.who, reason=reason)
        self._backend.wake(cancelled.channels)
        return self.task(task_id)

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
            traceparent=traceparent(trace_of(row["run_id"], row["as_of"], row["cause"]), "attempt", row["id"]),
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

    # ------------------------------------------------------------------ from rows

    @contextmanager
    def _of_run(self, run_id: int) -> Iterator[Reader]:
        """The replica once it knows that the run has ended, so that nothing of it moves any more; else the primary."""
        store = self._backend.store
        if store.has_replica:
            with store.history() as reader:
                row = next(iter(rows(reader, sql.RUNS_BY_ID, ids=[run_id])), None)
                if row is not None and row["finished_at"] is not None:
                    yield reader
                    return
        with store.read() as reader:
            yield reader

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

    def _run(self, reader: Reader, run_id: int) -> Row:
        found = rows(reader, sql.RUNS_BY_ID, ids=[run_id])
        if not found:
            raise _unknown("run", run_id)
        return found[0]

    def _task(self, reader: Reader, task_id: int) -> Row:
        found = rows(reader, sql.TASKS_BY_ID, ids=[task_id])
        if not found:
            raise _unknown("task", task_id)
        return found[0]


def _by(found: Rows, column: str) -> dict[int, list[Row]]:
    groups: dict[int, list[Row]] = {}
    for row in found:
        groups.setdefault(row[column], []).append(row)
    return groups


def _unknown(kind: str, asked: int) -> NotFound:
    return NotFound(
        f"there is no {kind} {asked}",
        fix="`partita runs` lists what there is",
    )
