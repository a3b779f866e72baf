"""Leases and the pulse: who is judged lost, and when nobody may be judged. Pure.

`db_pulse.last_ok` moves every second while the database answers. A pulse that finds it old has found an outage of the
database, not of the workers: all leases are extended by the gap and nobody is judged before the next pulse (S-156). Every
writer of the pulse goes through `pulse`: one that only set it would hide the gap from whoever judges next.

Clocks: one that is set forward looks like an outage, and extends leases. One that is set back makes them last longer by as
much: a dead worker is found later. Set back and forward within one pulse, a lease that was taken in between is short by as much,
and its worker may be judged early. That is accepted: it costs a loss, and the fence lets nothing be published twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from partita.core.decide.retry import after_loss
from partita.core.decide.transitions import Actor, move
from partita.core.store.values import CellState, Task, TaskCell, TaskState, TaskUpdate

PULSE_GAP = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Pulse:
    """`extend_s` > 0: the database was away that long; extend every lease by it and judge nobody."""

    extend_s: float

    @property
    def may_judge(self) -> bool:
        return self.extend_s == 0.0


def pulse(last_ok: datetime, now: datetime) -> Pulse:
    """What the present pulse says about the time since the last one."""
    gap = now - last_ok
    return Pulse(extend_s=gap.total_seconds() if gap > PULSE_GAP else 0.0)


def lost(task: Task, cells: Sequence[TaskCell], now: datetime, why: str = "is gone: its lease lapsed") -> TaskUpdate:
    """The next state of a running task whose worker is gone, or does not know of it (`why`). `cells` are all its cells."""
    if cells and all(cell.state is not CellState.PENDING for cell in cells):
        # Everything was published in parts before the worker died: only the report is missing, not the work.
        return move(
            task, TaskState.SUCCESS, Actor.LAPSE, worker_id=None, outcome=task.outcome or "published", finished_at=now
        )
    return after_loss(task, now, by=Actor.LAPSE, error=f"worker {task.worker_id} {why}")
