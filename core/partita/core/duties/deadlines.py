"""Deadlines of cells: set with the launch, looked at once they are due. A miss is an event and a row that people see.

Nothing here locks or moves a task: a deadline that is missed costs the work nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from partita.core.decide.deadlines import Verdict, due_at, verdict
from partita.core.decide.signals import late_signal
from partita.core.decide.spent import spent_on
from partita.core.duties.channels import Channel
from partita.core.duties.values import BATCH_CELLS, LaunchCell
from partita.core.store.port import Store, Tx
from partita.core.store.values import NewEvent, RunId, TaskId
from partita.core.store.values_deadlines import DueDeadline, NewDeadline

_TASKS = 8  # of a cell, that say what consumed its time


@dataclass(frozen=True, slots=True)
class Judged:
    """Deadlines whose instant had come."""

    met: int = 0
    missed: int = 0
    more: bool = False
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.met + self.missed


class HasDeadline(Protocol):
    """What setting deadlines needs of a task as it is launched."""

    @property
    def deadline_s(self) -> float | None: ...


def deadlines_of(
    run_id: RunId, tasks: Iterable[tuple[HasDeadline, TaskId, Iterable[LaunchCell]]], now: datetime
) -> Iterator[NewDeadline]:
    """Those of the cells that a run makes itself. A cell that it joins has the deadline of its owner."""
    for task, task_id, cells in tasks:
        if task.deadline_s is None:
            continue
        for own in cells:
            due = due_at(own.window, task.deadline_s, now)
            if due is not None:
                yield NewDeadline(task_id, run_id, own.cell, due)


def judge_deadlines(store: Store, limit: int = BATCH_CELLS) -> Judged:
    """Judges up to `limit` deadlines that are due, each once, and tells of those that were missed."""
    return store.run(lambda tx: _judge(tx, limit))


def _judge(tx: Tx, limit: int) -> Judged:
    due = tx.lock_due_deadlines_skip(limit)
    if not due:
        return Judged()
    missed = [one for one in due if verdict(one) is Verdict.MISSED]
    late = {one.key for one in missed}
    met = [one.key for one in due if one.key not in late]
    tx.end_deadlines(met, late)
    tx.append_events([_missed_event(one) for one in missed])
    stories = tx.stories([one.cell for one in missed], _TASKS) if missed else {}
    tx.append_signals([late_signal(one, spent_on(stories.get(one.cell, ()), one.set_at, one.due_at)) for one in missed])
    channels = (Channel.EVENT,) if missed else ()
    return Judged(len(met), len(missed), more=len(due) == limit, channels=channels)


def _missed_event(late: DueDeadline) -> NewEvent:
    body: dict[str, str] = {"due_at": late.due_at.isoformat(), "state": late.task_state.value}
    if late.reason is not None:
        body["reason"] = late.reason.value
    return NewEvent(
        "deadline_missed",
        asset_id=late.cell.asset_id,
        partition=late.cell.partition,
        run_id=late.run_id,
        task_id=late.task_id,
        body=body,
    )
