"""Making very many values at once without the garbage collector looking at all of them again and again.

A launch of a hundred thousand tasks makes a million values that all live to its end, and no cycle among them: the collector's
visits were half of its time. Of a claim or a report of five hundred tasks they were a quarter: they walk over the catalogs too.
Owns when the collector rests; memory that is no longer referenced is freed as ever.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_rests() -> Iterator[None]:
    """Of the whole process, so keep the block to seconds. Threads that overlap only end the rest early."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
