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

from partita.assets import AssetKey
from partita.core.catalog import set_of
from partita.core.cells import STATES, Kept, Statuses
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
        turn = _Turn(build(assets, 1_000))
        turn.check(lacks=False)
        turn()
        turn.check(lacks=True)
        turn()
        turn.check(lacks=False)
        return turn

    what = "one cell moved: what everything shows after it, through ten layers, 10,000 assets read by three each"
    timed(bench, Timed("one_change", what, 20, (1_000, 3_000, 10_000), ask))


class _Turn:
    """One publication, and the board of the UI that follows it."""

    ORDINAL = 500

    def __init__(self, made: Warehouse) -> None:
        self._made, self._by = made, 1
        self._kept = Kept()
        self._kept.follow(self._statuses(), [], made.catalog.assets)
        self._below = _below(made, 0)

    def __call__(self) -> list[AssetKey]:
        self._made.touch(0, [self.ORDINAL], self._by)
        self._by = -self._by
        return self._kept.follow(self._statuses(), [self._made.names[0]], ())

    def check(self, *, lacks: bool) -> None:
        """All below the cell shows it, and nothing else; and statuses worked out from nothing say the same."""
        made, fresh, stale = self._made, self._statuses(), 0
        for one, name in enumerate(made.names):
            shown = self._kept.shown(name).codes
            check(np.array_equal(shown, fresh.status(name).shown), f"{name} shows what its status says")
            turned = np.flatnonzero(shown != STATES.index("fresh")).tolist()
            check(turned == ([self.ORDINAL] if lacks and one in self._below else []), f"cells of {name} that turned")
            stale += len(turned)
        check(stale == (len(self._below) if lacks else 0), "all below the cell, and no more")

    def _statuses(self) -> Statuses:
        return Statuses(self._made.catalog, self._made.pages, self._made.as_of)


def _below(made: Warehouse, top: int) -> set[int]:
    """What reads an asset, directly or through others."""
    found = {top}
    for one, above in enumerate(made.inputs):
        if found.intersection(above):
            found.add(one)
    return found - {top}


def _plan(made: Warehouse, mode: tuple[str, ...]) -> Plan:
    return plan(made.catalog, made.pages, PlanRequest(selection="*", as_of=made.as_of, mode=mode))


def _check_cells(made: Warehouse, found: Plan, expected: Masks) -> None:
    planned = {asset.key: asset.cells for asset in found.assets}
    check(not found.blocked, "nothing is blocked")
    for one, name in enumerate(made.names):
        check(planned.get(name, set_of(np.zeros(0, dtype=np.bool_))) == set_of(expected[one]), f"cells of {name}")
    check(found.task_count == int(expected.sum()), "a task for each cell")


def _peak_mb() -> float:
    """The most memory the process had since its mark was cleared."""
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmHWM"))
    return int(line.split()[1]) / 1024
