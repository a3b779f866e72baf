"""How a run stands: its tallies and its end. Pure.

A run ends when every one of its tasks has ended. It failed if any task failed or is upstream_failed, whatever else
succeeded (S-112, S-113); else it is cancelled if that was asked while any was open; else it succeeded: skips never fail a run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from partita.core.store.values import Run, RunState, RunUpdate, Tally, TaskState


def fold(run: Run, tallies: Iterable[Tally], now: datetime) -> RunUpdate:
    """Adds the appended tallies of one run to it, and ends it when they are complete."""
    counts = Counter(run.tallies)
    for tally in tallies:
        counts[tally.state.value] += tally.n
    state = run.state
    if state is RunState.RUNNING and counts.total() >= run.task_count:
        state = end_state(counts, cancel_requested=run.cancel_requested)
    return RunUpdate(
        id=run.id,
        expect_state=run.state,
        state=state,
        tallies=dict(counts),
        cancel_requested=run.cancel_requested,
        finished_at=now if state is not run.state else None,
    )


def end_state(counts: Mapping[str, int], *, cancel_requested: bool) -> RunState:
    """The state of a run whose tasks have all ended, by the number of tasks in each state.

    >>> str(end_state({"success": 9, "skipped": 1}, cancel_requested=False))
    'success'
    """
    if counts.get(TaskState.FAILED.value) or counts.get(TaskState.UPSTREAM_FAILED.value):
        return RunState.FAILED
    if cancel_requested:
        return RunState.CANCELLED
    return RunState.SUCCESS


def request_cancel(run: Run) -> RunUpdate | None:
    """None when there is nothing to ask: it has ended, or was asked before."""
    if run.state is not RunState.RUNNING or run.cancel_requested:
        return None
    return RunUpdate(
        id=run.id, expect_state=run.state, state=run.state, tallies=dict(run.tallies), cancel_requested=True
    )
