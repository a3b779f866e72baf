"""Who is there to take tasks of which queue, as admission and the reasons of queued tasks read it. No lock."""

from __future__ import annotations

from collections.abc import Collection

from partita.core.decide.queues import Served, unserved
from partita.core.store.port import Tx


def served_of(tx: Tx, queues: Collection[str]) -> Served:
    """The live workers; of those of `queues` that have none, when one was alive last."""
    workers = tx.live_workers()
    without = unserved(queues, workers)
    return Served(workers, tx.last_served(without) if without else {})
