"""Runs: folding the tallies that completions append, and cancelling.

Completions never touch run rows (a run of ten thousand tasks would serialise on its own row); a duty folds what they append.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from partita.core.decide import runs as decide
from partita.core.decide.cancel import cancel
from partita.core.duties.consequences import Move, follow, write
from partita.core.duties.values import BATCH_CELLS, CancelledRun, Channel, Folded
from partita.core.store.port import Store, Tx
from partita.core.store.values import NewEvent, Run, RunId, RunUpdate, Tally, TaskState


def fold_tallies(store: Store, limit: int = BATCH_CELLS) -> Folded:
    """Folds up to `limit` tallies into their runs and ends the runs (and backfills) that are complete."""
    return store.run(lambda tx: _fold(tx, limit))


def _fold(tx: Tx, limit: int) -> Folded:
    tallies = tx.take_tallies(limit)
    if not tallies:
        return Folded()
    by_run: dict[RunId, list[Tally]] = defaultdict(list)
    for tally in tallies:
        by_run[tally.run_id].append(tally)
    now = tx.now()
    # Another folder may hold a run; this one then waits and adds to what that one wrote.
    folded = [(run, decide.fold(run, by_run[run.id], now)) for run in tx.lock_runs(list(by_run))]
    tx.write_runs([update for _, update in folded])
    tx.append_events([event for run, update in folded for event in _events(run, update)])
    ended = tuple((update.id, update.state) for run, update in folded if update.state is not run.state)
    return Folded(ended, more=len(tallies) == limit, channels=(Channel.EVENT,))


def _events(run: Run, update: RunUpdate) -> Sequence[NewEvent]:
    body = {"state": update.state.value, "tallies": dict(update.tallies)}
    events = [NewEvent("run", run_id=run.id, body=body)]
    if run.backfill_id is not None:
        events.append(NewEvent("backfill", run_id=run.id, body={**body, "backfill": run.backfill_id}))
    return events


def cancel_run(store: Store, run_id: RunId, who: str) -> CancelledRun:
    """Ends what has not started and asks the workers of what runs to stop it. Asking twice changes nothing.

    A task that another run joined ends too; that run hears of it as of a failed upstream. Audited under `who`.
    """
    return store.run(lambda tx: _cancel(tx, run_id, who))


def _cancel(tx: Tx, run_id: RunId, who: str) -> CancelledRun:
    runs = tx.lock_runs([run_id])
    if not runs:
        return CancelledRun(known=False)
    tasks = tx.lock_open_tasks_of_run(run_id)
    if not tasks:  # everything has ended, whether that was folded into the run yet or not
        return CancelledRun(known=True)
    now = tx.now()
    request = decide.request_cancel(runs[0])
    if request is not None:
        tx.write_runs([request])
        tx.audit(who, "cancel_run", {"run": run_id})
    moves: list[Move] = [(task, update) for task in tasks if (update := cancel(task, now)) is not None]
    # The whole closure at once: below the tasks of this run are only tasks of this run, and gates that joined them.
    written = write(tx, moves, follow(tx, moves, whole=True, now=now), quiet=len(moves) > BATCH_CELLS)
    tx.append_events([NewEvent("run", run_id=run_id, body={"state": "running", "cancel_requested": True, "by": who})])
    stopping = sum(update.state is TaskState.RUNNING for _, update in moves)
    channels = {*written.channels(), Channel.EVENT, *([Channel.CANCEL] if stopping else [])}
    return CancelledRun(True, len(moves) - stopping, stopping, tuple(sorted(channels)))
