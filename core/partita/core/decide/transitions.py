"""Every move that a task can make: from where, to where, by whom, under which guard. Nothing else moves a task.

The table is the whole state machine (S-106, S-107). The deciders build each `TaskUpdate` through `move`, so that a move
which the table does not list, or whose guard does not hold, is an error in the decider and never reaches the store. The
store then writes by compare-and-set on (state, fence): a decider that saw an old row changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from partita.core.decide.rules import Ends, Verdict, verdict
from partita.core.store.values import Task, TaskState, TaskUpdate, WaitReason, WaitStage

INFRA_LOSSES = 5  # losses that are retried; they never consume the user's retries (DESIGN section 6, "Leases")

# The states that hold pool slots. Every other state is a wait or an end, and a wait holds no slot (law 7).
HOLDS_SLOTS = frozenset({TaskState.QUEUED, TaskState.RUNNING})


class Actor(StrEnum):
    """Who moves a task."""

    SETTLE = "settle"  # an upstream ended: counters, readiness, closures
    GATE = "gate"  # a gate that counted down opens
    ADMIT = "admit"
    CLAIM = "claim"
    FINISH = "finish"  # the attempt that holds the fence reports
    LAPSE = "lapse"  # the attempt's worker is gone
    WAKE = "wake"  # a retry's time has come
    WAIT = "wait"  # what a deferred task waits for came, failed, or was too late
    ANSWER = "answer"  # a person approved or rejected
    CANCEL = "cancel"
    GIVE_UP = "give_up"  # no server has had its version for longer than the grace
    PAUSE = "pause"  # a person paused its asset or its backfill, resumed it, or lowered its limit
    FAN_OUT = "fan_out"  # its run grew by tasks that it waits for
    EXPLAIN = "explain"  # only the reason changes, or the slots of one that nobody can run come free

    __hash__ = str.__hash__  # as of TaskState


class IllegalTransition(Exception):
    """A decider asked for a move that the table does not have, or whose guard does not hold. Always a bug."""


Guard = Callable[[Task, TaskUpdate], bool]


@dataclass(frozen=True, slots=True)
class Transition:
    source: TaskState
    target: TaskState
    actor: Actor
    guard: Guard
    when: str  # the guard in words


def _counts(before: Task, after: TaskUpdate) -> bool:
    # A counter only falls, and one that fell to zero is a decision, not a wait.
    return 0 < after.waiting_on < before.waiting_on


def _counts_one_more(before: Task, after: TaskUpdate) -> bool:
    return after == TaskUpdate.of(
        before, TaskState.NONE, waiting_on=before.waiting_on + 1, reason=after.reason, reason_detail=after.reason_detail
    )


def _ready(before: Task, after: TaskUpdate) -> bool:
    return after.waiting_on == 0 and after.ready_at is not None


def _rule_says(decision: Verdict) -> Guard:
    def holds(before: Task, after: TaskUpdate) -> bool:
        ends = Ends(after.waiting_on, after.good_upstream, after.bad_upstream, after.skip_upstream)
        return verdict(before.rule, ends) is decision

    return holds


def _rule_lets_it_run(before: Task, after: TaskUpdate) -> bool:
    return _ready(before, after) and _rule_says(Verdict.RUN)(before, after)


BEGINS_TO_WAIT = {
    WaitStage.FIRST: (TaskState.DEFERRED, WaitReason.WAITING_FOR),
    WaitStage.ASK: (TaskState.AWAITING_INPUT, WaitReason.APPROVAL),
}
"""Of a task that waits before it starts: how it does so, once it could run."""


def wait_first(stage: WaitStage | None) -> tuple[TaskState, WaitReason] | None:
    """The state and the reason in which a task at this stage waits before it starts; None for one that starts at once."""
    return None if stage is None else BEGINS_TO_WAIT.get(stage)


def _runs_at_once(before: Task, after: TaskUpdate) -> bool:
    return _rule_lets_it_run(before, after) and wait_first(before.waits) is None


def _waits_first(before: Task, after: TaskUpdate) -> bool:
    return wait_first(before.waits) == (after.state, after.reason) and before.kind == "step"


def _runs_once_it_has_waited(before: Task, after: TaskUpdate) -> bool:
    return _rule_lets_it_run(before, after) and _waits_first(before, after)


def _waits_again(before: Task, after: TaskUpdate) -> bool:
    return _ready(before, after) and _waits_first(before, after)


def _asks_no_more(before: Task, after: TaskUpdate) -> bool:
    return before.waits is WaitStage.ASK and after.waits is WaitStage.FIRST and after.reason is not None


def _defers(before: Task, after: TaskUpdate) -> bool:
    asked = after.waits is WaitStage.OPEN and after.reason is not None
    return _gives_back(before, after) and asked and not before.cancel_requested


def _goes_on(before: Task, after: TaskUpdate) -> bool:
    return _ready(before, after) and after.waits in (WaitStage.MET, WaitStage.RESUME)


def _is_open_gate(before: Task, _: TaskUpdate) -> bool:
    return before.kind == "gate" and before.waiting_on == 0


def _is_step(before: Task, after: TaskUpdate) -> bool:
    return before.kind == "step" and after.queued_at is not None


def next_number(task: Task) -> int:
    """Of the attempt that starts next: one that was deferred goes on under its own number."""
    return task.attempt_number + (task.waits is not WaitStage.RESUME)


def _starts(before: Task, after: TaskUpdate) -> bool:
    # Numbered at the claim, from 1 (S-110); the fence rises, so that whatever held the task before is refused.
    return (
        after.fence > before.fence
        and after.attempt_number == next_number(before)
        and after.waits is not WaitStage.RESUME
        and after.attempt_id is not None
        and after.worker_id is not None
        and not before.cancel_requested
    )


def _needs_no_attempt(before: Task, after: TaskUpdate) -> bool:
    return after.fence == before.fence and after.attempt_number == before.attempt_number and after.worker_id is None


def _gives_back(before: Task, after: TaskUpdate) -> bool:
    # The fence stays: only a new claim raises it, and a late report of this attempt is refused by the state already.
    return after.fence == before.fence and after.worker_id is None


def _retries(before: Task, after: TaskUpdate) -> bool:
    within_limits = after.user_failures <= before.retry.max_retries and after.infra_losses <= INFRA_LOSSES
    return _gives_back(before, after) and after.not_before is not None and within_limits and not before.cancel_requested


def _was_cancelled(before: Task, after: TaskUpdate) -> bool:
    return _gives_back(before, after) and before.cancel_requested


def _asks_to_stop(before: Task, after: TaskUpdate) -> bool:
    same_attempt = (after.fence, after.attempt_id, after.worker_id) == (
        before.fence,
        before.attempt_id,
        before.worker_id,
    )
    return after.cancel_requested and same_attempt


def _always(_: Task, __: TaskUpdate) -> bool:
    return True


def _only_reason(before: Task, after: TaskUpdate) -> bool:
    said = (before.reason, before.reason_detail)
    return (after.reason, after.reason_detail) != said and after == TaskUpdate.of(
        before, before.state, reason=after.reason, reason_detail=after.reason_detail
    )


def _only_told(before: Task, after: TaskUpdate) -> bool:
    told = {"reason": after.reason, "reason_detail": after.reason_detail}
    return after == TaskUpdate.of(before, before.state, **told)


_GIVES_BACK = (WaitReason.PAUSED, WaitReason.BACKFILL_CAP, WaitReason.RUN_CAP)


def _same_place(before: Task, after: TaskUpdate) -> bool:
    same = (after.ready_at, after.fence, after.worker_id) == (before.ready_at, before.fence, None)
    return same and after.queued_at is None


def _goes_back(before: Task, after: TaskUpdate) -> bool:
    return _same_place(before, after) and after.reason in _GIVES_BACK


def _waits_for_a_worker(before: Task, after: TaskUpdate) -> bool:
    return _same_place(before, after) and after.reason in (WaitReason.NO_WORKER, WaitReason.WORKERS_BUSY)


_S = TaskState
_NOT_STARTED = (_S.NONE, _S.SCHEDULED, _S.QUEUED, _S.DEFERRED, _S.UP_FOR_RETRY, _S.AWAITING_INPUT)


def _waits_aside(before: Task, after: TaskUpdate) -> bool:
    no_attempt = (after.fence, after.attempt_number, after.worker_id) == (before.fence, before.attempt_number, None)
    return no_attempt and after.not_before is not None and after.reason is not None


TABLE: tuple[Transition, ...] = (
    Transition(_S.NONE, _S.NONE, Actor.SETTLE, _counts, "an upstream ended and others have not"),
    Transition(_S.NONE, _S.NONE, Actor.FAN_OUT, _counts_one_more, "what it collects grew by keys found at run time"),
    Transition(
        _S.NONE,
        _S.SCHEDULED,
        Actor.SETTLE,
        _runs_at_once,
        "its trigger rule says run, and it waits for nobody more",
    ),
    Transition(
        _S.NONE,
        _S.DEFERRED,
        Actor.SETTLE,
        _runs_once_it_has_waited,
        "its trigger rule says run, and it waits for something outside first",
    ),
    Transition(
        _S.NONE,
        _S.AWAITING_INPUT,
        Actor.SETTLE,
        _runs_once_it_has_waited,
        "its trigger rule says run, and a person is asked first",
    ),
    Transition(
        _S.NONE, _S.UPSTREAM_FAILED, Actor.SETTLE, _rule_says(Verdict.UPSTREAM_FAILED), "its trigger rule says so"
    ),
    Transition(_S.NONE, _S.SKIPPED, Actor.SETTLE, _rule_says(Verdict.SKIPPED), "its trigger rule says so"),
    Transition(_S.SCHEDULED, _S.SUCCESS, Actor.GATE, _is_open_gate, "a gate has counted down"),
    Transition(_S.SCHEDULED, _S.QUEUED, Actor.ADMIT, _is_step, "all its pools have room"),
    Transition(_S.QUEUED, _S.RUNNING, Actor.CLAIM, _starts, "a live worker starts an attempt under a higher fence"),
    Transition(_S.QUEUED, _S.SUCCESS, Actor.CLAIM, _needs_no_attempt, "nothing is left to make"),
    Transition(_S.QUEUED, _S.FAILED, Actor.CLAIM, _needs_no_attempt, "its definitions cannot be resolved"),
    Transition(_S.RUNNING, _S.SUCCESS, Actor.FINISH, _gives_back, "all its cells were made"),
    Transition(_S.RUNNING, _S.SKIPPED, Actor.FINISH, _gives_back, "it chose to make nothing"),
    Transition(_S.RUNNING, _S.UP_FOR_RETRY, Actor.FINISH, _retries, "a failure or a loss within its limits"),
    Transition(_S.RUNNING, _S.FAILED, Actor.FINISH, _gives_back, "failed for good"),
    Transition(_S.RUNNING, _S.DEFERRED, Actor.FINISH, _defers, "its attempt ends and waits"),
    Transition(_S.RUNNING, _S.AWAITING_INPUT, Actor.FINISH, _defers, "its attempt ends and a person is asked"),
    Transition(_S.DEFERRED, _S.SCHEDULED, Actor.WAIT, _goes_on, "everything that it waited for came"),
    Transition(_S.DEFERRED, _S.UP_FOR_RETRY, Actor.WAIT, _retries, "a trigger failed, within its limits"),
    Transition(_S.DEFERRED, _S.FAILED, Actor.WAIT, _gives_back, "a trigger failed for good, or its deadline passed"),
    Transition(_S.AWAITING_INPUT, _S.SCHEDULED, Actor.ANSWER, _goes_on, "approved, and nothing else is waited for"),
    Transition(
        _S.AWAITING_INPUT, _S.DEFERRED, Actor.ANSWER, _asks_no_more, "approved, and something else is waited for"
    ),
    Transition(_S.AWAITING_INPUT, _S.FAILED, Actor.ANSWER, _gives_back, "rejected"),
    Transition(_S.AWAITING_INPUT, _S.UP_FOR_RETRY, Actor.WAIT, _retries, "a trigger failed, within its limits"),
    Transition(
        _S.AWAITING_INPUT, _S.FAILED, Actor.WAIT, _gives_back, "a trigger failed for good, or its deadline passed"
    ),
    Transition(_S.RUNNING, _S.CANCELLED, Actor.FINISH, _was_cancelled, "it was asked to stop, and stopped"),
    Transition(_S.RUNNING, _S.SUCCESS, Actor.LAPSE, _gives_back, "lost after everything was published"),
    Transition(_S.RUNNING, _S.UP_FOR_RETRY, Actor.LAPSE, _retries, "lost within the limit of losses"),
    Transition(_S.RUNNING, _S.FAILED, Actor.LAPSE, _gives_back, "lost too often"),
    Transition(_S.RUNNING, _S.CANCELLED, Actor.LAPSE, _was_cancelled, "asked to stop, and its worker is gone"),
    Transition(
        _S.UP_FOR_RETRY,
        _S.SCHEDULED,
        Actor.WAKE,
        lambda b, a: _ready(b, a) and wait_first(b.waits) is None,
        "its time has come",
    ),
    Transition(
        _S.UP_FOR_RETRY,
        _S.DEFERRED,
        Actor.WAKE,
        _waits_again,
        "its time has come, and it still waits before it starts",
    ),
    Transition(
        _S.UP_FOR_RETRY,
        _S.AWAITING_INPUT,
        Actor.WAKE,
        _waits_again,
        "its time has come, and a person is still asked first",
    ),
    *(Transition(s, _S.CANCELLED, Actor.CANCEL, _always, "not started: it ends at once") for s in _NOT_STARTED),
    *(
        Transition(s, _S.REMOVED, Actor.GIVE_UP, _needs_no_attempt, "its version has no server; it is planned again")
        for s in (_S.SCHEDULED, _S.QUEUED, _S.UP_FOR_RETRY, _S.DEFERRED)
    ),
    Transition(_S.RUNNING, _S.RUNNING, Actor.CANCEL, _asks_to_stop, "running: its worker is asked to stop it"),
    Transition(_S.SCHEDULED, _S.SCHEDULED, Actor.PAUSE, _only_told, "its asset or its backfill is paused, or resumed"),
    Transition(
        _S.QUEUED,
        _S.SCHEDULED,
        Actor.PAUSE,
        _goes_back,
        "its asset or its backfill is paused, or its backfill has a smaller limit: it gives its slots back",
    ),
    Transition(_S.SCHEDULED, _S.SCHEDULED, Actor.EXPLAIN, _only_reason, "another constraint binds"),
    Transition(_S.QUEUED, _S.QUEUED, Actor.EXPLAIN, _only_reason, "another shortage of workers or servers binds"),
    Transition(
        _S.QUEUED, _S.UP_FOR_RETRY, Actor.EXPLAIN, _waits_aside, "no server of its version has come for a while"
    ),
    Transition(
        _S.QUEUED,
        _S.SCHEDULED,
        Actor.EXPLAIN,
        _waits_for_a_worker,
        "no worker of its queue has come for a while, or been free",
    ),
)

_BY_MOVE = {(t.source, t.target, t.actor): t for t in TABLE}

STARTS_AS = frozenset({TaskState.NONE, TaskState.SCHEDULED, TaskState.DEFERRED, TaskState.AWAITING_INPUT})
"""Of a launched task: with upstream, without, and without one that waits, or asks a person, before it starts."""


def move(task: Task, target: TaskState, by: Actor, **changes: Any) -> TaskUpdate:
    """The update that takes `task` to `target`; names only what changes. Raises `IllegalTransition`."""
    update = TaskUpdate.of(task, target, **changes)
    transition = _BY_MOVE.get((task.state, target, by))
    if transition is None:
        raise IllegalTransition(
            f"task {task.id}: {by} may not move it from {task.state} to {target}; "
            f"from {task.state} it may go to {_targets(task.state, by)}"
        )
    if not transition.guard(task, update):
        raise IllegalTransition(
            f"task {task.id}: {task.state} -> {target} by {by} holds only when {transition.when}; got {update!r} of {task!r}"
        )
    return update


def _targets(source: TaskState, by: Actor) -> str:
    return ", ".join(sorted(t.target for t in TABLE if t.source is source and t.actor is by)) or "nothing"
