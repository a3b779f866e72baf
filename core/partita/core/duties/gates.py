"""Opening gates: a gate that has counted down ends as success and counts for its members.

A gate is scheduled by whoever ends the last of its upstream, and opened in a transaction of its own: opening it at once
would lock its members after other tasks in `none` are locked, out of order. Whoever schedules one opens it right after its
commit; should that process die in between, the next admission does.
"""

from __future__ import annotations

from functools import partial

from partita.core.decide.settle import open_gates as decide
from partita.core.duties.consequences import Beyond, Written, follow, write
from partita.core.duties.values import BATCH_TASKS, Woken
from partita.core.store.port import Store, Tx

NO_POOLS = ()  # gates are the only tasks without pools: a launch gives every step that names none a slot of `default`


def open_gates(store: Store, limit: int = BATCH_TASKS) -> Woken:
    """Opens up to `limit` gates in each transaction until none is left; gates behind gates follow."""
    opened, written = 0, Written()
    whole = False
    while True:
        try:
            count, step = store.run(partial(_open, limit=limit, whole=whole))
        except Beyond:
            whole = True
            continue
        opened, written, whole = opened + count, written.plus(step), False
        if count == 0 or (count < limit and not step.gates):
            return Woken(opened, written.ready, channels=written.channels())


def _open(tx: Tx, limit: int, *, whole: bool) -> tuple[int, Written]:
    gates = tx.lock_open_gates_skip(limit)
    if not gates:
        return 0, Written()
    now = tx.now()
    moves = decide(gates, now)
    settlement = follow(tx, moves, whole=whole, now=now)
    return len(gates), write(tx, moves, settlement, quiet=True)
