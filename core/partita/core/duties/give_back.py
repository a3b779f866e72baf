"""What was admitted above a cap that was made smaller, and has not started: it goes back in line, the last first.

It would run before the smaller limit counts for anything. What runs goes on, and nothing more starts until it fits.
"""

from __future__ import annotations

from collections.abc import Sequence

from partita.core.decide.backfills import requeue
from partita.core.decide.caps import cap_of, cap_reason
from partita.core.decide.settle import Settlement
from partita.core.duties.consequences import Move, write
from partita.core.store.port import Tx
from partita.core.store.values import Pool, RunId, TaskState

_NOTHING_FOLLOWS = Settlement((), 0, 0, frozenset())


def give_back_above(tx: Tx, pool: Pool, runs: Sequence[RunId]) -> int:
    """How many queued tasks of these runs gave their slots back so that the pool of their cap holds no more than it has, as far
    as that depends on them. Call it with the pool and the runs locked."""
    cap = cap_of(pool.name)
    surplus = sum(tx.held_slots([pool.name])[pool.name].values()) - pool.slots
    if cap is None or surplus <= 0:
        return 0
    queued = tx.lock_tasks_of_runs(runs, TaskState.QUEUED)
    why = cap_reason(cap, pool)
    moves: list[Move] = [(task, requeue(task, *why)) for task in queued[-surplus:]]
    write(tx, moves, _NOTHING_FOLLOWS, quiet=True)
    return len(moves)
