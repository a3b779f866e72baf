"""When a cell is due, and what counts as in time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from partita.core.decide.deadlines import Verdict, due_at, verdict
from partita.core.store.values import AssetId, CellRef, CellState, RunId, TaskId, TaskState
from partita.core.store.values_deadlines import DueDeadline

DUE = datetime(2026, 3, 2, 3, tzinfo=UTC)
EARLIER, LATER = DUE - timedelta(seconds=1), DUE + timedelta(seconds=1)
DAY = (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
RUNNING = DueDeadline(
    task_id=TaskId(1),
    run_id=RunId(1),
    cell=CellRef(AssetId(1), "2026-03-01"),
    due_at=DUE,
    set_at=DUE - timedelta(hours=3),
    task_state=TaskState.RUNNING,
    reason=None,
    finished_at=None,
    cell_state=CellState.PENDING,
    made_at=None,
    timed_out=False,
)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (DAY[0], DUE),  # asked for before its window closed
        (DAY[1] + timedelta(hours=2, minutes=59), DUE),
        (DUE, DUE + timedelta(hours=3)),  # asked for when it was due already: so long again
        (datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, 3, tzinfo=UTC)),  # history
    ],
)
def test_a_deadline_counts_from_the_close_of_the_window_unless_that_has_passed(now: datetime, due: datetime) -> None:
    assert due_at(DAY, 3 * 3600.0, now) == due


def test_without_a_window_it_counts_from_the_launch() -> None:
    """S-203: from the start of the run."""
    assert due_at(None, 60.0, DUE) == DUE + timedelta(minutes=1)


def test_an_instant_that_no_calendar_has_is_no_deadline() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert due_at((last, last), 1e300, last) is None


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, Verdict.MISSED),
        ({"made_at": DUE}, Verdict.MET),  # at the very instant is in time
        ({"made_at": LATER}, Verdict.MISSED),
        ({"made_at": RUNNING.set_at - timedelta(days=1)}, Verdict.MISSED),  # what it held before it was asked for
        (
            {"cell_state": CellState.PUBLISHED, "finished_at": EARLIER, "made_at": LATER},
            Verdict.MET,
        ),  # made again since
        ({"cell_state": CellState.PUBLISHED, "finished_at": LATER, "made_at": LATER}, Verdict.MISSED),
        ({"cell_state": CellState.UNCHANGED, "finished_at": EARLIER}, Verdict.MET),  # needed no attempt
        ({"cell_state": CellState.SKIPPED, "finished_at": EARLIER}, Verdict.MET),
        ({"cell_state": CellState.SKIPPED, "finished_at": LATER}, Verdict.MISSED),
        ({"cell_state": CellState.FAILED, "finished_at": EARLIER}, Verdict.MISSED),
        ({"cell_state": CellState.UPSTREAM_FAILED, "finished_at": EARLIER}, Verdict.MISSED),
        ({"cell_state": CellState.FAILED, "finished_at": EARLIER, "made_at": EARLIER}, Verdict.MET),  # another run's
        ({"cell_state": CellState.CANCELLED, "finished_at": EARLIER}, Verdict.MET),  # nobody waits for it any more
        (
            {"cell_state": CellState.CANCELLED, "finished_at": EARLIER, "timed_out": True},
            Verdict.MISSED,
        ),  # but for that
        ({"cell_state": CellState.REMOVED, "finished_at": EARLIER}, Verdict.MET),
    ],
)
def test_what_is_in_time(changes: dict[str, object], wanted: Verdict) -> None:
    assert verdict(replace(RUNNING, **changes)) is wanted  # type: ignore[arg-type]
