"""Runs that take too long, and versions that no server has."""

# ruff: noqa: S608 - statements are put together from constants of this package only

from __future__ import annotations

from collections.abc import Collection

from partita.core.store.postgres.base import PostgresPart
from partita.core.store.postgres.runs import RUN_COLUMNS, run_of
from partita.core.store.sql import text
from partita.core.store.values import Run, SnapshotId, Taken, WorkerId
from partita.core.store.values_definitions import Stranded

LOCK_OVERDUE_RUNS = text(f"""
    SELECT {RUN_COLUMNS} FROM run
    WHERE times_out_at <= now() AND times_out_at IS NOT NULL AND timed_out_at IS NULL AND state = 'running'
    ORDER BY times_out_at, id LIMIT :n FOR NO KEY UPDATE SKIP LOCKED
""")

NOTE_GONE_VERSIONS = text("""
    INSERT INTO version_gone (snapshot_id) SELECT * FROM unnest(CAST(:ids AS bigint[])) ON CONFLICT DO NOTHING
""")

FORGET_GONE_VERSIONS = text("""
    DELETE FROM version_gone g WHERE g.snapshot_id <> ALL(CAST(:ids AS bigint[]))
      AND NOT EXISTS (SELECT 1 FROM task t WHERE t.state IN ('queued', 'up_for_retry') AND t.reason = 'version_gone'
                      AND t.snapshot_id = g.snapshot_id)
      AND NOT EXISTS (SELECT 1 FROM wait w WHERE w.snapshot_id = g.snapshot_id AND w.state = 'open' AND w.triggerer_id IS NULL
                      AND w.location_id = (SELECT o.location_id FROM snapshot o WHERE o.id = g.snapshot_id))
""")

# Of deferred tasks those with a wait that nobody watches, found by the index wait_free.
STRANDED_RUNS = text("""
    SELECT t.run_id, t.location_id, coalesce(l.name, ''), t.snapshot_id, coalesce(s.hash, ''), g.since
    FROM (SELECT run_id, location_id, snapshot_id FROM task
          WHERE state IN ('queued', 'up_for_retry') AND reason = 'version_gone'
          UNION
          SELECT d.run_id, w.location_id, w.snapshot_id
          FROM version_gone v JOIN snapshot o ON o.id = v.snapshot_id
          JOIN wait w ON w.location_id = o.location_id AND w.snapshot_id = v.snapshot_id
              AND w.state = 'open' AND w.triggerer_id IS NULL AND w.asset_id IS NULL
          JOIN task d ON d.id = w.task_id AND d.state = 'deferred') t
    JOIN version_gone g ON g.snapshot_id = t.snapshot_id
    LEFT JOIN location l ON l.id = t.location_id
    LEFT JOIN snapshot s ON s.id = t.snapshot_id
    ORDER BY t.run_id, t.location_id, t.snapshot_id LIMIT :n
""")


# Two partial indexes, and no table: as many entries as are queued now, and as run now.
PLACES_TAKEN = text("""
    SELECT 'queued', queue, count(*) FROM task WHERE state = 'queued' AND queue = ANY(CAST(:queues AS text[])) GROUP BY queue
    UNION ALL
    SELECT 'running', worker_id, count(*) FROM task WHERE state = 'running' AND worker_id = ANY(CAST(:workers AS text[]))
    GROUP BY worker_id
""")


class LimitsPart(PostgresPart):
    def places_taken(self, queues: Collection[str], workers: Collection[WorkerId]) -> Taken:
        rows = self._rows(PLACES_TAKEN, queues=sorted(set(queues)), workers=sorted(set(workers)))
        queued = {of: n for state, of, n in rows if state == "queued"}
        return Taken(queued, {WorkerId(of): n for state, of, n in rows if state == "running"})

    def lock_overdue_runs_skip(self, limit: int) -> list[Run]:
        return [run_of(row) for row in self._rows(LOCK_OVERDUE_RUNS, n=limit)]

    def note_gone_versions(self, snapshot_ids: Collection[SnapshotId]) -> None:
        if snapshot_ids:
            self._execute(NOTE_GONE_VERSIONS, ids=sorted(set(snapshot_ids)))
            self._execute(FORGET_GONE_VERSIONS, ids=sorted(set(snapshot_ids)))

    def stranded_runs(self, limit: int) -> list[Stranded]:
        return [Stranded(*row) for row in self._rows(STRANDED_RUNS, n=limit)]
