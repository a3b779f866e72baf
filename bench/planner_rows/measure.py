"""Measuring one question at three sizes: the best of several calls, the growth exponent, and no figure for a wrong answer."""

from __future__ import annotations

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
    """The figure of the largest size against its limit, with the growth over the three."""
    found = [best_ms(row.call_of(size), bench.workload["repeats"]) for size in row.sizes]
    shown = " / ".join(f"{size:,}: {ms:.3f}" for size, ms in zip(row.sizes, found, strict=True))
    bench.below(
        row.id, f"{row.what} ({shown} ms; growth {growth(row.sizes, found):.2f})", found[-1], "ms", row.limit_ms
    )


def best_ms(call: Callable[[], object], repeats: int) -> float:
    """The best of some calls after a first one, in milliseconds."""
    call()
    found: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        found.append((time.perf_counter() - began) * 1000)
    return min(found)


def growth(sizes: Sequence[int], figures: Sequence[float]) -> float:
    """The exponent between the smallest and the largest size."""
    return math.log(max(figures[-1], 1e-6) / max(figures[0], 1e-6)) / math.log(sizes[-1] / sizes[0])


def check(holds: bool, what: str) -> None:
    """No figure is printed for a wrong answer."""
    if not holds:
        raise SystemExit(f"bench planner: wrong answer: {what}")
