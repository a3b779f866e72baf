"""A part of the store port: waits of deferred tasks, and the triggerers that watch them.

Whoever changes what a wait says holds its task; who watches it changes under the lock of the wait alone, so that claiming
waits never waits for a task. Triggerers are locked before tasks, waits last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_definitions import QueuedPin
    from partita.core.store.values_ids import LocationId, SnapshotId, TaskId
    from partita.core.store.values_tasks import Task
    from partita.core.store.values_waits import NewWait, Triggerer, TriggererId, Wait, WaitKey, WaitUpdate


class WaitsTx(Protocol):
    """Operations of `Tx` on waits."""

    def put_waits(self, waits: Iterable[NewWait]) -> None:
        """Dormant; one that is there already keeps its `since` and its stint and loses its payload."""

    def open_waits(self, task_ids: Sequence[TaskId]) -> None:
        """Opens the dormant waits of these tasks: the next stint, watched by nobody. `since` is set the first time."""

    def waits_of(self, task_ids: Sequence[TaskId]) -> list[Wait]:
        """In (task, place) order."""

    def write_waits(self, updates: Sequence[WaitUpdate]) -> None:
        """Raises Conflict unless each is open in that stint. One that fired keeps its payload: it is stored once."""

    def end_waits(self, task_ids: Sequence[TaskId]) -> None:
        """The waits of these tasks that are open or dormant end."""

    def lock_overdue_skip(self, limit: int) -> list[Task]:
        """WAITING tasks with an open wait whose deadline has come, by id."""

    def lock_met_skip(self, limit: int) -> list[Task]:
        """WAITING tasks with an open wait for a cell that is there, by id."""

    def met_cells(self, task_ids: Sequence[TaskId]) -> dict[WaitKey, str]:
        """Of the open waits of these tasks for cells: the data version of those whose cell is there."""

    def waiting_pins(self) -> list[QueuedPin]:
        """The versions of open waits that nobody watches and somebody should; `tasks` counts the waits. No lock."""

    # -- triggerers
    def put_triggerer(self, triggerer_id: TriggererId, host: str, pid: int, lease_s: float) -> None: ...

    def renew_triggerer(self, triggerer_id: TriggererId, lease_s: float) -> bool:
        """False when its lease was lost: it must register again and drop what it watches."""

    def retire_triggerer(self, triggerer_id: TriggererId) -> None:
        """It counts as lapsed from now on."""

    def lock_lapsed_triggerers_skip(self, limit: int) -> list[Triggerer]:
        """Live ones whose lease has expired."""

    def release_waits(self, triggerers: Sequence[TriggererId]) -> int:
        """These are gone: what they watched is free. Returns how many waits that were."""

    def claim_waits_skip(
        self, triggerer_id: TriggererId, pins: Sequence[tuple[LocationId, SnapshotId]], limit: int
    ) -> list[Wait]:
        """Takes up to `limit` open waits of these versions that nobody watches, those with the nearest deadline first."""

    def disown_waits(self, triggerer_id: TriggererId, keep: Sequence[WaitKey]) -> int:
        """Nobody watches from now on what it watches beside `keep`. Returns how many waits that were."""

    def drop_waits(self, triggerer_id: TriggererId) -> list[WaitKey]:
        """Those that it watches and that are not open any more: nobody watches them from now on."""
