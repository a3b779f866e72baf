"""Deadlines: when a cell is due, and whether it was there by then. Pure. A deadline notifies; it never moves a task (S-203).

A deadline counts from the close of the partition's window. What is asked for after that instant has passed (history, a late
repair) and what has no window counts from its launch: nobody is late before somebody has asked.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from partita.core.store.values import CellState
from partita.core.store.values_deadlines import DueDeadline

_LONGEST_S = 10 * 365 * 86_400.0  # a longer one is none that anybody means

# The cell was made, or its attempt chose to make nothing: either is an answer in time.
_ANSWERED = frozenset({CellState.PUBLISHED, CellState.UNCHANGED, CellState.SKIPPED})
# Somebody took the request back: nobody waits for the cell any more.
_WITHDRAWN = frozenset({CellState.CANCELLED, CellState.REMOVED})


class Verdict(StrEnum):
    MET = "met"
    MISSED = "missed"


def due_at(window: tuple[datetime, datetime] | None, deadline_s: float, now: datetime) -> datetime | None:
    """When a cell that is asked for now is due. None: at no instant that a calendar has.

    >>> from datetime import UTC
    >>> day = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC)
    >>> str(due_at(day, 3 * 3600.0, now=datetime(2026, 3, 2, 0, 15, tzinfo=UTC)))
    '2026-03-02 03:00:00+00:00'
    >>> str(due_at(day, 3 * 3600.0, now=datetime(2026, 6, 1, tzinfo=UTC)))
    '2026-06-01 03:00:00+00:00'
    """
    span = timedelta(seconds=min(deadline_s, _LONGEST_S))
    try:
        closed = None if window is None else window[1] + span
        return closed if closed is not None and closed > now else now + span
    except OverflowError:
        return None


def verdict(deadline: DueDeadline) -> Verdict:
    """Of a deadline whose instant has come. One that is looked at late (nobody was there to look) is judged as of its instant."""
    if deadline.cell_state in _WITHDRAWN and not deadline.timed_out:
        return Verdict.MET
    made = deadline.made_at
    if made is not None and deadline.set_at <= made <= deadline.due_at:
        return Verdict.MET  # by this task or by another one: it is there
    finished = deadline.finished_at
    in_time = finished is not None and finished <= deadline.due_at
    return Verdict.MET if deadline.cell_state in _ANSWERED and in_time else Verdict.MISSED
