"""Which day of history goes next, and what keeps it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from partita.core.decide.retention import Going, first_kept, next_day
from partita.core.store.values_retention import ArchiveHolds, Unread

NOW = datetime(2026, 4, 11, 15, 30, tzinfo=UTC)
OLD = date(2026, 1, 5)
AFTER = datetime(2026, 1, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("keep", "first"), [(90, date(2026, 1, 11)), (1, date(2026, 4, 10)), (90.7, date(2026, 1, 10))]
)
def test_a_day_goes_when_all_of_it_is_old_enough(keep: float, first: date) -> None:
    """S-231. The last instant of the day before is more than that many days ago; the day itself has younger ones."""
    assert first_kept(NOW, keep) == first
    assert next_day(first, ArchiveHolds(), NOW, keep) == Going(None)
    assert next_day(first - timedelta(days=1), ArchiveHolds(), NOW, keep) == Going(first - timedelta(days=1))


def test_without_history_nothing_goes() -> None:
    assert next_day(None, ArchiveHolds(), NOW, 90) == Going(None)


def test_an_open_run_keeps_what_finished_after_it_began() -> None:
    """It may have joined what was open then; what had finished before, it never saw."""
    began = AFTER - timedelta(microseconds=1)
    found = next_day(OLD, ArchiveHolds(open_run=7, open_since=began), NOW, 90)
    assert found == Going(None, "run 7 has been open since 2026-01-05, and may refer to 2026-01-05")
    assert next_day(OLD, ArchiveHolds(open_run=7, open_since=AFTER), NOW, 90) == Going(OLD)


def test_an_unfinished_backfill_keeps_its_runs() -> None:
    assert next_day(OLD, ArchiveHolds(open_backfill=3), NOW, 90).why.startswith("backfill 3 has not ended")


def test_who_was_not_told_of_events_keeps_them_for_as_long_again() -> None:
    paused = ArchiveHolds(unread=Unread("watch_orders", paused=True))
    assert next_day(OLD, paused, NOW, 90).why == (
        "'watch_orders' is paused and was not told of all events of 2026-01-05 yet; they are kept for it until 2026-07-04"
    )
    behind = ArchiveHolds(unread=Unread("watch_orders", paused=False))
    assert "'watch_orders' was not told of all" in next_day(OLD, behind, NOW, 90).why
    last = datetime(2026, 7, 4, 23, 59, tzinfo=UTC)
    assert next_day(OLD, paused, last, 90).day is None
    assert next_day(OLD, paused, last + timedelta(minutes=1), 90) == Going(OLD)


def test_an_event_that_waits_keeps_its_day() -> None:
    assert "waits for who follows it" in next_day(OLD, ArchiveHolds(waiting=True), NOW, 90).why
