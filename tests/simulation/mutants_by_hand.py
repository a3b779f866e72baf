"""Mutants of what people do: pauses that do not hold, cells that are changed beside a task, undos over newer data."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tests.simulation.mutant import Patch, mutant

from partita.core.decide import pause as pause_decider
from partita.core.duties import by_hand, launch
from partita.core.duties import pause as pause_duty
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values import TaskState

# ---------------------------------------------------------------------------------------------- pauses


@mutant("pause leaves what is queued", theme="hands")
def _(patch: Patch) -> None:
    right = pause_decider.hold
    patch.setattr(
        pause_duty, "hold", lambda task, pause: None if task.state is TaskState.QUEUED else right(task, pause)
    )


@mutant("launch heeds no pause")
def _(patch: Patch) -> None:
    patch.setattr(launch, "held", lambda made, placed, pauses: made)


@mutant("resume lets go what another pause holds", theme="hands")
def _(patch: Patch) -> None:
    right = pause_duty._resume

    def all_of_it(tx: MemoryTx, assets: Collection[Any], *args: Any) -> Any:
        with patch.context() as inner:
            inner.setattr(pause_duty, "_holding", lambda tx, tasks: {task.id: [] for task in tasks})
            return right(tx, assets, *args)

    patch.setattr(pause_duty, "_resume", all_of_it)


@mutant("resume leaves its tasks held")
def _(patch: Patch) -> None:
    right = pause_duty._resume

    def none_of_it(tx: MemoryTx, assets: Collection[Any], *args: Any) -> Any:
        with patch.context() as inner:
            inner.setattr(MemoryTx, "set_task_pools", lambda tx, *pools: None)
            return right(tx, assets, *args)

    patch.setattr(pause_duty, "_resume", none_of_it)


# ---------------------------------------------------------------------------------------------- cells


@mutant("cell changed by hand beside its task")
def _(patch: Patch) -> None:
    patch.setattr(by_hand, "check_free", lambda cells, owners: None)


@mutant("taken back over what was made since", theme="hands")
def _(patch: Patch) -> None:
    right = MemoryTx.restore_cells

    def over(tx: MemoryTx, audit_id: Any, cells: Any, fence: Any) -> Any:
        for cell in cells:
            row, kept = tx._db.cell.get((cell.asset_id, cell.partition)), (audit_id, cell.asset_id, cell.partition)
            if row is not None and kept in tx._db.kept_cell:
                tx._db.kept_cell.change(kept, fence=row["fence"])
        return right(tx, audit_id, cells, fence)

    patch.setattr(MemoryTx, "restore_cells", over)


@mutant("taken back twice", theme="hands")
def _(patch: Patch) -> None:
    right = MemoryTx.audit

    def again(tx: MemoryTx, who: str, action: str, detail: Any, *, reason: str = "", undo_of: Any = None) -> Any:
        made = right(tx, who, action, detail, reason=reason)
        tx._db.audit.change(made, undo_of=undo_of)
        return made

    patch.setattr(MemoryTx, "audit", again)


@mutant("wipe keeps nothing for its undo")
def _(patch: Patch) -> None:
    right = MemoryTx.keep_cells

    def empty(tx: MemoryTx, audit_id: Any, cells: Any, fence: Any) -> None:
        right(tx, audit_id, cells, fence)
        for cell in cells:
            tx._db.kept_cell.change((audit_id, cell.asset_id, cell.partition), data_version=None)

    patch.setattr(MemoryTx, "keep_cells", empty)
