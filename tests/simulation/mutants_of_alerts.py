"""Mutants of alerts and of the outbox of notices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.simulation.mutant import Patch, mutant

from partita.core.alerts import decide as alerts_decider
from partita.core.alerts import delivery, raising
from partita.core.duties import consequences
from partita.core.store.memory.store import MemoryTx
from partita.core.store.values_alerts import NoticeEnd


@mutant("failure not signalled")
def _(patch: Patch) -> None:
    patch.setattr(consequences, "failure_signals", lambda task, update: iter(()))


@mutant("signal taken and forgotten")
def _(patch: Patch) -> None:
    """The alerts of a visit are those of its first signal."""
    right = raising._facts
    patch.setattr(raising, "_facts", lambda tx, matcher, signals: right(tx, matcher, signals[:1]))


@mutant("cause told as another alert each time")
def _(patch: Patch) -> None:
    right = MemoryTx.put_alerts

    def always_new(tx: MemoryTx, alerts: Any) -> Any:
        with patch.context() as inner:
            inner.setattr(MemoryTx, "_open_alerts", lambda tx: [])
            return right(tx, alerts)

    patch.setattr(MemoryTx, "put_alerts", always_new)


@mutant("alert over while its cell is not made")
def _(patch: Patch) -> None:
    patch.setattr(MemoryTx, "_published_after", lambda tx, asset_id, partition, since: True)


@mutant("alert told to one target only")
def _(patch: Patch) -> None:
    right = MemoryTx.insert_notice_items
    patch.setattr(MemoryTx, "insert_notice_items", lambda tx, items: right(tx, list(items)[:1]))


@mutant("notice sent by two at once")
def _(patch: Patch) -> None:
    """The lease of whoever is at it is not heeded."""
    right = MemoryTx.claim_notices_skip

    def careless(tx: MemoryTx, limit: int, lease_s: float) -> Any:
        for row in tx._db.notice:
            if row["state"] == "pending" and row["lease_until"] is not None:
                tx._db.notice.change(row["id"], lease_until=None)
        return right(tx, limit, lease_s)

    patch.setattr(MemoryTx, "claim_notices_skip", careless)


@mutant("outbox not fenced")
def _(patch: Patch) -> None:
    """Whoever was at a notice ends it, also when its lease was over and another one is at it."""
    right = MemoryTx.end_notices

    def late(tx: MemoryTx, ends: Sequence[NoticeEnd]) -> Any:
        for one in ends:
            if one.id in tx._db.notice:
                tx._db.notice.change(one.id, state="pending", tries=one.tries)
        return right(tx, ends)

    patch.setattr(MemoryTx, "end_notices", late)


@mutant("notice that nobody took counted as sent")
def _(patch: Patch) -> None:
    right = alerts_decider.after_try
    patch.setattr(delivery, "after_try", lambda notice, error, now: right(notice, None, now))
