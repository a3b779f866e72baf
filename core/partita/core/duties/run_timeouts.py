"""Runs that take longer than they may: what has not started ends, what runs is asked to stop, and the run has failed (S-159)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from partita.core.decide import runs as decide
from partita.core.decide.cancel import cancel
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Move, follow, write
from partita.core.duties.values import BATCH_CELLS
from partita.core.store.port import Store, Tx
from partita.core.store.values import NewEvent, Run, RunId, Task, TaskState

_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class TimedOut:
    runs: tuple[RunId, ...] = ()
    more: bool = False
    tasks: int = 0
    channels: tuple[Channel, ...] = ()

    @property
    def rows(self) -> int:
        return self.tasks


def time_out_runs(store: Store) -> TimedOut:
    """Times out one run a transaction: it locks all that is open of it, as cancelling does."""
    return store.run(_time_out)


def _time_out(tx: Tx) -> TimedOut:
    overdue = tx.lock_overdue_runs_skip(_LOOKED_AT)
    for at, run in enumerate(overdue, start=1):
        tasks = tx.lock_open_tasks_of_run(run.id)
        if tasks:  # else everything has ended in time, and only its tallies are not folded yet
            return _end(tx, run, tasks, more=at < len(overdue))
    return TimedOut()


def _end(tx: Tx, run: Run, tasks: Sequence[Task], *, more: bool) -> TimedOut:
    now = tx.now()
    tx.write_runs([decide.time_out(run)])
    error = f"run {run.id} timed out: what had not ended by then does not go on"
    moves: list[Move] = [(task, update) for task in tasks if (update := cancel(task, now, error=error)) is not None]
    written = write(tx, moves, follow(tx, moves, whole=True, now=now), quiet=len(moves) > BATCH_CELLS)
    tx.append_events([NewEvent("run", run_id=run.id, body={"state": "running", "timed_out": True})])
    tx.audit("scheduler", "run_timeout", {"run": run.id, "tasks": len(moves)})
    stopping = any(update.state is TaskState.RUNNING for _, update in moves)
    channels = {*written.channels(), Channel.EVENT, *([Channel.CANCEL] if stopping else [])}
    return TimedOut((run.id,), more, len(moves), channels=tuple(sorted(channels)))
