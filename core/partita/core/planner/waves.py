"""The waves of a plan as people read them: those that are alike and follow each other are one entry. Pure.

A self-dependency makes a wave for each partition: 365 lines that say the same say nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from partita.assets import AssetKey
from partita.core.planner.values import Plan


@dataclass(frozen=True, slots=True)
class Waves:
    """`count` waves in a row, the first of them number `first` from 0, each with so many `cells` by asset and so many
    `tasks`."""

    first: int
    count: int
    cells: Mapping[AssetKey, int]
    tasks: int

    @property
    def cell_count(self) -> int:
        """Cells of one of the waves."""
        return sum(self.cells.values())


def alike_waves(plan: Plan) -> list[Waves]:
    """All waves in order, alike ones in a row together."""
    tasks: Counter[int] = Counter()
    for step in plan.steps:
        tasks.update(step.tasks_by_wave())
    found: list[Waves] = []
    for index, wave in enumerate(plan.cells_by_wave()):
        one = Waves(index, 1, {key: len(cells) for key, cells in wave.items()}, tasks[index])
        last = found[-1] if found else None
        if last is not None and (last.cells, last.tasks) == (one.cells, one.tasks):
            found[-1] = Waves(last.first, last.count + 1, last.cells, last.tasks)
        else:
            found.append(one)
    return found
