"""The values that cross the store port: rows as the deciders see them, and the writes that the deciders ask for.

Everything here is an immutable value. It owns no SQL and decides nothing; instants are aware UTC datetimes, always read
from the database's clock (`Tx.now`). The modules beside this hold them by aggregate; users import the names from here.
"""

from typing import TYPE_CHECKING

from partita.core.faces import on_demand

if TYPE_CHECKING:
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
        BUILT_IN_LANES,
        READ_OF_A_PARTY,
        UNLIMITED_SLOTS,
        AssetId,
        AttemptId,
        BackfillId,
        CellRef,
        Exclusive,
        Fence,
        Lane,
        LocationId,
        Needs,
        Party,
        PausedBy,
        Pool,
        PoolUse,
        RunId,
        SnapshotId,
        TaskId,
        WorkerId,
        read_of_each,
    )
    from partita.core.store.values_outbox import AutomationRequest, NewEvent, TodoEvent
    from partita.core.store.values_runs import Backfill, NewRun, Run, RunState, RunUpdate, Taken, Tally, Worker
    from partita.core.store.values_tasks import (
        PRIORITY_WORTH_S,
        WAITING,
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
        WaitStage,
        turn,
        waits_for,
    )
else:
    __getattr__ = on_demand(
        __name__,
        {
            "partita.core.store.values_cells": (
                "AttemptEnd AttemptOutcome CellAttempt CellCause CellFact CheckRow NewAttempt Publication"
            ),
            "partita.core.store.values_ids": (
                "BUILT_IN_LANES READ_OF_A_PARTY UNLIMITED_SLOTS AssetId AttemptId BackfillId CellRef "
                "Exclusive Fence Lane LocationId Needs Party PausedBy Pool PoolUse RunId SnapshotId TaskId WorkerId "
                "read_of_each"
            ),
            "partita.core.store.values_outbox": "AutomationRequest NewEvent TodoEvent",
            "partita.core.store.values_runs": "Backfill NewRun Run RunState RunUpdate Taken Tally Worker",
            "partita.core.store.values_tasks": (
                "PRIORITY_WORTH_S WAITING CellState NewTask NewTaskCell RetryPolicy Task TaskCell TaskCellUpdate "
                "TaskState TaskUpdate WaitReason WaitStage turn waits_for"
            ),
        },
    )

__all__ = [
    "BUILT_IN_LANES",
    "PRIORITY_WORTH_S",
    "READ_OF_A_PARTY",
    "UNLIMITED_SLOTS",
    "WAITING",
    "AssetId",
    "AttemptEnd",
    "AttemptId",
    "AttemptOutcome",
    "AutomationRequest",
    "Backfill",
    "BackfillId",
    "CellAttempt",
    "CellCause",
    "CellFact",
    "CellRef",
    "CellState",
    "CheckRow",
    "Exclusive",
    "Fence",
    "Lane",
    "LocationId",
    "Needs",
    "NewAttempt",
    "NewEvent",
    "NewRun",
    "NewTask",
    "NewTaskCell",
    "Party",
    "PausedBy",
    "Pool",
    "PoolUse",
    "Publication",
    "RetryPolicy",
    "Run",
    "RunId",
    "RunState",
    "RunUpdate",
    "SnapshotId",
    "Taken",
    "Tally",
    "Task",
    "TaskCell",
    "TaskCellUpdate",
    "TaskId",
    "TaskState",
    "TaskUpdate",
    "TodoEvent",
    "WaitReason",
    "WaitStage",
    "Worker",
    "WorkerId",
    "read_of_each",
    "turn",
    "waits_for",
]
