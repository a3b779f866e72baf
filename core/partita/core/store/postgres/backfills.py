"""Backfills: their rows, what they have not made, and the pause of a pool."""

# ruff: noqa: S608 - statements are put together from constants of this package only

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from partita.core.store.encode import clean_text, to_json
from partita.core.store.postgres.base import TASK_COLUMNS, PostgresPart
from partita.core.store.postgres.runs import RUN_COLUMNS, run_of
from partita.core.store.queries.plans_read import UNMADE_CELLS
from partita.core.store.sql import text
from partita.core.store.values import (
    Backfill,
    BackfillId,
    CellRef,
    CellState,
    PausedBy,
    Run,
    RunId,
    RunState,
    Task,
    TaskState,
    WaitReason,
)

INSERT_BACKFILL = text("""
    INSERT INTO backfill (name, state, request, max_active, created_by, priority, newest_first)
    VALUES (:name, 'running', CAST(:request AS jsonb), :max_active, :created_by, :priority, :newest_first)
    RETURNING id
""")

LOCK_BACKFILLS = text("""
    SELECT b.id, b.name, b.state, b.max_active, b.priority, b.newest_first, p.name IS NOT NULL, p.paused_by, p.paused_at
    FROM backfill b LEFT JOIN pool p ON p.name = 'backfill:' || b.id
    WHERE b.id = ANY(CAST(:ids AS bigint[])) ORDER BY b.id FOR NO KEY UPDATE OF b
""")

WRITE_BACKFILL = text("""
    UPDATE backfill
    SET state = :state, max_active = :max_active, priority = :priority,
        finished_at = CASE WHEN CAST(:state AS text) <> 'running' THEN coalesce(finished_at, now()) END
    WHERE id = :id
""")

RUNS_OF_BACKFILL = text("SELECT id FROM run WHERE backfill_id = :backfill ORDER BY id")

PRIORITIES = text(
    "SELECT 'backfill:' || id, priority FROM backfill WHERE state = 'running' AND priority <> 0 ORDER BY id"
)

PAUSE_POOL = text("""
    UPDATE pool SET paused_by = CAST(:by AS text), paused_at = CASE WHEN CAST(:by AS text) IS NOT NULL THEN now() END
    WHERE name = :name AND (paused_by IS NULL) <> (CAST(:by AS text) IS NULL)
""")

LOCK_TASKS_OF_RUNS = text(f"""
    SELECT {TASK_COLUMNS} FROM task t
    WHERE t.run_id = ANY(CAST(:runs AS bigint[])) AND t.state = :state
      AND (CAST(:reason AS text) IS NULL OR t.reason = :reason)
    ORDER BY t.id FOR NO KEY UPDATE
""")

LOCK_CANCELLING = text(f"""
    SELECT {RUN_COLUMNS} FROM run WHERE cancelled_from IS NOT NULL ORDER BY id LIMIT :n FOR NO KEY UPDATE SKIP LOCKED
""")


class BackfillsPart(PostgresPart):
    def insert_backfill(
        self,
        name: str,
        request: Mapping[str, Any],
        max_active: int | None,
        created_by: str,
        *,
        priority: int = 0,
        newest_first: bool = False,
    ) -> BackfillId:
        [row] = self._rows(
            INSERT_BACKFILL,
            name=clean_text(name),
            request=to_json(request),
            max_active=max_active,
            created_by=clean_text(created_by),
            priority=priority,
            newest_first=newest_first,
        )
        return BackfillId(row[0])

    def lock_backfills(self, ids: Sequence[BackfillId]) -> list[Backfill]:
        return [_backfill_of(row) for row in self._rows(LOCK_BACKFILLS, ids=sorted(set(ids)))]

    def write_backfill(self, backfill: Backfill) -> None:
        self._execute(
            WRITE_BACKFILL,
            id=backfill.id,
            state=backfill.state.value,
            max_active=backfill.max_active,
            priority=backfill.priority,
        )

    def runs_of_backfill(self, backfill_id: BackfillId) -> list[RunId]:
        return [RunId(row[0]) for row in self._rows(RUNS_OF_BACKFILL, backfill=backfill_id)]

    def unmade_cells(self, backfill_id: BackfillId) -> list[tuple[CellRef, CellState]]:
        return [(CellRef(row[0], row[1]), CellState(row[2])) for row in self._rows(UNMADE_CELLS, backfill=backfill_id)]

    def backfill_priorities(self) -> dict[str, int]:
        return {row[0]: row[1] for row in self._rows(PRIORITIES)}

    def pause_pool(self, name: str, by: str | None) -> bool:
        return self._execute(PAUSE_POOL, name=name, by=None if by is None else clean_text(by)) == 1

    def lock_tasks_of_runs(
        self, ids: Sequence[RunId], state: TaskState, *, reason: WaitReason | None = None
    ) -> list[Task]:
        why = None if reason is None else reason.value
        return self._tasks(LOCK_TASKS_OF_RUNS, runs=sorted(set(ids)), state=state.value, reason=why)

    def lock_cancelling_runs_skip(self, limit: int) -> list[Run]:
        return [run_of(row) for row in self._rows(LOCK_CANCELLING, n=limit)]


def _backfill_of(row: Any) -> Backfill:
    backfill_id, name, state, max_active, priority, newest_first, pausable, paused_by, paused_at = row
    paused = None if paused_by is None else PausedBy(paused_by, paused_at)
    return Backfill(backfill_id, name, RunState(state), max_active, priority, newest_first, pausable, paused)
