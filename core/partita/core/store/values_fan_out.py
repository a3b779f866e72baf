"""What an attempt that added keys owes its run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from partita.core.store.values_ids import CellRef, RunId, TaskId


@dataclass(frozen=True, slots=True)
class FanOut:
    """`task_id` added `keys` (by scheme, the new ones only), which exist from `revision` on. Once the tasks over them are
    planned, `gate_id` ends with them; `held` tasks of the run wait for that, and `again` are cells to plan again then."""

    task_id: TaskId
    run_id: RunId
    keys: Mapping[str, Sequence[str]]
    revision: int
    gate_id: TaskId | None = None
    held: tuple[TaskId, ...] = ()
    again: tuple[CellRef, ...] = ()
