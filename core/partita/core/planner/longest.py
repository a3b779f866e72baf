"""The longest chain of a large plan, over the arrays of its cells: no object a task, and no edge but those of the chain itself.

When a cell is done follows from when what it reads is done, an asset at a time, as its wave does (`assemble.py`). Gates cost no
time, so they are not there. Finds what `simulate.critical_path` finds over the tasks themselves (tested equal); of equally long
chains another one, perhaps. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from partita.assets import AssetKey, PartitionSet
from partita.core.catalog import Catalog, StepKey
from partita.core.catalog.edges import EdgeMap, Ints
from partita.core.catalog.moment import Link
from partita.core.planner.sequences import between, task_of_each
from partita.core.planner.values import Plan, PlannedStep

Ends = npt.NDArray[np.float64]
"""By cell when its task is done, in seconds from the start; -1 for cells that are not planned."""


@dataclass(frozen=True, slots=True)
class OnChain:
    """One task of the chain."""

    step: StepKey
    assets: tuple[AssetKey, ...]
    cells: PartitionSet


def longest_chain(plan: Plan, catalog: Catalog, seconds: Mapping[StepKey, float]) -> tuple[list[OnChain], float]:
    """The chain from its first task on, and its length; `seconds` says how long a task of each step takes.

    The plan has each step once: raises ValueError for one with groups in parts, whose members have tasks of different cells.
    """
    chain = _Chain(plan, catalog, seconds)
    last: tuple[float, PlannedStep, int] | None = None
    for step in plan.steps:
        ends = chain.add(step)
        at = int(ends.argmax())
        if last is None or ends[at] > last[0]:
            last = float(ends[at]), step, at
    return (chain.back_from(last[1], last[2]), last[0]) if last else ([], 0.0)


@dataclass(slots=True)
class _Chain:
    plan: Plan
    catalog: Catalog
    seconds: Mapping[StepKey, float]
    ends: dict[AssetKey, Ends] = field(default_factory=dict)
    _step_of: dict[AssetKey, PlannedStep] = field(default_factory=dict)
    _tasks: dict[StepKey, Ints] = field(default_factory=dict)

    def add(self, step: PlannedStep) -> Ends:
        """When the tasks of a step are done, whose upstream steps are all there."""
        if step.step in self._tasks:
            raise ValueError(f"{step.step} is there in parts")
        size = self.catalog.space(step.assets[0], self.plan.as_of).size
        cells = between(step.batches, 0, len(step.batches))
        ordinals = np.fromiter(cells, dtype=np.int64, count=len(cells))
        task_of = np.full(size, -1, dtype=np.int64)
        task_of[ordinals] = task_of_each(step.batches, len(ordinals))
        own: list[EdgeMap] = []
        above: Ends = np.zeros(size)
        for _, link in self._inputs(step):
            if link.input.upstream in step.assets:
                own.append(link.edge)
            else:
                np.maximum(above, link.edge.highest(self.ends[link.input.upstream]), out=above)  # type: ignore[arg-type]
        starts = np.zeros(len(step.batches))
        np.maximum.at(starts, task_of[ordinals], above[ordinals])
        took = self.seconds[step.step]
        ends: Ends = np.full(size, -1.0)
        if own:
            _one_after_the_other(step, own, starts, took, ends)
        else:
            ends[ordinals] = (starts + took)[task_of[ordinals]]
        self._tasks[step.step] = task_of
        self.ends.update(dict.fromkeys(step.assets, ends))
        self._step_of.update(dict.fromkeys(step.assets, step))
        return ends

    def back_from(self, step: PlannedStep, cell: int) -> list[OnChain]:
        """The chain that ends with the task of a cell."""
        found: list[OnChain] = []
        while True:
            cells = step.batches[int(self._tasks[step.step][cell])]
            found.append(OnChain(step.step, step.assets, cells))
            above = max(self._above(step, cells), key=lambda one: one[0], default=None)
            if above is None or above[0] < 0:
                return found[::-1]
            _, upstream, cell = above
            step = self._step_of[upstream]

    def _above(self, step: PlannedStep, cells: PartitionSet) -> Iterator[tuple[float, AssetKey, int]]:
        """For each run of cells that a task reads the one that is done last, and when."""
        for _, link in self._inputs(step):
            upstream = link.input.upstream
            ends = self.ends[upstream]
            if upstream in step.assets:  # a task does not wait for itself
                ends = ends.copy()
                for start, stop in cells.ranges:
                    ends[start:stop] = -1
            for ordinal in cells:
                for start, stop in link.edge.ranges_of(ordinal):
                    at = start + int(ends[start:stop].argmax())
                    yield float(ends[at]), upstream, at

    def _inputs(self, step: PlannedStep) -> Iterator[tuple[AssetKey, Link]]:
        """What the tasks of a step wait for. Members that are made together wait for their own earlier partitions, which is to
        wait for each other's."""
        moment = self.catalog.at(self.plan.as_of)
        for key in step.assets:
            asset = self.catalog.assets[key]
            for link in moment.links(asset):
                upstream = link.input.upstream
                together = upstream in step.assets and upstream != key and not asset.spec.subsettable
                if not together and (upstream in self.ends or upstream in step.assets):
                    yield key, link


def _one_after_the_other(
    step: PlannedStep, own: list[EdgeMap], starts: npt.NDArray[np.float64], took: float, ends: Ends
) -> None:
    """Put each task of a step that reads earlier partitions of itself behind theirs. Changes `ends`."""
    waves = np.fromiter(step.waves, dtype=np.int64, count=len(step.waves))
    for task in np.argsort(waves, kind="stable").tolist():
        cells = step.batches[task]
        start = float(starts[task])
        for ordinal in cells:
            for edge in own:
                for first, last in edge.ranges_of(ordinal):
                    if first < last:
                        start = max(start, float(ends[first:last].max()))
        for first, last in cells.ranges:
            ends[first:last] = start + took
