"""The table of moves: complete, guarded, and the only way."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.unit.store.tasks import a_task

from partita.core.decide.transitions import HOLDS_SLOTS, TABLE, Actor, IllegalTransition, move
from partita.core.store.values import (
    AttemptId,
    Fence,
    RetryPolicy,
    Task,
    TaskState,
    WaitReason,
    WorkerId,
)
from partita.core.store.values_moves import MOVES

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TASK = a_task(state=TaskState.NONE, waiting_on=2, retry=RetryPolicy(max_retries=1))
RUNNING = TASK._replace(
    state=TaskState.RUNNING,
    waiting_on=0,
    attempt_number=1,
    worker_id=WorkerId("w"),
    attempt_id=AttemptId(1),
    fence=Fence(5),
    ready_at=NOW,
    queued_at=NOW,
)
QUEUED = TASK._replace(state=TaskState.QUEUED, waiting_on=0, ready_at=NOW, queued_at=NOW)


def test_nothing_leaves_a_terminal_state() -> None:
    """Terminal rows are immutable (DESIGN section 6)."""
    assert not [t for t in TABLE if t.source.terminal]


def test_no_move_stands_twice_and_each_says_when() -> None:
    moves = [(t.source, t.target, t.actor) for t in TABLE]
    assert len(moves) == len(set(moves))
    assert all(t.when for t in TABLE)


def test_only_a_claim_starts_and_only_admission_queues() -> None:
    """S-107, S-119: one way in for each."""
    starts = {(t.source, t.actor) for t in TABLE if t.target is TaskState.RUNNING and t.source is not t.target}
    assert starts == {(TaskState.QUEUED, Actor.CLAIM)}
    queues = {(t.source, t.actor) for t in TABLE if t.target is TaskState.QUEUED and t.source is not t.target}
    assert queues == {(TaskState.SCHEDULED, Actor.ADMIT)}


def test_every_open_state_that_is_reached_can_be_left_and_cancelled() -> None:
    reached = {t.target for t in TABLE if not t.target.terminal} | {TaskState.NONE, TaskState.SCHEDULED}
    for state in reached:
        assert any(t.source is state and t.target is not state for t in TABLE)
        assert any(t.source is state and t.actor is Actor.CANCEL for t in TABLE)


def test_the_store_lets_through_what_the_table_lists_and_nothing_else() -> None:
    """S-106: its last gate is in front of the rows, whoever asks."""
    listed: dict[TaskState, set[TaskState]] = {}
    for one in TABLE:
        listed.setdefault(one.source, set()).add(one.target)
    assert listed == MOVES


def test_slots_are_held_exactly_while_queued_or_running() -> None:
    """Law 7: a wait holds no slot."""
    assert {TaskState.QUEUED, TaskState.RUNNING} == HOLDS_SLOTS


@pytest.mark.parametrize(
    ("task", "target", "by", "changes"),
    [
        (TASK, TaskState.RUNNING, Actor.CLAIM, {}),  # not in the table
        (TASK, TaskState.SCHEDULED, Actor.SETTLE, {"waiting_on": 1, "ready_at": NOW}),  # something is still open above
        (TASK, TaskState.NONE, Actor.SETTLE, {"waiting_on": 2}),  # a counter only falls
        (TASK, TaskState.NONE, Actor.SETTLE, {"waiting_on": -1}),
        (TASK, TaskState.UPSTREAM_FAILED, Actor.SETTLE, {"waiting_on": 0}),  # nothing failed
        (QUEUED, TaskState.RUNNING, Actor.CLAIM, {"fence": Fence(0), "attempt_number": 1}),  # the fence must rise
        (QUEUED, TaskState.SUCCESS, Actor.FINISH, {}),  # nothing ran
        (RUNNING, TaskState.SUCCESS, Actor.FINISH, {"worker_id": None, "fence": Fence(6)}),
        (RUNNING, TaskState.SUCCESS, Actor.FINISH, {}),  # its worker must be given back
        (RUNNING, TaskState.UP_FOR_RETRY, Actor.FINISH, {"worker_id": None, "not_before": NOW, "user_failures": 2}),
        (RUNNING, TaskState.UP_FOR_RETRY, Actor.LAPSE, {"worker_id": None, "not_before": NOW, "infra_losses": 6}),
        (RUNNING, TaskState.UP_FOR_RETRY, Actor.FINISH, {"worker_id": None, "user_failures": 1}),  # when?
        (RUNNING, TaskState.CANCELLED, Actor.FINISH, {"worker_id": None}),  # nobody asked
        (
            RUNNING._replace(cancel_requested=True),
            TaskState.UP_FOR_RETRY,
            Actor.FINISH,
            {"worker_id": None, "not_before": NOW},
        ),  # retries do not revive it
        (QUEUED, TaskState.QUEUED, Actor.EXPLAIN, {"reason": None}),  # nothing changed
        (QUEUED, TaskState.QUEUED, Actor.EXPLAIN, {"reason": WaitReason.NO_WORKER, "fence": Fence(1)}),
    ],
)
def test_a_move_outside_the_table_or_its_guard_is_refused(
    task: Task, target: TaskState, by: Actor, changes: dict[str, object]
) -> None:
    with pytest.raises(IllegalTransition, match=f"task {task.id}"):
        move(task, target, by, **changes)


def test_a_refusal_says_where_it_could_go() -> None:
    with pytest.raises(
        IllegalTransition, match="may go to awaiting_input, deferred, none, scheduled, skipped, upstream_failed"
    ):
        move(TASK, TaskState.QUEUED, Actor.SETTLE)


def test_a_move_carries_over_what_it_does_not_name() -> None:
    update = move(RUNNING, TaskState.FAILED, Actor.FINISH, worker_id=None, user_failures=2)
    assert (update.expect_state, update.expect_fence) == (TaskState.RUNNING, 5)
    assert (update.fence, update.attempt_id, update.attempt_number) == (5, 1, 1)
