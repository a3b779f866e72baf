"""Between which states the store lets a task move, whoever asks: the last gate in front of the rows.

Who may make a move, and under which guard, is the deciders' table (`core/partita/core/decide/transitions.py`), on which the store
does not stand; a test holds the two equal. So a duty that wrote a state past that table is refused by the store, in memory as in
Postgres, before any statement runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from partita.core.store.values_tasks import TaskState, TaskUpdate

_S = TaskState

MOVES: Mapping[TaskState, frozenset[TaskState]] = {
    _S.NONE: frozenset(
        {_S.NONE, _S.SCHEDULED, _S.DEFERRED, _S.AWAITING_INPUT, _S.UPSTREAM_FAILED, _S.SKIPPED, _S.CANCELLED}
    ),
    _S.SCHEDULED: frozenset({_S.SCHEDULED, _S.QUEUED, _S.SUCCESS, _S.CANCELLED, _S.REMOVED}),
    _S.QUEUED: frozenset(
        {_S.QUEUED, _S.SCHEDULED, _S.RUNNING, _S.SUCCESS, _S.FAILED, _S.UP_FOR_RETRY, _S.CANCELLED, _S.REMOVED}
    ),
    _S.RUNNING: frozenset(
        {
            _S.RUNNING,
            _S.DEFERRED,
            _S.AWAITING_INPUT,
            _S.SUCCESS,
            _S.SKIPPED,
            _S.UP_FOR_RETRY,
            _S.FAILED,
            _S.CANCELLED,
        }
    ),
    _S.UP_FOR_RETRY: frozenset({_S.SCHEDULED, _S.DEFERRED, _S.AWAITING_INPUT, _S.CANCELLED, _S.REMOVED}),
    _S.DEFERRED: frozenset({_S.SCHEDULED, _S.UP_FOR_RETRY, _S.FAILED, _S.CANCELLED, _S.REMOVED}),
    _S.AWAITING_INPUT: frozenset({_S.SCHEDULED, _S.DEFERRED, _S.UP_FOR_RETRY, _S.FAILED, _S.CANCELLED}),
}
"""By the state from which; a terminal state is no key: nothing leaves it."""


def refused_move(updates: Sequence[TaskUpdate]) -> str | None:
    """The first update that no task makes, as a sentence; None when all are moves.

    >>> TaskState.RUNNING in MOVES[TaskState.UP_FOR_RETRY]
    False
    """
    for source, target in {(update.expect_state, update.state) for update in updates}:
        if target not in MOVES.get(source, ()):
            refused = next(one for one in updates if (one.expect_state, one.state) == (source, target))
            return f"task {refused.id}: no task moves from {source.value} to {target.value}"
    return None
