"""When something that could not be decided is tried again. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from partita.core.store.values_requests import Fault, FaultKind

FIRST_S = 10.0
MOST_S = 3_600.0
_ERROR_CHARS = 2_000


def after_fault(known: Fault | None, subject: tuple[FaultKind, int], error: str, now: datetime) -> Fault:
    """The fault after one more failure: the pause doubles, from ten seconds to an hour."""
    tries = 1 if known is None else known.tries + 1
    pause_s = min(MOST_S, FIRST_S * 2 ** min(tries - 1, 20))
    return Fault(
        kind=subject[0],
        id=subject[1],
        error=error[:_ERROR_CHARS],
        tries=tries,
        since=now if known is None else known.since,
        last_at=now,
        next_at=now + timedelta(seconds=pause_s),
    )
