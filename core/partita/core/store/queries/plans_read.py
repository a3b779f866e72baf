"""What a plan's preview shows beside its cells: pools, capacity, durations of earlier attempts. Outside the plan's hash."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from partita.core.catalog.values import StepKey
from partita.core.planner.estimate import Durations
from partita.core.planner.plan import PoolLoad
from partita.core.store.queries.base import Queries
from partita.core.store.sql import text
from partita.core.store.values import CellRef, LocationId

POOLS = text("""
    SELECT p.name, p.slots, coalesce(sum(s.slots), 0)
    FROM pool p LEFT JOIN pool_slot s ON s.pool = p.name
    WHERE p.name = ANY(CAST(:names AS text[])) GROUP BY p.name, p.slots
""")

SERVED_QUEUES = text("""
    SELECT DISTINCT q.queue FROM worker w CROSS JOIN unnest(w.queues) AS q(queue)
    WHERE w.state = 'live' AND w.lease_expires_at > now()
""")

CAPACITY = text("SELECT coalesce(sum(capacity), 0) FROM worker WHERE state = 'live' AND lease_expires_at > now()")

# The newest attempts only: old code says little about new code, and the cost must not grow with history.
DURATIONS = text("""
    SELECT t.location_id, t.step, avg(extract(epoch FROM a.finished_at - a.started_at)), count(*)
    FROM (SELECT task_id, started_at, finished_at, outcome FROM attempt ORDER BY id DESC LIMIT 5000) a
    JOIN task t ON t.id = a.task_id
    WHERE a.outcome = 'success' AND a.finished_at IS NOT NULL AND t.step = ANY(CAST(:steps AS text[]))
    GROUP BY t.location_id, t.step
""")


# Of each cell the last task of the backfill: a further run tries again what an earlier one left.
UNMADE_CELLS = text("""
    SELECT asset_id, partition, state
    FROM (SELECT DISTINCT ON (c.asset_id, c.partition) c.asset_id, c.partition, c.state
          FROM run r JOIN task t ON t.run_id = r.id JOIN task_cell c ON c.task_id = t.id
          WHERE r.backfill_id = :backfill
          ORDER BY c.asset_id, c.partition, c.task_id DESC) AS latest
    WHERE state IN ('failed', 'upstream_failed', 'cancelled', 'removed')
    ORDER BY asset_id, partition
""")


class PlanQueries(Queries):
    """Implements the rest of `PlanReader`; a part of `Reader`."""

    def pools(self, names: Collection[str]) -> Mapping[str, PoolLoad]:
        """These pools; unknown ones are left out."""
        rows = self._rows(POOLS, names=list(names))
        return {row[0]: PoolLoad(row[1], int(row[2])) for row in rows}

    def unmade_of_backfill(self, backfill_id: int) -> list[CellRef]:
        """The cells whose last task in the backfill did not make them."""
        return [CellRef(row[0], row[1]) for row in self._rows(UNMADE_CELLS, backfill=backfill_id)]

    def served_queues(self) -> list[str]:
        """The queues that live workers serve."""
        return [row[0] for row in self._rows(SERVED_QUEUES)]

    def capacity(self) -> int:
        """How many attempts the live workers run at once."""
        return self._number(CAPACITY)

    def durations(self, steps: Collection[StepKey]) -> Mapping[StepKey, Durations]:
        """The mean duration of recent successful attempts by step."""
        wanted = set(steps)
        if not wanted:
            return {}
        rows = self._rows(DURATIONS, steps=sorted({step.id for step in wanted}))
        found = {StepKey(LocationId(row[0]), row[1]): Durations(float(row[2]), int(row[3])) for row in rows}
        return {step: known for step, known in found.items() if step in wanted}
