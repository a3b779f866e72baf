"""The fifth part of the store port: backfills, and what pauses, re-prioritises and cancels them while they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_ids import BackfillId, CellRef, RunId
    from partita.core.store.values_runs import Backfill, Run
    from partita.core.store.values_tasks import CellState, Task, TaskState, WaitReason


class BackfillsTx(Protocol):
    """Operations of `Tx` on backfills. Their rows are locked after pools and runs, before owners of cells and tasks."""

    def insert_backfill(
        self,
        name: str,
        request: Mapping[str, Any],
        max_active: int | None,
        created_by: str,
        *,
        priority: int = 0,
        newest_first: bool = False,
    ) -> BackfillId: ...

    def lock_backfills(self, ids: Sequence[BackfillId]) -> list[Backfill]:
        """Waits; in id order; unknown ids are left out. Whether it is paused is read without a lock: take its pool first."""

    def write_backfill(self, backfill: Backfill) -> None:
        """State, limit and priority; it is finished when its state is not RUNNING."""

    def runs_of_backfill(self, backfill_id: BackfillId) -> list[RunId]:
        """In id order."""

    def unmade_cells(self, backfill_id: BackfillId) -> list[tuple[CellRef, CellState]]:
        """The cells whose last task in this backfill failed, could not start for what is above it, or was cancelled or removed;
        in cell order."""

    def backfill_priorities(self) -> dict[str, int]:
        """Of the running backfills that have one: the key of their tasks inside the lane, and the priority."""

    def pause_pool(self, name: str, by: str | None) -> bool:
        """Stops a pool from being admitted into, or with None lets it go on. False when that was so before, or there is no such
        pool. Waits for whoever admits into it: what comes after sees what was admitted."""

    def lock_tasks_of_runs(
        self, ids: Sequence[RunId], state: TaskState, *, reason: WaitReason | None = None
    ) -> list[Task]:
        """The tasks of these runs that are in the state (for the reason, if given), in id order. Waits."""

    def lock_cancelling_runs_skip(self, limit: int) -> list[Run]:
        """Runs that were cancelled and have tasks which nobody has reached yet, by id."""
