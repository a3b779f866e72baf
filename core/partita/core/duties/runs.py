"""Runs: folding the tallies that completions append, and cancelling.

Completions never touch run rows (a run of ten thousand tasks would serialise on its own row); a duty folds what they append.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from partita.core.decide import runs as decide
from partita.core.decide.backfills import ended
from partita.core.decide.cancel import cancel
from partita.core.decide.signals import run_signals
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Move, follow, write
from partita.core.duties.values import BATCH_CELLS, CancelledRun, CancelledTasks, Folded
from partita.core.store.port import Store, Tx
from partita.core.store.values import (
    BackfillId,
    Exclusive,
    NewEvent,
    Run,
    RunId,
    RunState,
    RunUpdate,
    Tally,
    Task,
    TaskId,
    TaskState,
)


def fold_tallies(store: Store, limit: int = BATCH_CELLS) -> Folded:
    """Folds up to `limit` tallies into their runs and ends the runs (and backfills) that are complete."""
    return store.run(lambda tx: _fold(tx, limit))


def _fold(tx: Tx, limit: int) -> Folded:
    if not tx.try_duty(Exclusive.FOLD_TALLIES):
        return Folded(held=True)
    tallies = tx.take_tallies(limit)
    if not tallies:
        return Folded()
    by_run: dict[RunId, list[Tally]] = defaultdict(list)
    for tally in tallies:
        by_run[tally.run_id].append(tally)
    now = tx.now()
    folded = [(run, decide.fold(run, by_run[run.id], now)) for run in tx.lock_runs(list(by_run))]
    tx.write_runs([update for _, update in folded])
    _end_backfills(tx, [run.backfill_id for run, update in folded if update.state is not run.state])
    tx.append_events([event for run, update in folded for event in _events(run, update)])
    tx.append_signals([signal for run, update in folded for signal in run_signals(run, update)])
    ended = tuple((update.id, update.state) for run, update in folded if update.state is not run.state)
    return Folded(ended, more=len(tallies) == limit, tallies=len(tallies), channels=(Channel.EVENT,))


def _end_backfills(tx: Tx, ids: Sequence[BackfillId | None]) -> None:
    """Ends those of these backfills whose runs have all ended."""
    for backfill in tx.lock_backfills([one for one in ids if one is not None]):
        # Read after the lock: of two that end the last two runs at once, the second sees what the first wrote.
        runs = tx.read_runs(tx.runs_of_backfill(backfill.id))
        several = len(runs) > 1 and not any(run.state is RunState.RUNNING for run in runs)
        unmade = [state for _, state in tx.unmade_cells(backfill.id)] if several else []
        after = ended(backfill, runs, unmade)
        if after != backfill:
            tx.write_backfill(after)


def _events(run: Run, update: RunUpdate) -> Sequence[NewEvent]:
    body = _body(update.state, tuple(update.tallies.items()))
    events = [NewEvent("run", run_id=run.id, body=body)]
    if run.backfill_id is not None:
        events.append(NewEvent("backfill", run_id=run.id, body={**body, "backfill": run.backfill_id}))
    return events


@lru_cache(maxsize=1024)
def _body(state: RunState, tallies: tuple[tuple[str, int], ...]) -> Mapping[str, Any]:
    """One value for all runs that stand alike: the store makes its text once."""
    return {"state": state.value, "tallies": dict(tallies)}


def cancel_run(store: Store, run_id: RunId, who: str, *, reason: str = "", limit: int = BATCH_CELLS) -> CancelledRun:
    """Ends what has not started and asks the workers of what runs to stop it. Asking twice changes nothing.

    Of a run with very many tasks the last ones at once, the rest in further visits (`continue_cancels`): `more` says so. A task
    that another run joined ends too; that run hears of it as of a failed upstream. Audited under `who`.
    """
    return store.run(lambda tx: _cancel(tx, run_id, who, reason.strip(), limit))


def continue_cancels(store: Store, visits: int = 5, limit: int = BATCH_CELLS) -> CancelledRun:
    """Reaches more tasks of cancelled runs, a few visits of a thousand at a time; `more` when there are others."""
    found = CancelledRun(known=False)
    for _ in range(visits):
        done = store.run(lambda tx: _continue(tx, limit))
        found = found.plus(done)
        if not done.more:
            break
    return found


def cancel_tasks(store: Store, ids: Sequence[TaskId], *, who: str, reason: str = "") -> CancelledTasks:
    """As `cancel_run`, for these tasks alone: what waits below them hears of it as of a failed upstream, by its trigger rule.

    Tasks that have ended are passed over; asking twice changes nothing.
    """
    return store.run(lambda tx: _cancel_tasks(tx, ids, who, reason.strip()))


def _cancel(tx: Tx, run_id: RunId, who: str, reason: str, limit: int) -> CancelledRun:
    runs = tx.lock_runs([run_id])
    if not runs:
        return CancelledRun(known=False)
    tasks = tx.lock_open_tasks_of_run(run_id, limit=limit)
    if not tasks:  # everything has ended, or was asked to stop before
        return CancelledRun(known=True)
    if decide.request_cancel(runs[0]) is not None:
        tx.audit(who, "cancel_run", {"run": run_id, "tasks": _open_count(runs[0], tasks)}, reason=reason)
    tx.append_events([NewEvent("run", run_id=run_id, body={"state": "running", "cancel_requested": True, "by": who})])
    return _cancel_some(tx, runs[0], tasks, more=len(tasks) == limit)


def _open_count(run: Run, tasks: Sequence[Task]) -> int:
    """How many tasks of it are open, by what is folded; the last ones were just read."""
    return max(len(tasks), run.task_count - sum(run.tallies.values())) if len(tasks) >= BATCH_CELLS else len(tasks)


def _continue(tx: Tx, limit: int) -> CancelledRun:
    runs = tx.lock_cancelling_runs_skip(1)
    if not runs:
        return CancelledRun(known=False)
    tasks = tx.lock_open_tasks_of_run(runs[0].id, below=runs[0].cancelled_from, limit=limit)
    return _cancel_some(tx, runs[0], tasks, more=len(tasks) == limit)


def _cancel_some(tx: Tx, run: Run, tasks: Sequence[Task], *, more: bool) -> CancelledRun:
    """Cancels these, the last open ones of the run: whatever depends on them in it is among them or was cancelled before, so that
    below them are only gates of runs that joined them."""
    now = tx.now()
    if run.state is RunState.RUNNING:
        tx.write_runs([decide.cancelling(run, tasks[0].id if more else None)])
    moves: list[Move] = [(task, update) for task in tasks if (update := cancel(task, now)) is not None]
    written = write(tx, moves, follow(tx, moves, whole=True, now=now), quiet=more)
    stopping = sum(update.state is TaskState.RUNNING for _, update in moves)
    channels = {*written.channels(), Channel.EVENT, *([Channel.CANCEL] if stopping or more else [])}
    return CancelledRun(True, len(moves) - stopping, stopping, more, tuple(sorted(channels)))


def _cancel_tasks(tx: Tx, ids: Sequence[TaskId], who: str, reason: str) -> CancelledTasks:
    chosen = [task for task in tx.lock_tasks(ids) if task.kind == "step" and not task.state.terminal]
    now = tx.now()
    moves: list[Move] = [(task, update) for task in chosen if (update := cancel(task, now)) is not None]
    if not moves:
        return CancelledTasks()
    settlement = follow(tx, moves, whole=True, now=now)
    written = write(tx, moves, settlement)
    runs = sorted({task.run_id for task, _ in moves})
    tx.audit(who, "cancel_task", {"tasks": [task.id for task, _ in moves], "runs": runs}, reason=reason)
    stopping = sum(update.state is TaskState.RUNNING for _, update in moves)
    below = sum(task.kind == "step" and update.state.terminal for task, update in settlement.updates)
    channels = {*written.channels(), Channel.EVENT, *([Channel.CANCEL] if stopping else [])}
    return CancelledTasks(len(moves) - stopping, stopping, below, tuple(sorted(channels)))
