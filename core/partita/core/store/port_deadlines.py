"""The fourth part of the store port: deadlines of cells. Nothing here moves a task: a missed deadline is told, never enforced."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_deadlines import DueDeadline, NewDeadline
    from partita.core.store.values_ids import CellRef, TaskId


class DeadlinesTx(Protocol):
    """Operations of `Tx` on deadlines. `set_at` of a new one is the transaction's instant."""

    def insert_deadlines(self, deadlines: Iterable[NewDeadline]) -> None: ...

    def lock_due_deadlines_skip(self, limit: int) -> list[DueDeadline]:
        """Those whose instant has come and that were not missed yet, by due_at, cell, task; tasks and cells are read without
        a lock."""

    def end_deadlines(
        self, met: Collection[tuple[CellRef, TaskId]], missed: Collection[tuple[CellRef, TaskId]]
    ) -> None:
        """Deletes those that were met; those that were missed stay, for people, with the instant at which that was seen."""
