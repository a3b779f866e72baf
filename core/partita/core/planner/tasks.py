"""The tasks of a plan with their edges by mapping: what launching and estimating both need. Pure.

Edges are kept in bundles: one tuple of upstream tasks per distinct set, shared by all tasks that wait for it. A bundle
that would cost more edges than a gate is replaced by one when the plan's mean is over four edges a task (DESIGN section 6).
A gate has the trigger rule of those that wait behind it, so it exists only for rules that hold of a whole exactly when they
hold of its parts; the others look at their upstream one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.assets import AssetKey, PartitionSet, TriggerRule
from partita.core.catalog import Catalog, StepKey
from partita.core.catalog.edges import EdgeMap, Ints
from partita.core.planner.values import Plan, PlannedStep

Bundle = tuple[int, ...]
_Gated = tuple[TriggerRule, Bundle]
_BY_PARTS: frozenset[TriggerRule] = frozenset({"all_success", "all_done", "none_failed", "none_skipped"})
MEAN_EDGES = 4


@dataclass(frozen=True, slots=True)
class PlanTask:
    """One task (`gate` is false) or gate; `upstream` are positions of earlier ones in the list."""

    step: StepKey | None
    assets: tuple[AssetKey, ...]
    cells: PartitionSet
    wave: int
    conditional: bool
    upstream: tuple[int, ...]
    rule: TriggerRule

    @property
    def gate(self) -> bool:
        """Counts its upstream down once for all that wait for the same set."""
        return self.step is None


@dataclass(frozen=True, slots=True)
class _Draft:
    step: PlannedStep
    index: int
    wave: int
    rule: TriggerRule
    bundles: tuple[Bundle, ...]


def plan_tasks(plan: Plan, catalog: Catalog) -> list[PlanTask]:
    """Tasks and gates in topological order: by wave, a gate before what waits for it."""
    drafts = _drafts(plan, catalog)
    gates = _gates(drafts)
    order = sorted(range(len(drafts)), key=lambda index: drafts[index].wave)
    place: dict[int, int] = {}
    gate_place: dict[_Gated, int] = {}
    found: list[PlanTask] = []
    for index in order:
        draft = drafts[index]
        upstream: set[int] = set()
        for bundle in draft.bundles:
            gate = (draft.rule, bundle)
            if gate not in gates:
                upstream.update(place[one] for one in bundle)
                continue
            if gate not in gate_place:
                gate_place[gate] = len(found)
                above = tuple(sorted(place[one] for one in bundle))
                found.append(PlanTask(None, (), PartitionSet.empty(), draft.wave, False, above, draft.rule))
            upstream.add(gate_place[gate])
        place[index] = len(found)
        step = draft.step
        found.append(
            PlanTask(
                step.step,
                step.assets,
                step.batches[draft.index],
                draft.wave,
                step.conditional[draft.index],
                tuple(sorted(upstream)),
                draft.rule,
            )
        )
    return found


def _drafts(plan: Plan, catalog: Catalog) -> list[_Draft]:
    task_of = _tasks_of(plan)
    drafts: list[_Draft] = []
    for step in plan.steps:
        first = len(drafts)
        bundles: list[list[Bundle]] = [[] for _ in step.batches]
        seen = set()
        for key in step.assets:
            for one in catalog.assets[key].inputs:
                edge = catalog.edge(key, one, plan.as_of)
                own = one.upstream == key or one.upstream in step.assets
                inside = own or (one.upstream in task_of and catalog.assets[one.upstream].step == step.step)
                # Members of a group share most inputs; the same edges need not be found twice. Made together they wait for
                # their own earlier partitions, which is to wait for each other's; apart each waits for what it reads.
                together = own and one.upstream != key and not catalog.assets[key].spec.subsettable
                if one.upstream not in task_of or together or (one.upstream, id(edge)) in seen:
                    continue
                seen.add((one.upstream, id(edge)))
                _bundle(edge, step.batches, task_of[one.upstream], first, inside, bundles)
        rule = catalog.assets[step.assets[0]].spec.trigger_rule
        drafts += [
            _Draft(step, index, step.waves[index], rule, tuple(dict.fromkeys(bundles[index])))
            for index in range(len(step.batches))
        ]
    return drafts


def _tasks_of(plan: Plan) -> dict[AssetKey, Ints]:
    """Per planned asset the task of each cell, -1 for those that are not planned."""
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
        for index, batch in enumerate(step.batches):
            for start, stop in batch.ranges:
                for found in mine:
                    found[start:stop] = first + index
        first += len(step.batches)
    return task_of


def _bundle(
    edge: EdgeMap,
    batches: Sequence[PartitionSet],
    upstream_task: Ints,
    first: int,
    inside: bool,
    bundles: list[list[Bundle]],
) -> None:
    known: dict[tuple[tuple[int, int], ...], Bundle] = {}
    shared: dict[Bundle, Bundle] = {}
    for index, batch in enumerate(batches):
        ranges = _ranges(edge, batch)
        bundle = known.get(ranges)
        if bundle is None:
            parts = [upstream_task[start:stop] for start, stop in ranges]
            tasks = np.unique(np.concatenate(parts)) if parts else np.array([], dtype=np.int64)
            bundle = tuple(tasks[tasks >= 0].tolist())
            bundle = known[ranges] = shared.setdefault(bundle, bundle)
        if inside:
            bundle = tuple(one for one in bundle if one != first + index)
        if bundle:
            bundles[index].append(bundle)


def _ranges(edge: EdgeMap, batch: PartitionSet) -> tuple[tuple[int, int], ...]:
    if edge.uniform:
        return tuple(edge.ranges_of(0))
    if len(batch) == 1:
        return tuple(edge.ranges_of(batch.first))
    return PartitionSet.from_ranges(one for ordinal in batch for one in edge.ranges_of(ordinal)).ranges


def _gates(drafts: Sequence[_Draft]) -> frozenset[_Gated]:
    """The bundles that get a gate: none while the plan is thin, else all that save edges."""
    uses = Counter((draft.rule, bundle) for draft in drafts if draft.rule in _BY_PARTS for bundle in draft.bundles)
    if sum(len(bundle) * n for (_, bundle), n in uses.items()) <= MEAN_EDGES * len(drafts):
        return frozenset()
    return frozenset(gate for gate, n in uses.items() if len(gate[1]) * n > len(gate[1]) + n)
