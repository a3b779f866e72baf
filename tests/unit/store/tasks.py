"""A task with nothing special about it."""

from __future__ import annotations

from partita.core.store.values import NewTask, PoolUse, RetryPolicy, TaskId, TaskState


def new_task(task_id: TaskId) -> NewTask:
    return NewTask(
        id=task_id,
        kind="step",
        step="orders",
        location_id=None,
        snapshot_id=None,
        state=TaskState.SCHEDULED,
        waiting_on=0,
        pools=(PoolUse("default", 1),),
        lane="interactive",
        priority=0,
        wave=0,
        retry=RetryPolicy(),
        timeout_s=None,
        cell_count=1,
    )
