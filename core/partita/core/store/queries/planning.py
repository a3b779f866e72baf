"""What a preview reads beside the cells: pools with what is held of them, the capacity of workers, past durations."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import text

from partita.core.catalog.values import StepKey
from partita.core.planner.estimate import Durations
from partita.core.planner.plan import PoolLoad
from partita.core.store.queries.base import ReaderPart

_RECENT_ATTEMPTS = 5_000

POOLS = text("""
    SELECT p.name, p.slots, coalesce((SELECT sum(s.slots) FROM pool_slot s WHERE s.pool = p.name), 0)
    FROM pool p WHERE p.name = ANY(CAST(:names AS text[]))
""")

CAPACITY = text("SELECT coalesce(sum(capacity), 0) FROM worker WHERE state = 'live' AND lease_expires_at > now()")

# Of the last attempts of all steps together: the cost is bounded, and a step that has not run for long has no estimate.
DURATIONS = text("""
    SELECT t.location_id, t.step, avg(extract(epoch FROM a.finished_at - a.started_at)), count(*)
    FROM (SELECT task_id, started_at, finished_at, outcome FROM attempt ORDER BY started_at DESC LIMIT :recent) a
    JOIN task t ON t.id = a.task_id
    WHERE a.outcome = 'success' AND t.location_id IS NOT NULL AND t.step = ANY(CAST(:steps AS text[]))
    GROUP BY t.location_id, t.step
""")


class PlanningQueries(ReaderPart):
    """With `CellsQueries`, implements `partita.core.planner.plan.PlanReader`."""

    def pools(self, names: Collection[str]) -> Mapping[str, PoolLoad]:
        rows = self._rows(POOLS, names=sorted(set(names)))
        return {name: PoolLoad(slots, int(held)) for name, slots, held in rows}

    def capacity(self) -> int:
        return int(self._rows(CAPACITY)[0][0])

    def durations(self, steps: Collection[StepKey]) -> Mapping[StepKey, Durations]:
        wanted = set(steps)
        names = sorted({step.id for step in wanted})
        rows = self._rows(DURATIONS, steps=names, recent=_RECENT_ATTEMPTS) if names else []
        found = {StepKey(row[0], row[1]): Durations(float(row[2]), row[3]) for row in rows}
        return {step: known for step, known in found.items() if step in wanted}
