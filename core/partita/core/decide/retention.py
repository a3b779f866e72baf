"""Which day of history goes next, and why it may not. Pure.

A day goes as a whole or stays as a whole, so that what is deleted is what was exported. Days go one after the other, the oldest
first: what keeps one keeps the later ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from partita.core.store.values_retention import ArchiveHolds

WAITED_FOR = 2
"""For so many times as long as history is kept, it is kept for a sensor or callback that was not told of it yet."""


@dataclass(frozen=True, slots=True)
class Going:
    """`day` may go; without one `why` says what the oldest day waits for, "" when all that is here is young enough."""

    day: date | None
    why: str = ""


def first_kept(now: datetime, keep_days: float) -> date:
    """The first day (UTC) that stays: every instant of an earlier one is more than `keep_days` ago."""
    return (now - timedelta(days=keep_days)).astimezone(UTC).date()


def next_day(oldest: date | None, holds: ArchiveHolds, now: datetime, keep_days: float) -> Going:
    """Whether the oldest day of history may go."""
    if oldest is None or oldest >= first_kept(now, keep_days):
        return Going(None)
    after = datetime.combine(oldest, time(), tzinfo=UTC) + timedelta(days=1)
    if holds.open_run is not None and holds.open_since is not None and holds.open_since < after:
        return Going(
            None, f"run {holds.open_run} has been open since {holds.open_since:%Y-%m-%d}, and may refer to {oldest}"
        )
    if holds.open_backfill is not None:
        return Going(None, f"backfill {holds.open_backfill} has not ended, and a run of it finished on {oldest}")
    if holds.waiting:
        return Going(None, f"an event of {oldest} or before waits for who follows it")
    # Not for ever: who is never resumed would keep all history.
    if holds.unread is not None and oldest >= first_kept(now, WAITED_FOR * keep_days):
        until = oldest + timedelta(days=WAITED_FOR * keep_days)
        return Going(
            None,
            f"{holds.unread.name!r}{' is paused and' if holds.unread.paused else ''} was not told of all events of {oldest} yet; "
            f"they are kept for it until {until}",
        )
    return Going(oldest)
