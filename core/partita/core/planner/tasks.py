"""The tasks of a plan with their edges by mapping: what launching and estimating both need. Pure.

The tasks of a step have positions in a row, in the order of their partitions, so that what a window needs is one run of
positions, found without walking over it. `gates.py` says which sets of them get a gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from partita.assets import AssetKey, PartitionSet, TriggerRule
from partita.core.catalog import Catalog, StepKey
from partita.core.catalog.edges import EdgeMap, Ints
from partita.core.planner.gates import Bundle, Gates, Span, Wait, choose_gates, without
from partita.core.planner.sequences import OneEach, cells_by_task
from partita.core.planner.values import Plan


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One task or gate; `upstream` are positions of earlier ones in the list.

    A gate has no step of its own: `behind` is the step of whose own partitions it counts the ends, if it does.
    """

    step: StepKey | None
    assets: tuple[AssetKey, ...]
    cells: PartitionSet
    wave: int
    conditional: bool
    upstream: tuple[int, ...]
    rule: TriggerRule
    behind: StepKey | None = None

    @property
    def gate(self) -> bool:
        """Counts its upstream down once for all that wait for the same set."""
        return self.step is None


@dataclass(frozen=True, slots=True)
class Placed:
    """The order of a plan's tasks and gates. `source` says for each place which task of the plan stands there, counted over its
    steps, or -1 - n for the gate n; `upstream` are earlier places, ascending. `gates`: rule, wave, and `PlanTask.behind`."""

    source: list[int]
    upstream: list[tuple[int, ...]]
    gates: list[tuple[TriggerRule, int, StepKey | None]]


def plan_tasks(plan: Plan, catalog: Catalog, *, newest_first: bool = False) -> list[PlanTask]:
    """Tasks and gates in topological order: by wave, a gate before what waits for it.

    `newest_first` turns the order of partitions round within each wave; it is the order in which tasks that are ready at one
    instant are taken.
    """
    placed = place_tasks(plan, catalog, newest_first=newest_first)
    steps = [
        (step, catalog.assets[step.assets[0]].spec.trigger_rule, cells, wave, conditional)
        for step in plan.steps
        for cells, wave, conditional in zip(step.batches, step.waves, step.conditional, strict=True)
    ]
    nothing = PartitionSet.empty()
    found: list[PlanTask] = []
    for source, upstream in zip(placed.source, placed.upstream, strict=True):
        if source < 0:
            rule, wave, behind = placed.gates[-1 - source]
            found.append(PlanTask(None, (), nothing, wave, False, upstream, rule, behind))
        else:
            step, rule, cells, wave, conditional = steps[source]
            found.append(PlanTask(step.step, step.assets, cells, wave, conditional, upstream, rule))
    return found


def place_tasks(plan: Plan, catalog: Catalog, *, newest_first: bool = False) -> Placed:
    """As `plan_tasks`, without a value for each task."""
    waits, behind = _waits(plan, catalog)
    waves = np.array([wave for step in plan.steps for wave in step.waves], dtype=np.int64)
    towards = -1 if newest_first else 1
    gates = choose_gates((wait for own in waits.values() for wait in own), len(waves))
    placing = _Placing(gates, waits, behind, waves.tolist())
    for index in np.lexsort((towards * np.arange(len(waves)), waves)).tolist():
        placing.task(index)
    return placing.found


class _Placing:
    """Puts tasks into the list, each after all that it waits for."""

    def __init__(
        self, gates: Gates, waits: Mapping[int, Sequence[Wait]], behind: Mapping[int, StepKey], waves: Sequence[int]
    ) -> None:
        self.found = Placed([], [], [])
        self._gates = gates
        self._waits = waits
        self._behind = behind
        self._waves = waves
        self._place = [0] * len(waves)
        self._gate_place: dict[tuple[Wait, StepKey | None], int] = {}

    def task(self, index: int) -> None:
        """Appends a task whose upstream tasks are there, behind the gates that are new with it."""
        upstream: set[int] = set()
        for wait in self._waits.get(index, ()):
            loose, gates = self._gates.parts(wait)
            upstream.update([self._place[one] for one in loose])
            upstream.update([self._gate(gate, index) for gate in gates])
        self._place[index] = self._put(index, upstream)

    def _gate(self, gate: Wait, index: int) -> int:
        behind = self._behind[index] if gate.own else None
        known = self._gate_place.get((gate, behind))
        if known is not None:
            return known
        loose, inner = self._gates.inside(gate)
        above = {self._place[one] for one in loose} | {self._gate(one, index) for one in inner}
        self.found.gates.append((gate.rule, self._waves[index], behind))
        place = self._gate_place[gate, behind] = self._put(-len(self.found.gates), above)
        return place

    def _put(self, source: int, upstream: set[int]) -> int:
        self.found.source.append(source)
        self.found.upstream.append(tuple(sorted(upstream)) if upstream else ())
        return len(self.found.source) - 1


def _waits(plan: Plan, catalog: Catalog) -> tuple[dict[int, list[Wait]], dict[int, StepKey]]:
    """What each task of the plan waits for, of those that wait for others of it; and their steps."""
    upstreams, moment = _upstreams(plan), catalog.at(plan.as_of)
    waits: dict[int, list[Wait]] = {}
    behind: dict[int, StepKey] = {}
    first = 0
    for step in plan.steps:
        rule = catalog.assets[step.assets[0]].spec.trigger_rule
        seen = set()
        for key in step.assets:
            for one in catalog.assets[key].inputs:
                edge = catalog.edge(key, one, plan.as_of)
                own = one.upstream == key or one.upstream in step.assets
                inside = own or (one.upstream in upstreams and catalog.assets[one.upstream].step == step.step)
                # Members of a group share most inputs; the same edges need not be found twice. Made together they wait for
                # their own earlier partitions, which is to wait for each other's; apart each waits for what it reads.
                together = own and one.upstream != key and not catalog.assets[key].spec.subsettable
                if one.upstream not in upstreams or together or (one.upstream, id(edge)) in seen:
                    continue
                seen.add((one.upstream, id(edge)))
                known: dict[Bundle, Wait] = {}
                for index, bundle in _bundles(edge, step.batches, upstreams[one.upstream]):
                    left = without(bundle, first + index) if inside else bundle
                    wait = known.get(left) or known.setdefault(left, Wait(rule, left, inside))
                    mine = waits.setdefault(first + index, [])
                    if left and wait not in mine:
                        mine.append(wait)
                        behind[first + index] = step.step
            for up in moment.beyond.get(key, ()):
                if up in upstreams and up not in step.assets:
                    wait = Wait(rule, upstreams[up].bundle([(0, len(upstreams[up].task))]))
                    for index in range(first, first + len(step.batches)):
                        waits.setdefault(index, []).append(wait)
        first += len(step.batches)
    return waits, behind


@dataclass(frozen=True, eq=False)
class _Upstream:
    """The tasks of an asset: `task` of each cell, -1 where it is not planned. In a `row` they are numbered one by one along its
    planned cells: then `before` each cell are so many of them, from `first` on."""

    task: Ints
    before: Ints
    first: int
    row: bool

    @staticmethod
    def of(task: Ints) -> _Upstream:
        planned = task >= 0
        chosen = task[planned]
        first = int(chosen[0]) if len(chosen) else 0
        row = bool(np.array_equal(chosen, np.arange(first, first + len(chosen))))
        return _Upstream(task, np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(planned))), first, row)

    def bundle(self, ranges: Sequence[Span]) -> Bundle:
        """The tasks of ranges of cells."""
        if self.row:
            spans = ((self.first + int(self.before[a]), self.first + int(self.before[b])) for a, b in ranges)
            return _merged([span for span in spans if span[0] < span[1]])
        parts = [self.task[start:stop] for start, stop in ranges]
        tasks = np.unique(np.concatenate(parts)) if parts else self.task[:0]
        tasks = tasks[tasks >= 0]
        if not len(tasks):
            return ()
        cuts = np.flatnonzero(np.diff(tasks) > 1)
        starts = tasks[np.concatenate(([0], cuts + 1))].tolist()
        stops = tasks[np.concatenate((cuts, [len(tasks) - 1]))].tolist()
        return tuple([(start, stop + 1) for start, stop in zip(starts, stops, strict=True)])


def _merged(spans: list[Span]) -> Bundle:
    if len(spans) < 2:
        return tuple(spans)
    return PartitionSet.from_ranges(spans).ranges


def _upstreams(plan: Plan) -> dict[AssetKey, _Upstream]:
    """Per planned asset the task of each cell."""
    task_of: dict[AssetKey, Ints] = {}
    sizes = {asset.key: asset.size for asset in plan.assets}
    parts = Counter(step.step for step in plan.steps)
    first = 0
    for step in plan.steps:
        if parts[step.step] == 1:  # all members have the same tasks
            task_of.update(dict.fromkeys(step.assets, np.full(sizes[step.assets[0]], -1, dtype=np.int64)))
            mine = [task_of[step.assets[0]]]
        else:
            mine = [task_of.setdefault(key, np.full(sizes[key], -1, dtype=np.int64)) for key in step.assets]
        ordinals, tasks = cells_by_task(step.batches)
        for found in mine:
            found[ordinals] = first + tasks
        first += len(step.batches)
    known: dict[int, _Upstream] = {}
    return {key: known.setdefault(id(task), _Upstream.of(task)) for key, task in task_of.items()}


def _bundles(edge: EdgeMap, batches: Sequence[PartitionSet], upstream: _Upstream) -> Iterator[tuple[int, Bundle]]:
    """For each task the set of upstream tasks that it waits for."""
    if upstream.row and isinstance(batches, OneEach) and edge.held:
        yield from _bundles_of_cells(edge, batches.cells, upstream)
        return
    known: dict[tuple[Span, ...], Bundle] = {}
    for index, batch in enumerate(batches):
        ranges = _ranges(edge, batch)
        bundle = known.get(ranges)
        if bundle is None:
            bundle = known[ranges] = upstream.bundle(ranges)
        yield index, bundle


def _bundles_of_cells(edge: EdgeMap, cells: PartitionSet, upstream: _Upstream) -> Iterator[tuple[int, Bundle]]:
    """One cell a task on both sides: all runs of positions at once."""
    ordinals = np.fromiter(cells, dtype=np.int64, count=len(cells))
    index_of = np.full(edge.down.size, -1, dtype=np.int64)
    index_of[ordinals] = np.arange(len(ordinals))
    owners, lows, highs = (ordinals, ordinals, ordinals + 1) if edge.same else (edge.owner, edge.lo, edge.hi)
    starts, stops = upstream.first + upstream.before[lows], upstream.first + upstream.before[highs]
    chosen = (index_of[owners] >= 0) & (starts < stops)
    rows = zip(index_of[owners][chosen].tolist(), starts[chosen].tolist(), stops[chosen].tolist(), strict=True)
    for index, spans in groupby(rows, key=lambda row: row[0]):
        yield index, _merged([(start, stop) for _, start, stop in spans])


def _ranges(edge: EdgeMap, batch: PartitionSet) -> tuple[Span, ...]:
    if edge.uniform:
        return tuple(edge.ranges_of(0))
    if len(batch) == 1:
        return tuple(edge.ranges_of(batch.first))
    return PartitionSet.from_ranges(one for ordinal in batch for one in edge.ranges_of(ordinal)).ranges
