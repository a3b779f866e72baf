"""How a run stands: its tallies and its end. Pure.

A run ends when every one of its tasks has ended. It failed if any task failed, is upstream_failed or was removed, whatever else
succeeded (S-112, S-113), or if it timed out (S-159); else it is cancelled if a task was, or if that was asked while any was open;
else it succeeded: skips never fail a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType

from partita.assets import PartitaError
from partita.core.store.values import Run, RunId, RunState, RunUpdate, Tally, TaskId, TaskState

_UNMADE = tuple(state.value for state in (TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.REMOVED))


class RunRefused(PartitaError):
    """What was asked of a run makes no sense as it stands; nothing was written."""


def check_limit(run_id: RunId, max_active: int | None) -> None:
    """Raises for a limit that nothing could start under."""
    if max_active is not None and max_active < 1:
        raise RunRefused(
            f"max_active {max_active} would never let a task of run {run_id} start",
            rule="it is at least 1",
            fix=f"to end the run: `partita runs cancel {run_id}`",
        )


def check_limitable(run: Run) -> None:
    """Raises for a run that has ended, is being cancelled, or has the limit of its backfill."""
    if run.state is not RunState.RUNNING or run.cancel_requested:
        how = f"has ended ({run.state.value})" if run.state is not RunState.RUNNING else "is being cancelled"
        raise RunRefused(
            f"run {run.id} {how}: there is nothing left to limit", rule="only a run that goes on can be changed"
        )
    if run.backfill_id is not None:
        raise RunRefused(
            f"run {run.id} is one of backfill {run.backfill_id}",
            rule="the limit is that of the backfill, over all its runs",
            fix=f"`partita backfill set {run.backfill_id} --max-active N`",
        )


def fold(run: Run, tallies: Iterable[Tally], now: datetime) -> RunUpdate:
    """Adds the appended tallies of one run to it, and ends it when they are complete."""
    counts = dict(run.tallies)
    for tally in tallies:
        name = tally.state.value
        counts[name] = counts.get(name, 0) + tally.n
    state = run.state
    if state is RunState.RUNNING and sum(counts.values()) >= run.task_count:
        state = end_state(counts, cancel_requested=run.cancel_requested, timed_out=run.timed_out)
    return RunUpdate(
        id=run.id,
        expect_state=run.state,
        state=state,
        tallies=_shared(tuple(sorted(counts.items()))),
        cancel_requested=run.cancel_requested,
        finished_at=now if state is not run.state else None,
        cancelled_from=run.cancelled_from if state is RunState.RUNNING else None,
    )


@lru_cache(maxsize=1024)
def _shared(counts: tuple[tuple[str, int], ...]) -> Mapping[str, int]:
    """One value for all runs that stand alike: the store makes its text once."""
    return MappingProxyType(dict(counts))


def end_state(counts: Mapping[str, int], *, cancel_requested: bool, timed_out: bool = False) -> RunState:
    """The state of a run whose tasks have all ended, by the number of tasks in each state.

    >>> str(end_state({"success": 9, "skipped": 1}, cancel_requested=False))
    'success'
    """
    if timed_out or any(counts.get(state) for state in _UNMADE):
        return RunState.FAILED
    if cancel_requested or counts.get(TaskState.CANCELLED.value):
        return RunState.CANCELLED
    return RunState.SUCCESS


def request_cancel(run: Run) -> RunUpdate | None:
    """None when there is nothing to ask: it has ended, or was asked before."""
    if run.state is not RunState.RUNNING or run.cancel_requested:
        return None
    return cancelling(run, None)


def cancelling(run: Run, cancelled_from: TaskId | None) -> RunUpdate:
    """Of a cancelled run: the task below which there are others to reach; None when all have been."""
    return RunUpdate(
        id=run.id,
        expect_state=run.state,
        state=run.state,
        tallies=dict(run.tallies),
        cancel_requested=True,
        cancelled_from=cancelled_from,
    )


def time_out(run: Run) -> RunUpdate:
    """A run that takes too long: nothing of it starts any more."""
    return RunUpdate(
        id=run.id,
        expect_state=run.state,
        state=run.state,
        tallies=dict(run.tallies),
        cancel_requested=True,
        timed_out=True,
    )
