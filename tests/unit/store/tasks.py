"""Tasks with nothing special about them, as they are launched and as the deciders see them."""

from __future__ import annotations

from typing import Any

from partita.core.store.values import Fence, NewTask, PoolUse, RetryPolicy, RunId, Task, TaskId, TaskState


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


def a_task(**changes: Any) -> Task:
    """A scheduled task of one cell that never ran."""
    values: dict[str, Any] = {
        "id": TaskId(1),
        "run_id": RunId(1),
        "kind": "step",
        "step": "s",
        "location_id": None,
        "snapshot_id": None,
        "state": TaskState.SCHEDULED,
        "outcome": None,
        "rule": "all_success",
        "waiting_on": 0,
        "good_upstream": 0,
        "bad_upstream": 0,
        "skip_upstream": 0,
        "pools": (),
        "lane": "interactive",
        "fair_key": "",
        "priority": 0,
        "critical_path": 0,
        "conditional": False,
        "attempt_number": 0,
        "user_failures": 0,
        "infra_losses": 0,
        "retry": RetryPolicy(),
        "timeout_s": None,
        "not_before": None,
        "worker_id": None,
        "attempt_id": None,
        "fence": Fence(0),
        "cell_count": 1,
        "cancel_requested": False,
        "ready_at": None,
        "queued_at": None,
        "reason": None,
    }
    return Task(**(values | changes))
