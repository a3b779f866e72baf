"""Pauses between tries of what cannot be decided: they double, from ten seconds to an hour."""

from __future__ import annotations

from datetime import UTC, datetime

from partita.core.decide.faults import after_fault
from partita.core.store.values_requests import Fault, FaultKind

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_pauses_double_up_to_an_hour() -> None:
    known: Fault | None = None
    pauses = []
    for _ in range(12):
        known = after_fault(known, (FaultKind.ASSET, 7), "ValueError: " + "x" * 5_000, NOW)
        pauses.append((known.next_at - known.last_at).total_seconds())
    assert pauses == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600]
    assert known is not None
    assert (known.tries, known.since, len(known.error)) == (12, NOW, 2_000)
