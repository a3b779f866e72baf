"""Deadlines: set by launches, locked when due, ended."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from partita.core.store.postgres.base import PostgresPart, cell_arrays, ordered
from partita.core.store.sql import text
from partita.core.store.values import CellRef, CellState, TaskId, TaskState, WaitReason
from partita.core.store.values_deadlines import DueDeadline, NewDeadline

INSERT_DEADLINES = text("""
    INSERT INTO deadline (asset_id, partition, task_id, run_id, due_at)
    SELECT * FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:tasks AS bigint[]),
                         CAST(:runs AS bigint[]), CAST(:due AS timestamptz[]))
""")

# The rows are locked before the tasks are looked up, each by its key: history costs nothing.
LOCK_DUE_DEADLINES = text("""
    WITH due AS (
        SELECT asset_id, partition, task_id, run_id, due_at, set_at FROM deadline
        WHERE missed_at IS NULL AND due_at <= now()
        ORDER BY due_at, asset_id, partition, task_id LIMIT :n FOR UPDATE SKIP LOCKED
    )
    SELECT d.task_id, d.run_id, d.asset_id, d.partition, d.due_at, d.set_at, t.state, t.reason, t.finished_at, o.state,
           c.published_at, r.timed_out_at IS NOT NULL
    FROM due d
    JOIN task t ON t.id = d.task_id
    JOIN run r ON r.id = d.run_id
    JOIN task_cell o ON o.task_id = d.task_id AND o.asset_id = d.asset_id AND o.partition = d.partition
    LEFT JOIN cell c ON c.asset_id = d.asset_id AND c.partition = d.partition
    ORDER BY d.due_at, d.asset_id, d.partition, d.task_id
""")

DELETE_DEADLINES = text("""
    DELETE FROM deadline d
    USING unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:tasks AS bigint[]))
          AS u(asset_id, partition, task_id)
    WHERE d.asset_id = u.asset_id AND d.partition = u.partition AND d.task_id = u.task_id
""")

MISS_DEADLINES = text("""
    UPDATE deadline d SET missed_at = now()
    FROM unnest(CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:tasks AS bigint[]))
         AS u(asset_id, partition, task_id)
    WHERE d.asset_id = u.asset_id AND d.partition = u.partition AND d.task_id = u.task_id AND d.missed_at IS NULL
""")


class DeadlinesPart(PostgresPart):
    def insert_deadlines(self, deadlines: Iterable[NewDeadline]) -> None:
        rows: list[NewDeadline] = ordered(deadlines, lambda one: (one.cell, one.task_id), "insert_deadlines")
        if rows:
            self._execute(
                INSERT_DEADLINES,
                **cell_arrays([one.cell for one in rows]),
                tasks=[one.task_id for one in rows],
                runs=[one.run_id for one in rows],
                due=[one.due_at for one in rows],
            )

    def lock_due_deadlines_skip(self, limit: int) -> list[DueDeadline]:
        return [
            DueDeadline(
                row[0], row[1], CellRef(row[2], row[3]), row[4], row[5], TaskState(row[6]),
                None if row[7] is None else WaitReason(row[7]), row[8], CellState(row[9]), row[10], row[11],
            )
            for row in self._rows(LOCK_DUE_DEADLINES, n=limit)
        ]  # fmt: skip

    def end_deadlines(
        self, met: Collection[tuple[CellRef, TaskId]], missed: Collection[tuple[CellRef, TaskId]]
    ) -> None:
        for statement, keys in ((DELETE_DEADLINES, met), (MISS_DEADLINES, missed)):
            rows = sorted(keys)
            if rows:
                arrays = cell_arrays([cell for cell, _ in rows])
                self._execute(statement, **arrays, tasks=[task_id for _, task_id in rows])
