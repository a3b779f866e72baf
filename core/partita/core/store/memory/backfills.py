"""Backfills in memory: their rows, what they have not made, and the pause of a pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from partita.core.store.encode import as_stored, clean_text
from partita.core.store.memory.base import MemoryPart, task_of
from partita.core.store.memory.runs import run_of
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

_UNMADE = frozenset({"failed", "upstream_failed", "cancelled", "removed"})


class BackfillsPart(MemoryPart):
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
        backfill_id = BackfillId(self._db.next("backfill"))
        self._db.backfill.put(
            {
                "id": backfill_id,
                "name": clean_text(name),
                "state": "running",
                "request": as_stored(request),
                "max_active": max_active,
                "created_by": clean_text(created_by),
                "created_at": self._now,
                "finished_at": None,
                "priority": priority,
                "newest_first": newest_first,
            }
        )
        return backfill_id

    def lock_backfills(self, ids: Sequence[BackfillId]) -> list[Backfill]:
        rows = (self._db.backfill.get(backfill_id) for backfill_id in sorted(set(ids)))
        return [self._backfill_of(row) for row in rows if row is not None]

    def _backfill_of(self, row: Mapping[str, Any]) -> Backfill:
        pool = self._db.pool.get(f"backfill:{row['id']}")
        paused = None if pool is None or pool["paused_by"] is None else PausedBy(pool["paused_by"], pool["paused_at"])
        return Backfill(
            row["id"],
            row["name"],
            RunState(row["state"]),
            row["max_active"],
            row["priority"],
            row["newest_first"],
            pool is not None,
            paused,
        )

    def write_backfill(self, backfill: Backfill) -> None:
        row = self._db.backfill.get(backfill.id)
        if row is None:
            return
        ends = backfill.state is not RunState.RUNNING
        self._db.backfill.change(
            backfill.id,
            state=backfill.state.value,
            max_active=backfill.max_active,
            priority=backfill.priority,
            finished_at=(row["finished_at"] or self._now) if ends else None,
        )

    def runs_of_backfill(self, backfill_id: BackfillId) -> list[RunId]:
        return [row["id"] for row in self._db.run.find("backfill", backfill_id)]

    def unmade_cells(self, backfill_id: BackfillId) -> list[tuple[CellRef, CellState]]:
        latest: dict[CellRef, str] = {}
        tasks = [
            row["id"] for run_id in self.runs_of_backfill(backfill_id) for row in self._db.task.find("run", run_id)
        ]
        for task_id in sorted(tasks):
            for own in self._db.task_cell.find("task", task_id):
                latest[CellRef(own["asset_id"], own["partition"])] = own["state"]
        return [(cell, CellState(latest[cell])) for cell in sorted(latest) if latest[cell] in _UNMADE]

    def backfill_priorities(self) -> dict[str, int]:
        rows = self._db.backfill.sorted_rows()
        return {
            f"backfill:{row['id']}": row["priority"] for row in rows if row["state"] == "running" and row["priority"]
        }

    def pause_pool(self, name: str, by: str | None) -> bool:
        row = self._db.pool.get(name)
        if row is None or (row["paused_by"] is None) == (by is None):
            return False
        at = None if by is None else self._now
        self._db.pool.put(row | {"paused_by": None if by is None else clean_text(by), "paused_at": at})
        return True

    def lock_tasks_of_runs(
        self, ids: Sequence[RunId], state: TaskState, *, reason: WaitReason | None = None
    ) -> list[Task]:
        rows = [row for run_id in sorted(set(ids)) for row in self._db.task.find("run", run_id)]
        found = [task_of(row) for row in sorted(rows, key=lambda row: row["id"]) if row["state"] == state.value]
        return [task for task in found if reason is None or task.reason is reason]

    def lock_cancelling_runs_skip(self, limit: int) -> list[Run]:
        return [run_of(row) for row in self._db.run.find("cancelling", True)[:limit]]
