"""How fast the planner thinks over whole warehouses, and what one change costs: cells in memory, no database.

Every answer is compared with one worked out by other means before a figure is printed.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import harness
import numpy as np

from partita.core.catalog import set_of
from partita.core.cells import Live, Moved, Statuses
from partita.core.planner import Plan, PlanRequest, plan
from planner_rows.measure import Timed, check, timed
from planner_rows.warehouse import LAYERS, Masks, Warehouse, build

_SEED = 7
_PATTERNS = 64


def plan_missing(bench: harness.Bench) -> None:
    """`missing` over assets of 10,000 hours, one cell in a hundred missing, scattered."""

    def ask(assets: int) -> Callable[[], object]:
        # 64 patterns of holes over all assets: pages with the same keys are parsed once.
        patterns = np.random.default_rng(_SEED).random((_PATTERNS, 10_000)) < 0.01
        holes = patterns[np.arange(assets) % _PATTERNS]
        made = build(assets, 10_000, holes)
        call = partial(_plan, made, ("missing",))
        _check_cells(made, call(), holes)
        return call

    what = "plan `missing`, 1,000 assets x 10,000 partitions, 1 in 100 missing"
    timed(bench, Timed("plan_missing", what, 500, (100, 300, 1_000), ask))


def plan_stale(bench: harness.Bench) -> None:
    """`missing or stale` with all that follows: the newest hour is missing, and some of the first layer changed."""
    peak_mb: list[float] = []

    def ask(assets: int) -> Callable[[], object]:
        made, planned = changed(assets)
        call = partial(_plan, made, ("missing", "stale"))
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark of memory starts anew
        found = call()
        peak_mb.append(_peak_mb())
        _check_cells(made, found, planned)
        return call

    what = "plan `missing or stale` and what follows, 10,000 assets x 1,000 partitions, three inputs each"
    timed(bench, Timed("plan_stale", what, 1_000, (1_000, 3_000, 10_000), ask))
    bench.below(
        "plan_stale_peak", "memory of the process meanwhile, with all pages (10 million cells)", peak_mb[-1], "MB", 500
    )


def changed(assets: int) -> tuple[Warehouse, Masks]:
    """A warehouse in which things happened, and which cells a plan of what is missing or stale has."""
    random = np.random.default_rng(_SEED)
    hours = 1_000
    holes = np.zeros((assets, hours), dtype=np.bool_)
    holes[:, -1] = True
    made = build(assets, hours, holes)
    touched = np.zeros((assets, hours), dtype=np.bool_)
    lately = random.choice(hours - 1, 40, replace=False)
    for one in random.choice(assets // LAYERS, 100, replace=False).tolist():
        touched[one, random.choice(lately)] = True
    touched[:10, 100:200] = True
    for one in np.flatnonzero(touched.any(axis=1)).tolist():
        made.touch(one, np.flatnonzero(touched[one]).tolist())
    planned = holes.copy()
    for one, above in enumerate(made.inputs):
        for up in above:
            planned[one] |= touched[up] | planned[up]
    return made, planned


def one_change(bench: harness.Bench) -> None:
    """A cell of the first layer gets another version, and at the next call its old one back."""

    def ask(assets: int) -> Callable[[], object]:
        made = build(assets, 1_000)
        live = Live(Statuses(made.catalog, made.pages, made.as_of))
        turn = _Turn(made, live)
        _check_closure(made, turn(), recovered=False)
        _check_closure(made, turn(), recovered=True)
        return turn

    what = "one cell moved: all that is stale by it, through ten layers, 10,000 assets read by three each"
    timed(bench, Timed("one_change", what, 20, (1_000, 3_000, 10_000), ask))


class _Turn:
    """One publication and what follows from it."""

    ORDINAL = 500

    def __init__(self, made: Warehouse, live: Live) -> None:
        self._made, self._live, self._by = made, live, 1

    def __call__(self) -> Moved:
        made = self._made
        made.touch(0, [self.ORDINAL], self._by)
        self._by = -self._by
        return self._live.move(Statuses(made.catalog, made.pages, made.as_of), [made.names[0]])


def _plan(made: Warehouse, mode: tuple[str, ...]) -> Plan:
    return plan(made.catalog, made.pages, PlanRequest(selection="*", as_of=made.as_of, mode=mode))


def _check_cells(made: Warehouse, found: Plan, expected: Masks) -> None:
    planned = {asset.key: asset.cells for asset in found.assets}
    check(not found.blocked, "nothing is blocked")
    for one, name in enumerate(made.names):
        check(planned.get(name, set_of(np.zeros(0, dtype=np.bool_))) == set_of(expected[one]), f"cells of {name}")
    check(found.task_count == int(expected.sum()), "a task for each cell")


def _check_closure(made: Warehouse, found: Moved, *, recovered: bool) -> None:
    below = {0}
    for one, above in enumerate(made.inputs):
        if below.intersection(above):
            below.add(one)
    cells = {made.names[one]: [_Turn.ORDINAL] for one in below - {0}}
    side, other = (found.recovered, found.lacking) if recovered else (found.lacking, found.recovered)
    check({key: list(chosen) for key, chosen in side.items()} == cells and not other, "all below the cell, and no more")


def _peak_mb() -> float:
    """The most memory the process had since its mark was cleared."""
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
