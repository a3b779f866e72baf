"""What becomes of each cell of a candidate. Pure, given what was read.

The members of a group are made together and judged together. Of a subsettable one each is judged like an asset of its own, as the
planner does (`planner/members.py`): only what has a reason is asked for, and what one member waits for keeps no other waiting.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from partita.core.automation.judge import Judged, Verdict, judge
from partita.core.automation.reading import Candidate
from partita.core.automation.view import upstream_of_cell
from partita.core.store.values import CellRef


def verdicts(one: Candidate, before: Mapping[CellRef, int]) -> dict[CellRef, Judged]:
    """The verdict on each cell. `before`: states that asked before, and ask no more."""
    found: dict[CellRef, Judged] = {}
    for consumer in one.members or (one.consumer,):
        judged = judge(consumer, one.inputs, one.world)
        if judged.verdict is Verdict.ASK:
            if any(before.get(cell) == judged.state for cell in consumer.cells):
                judged = Judged(Verdict.REST)
            else:
                one.world.asked.update(consumer.cells)  # at once: another member or a later partition may read it
        found.update(dict.fromkeys(consumer.cells, judged))
    return found


def read_by(one: Candidate, cells: Collection[CellRef]) -> list[CellRef]:
    """What these cells of a candidate read."""
    if not one.members:
        return list(one.above)
    return [ref for cell in cells for ref in upstream_of_cell(one.inputs, cell, frozenset())]
