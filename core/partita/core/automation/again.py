"""A duty of automation, tried until its transaction holds: what others do meanwhile, or cannot be decided, starts it anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from partita.core.automation.faults import set_aside
from partita.core.automation.values import AskedBefore, Undecidable
from partita.core.duties.launch import LaunchAgain
from partita.core.store.port import Store, Tx
from partita.core.store.values import CellRef

TRIES = 20
Done = TypeVar("Done")


def until_decided(store: Store, visit: Callable[[Tx, Mapping[CellRef, int]], Done]) -> Done | None:
    """What `visit` gives, run in one transaction with the states that were asked for before; None after `TRIES` without.

    A visit that raises `LaunchAgain` or `AskedBefore` is run again; what is `Undecidable` is set aside first.
    """
    before: dict[CellRef, int] = {}
    for _ in range(TRIES):
        try:
            return store.run(lambda tx: visit(tx, dict(before)))
        except LaunchAgain:
            continue
        except AskedBefore as known:
            before.update(known.again)
        except Undecidable as error:
            set_aside(store, error)
    return None
