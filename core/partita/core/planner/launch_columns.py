"""The tasks of a large plan in columns: what `launch.py` makes of a small one, at the cost of arrays. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from partita.assets import AssetKey, TriggerRule
from partita.core.catalog import Catalog, StepKey
from partita.core.catalog.edges import Bools, Ints
from partita.core.catalog.names import names_of
from partita.core.duties.launch_tasks import LaunchTasks, Upstream
from partita.core.duties.values import LaunchTask
from partita.core.planner.sequences import cells_by_task, ordinals_of
from partita.core.planner.tasks import Placed, place_tasks
from partita.core.planner.values import Plan, PlannedAsset, PlannedStep
from partita.core.store.values_tables import NO_WINDOW, CellTable

KindOfStep = Callable[[PlannedStep], LaunchTask]
KindOfGate = Callable[[TriggerRule, StepKey | None], LaunchTask]


def launch_tasks(
    plan: Plan, catalog: Catalog, kind_of_step: KindOfStep, kind_of_gate: KindOfGate, *, newest_first: bool
) -> LaunchTasks:
    """The tasks of a plan of which no asset waits for anything but its upstream."""
    placed = place_tasks(plan, catalog, newest_first=newest_first)
    source = np.array(placed.source, dtype=np.int64)
    steps = np.flatnonzero(source >= 0)
    of_plan = source[steps]
    gates = -1 - source[source < 0]
    place = np.empty(len(steps), dtype=np.int64)
    place[of_plan] = steps
    kinds = [kind_of_step(step) for step in plan.steps]
    kind = np.empty(len(source), dtype=np.int64)
    kind[steps] = np.repeat(np.arange(len(plan.steps)), [len(step.batches) for step in plan.steps])[of_plan]
    kind[source < 0] = _kinds_of_gates(placed, kinds, kind_of_gate)[gates]
    wave = np.empty(len(source), dtype=np.int64)
    wave[steps] = np.array([one for step in plan.steps for one in step.waves], dtype=np.int64)[of_plan]
    wave[source < 0] = np.array([one for _, one, _ in placed.gates], dtype=np.int64)[gates]
    conditional = np.zeros(len(source), dtype=bool)
    conditional[steps] = np.array([one for step in plan.steps for one in step.conditional], dtype=bool)[of_plan]
    return LaunchTasks(
        kinds,
        kind,
        upstream=placed.upstream,
        wave=wave,
        critical_path=np.where(source < 0, 0, chains_below(placed.upstream, (source < 0).tolist())),
        conditional=conditional,
        cells=_cells(plan, catalog, place),
    )


def chains_below(upstream: Upstream, gate: Sequence[bool]) -> list[int]:
    """For each task: the tasks in the longest chain that begins with it, gates not counted."""
    below = [0] * len(gate)
    for at in range(len(gate) - 1, -1, -1):
        here = below[at] = below[at] + (not gate[at])
        for up in upstream[at]:
            if below[up] < here:
                below[up] = here
    return below


def _kinds_of_gates(placed: Placed, kinds: list[LaunchTask], kind_of_gate: KindOfGate) -> Ints:
    """Of each gate its kind, which is put behind those of steps."""
    known: dict[tuple[TriggerRule, StepKey | None], int] = {}
    found: list[int] = []
    for rule, _, behind in placed.gates:
        at = known.get((rule, behind))
        if at is None:
            at = known[rule, behind] = len(kinds)
            kinds.append(kind_of_gate(rule, behind))
        found.append(at)
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Asset:
    """The planned cells of an asset: `row` of each ordinal in the columns beside it."""

    id: int
    row: Ints
    keys: list[str]
    start: Ints
    end: Ints
    reason: Ints
    conditional: Bools

    @staticmethod
    def of(asset: PlannedAsset, catalog: Catalog, plan: Plan, reasons: dict[str, int]) -> _Asset:
        cells = asset.cells
        keys, starts, ends = names_of(catalog.space(asset.key, plan.as_of)).table(cells, NO_WINDOW)
        row = np.full(asset.size, -1, dtype=np.int64)
        row[ordinals_of(cells)] = np.arange(len(keys))
        reason = np.zeros(len(keys), dtype=np.int64)
        for why, part in asset.by_reason.items():
            reason[row[ordinals_of(part)]] = reasons.setdefault(why.value, len(reasons))
        conditional = np.zeros(len(keys), dtype=bool)
        conditional[row[ordinals_of(cells & asset.conditional)]] = True
        return _Asset(asset.asset_id, row, keys, np.array(starts), np.array(ends), reason, conditional)


def _cells(plan: Plan, catalog: Catalog, place: Ints) -> CellTable:
    """The cells of each task, in the order of its assets and their partitions."""
    reasons: dict[str, int] = {}
    known: dict[AssetKey, _Asset] = {one.key: _Asset.of(one, catalog, plan, reasons) for one in plan.assets}
    parts = [(known[key], rows, place[tasks]) for key, rows, tasks in _rows(plan, known)]
    task = np.concatenate([tasks for _, _, tasks in parts])
    return CellTable(
        task=task,
        asset=np.concatenate([np.full(len(rows), one.id, dtype=np.int64) for one, rows, _ in parts]),
        partition=[key for one, rows, _ in parts for key in map(one.keys.__getitem__, rows.tolist())],
        reasons=tuple(reasons),
        reason=np.concatenate([one.reason[rows] for one, rows, _ in parts]),
        conditional=np.concatenate([one.conditional[rows] for one, rows, _ in parts]),
        start=np.concatenate([one.start[rows] for one, rows, _ in parts]),
        end=np.concatenate([one.end[rows] for one, rows, _ in parts]),
    )


def _rows(plan: Plan, known: dict[AssetKey, _Asset]) -> Iterator[tuple[AssetKey, Ints, Ints]]:
    """Of each part of a step and each of its assets: which rows, and which task of the plan makes each."""
    first = 0
    for step in plan.steps:
        ordinals, tasks = cells_by_task(step.batches)
        for key in step.assets:
            yield key, known[key].row[ordinals], first + tasks
        first += len(step.batches)
