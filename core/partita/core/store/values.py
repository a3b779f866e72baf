"""The values that cross the store port: rows as the deciders see them, and the writes that the deciders ask for.

Everything here is an immutable value. It owns no SQL and decides nothing; instants are aware UTC datetimes, always read
from the database's clock (`Tx.now`). The modules beside this hold them by aggregate; users import the names from here.
"""

from partita.core.store.values_cells import (
    AttemptEnd,
    AttemptOutcome,
    CellAttempt,
    CellCause,
    CellFact,
    CheckRow,
    NewAttempt,
    Publication,
)
from partita.core.store.values_ids import (
    UNLIMITED_SLOTS,
    AssetId,
    AttemptId,
    BackfillId,
    CellRef,
    Fence,
    LocationId,
    Pool,
    PoolUse,
    RunId,
    SnapshotId,
    TaskId,
    WorkerId,
)
from partita.core.store.values_outbox import AutomationRequest, NewEvent, TodoEvent
from partita.core.store.values_runs import NewRun, Run, RunState, RunUpdate, Tally, Worker
from partita.core.store.values_tasks import (
    CellState,
    NewTask,
    NewTaskCell,
    RetryPolicy,
    Task,
    TaskCell,
    TaskCellUpdate,
    TaskState,
    TaskUpdate,
    WaitReason,
)

__all__ = [
    "UNLIMITED_SLOTS",
    "AssetId",
    "AttemptEnd",
    "AttemptId",
    "AttemptOutcome",
    "AutomationRequest",
    "BackfillId",
    "CellAttempt",
    "CellCause",
    "CellFact",
    "CellRef",
    "CellState",
    "CheckRow",
    "Fence",
    "LocationId",
    "NewAttempt",
    "NewEvent",
    "NewRun",
    "NewTask",
    "NewTaskCell",
    "Pool",
    "PoolUse",
    "Publication",
    "RetryPolicy",
    "Run",
    "RunId",
    "RunState",
    "RunUpdate",
    "SnapshotId",
    "Tally",
    "Task",
    "TaskCell",
    "TaskCellUpdate",
    "TaskId",
    "TaskState",
    "TaskUpdate",
    "TodoEvent",
    "WaitReason",
    "Worker",
    "WorkerId",
]
