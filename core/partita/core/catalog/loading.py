"""Loading many definitions at once without the garbage collector walking over all of them again and again.

A load allocates hundreds of thousands of objects that stay: each full collection meanwhile visits them all and frees nothing
(measured at 10,000 assets: 0.75 s with them, 0.27 s without). Owns only the pause.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from partita.assets import Snapshot


def read_snapshot(body: bytes) -> Snapshot:
    """A whole snapshot from its canonical bytes; raises pydantic's ValidationError."""
    with uncollected():
        return Snapshot.model_validate_json(body)


@contextmanager
def uncollected() -> Iterator[None]:
    """No automatic collections inside. They are switched per process: of pauses that overlap, the first one ends all.

    What was made inside counts as old afterwards: a collection of what is young does not visit it three times first.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            _grow_old()
            gc.enable()


def _grow_old() -> None:
    """All objects join the oldest generation, without a visit. Nothing happens where somebody keeps objects frozen."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
