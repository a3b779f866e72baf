"""What follows from moves of tasks, written in one place: dependents, slots, cells, owners, tallies, events, re-plans.

Every duty that ends tasks goes `follow` (lock and settle what is below) and then `write`. The order of locks: tasks that
are past `none` first, then tasks in `none` in ONE statement in id order, then cells. Nobody who holds a lock on a task in
`none` waits for one that is past it, and two that lock tasks in `none` do so in the same order: so none waits in a circle.
Where an end among the direct dependents would have to be followed further down, `follow` raises `Beyond`: the duty rolls
back and starts again with the whole closure, locked in one statement, instead of locking further out of order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from partita.core.decide.finish import END_OF_PENDING
from partita.core.decide.settle import Ended, Settlement, settle
from partita.core.decide.signals import failure_signals, first_line
from partita.core.decide.transitions import HOLDS_SLOTS
from partita.core.duties.channels import Channel
from partita.core.duties.values import REPLAN
from partita.core.store.port import Tx
from partita.core.store.values import (
    WAITING,
    CellState,
    NewEvent,
    RunId,
    Tally,
    Task,
    TaskCellUpdate,
    TaskId,
    TaskState,
    TaskUpdate,
)

Move = tuple[Task, TaskUpdate]


class Beyond(Exception):
    """The ends of `origins` reach past their direct dependents: do it again with `whole=True`. Rolls the transaction back."""

    def __init__(self, origins: Collection[TaskId]) -> None:
        super().__init__(f"ends of tasks {sorted(origins)} reach past their direct dependents")
        self.origins = frozenset(origins)


@dataclass(frozen=True, slots=True)
class Written:
    """What `write` did: `ready` steps became scheduled, `gates` too, `todo` work for consumers was put, `freed` slots, `waits`
    were opened or ended."""

    ready: int = 0
    gates: int = 0
    todo: bool = False
    freed: bool = False
    events: bool = False
    waits: bool = False

    def channels(self) -> tuple[Channel, ...]:
        """What is worth waking. Slots that came free are news for admission as much as tasks that became ready."""
        worth = (
            (Channel.SCHEDULED, self.ready or self.gates or self.freed),
            (Channel.TODO, self.todo),
            (Channel.EVENT, self.events),
            (Channel.WAIT, self.waits),
        )
        return tuple(channel for channel, moved in worth if moved)

    def plus(self, other: Written) -> Written:
        return Written(
            self.ready + other.ready,
            self.gates + other.gates,
            self.todo or other.todo,
            self.freed or other.freed,
            self.events or other.events,
            self.waits or other.waits,
        )


def follow(tx: Tx, moves: Sequence[Move], *, whole: bool, now: datetime) -> Settlement:
    """Locks and settles what is below the tasks that these moves end. Call it before any cell is locked."""
    ended = {task.id: Ended.of(task, update.state) for task, update in moves if update.state.terminal}
    if not ended:
        return Settlement((), 0, 0, frozenset())
    dependents, edges = below(tx, ended, whole=whole)
    settlement = settle(ended, edges, dependents, whole=whole, now=now)
    if settlement.beyond:
        raise Beyond(settlement.beyond)
    return settlement


def below(tx: Tx, ended: Collection[TaskId], *, whole: bool) -> tuple[list[Task], list[tuple[TaskId, TaskId]]]:
    """The tasks in `none` below these, locked, with the edges to them."""
    ids = sorted(ended)
    while True:
        # The edges are read after the locks: a launch that joins one of these tasks holds it locked until it commits.
        locked = tx.lock_dependents(ids, closure=whole)
        dependents = [task for task in locked if task.id not in ended]
        edges = tx.edges_from([*ids, *(task.id for task in dependents)] if whole else ids)
        seen = {task.id for task in dependents} | set(ended)
        late = sorted({down for _, down in edges} - seen)
        # An edge to a row that was not returned leads to a task that waits no more, or to a gate that joined while this
        # statement waited for its lock; only the latter has to be locked too, with all that is below it. It is looked for
        # without a lock: waiting here for a task that has started would leave the one order in which everybody locks.
        if not late or not tx.waiting_among(late):
            return dependents, edges


def write(
    tx: Tx,
    moves: Sequence[Move],
    settlement: Settlement,
    *,
    cells: Iterable[TaskCellUpdate] = (),
    told: Collection[TaskId] = (),
    events: Iterable[NewEvent] = (),
    quiet: bool = False,
    untold: Collection[TaskId] = (),
) -> Written:
    """Writes the moves and the settlement with everything that follows from them.

    `cells` are the outcomes of cells that the duty decided itself; `told` the tasks of which these are complete. The cells of
    all other tasks that end and are still pending end as their task does. `events` are appended before those of the moves;
    `quiet`: the moves have none. `untold` tasks end, and their runs hear of it later.
    """
    everything = [*moves, *settlement.updates]
    ended = [(task, update) for task, update in everything if update.state.terminal]
    ended_ids = [task.id for task, _ in ended]
    freed = [t.id for t, u in everything if t.state in HOLDS_SLOTS and u.state not in HOLDS_SLOTS]
    tx.write_tasks([update for _, update in everything])
    explicit = list(cells)
    tx.write_task_cells([*explicit, *_ends_of_pending(tx, ended, explicit, told)])
    if freed:
        tx.release_slots(freed)
    waits = _tend_waits(tx, everything)
    if ended_ids:
        tx.close_cells(ended_ids)
        tx.append_tallies(_tallies([one for one in ended if one[0].id not in untold]))
    news = [*events, *_replans(tx, ended_ids), *([] if quiet else map(_task_event, moves)), *_run_events(settlement)]
    tx.append_events(news)
    tx.append_signals([signal for move in moves for signal in failure_signals(*move)])
    return Written(
        ready=settlement.ready,
        gates=settlement.gates,
        todo=any(event.for_consumers for event in news),
        freed=bool(freed),
        events=bool(news),
        waits=waits,
    )


def _tend_waits(tx: Tx, everything: Sequence[Move]) -> bool:
    """Waits follow their tasks: opened when these begin to wait, ended when these end."""
    deferred = [task.id for task, update in everything if update.state in WAITING and task.state not in WAITING]
    ended = [task.id for task, update in everything if update.state.terminal and task.waits is not None]
    if deferred:
        tx.open_waits(deferred)
    if ended:
        tx.end_waits(ended)
    return bool(deferred or ended)


def _ends_of_pending(
    tx: Tx, ended: Sequence[Move], explicit: Sequence[TaskCellUpdate], told: Collection[TaskId]
) -> list[TaskCellUpdate]:
    untold = {task.id: update for task, update in ended if task.kind == "step" and task.id not in told}
    if not untold:
        return []
    named = {(update.task_id, update.cell) for update in explicit}
    return [
        TaskCellUpdate(
            own.task_id, own.cell, END_OF_PENDING[untold[own.task_id].state], error=untold[own.task_id].error
        )
        for own in tx.task_cells(list(untold))
        if own.state is CellState.PENDING and (own.task_id, own.cell) not in named
    ]


def _tallies(ended: Sequence[Move]) -> list[Tally]:
    counts = Counter((task.run_id, update.state) for task, update in ended)
    return [Tally(run_id, state, n) for (run_id, state), n in counts.items()]


def _replans(tx: Tx, ended: Sequence[TaskId]) -> list[NewEvent]:
    """Requests that found these cells in progress are planned again now that they no longer are."""
    if not ended:
        return []
    return [
        NewEvent(
            "plan",
            asset_id=cause.cell.asset_id,
            partition=cause.cell.partition,
            run_id=cause.run_id,
            task_id=cause.task_id,
            body={"waited_for": cause.task_id},
            for_consumers=(REPLAN,),
        )
        for cause in tx.take_waiting_causes(ended)
    ]


def _task_event(change: Move) -> NewEvent:
    task, update = change
    attempt = task.attempt_number if update.state.terminal else None
    error = first_line(update.error) if update.state is TaskState.FAILED else None
    body = _task_body(update.state, task.step, update.outcome, update.cancel_requested, attempt, error)
    return NewEvent("task", run_id=task.run_id, task_id=task.id, body=body)


@lru_cache(maxsize=1024)
def _task_body(
    state: TaskState, step: str, outcome: str | None, cancelling: bool, attempt: int | None, error: str | None
) -> Mapping[str, Any]:
    """One value for all tasks of which it says the same: the store makes its text once."""
    told = {"outcome": outcome, "cancel_requested": cancelling or None, "attempt": attempt, "error": error}
    return {"state": state.value, "step": step, **{name: value for name, value in told.items() if value is not None}}


def _run_events(settlement: Settlement) -> list[NewEvent]:
    """One event per run for its dependents, however many: a closure of ten thousand is one piece of news."""
    states: dict[RunId, Counter[str]] = {}
    for task, update in settlement.updates:
        if update.state is not task.state:
            states.setdefault(task.run_id, Counter())[update.state.value] += 1
    return [NewEvent("run", run_id=run_id, body={"moved": dict(counts)}) for run_id, counts in states.items()]
