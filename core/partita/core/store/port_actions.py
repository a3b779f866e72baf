"""The fourth part of the store port: what people do by hand, with who, when and why; what they paused; cells they changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_actions import AuditId, HandPublication, KeptCell, Pause, Told
    from partita.core.store.values_ids import AssetId, CellRef, Fence, PoolUse, RunId, TaskId
    from partita.core.store.values_tasks import Task


class ActionsTx(Protocol):
    """Operations of `Tx` on the audit, on tags of runs, on pauses, and on cells that are changed by hand."""

    def audit(
        self,
        who: str,
        action: str,
        detail: Mapping[str, Any],
        *,
        reason: str = "",
        undo_of: AuditId | None = None,
    ) -> AuditId:
        """One entry: who did what to what, and why. Violation when `undo_of` was taken back before."""

    def tag_runs(self, tags: Mapping[RunId, Mapping[str, str]]) -> None:
        """What people say these runs are for. Violation when one has such a tag already."""

    # -- pauses
    def lock_assets(self, ids: Collection[AssetId]) -> None:
        """Waits for launches of these assets (`lock_schemes`) and for activations that define them; those that come later wait
        for the end of this transaction. In id order."""

    def pauses(self) -> dict[AssetId, Pause]:
        """All of them: there are few. No lock."""

    def put_pauses(self, ids: Collection[AssetId], by: str, reason: str) -> list[AssetId]:
        """Pauses those that are not paused, and returns them, in id order. Call it with the assets locked."""

    def end_pauses(self, ids: Collection[AssetId]) -> list[AssetId]:
        """Ends those that are paused, and returns them, in id order."""

    def lock_open_tasks_of(self, assets: Collection[AssetId] | None) -> list[Task]:
        """All non-terminal steps that own cells of these assets (None: all non-terminal steps), in id order. Waits."""

    def assets_of_open_tasks(self, ids: Collection[TaskId]) -> dict[TaskId, frozenset[AssetId]]:
        """The assets of which each of these tasks owns cells. No lock."""

    def set_task_pools(self, pools: Mapping[TaskId, tuple[PoolUse, ...]], told: Mapping[TaskId, Told]) -> None:
        """What these tasks take slots of when they are admitted, and why those among them wait that are `told`. Slots that they
        hold stay. Call it with the tasks locked."""

    # -- cells changed by hand (call these with the cells locked, but for the first)
    def ensure_cells(self, cells: Mapping[CellRef, tuple[datetime, datetime] | None]) -> None:
        """Makes the rows (unpublished, fence 0) that do not exist yet, with these windows."""

    def keep_cells(self, audit_id: AuditId, cells: Sequence[CellRef], fence: Fence) -> None:
        """Records what these cells hold, and the fence that they are about to get."""

    def publish_by_hand(self, publications: Sequence[HandPublication], fence: Fence) -> None:
        """Points the cells at these versions, at this fence: whoever holds a lower one publishes there no more. Appends
        cell_change."""

    def confirm_cells(self, cells: Sequence[CellRef]) -> None:
        """What these hold was seen again, outside: they are as fresh as now, and nothing else moves."""

    def fail_by_hand(self, cells: Sequence[CellRef], error: str, fence: Fence) -> None:
        """The last-attempt half alone, of no attempt; the last success stays. Appends cell_change."""

    def empty_cells(self, cells: Sequence[CellRef], fence: Fence) -> None:
        """As if never attempted, at this fence. Appends cell_change."""

    def kept_cells(self, audit_id: AuditId) -> list[KeptCell]:
        """In (asset, partition) order."""

    def restore_cells(self, audit_id: AuditId, cells: Sequence[CellRef], fence: Fence) -> set[CellRef]:
        """Gives those of these cells back what was kept of them that still are at the fence that the action gave them; returns
        them. They get `fence`. Appends cell_change."""
