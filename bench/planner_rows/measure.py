"""Measuring one question at three sizes: the best of several calls, the growth exponent, and no figure for a wrong answer."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import harness

CallOf = Callable[[int], Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Timed:
    """One figure at three sizes, ascending; the last one is the issue's."""

    id: str
    what: str
    limit_ms: float
    sizes: tuple[int, int, int]
    call_of: CallOf


def timed(bench: harness.Bench, row: Timed) -> None:
    """The figure of the largest size against its limit, with the growth over the three and the processor time."""
    best = [best_of(row.call_of(size), bench.workload["repeats"]) for size in row.sizes]
    found = [wall_ms for wall_ms, _ in best]
    shown = " / ".join(f"{size:,}: {ms:.3f}" for size, ms in zip(row.sizes, found, strict=True))
    what = f"{row.what} ({shown} ms; growth {growth(row.sizes, found):.2f}; processor {best[-1][1]:.3f} ms)"
    bench.below(row.id, what, found[-1], "ms", row.limit_ms)


def best_of(call: Callable[[], object], repeats: int) -> tuple[float, float]:
    """The least time of some calls after a first one, in milliseconds: by the clock, and of the processor.

    On a machine that is busy with other work the second is the smaller one by far.
    """
    call()
    gc.collect()  # a visit of the collector that rows before have brought on is not of this one
    walls: list[float] = []
    processors: list[float] = []
    for _ in range(repeats):
        began, worked = time.perf_counter(), time.process_time()
        call()
        walls.append((time.perf_counter() - began) * 1000)
        processors.append((time.process_time() - worked) * 1000)
    return min(walls), min(processors)


def growth(sizes: Sequence[int], figures: Sequence[float]) -> float:
    """The exponent between the smallest and the largest size."""
    return math.log(max(figures[-1], 1e-6) / max(figures[0], 1e-6)) / math.log(sizes[-1] / sizes[0])


def check(holds: bool, what: str) -> None:
    """No figure is printed for a wrong answer."""
    if not holds:
        raise SystemExit(f"bench planner: wrong answer: {what}")
