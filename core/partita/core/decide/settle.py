"""Readiness: what the end of some tasks means for those below them. Pure.

A task counts its unfinished upstream down (`waiting_on`) and tallies how they ended: good (success), bad (failed,
upstream_failed, cancelled, removed), skipped. Its trigger rule (`rules.py`) decides over these counts. One that runs before all
upstream has ended waits for nobody from then on, so its count falls to zero.

Ids rise along edges, so one pass over the dependents in id order settles a whole closure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from partita.core.decide.rules import Ends, Verdict, verdict
from partita.core.decide.transitions import Actor, move, wait_first
from partita.core.store.values import (
    RunId,
    Task,
    TaskId,
    TaskState,
    TaskUpdate,
    waits_for,
)

# What an ended upstream counts as. A cancelled or removed one made nothing that its dependents could use. Within its own
# run they were cancelled with it; what still hears of it is a gate of another run that had joined it.
_BAD = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED, TaskState.REMOVED})


@dataclass(frozen=True, slots=True)
class Ended:
    """A task that ended in this transaction."""

    state: TaskState
    step: str
    kind: str
    run_id: RunId

    @classmethod
    def of(cls, task: Task, state: TaskState) -> Ended:
        return cls(state=state, step=task.step, kind=task.kind, run_id=task.run_id)


@dataclass(frozen=True, slots=True)
class Settlement:
    """`beyond`: ends whose dependents were not given; settle again with the whole closure before anything is written.

    It holds the ids of the given ends that lead there.
    """

    updates: tuple[tuple[Task, TaskUpdate], ...]
    ready: int  # steps that became scheduled
    gates: int  # gates that became scheduled: open them next
    beyond: frozenset[TaskId]


def settle(
    ended: Mapping[TaskId, Ended],
    edges: Iterable[tuple[TaskId, TaskId]],
    dependents: Sequence[Task],
    *,
    whole: bool,
    now: datetime,
) -> Settlement:
    """Settles `dependents` (all in state NONE) after `ended`.

    `whole`: `dependents` and `edges` cover everything below `ended`, so that an end among them is followed down. Otherwise
    they are the direct ones, and such an end is reported in `beyond`.
    """
    upstream_of = _upstream_of(edges)
    state = _Settling(dict(ended), now)
    for task in sorted(dependents, key=lambda t: t.id):
        above = [up for up in upstream_of.get(task.id, ()) if up in state.ended]
        if above:
            state.visit(task, above)
    beyond: frozenset[TaskId] = frozenset()
    if not whole:
        # An end below would have to be followed to rows that are not locked, and locking them now would leave the one
        # order in which everybody locks. The caller starts again with the closure.
        beyond = frozenset(
            up for task, update in state.updates if update.state.terminal for up in upstream_of[task.id] if up in ended
        )
    return Settlement(tuple(state.updates), state.ready, state.gates, beyond)


def _upstream_of(edges: Iterable[tuple[TaskId, TaskId]]) -> dict[TaskId, list[TaskId]]:
    found: dict[TaskId, list[TaskId]] = defaultdict(list)
    for up, down in edges:
        found[down].append(up)
    return found


class _Settling:
    """One pass in id order; ends found on the way count for what comes later in it."""

    def __init__(self, ended: dict[TaskId, Ended], now: datetime) -> None:
        self.ended = ended
        self.now = now
        self.updates: list[tuple[Task, TaskUpdate]] = []
        self.ready = 0
        self.gates = 0

    def visit(self, task: Task, above: Sequence[TaskId]) -> None:
        ends = [self.ended[up] for up in above]
        waiting = task.waiting_on - len(ends)
        bad = task.bad_upstream + sum(end.state in _BAD for end in ends)
        skipped = task.skip_upstream + sum(_counts_as_skip(end, task) for end in ends)
        good = (
            task.good_upstream + task.waiting_on - waiting - (bad - task.bad_upstream) - (skipped - task.skip_upstream)
        )
        counters = {"waiting_on": waiting, "good_upstream": good, "bad_upstream": bad, "skip_upstream": skipped}
        decision = verdict(task.rule, Ends(waiting, good, bad, skipped))
        if decision is Verdict.WAIT:
            past = (task.reason_detail or {}).get("past", 0)
            reason, detail = waits_for(waiting, past and past - sum(_is_past(end, task) for end in ends))
            update = move(task, TaskState.NONE, Actor.SETTLE, **counters, reason=reason, reason_detail=detail)
        elif decision is Verdict.RUN:
            update = _let_run(task, counters | {"waiting_on": 0}, self.now)
            self.ready += task.kind == "step" and update.state is TaskState.SCHEDULED
            self.gates += task.kind == "gate"
        else:
            target = TaskState(decision.value)
            error = self._blame(above, target)
            update = move(task, target, Actor.SETTLE, **counters, error=error, finished_at=self.now)
            self.ended[task.id] = Ended.of(task, target)
        self.updates.append((task, update))

    def _blame(self, above: Sequence[TaskId], target: TaskState) -> str | None:
        """The sentence that people read at `partita why`: which upstream it was."""
        if target is not TaskState.UPSTREAM_FAILED:
            return None
        for up in above:
            if self.ended[up].state in _BAD:
                return f"upstream task {up} ({self.ended[up].step}) is {self.ended[up].state.value}"
        return None


def _let_run(task: Task, counters: Mapping[str, int], now: datetime) -> TaskUpdate:
    first = wait_first(task.waits)
    if first is None:
        return move(task, TaskState.SCHEDULED, Actor.SETTLE, **counters, ready_at=now)
    state, reason = first
    return move(task, state, Actor.SETTLE, **counters, ready_at=now, reason=reason)


def _counts_as_skip(end: Ended, task: Task) -> bool:
    # A skipped earlier partition satisfies a dependency of an asset on itself (DESIGN section 5, "Skip"). The gate that stands
    # for an owner of another run has that step's name too: it is skipped with its owner, and satisfies its own run's past.
    own = end.step == task.step and end.run_id == task.run_id and "step" in (end.kind, task.kind)
    return end.state is TaskState.SKIPPED and not own


def _is_past(end: Ended, task: Task) -> bool:
    """Whether it made earlier partitions of the asset itself."""
    return end.kind == "step" and end.step == task.step


def open_gates(gates: Sequence[Task], now: datetime) -> list[tuple[Task, TaskUpdate]]:
    """Gates that have counted down end as success and count for their members."""
    return [(gate, move(gate, TaskState.SUCCESS, Actor.GATE, finished_at=now)) for gate in gates]
