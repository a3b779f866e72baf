"""Whether, and when, an attempt that failed or was lost is tried again. Pure and deterministic.

User failures consume the task's own retries; losses of infrastructure have a limit of their own (S-153, DESIGN section 6).
Delays are seconds. Jitter comes from the attempt's id, so that the same history always gives the same instants.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from partita.assets.digest import hash64
from partita.core.decide.transitions import INFRA_LOSSES, Actor, move, wait_first
from partita.core.store.values import AttemptId, RetryPolicy, Task, TaskState, TaskUpdate, WaitReason

_LOSS_DELAYS_S = (0.0, 1.0, 2.0, 4.0)  # the last one repeats
_MAX_DOUBLINGS = 40  # beyond any cap that means something; keeps attempt 1,000 from overflowing
_LONGEST_S = 10 * 365 * 86_400.0  # a longer wait is none that anybody means, and its instant may not even exist
_VERSION_GONE_S = 5.0  # until the attempt's version is looked for again; its claim needs a server that has it


def delay_s(policy: RetryPolicy, failures: int, attempt_id: AttemptId) -> float:
    """The wait in seconds after the `failures`-th failure (from 1): fixed, or doubling from `delay_s`; capped after the jitter.

    >>> policy = RetryPolicy(max_retries=4, delay_s=30.0, backoff="exponential", max_delay_s=100.0)
    >>> [delay_s(policy, failures, AttemptId(1)) for failures in (1, 2, 3)]
    [30.0, 60.0, 100.0]
    """
    doublings = min(failures - 1, _MAX_DOUBLINGS) if policy.backoff == "exponential" else 0
    delay: float = policy.delay_s * 2.0**doublings
    if policy.jitter:
        spread = hash64("retry", attempt_id) / 2**63 - 1.0  # -1 .. 1
        delay *= 1.0 + policy.jitter * spread
    if policy.max_delay_s is not None:
        delay = min(delay, policy.max_delay_s)
    return max(delay, 0.0)


def loss_delay_s(losses: int) -> float:
    """The wait after the `losses`-th loss (from 1)."""
    return _LOSS_DELAYS_S[min(losses, len(_LOSS_DELAYS_S)) - 1]


def after_failure(
    task: Task,
    now: datetime,
    *,
    error: str | None,
    for_good: bool = False,
    retry_in_s: float | None = None,
    by: Actor = Actor.FINISH,
    **changes: Any,
) -> TaskUpdate:
    """A failure of user code: again while its retries last (S-110), else failed. `changes` go into the update too."""
    failures = task.user_failures + 1
    if task.cancel_requested:
        return _cancelled(task, now, by)
    if for_good or failures > task.retry.max_retries:
        return _failed(task, now, by, user_failures=failures, error=error, **changes)
    if retry_in_s is not None:
        wait = max(retry_in_s, 0.0)
    else:
        wait = delay_s(task.retry, failures, task.attempt_id or AttemptId(0))
    return _again(task, now, by, wait, error=error, user_failures=failures, **changes)


def after_loss(task: Task, now: datetime, *, by: Actor, error: str) -> TaskUpdate:
    """A loss that is not the user's doing (worker gone, runner killed, attempt superseded).

    One that was reported comes back by the short steps. Behind a lapsed lease nobody knows what the attempt did last, and a
    store or a service may still be busy with it: that waits as long as a failure would (S-153), and consumes no retry either.
    """
    losses = task.infra_losses + 1
    if task.cancel_requested:
        return _cancelled(task, now, by)
    if losses > INFRA_LOSSES:
        return _failed(task, now, by, infra_losses=losses, error=f"lost {losses} times; the last: {error}")
    wait = loss_delay_s(losses)
    if by is Actor.LAPSE and task.retry.max_retries:
        wait = max(wait, delay_s(task.retry, losses, task.attempt_id or AttemptId(0)))
    return _again(task, now, by, wait, error=error, infra_losses=losses)


def after_version_gone(task: Task, now: datetime) -> TaskUpdate:
    """The server of its version left before the attempt started: it waits for one, and nothing is consumed."""
    if task.cancel_requested:
        return _cancelled(task, now, Actor.FINISH)
    at = now + timedelta(seconds=_VERSION_GONE_S)
    return move(
        task,
        TaskState.UP_FOR_RETRY,
        Actor.FINISH,
        worker_id=None,
        not_before=at,
        reason=WaitReason.VERSION_GONE,
        reason_detail={"snapshot": task.snapshot_id, "at": at.isoformat()},
    )


def wake(task: Task) -> TaskUpdate:
    """A retry whose time has come. It keeps the instant at which it first became ready, and so its place in the queue."""
    first = wait_first(task.waits)
    if first is not None:
        state, reason = first
        return move(task, state, Actor.WAKE, not_before=None, reason=reason)
    return move(task, TaskState.SCHEDULED, Actor.WAKE, not_before=None)


def _again(task: Task, now: datetime, by: Actor, wait_s: float, *, error: str | None, **own: Any) -> TaskUpdate:
    at = now + timedelta(seconds=min(wait_s, _LONGEST_S))
    changes: dict[str, Any] = {**own, "worker_id": None, "not_before": at, "error": error}
    detail = {"at": at.isoformat(), "error": error}
    return move(task, TaskState.UP_FOR_RETRY, by, **changes, reason=WaitReason.RETRY_AT, reason_detail=detail)


def _failed(task: Task, now: datetime, by: Actor, *, error: str | None, **own: Any) -> TaskUpdate:
    return move(task, TaskState.FAILED, by, **own, worker_id=None, error=error, finished_at=now)


def _cancelled(task: Task, now: datetime, by: Actor) -> TaskUpdate:
    return move(task, TaskState.CANCELLED, by, worker_id=None, finished_at=now)
