"""The rows of a large launch in columns: a hundred thousand tasks without a Python object each.

What tasks have in common is a `TaskShape`, and each task names its own by number; numbers and truths are NumPy arrays, which
cross to Postgres as they lie in memory. `rows()` of a table gives the same as single values. Owns no decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from operator import lt

import numpy as np
import numpy.typing as npt

from partita.assets.queues import DEFAULT_QUEUE
from partita.core.store.values_ids import AssetId, CellRef, LocationId, PoolUse, SnapshotId, TaskId
from partita.core.store.values_tasks import NewTask, NewTaskCell, RetryPolicy, TaskState

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
NO_WINDOW = -(2**62)  # in the place of the seconds of a window
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TaskShape:
    """What many tasks of a launch have in common."""

    kind: str  # "step" or "gate"
    step: str
    location_id: LocationId | None
    snapshot_id: SnapshotId | None
    rule: str
    pools: tuple[PoolUse, ...]
    lane: str
    fair_key: str
    priority: int
    retry: RetryPolicy
    timeout_s: float | None
    queue: str = DEFAULT_QUEUE


@dataclass(frozen=True, slots=True, eq=False)
class TaskTable:
    """New tasks, ids ascending. One that waits for nothing is SCHEDULED, the others are in NONE; none of them has waits."""

    ids: Ints
    shapes: tuple[TaskShape, ...]
    shape: Ints  # of each task its place in `shapes`
    waiting_on: Ints
    past: Ints
    wave: Ints
    critical_path: Ints
    cell_count: Ints
    conditional: Bools

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self) -> Iterator[NewTask]:
        """One value a task."""
        columns = (self.ids, self.shape, self.waiting_on, self.past, self.wave, self.critical_path, self.cell_count)
        for id, at, waiting_on, past, wave, chain, cells, conditional in zip(
            *(column.tolist() for column in columns), self.conditional.tolist(), strict=True
        ):
            shape = self.shapes[at]
            yield NewTask(
                id=TaskId(id),
                kind=shape.kind,
                step=shape.step,
                location_id=shape.location_id,
                snapshot_id=shape.snapshot_id,
                state=TaskState.NONE if waiting_on else TaskState.SCHEDULED,
                waiting_on=waiting_on,
                pools=shape.pools,
                lane=shape.lane,
                priority=shape.priority,
                wave=wave,
                retry=shape.retry,
                timeout_s=shape.timeout_s,
                cell_count=cells,
                conditional=conditional,
                rule=shape.rule,
                fair_key=shape.fair_key,
                critical_path=chain,
                past=past,
                queue=shape.queue,
            )


@dataclass(frozen=True, slots=True, eq=False)
class EdgeTable:
    """Pairs of tasks, none twice; ids rise along each."""

    upstream: Ints
    downstream: Ints


@dataclass(frozen=True, slots=True, eq=False)
class CellTable:
    """Cells with the task that makes each, none twice. `start` and `end` are epoch seconds, or `NO_WINDOW`."""

    task: Ints
    asset: Ints
    partition: list[str]
    reasons: tuple[str, ...]
    reason: Ints  # of each cell its place in `reasons`
    conditional: Bools
    start: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.partition)

    def cells(self) -> list[CellRef]:
        """The cells."""
        return [CellRef(AssetId(asset), key) for asset, key in zip(self.asset.tolist(), self.partition, strict=True)]

    def windows(self) -> list[tuple[datetime, datetime] | None]:
        """The window (UTC) of each."""
        return [window_of(*pair) for pair in zip(self.start.tolist(), self.end.tolist(), strict=True)]

    def rows(self) -> Iterator[NewTaskCell]:
        """One value a cell."""
        for task, cell, reason, window, conditional in zip(
            self.task.tolist(),
            self.cells(),
            self.reason.tolist(),
            self.windows(),
            self.conditional.tolist(),
            strict=True,
        ):
            yield NewTaskCell(TaskId(task), cell, self.reasons[reason], window, conditional)

    def in_lock_order(self) -> CellTable:
        """The same in the order of (asset, partition), in which everybody claims and writes cells."""
        pairs = list(zip(self.asset.tolist(), self.partition, strict=True))
        if all(map(lt, pairs, islice(pairs, 1, None))):
            return self
        order = sorted(range(len(pairs)), key=pairs.__getitem__)
        return self.taken(np.array(order, dtype=np.int64), [self.partition[at] for at in order])

    def taken(self, order: Ints, partition: list[str]) -> CellTable:
        """The rows at these places; `partition` are their keys."""
        return CellTable(
            self.task[order],
            self.asset[order],
            partition,
            self.reasons,
            self.reason[order],
            self.conditional[order],
            self.start[order],
            self.end[order],
        )


def window_of(start: int, end: int) -> tuple[datetime, datetime] | None:
    """The window between two epoch seconds.

    >>> [str(side) for side in window_of(0, 60)]
    ['1970-01-01 00:00:00+00:00', '1970-01-01 00:01:00+00:00']
    """
    if start == NO_WINDOW:
        return None
    return _EPOCH + timedelta(seconds=start), _EPOCH + timedelta(seconds=end)
