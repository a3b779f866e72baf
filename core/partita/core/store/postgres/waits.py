"""Waits of deferred tasks and the triggerers that watch them."""

# ruff: noqa: S608 - statements are put together from constants of this package only

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from partita.core.store.encode import clean_text, optional_json, optional_text, to_json
from partita.core.store.postgres.base import TASK_COLUMNS, PostgresPart, ordered
from partita.core.store.sql import text
from partita.core.store.values import CellRef, LocationId, SnapshotId, Task, TaskId
from partita.core.store.values_definitions import QueuedPin
from partita.core.store.values_waits import (
    NewWait,
    Triggerer,
    TriggererId,
    Wait,
    WaitKey,
    WaitState,
    WaitUpdate,
)

_COLUMNS = """w.task_id, w.place, w.stint, w.state, w.location_id, w.snapshot_id, w.trigger, w.args, w.label, w.deadline_s,
    w.poll_s, w.asset_id, w.partition, w.newer, w.since, w.deadline_at, w.triggerer_id, w.payload, w.error, w.asks"""

PUT_WAITS = text("""
    INSERT INTO wait (task_id, place, location_id, snapshot_id, trigger, args, label, deadline_s, poll_s, asset_id, partition,
                      newer, asks)
    SELECT * FROM unnest(CAST(:tasks AS bigint[]), CAST(:places AS integer[]), CAST(:locations AS bigint[]),
                         CAST(:snapshots AS bigint[]), CAST(:triggers AS text[]), CAST(:args AS jsonb[]),
                         CAST(:labels AS text[]), CAST(:deadlines AS float8[]), CAST(:polls AS float8[]),
                         CAST(:assets AS bigint[]), CAST(:partitions AS text[]), CAST(:newer AS boolean[]),
                         CAST(:asks AS boolean[]))
    ON CONFLICT (task_id, place) DO UPDATE
    SET state = 'dormant', location_id = excluded.location_id, snapshot_id = excluded.snapshot_id,
        trigger = excluded.trigger, args = excluded.args, label = excluded.label, deadline_s = excluded.deadline_s,
        poll_s = excluded.poll_s, asset_id = excluded.asset_id, partition = excluded.partition, newer = excluded.newer,
        asks = excluded.asks, fired_at = NULL, payload = NULL, error = NULL
""")

# Locked in key order first: who frees the waits of a lapsed triggerer comes by many at once.
OPEN_WAITS = text("""
    WITH mine AS (
        SELECT task_id, place FROM wait WHERE task_id = ANY(CAST(:tasks AS bigint[])) AND state = 'dormant'
        ORDER BY task_id, place FOR NO KEY UPDATE
    )
    UPDATE wait w
    SET state = 'open', stint = w.stint + 1, since = coalesce(w.since, now()), error = NULL,
        deadline_at = coalesce(w.since, now()) + make_interval(secs => w.deadline_s)
    FROM mine WHERE w.task_id = mine.task_id AND w.place = mine.place
""")

WAITS_OF = text(f"""
    SELECT {_COLUMNS} FROM wait w WHERE w.task_id = ANY(CAST(:tasks AS bigint[])) ORDER BY w.task_id, w.place
""")

# The state as a parameter: these are found by their keys, never by walking all open ones.
WRITE_WAITS = text("""
    UPDATE wait w
    SET state = u.state, payload = u.payload, error = u.error,
        fired_at = CASE WHEN u.state = 'fired' THEN now() END
    FROM unnest(CAST(:tasks AS bigint[]), CAST(:places AS integer[]), CAST(:stints AS integer[]), CAST(:states AS text[]),
                CAST(:payloads AS jsonb[]), CAST(:errors AS text[]))
         AS u(task_id, place, stint, state, payload, error)
    WHERE w.task_id = u.task_id AND w.place = u.place AND w.stint = u.stint AND w.state = CAST(:open AS text)
""")

END_WAITS = text("""
    WITH mine AS (
        SELECT task_id, place FROM wait WHERE task_id = ANY(CAST(:tasks AS bigint[])) AND state IN ('open', 'dormant')
        ORDER BY task_id, place FOR NO KEY UPDATE
    )
    UPDATE wait w SET state = 'ended' FROM mine WHERE w.task_id = mine.task_id AND w.place = mine.place
""")

# ANY(ARRAY(...)): the waits are found first, by their own small indexes.
LOCK_OVERDUE = text(f"""
    SELECT {TASK_COLUMNS} FROM task t
    WHERE t.id = ANY(ARRAY(SELECT task_id FROM wait WHERE state = 'open' AND deadline_at <= now()
                           ORDER BY deadline_at, task_id, place LIMIT :n))
      AND t.state IN ('deferred', 'awaiting_input')
    ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED
""")

_MET = """
    FROM wait w JOIN cell c ON c.asset_id = w.asset_id AND c.partition = w.partition
    WHERE w.state = 'open' AND w.asset_id IS NOT NULL AND c.data_version IS NOT NULL
      AND (NOT w.newer OR c.published_at > w.since)
"""

LOCK_MET = text(f"""
    SELECT {TASK_COLUMNS} FROM task t
    WHERE t.id = ANY(ARRAY(SELECT DISTINCT w.task_id {_MET} ORDER BY 1 LIMIT :n))
      AND t.state IN ('deferred', 'awaiting_input')
    ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED
""")

MET_CELLS = text(f"""
    SELECT w.task_id, w.place, w.stint, c.data_version {_MET} AND w.task_id = ANY(CAST(:tasks AS bigint[]))
""")

WAITING_PINS = text("""
    SELECT q.location_id, coalesce(l.name, ''), q.snapshot_id, coalesce(s.hash, '')
    FROM (SELECT location_id, snapshot_id FROM wait
          WHERE state = 'open' AND triggerer_id IS NULL AND asset_id IS NULL
            AND location_id IS NOT NULL AND snapshot_id IS NOT NULL
          GROUP BY location_id, snapshot_id) q
    LEFT JOIN location l ON l.id = q.location_id
    LEFT JOIN snapshot s ON s.id = q.snapshot_id
    ORDER BY 1, 3
""")

PUT_TRIGGERER = text("""
    INSERT INTO triggerer (id, host, pid, lease_expires_at)
    VALUES (:id, :host, :pid, now() + make_interval(secs => :lease_s))
    ON CONFLICT (id) DO UPDATE
    SET host = excluded.host, pid = excluded.pid, started_at = now(), lease_expires_at = excluded.lease_expires_at,
        state = 'live'
""")

RENEW_TRIGGERER = text("""
    UPDATE triggerer SET lease_expires_at = now() + make_interval(secs => :lease_s) WHERE id = :id AND state = 'live'
""")

RETIRE_TRIGGERER = text("UPDATE triggerer SET lease_expires_at = now() WHERE id = :id AND state = 'live'")

LOCK_LAPSED_TRIGGERERS = text("""
    SELECT id, host, pid, lease_expires_at, state FROM triggerer WHERE state = 'live' AND lease_expires_at <= now()
    ORDER BY lease_expires_at, id LIMIT :n FOR NO KEY UPDATE SKIP LOCKED
""")

RELEASE_WAITS = text("""
    WITH gone AS (
        UPDATE triggerer SET state = 'gone' WHERE id = ANY(CAST(:ids AS text[]))
    ), theirs AS (
        SELECT task_id, place FROM wait WHERE triggerer_id = ANY(CAST(:ids AS text[]))
        ORDER BY task_id, place FOR NO KEY UPDATE
    )
    UPDATE wait w SET triggerer_id = NULL, watched = NULL
    FROM theirs WHERE w.task_id = theirs.task_id AND w.place = theirs.place
""")

# The nearest deadlines of each version by the index wait_free, then the nearest of all.
CLAIM_WAITS = text(f"""
    WITH chosen AS (
        SELECT f.task_id, f.place
        FROM unnest(CAST(:locations AS bigint[]), CAST(:snapshots AS bigint[])) AS pin(location_id, snapshot_id)
        CROSS JOIN LATERAL (
            SELECT task_id, place, deadline_at FROM wait
            WHERE state = 'open' AND triggerer_id IS NULL AND asset_id IS NULL
              AND location_id = pin.location_id AND snapshot_id = pin.snapshot_id
            ORDER BY deadline_at, task_id, place LIMIT :n FOR NO KEY UPDATE SKIP LOCKED
        ) f
        ORDER BY f.deadline_at, f.task_id, f.place LIMIT :n
    ), taken AS (
        UPDATE wait w SET triggerer_id = :id, watched = w.stint
        FROM chosen WHERE w.task_id = chosen.task_id AND w.place = chosen.place
        RETURNING {_COLUMNS}
    )
    SELECT * FROM taken ORDER BY deadline_at, task_id, place
""")

DISOWN_WAITS = text("""
    WITH theirs AS (
        SELECT w.task_id, w.place FROM wait w
        WHERE w.triggerer_id = :id AND NOT EXISTS (
            SELECT FROM unnest(CAST(:tasks AS bigint[]), CAST(:places AS integer[]), CAST(:stints AS integer[]))
                        AS k(task_id, place, stint)
            WHERE k.task_id = w.task_id AND k.place = w.place AND k.stint = w.watched)
        ORDER BY w.task_id, w.place FOR NO KEY UPDATE
    )
    UPDATE wait w SET triggerer_id = NULL, watched = NULL
    FROM theirs WHERE w.task_id = theirs.task_id AND w.place = theirs.place
""")

DROP_WAITS = text("""
    WITH mine AS (
        SELECT task_id, place, watched FROM wait
        WHERE triggerer_id = :id AND (state <> 'open' OR watched <> stint)
        ORDER BY task_id, place FOR NO KEY UPDATE
    ), dropped AS (
        UPDATE wait w SET triggerer_id = NULL, watched = NULL
        FROM mine WHERE w.task_id = mine.task_id AND w.place = mine.place
    )
    SELECT task_id, place, watched FROM mine ORDER BY task_id, place
""")


def _wait_of(row: Any) -> Wait:
    fields = list(row)
    fields[3] = WaitState(fields[3])
    asset_id, partition = fields[11:13]
    fields[11:13] = [None if asset_id is None else CellRef(asset_id, partition)]
    return Wait(*fields)


class WaitsPart(PostgresPart):
    def put_waits(self, waits: Iterable[NewWait]) -> None:
        rows: list[NewWait] = ordered(waits, lambda wait: (wait.task_id, wait.place), "put_waits")
        if rows:
            self._execute(
                PUT_WAITS,
                tasks=[wait.task_id for wait in rows],
                places=[wait.place for wait in rows],
                locations=[wait.location_id for wait in rows],
                snapshots=[wait.snapshot_id for wait in rows],
                triggers=[clean_text(wait.trigger) for wait in rows],
                args=[to_json(wait.args) for wait in rows],
                labels=[clean_text(wait.label) for wait in rows],
                deadlines=[wait.deadline_s for wait in rows],
                polls=[wait.poll_s for wait in rows],
                assets=[None if wait.cell is None else wait.cell.asset_id for wait in rows],
                partitions=[None if wait.cell is None else wait.cell.partition for wait in rows],
                newer=[wait.newer for wait in rows],
                asks=[wait.asks for wait in rows],
            )

    def open_waits(self, task_ids: Sequence[TaskId]) -> None:
        self._execute(OPEN_WAITS, tasks=sorted(set(task_ids)))

    def waits_of(self, task_ids: Sequence[TaskId]) -> list[Wait]:
        return [_wait_of(row) for row in self._rows(WAITS_OF, tasks=sorted(set(task_ids)))]

    def write_waits(self, updates: Sequence[WaitUpdate]) -> None:
        rows: list[WaitUpdate] = ordered(updates, lambda one: (one.key.task_id, one.key.place), "write_waits")
        if not rows:
            return
        written = self._execute(
            WRITE_WAITS,
            open="open",
            tasks=[one.key.task_id for one in rows],
            places=[one.key.place for one in rows],
            stints=[one.key.stint for one in rows],
            states=[one.state.value for one in rows],
            payloads=[optional_json(one.payload) for one in rows],
            errors=[optional_text(one.error) for one in rows],
        )
        self._expect(written, len(rows), "waits")

    def end_waits(self, task_ids: Sequence[TaskId]) -> None:
        self._execute(END_WAITS, tasks=sorted(set(task_ids)))

    def lock_overdue_skip(self, limit: int) -> list[Task]:
        return self._tasks(LOCK_OVERDUE, n=limit)

    def lock_met_skip(self, limit: int) -> list[Task]:
        return self._tasks(LOCK_MET, n=limit)

    def met_cells(self, task_ids: Sequence[TaskId]) -> dict[WaitKey, str]:
        return {WaitKey(*row[:3]): row[3] for row in self._rows(MET_CELLS, tasks=sorted(set(task_ids)))}

    def waiting_pins(self) -> list[QueuedPin]:
        return [QueuedPin(*row) for row in self._rows(WAITING_PINS)]

    # -- triggerers
    def put_triggerer(self, triggerer_id: TriggererId, host: str, pid: int, lease_s: float) -> None:
        self._execute(PUT_TRIGGERER, id=triggerer_id, host=host, pid=pid, lease_s=lease_s)

    def renew_triggerer(self, triggerer_id: TriggererId, lease_s: float) -> bool:
        return self._execute(RENEW_TRIGGERER, id=triggerer_id, lease_s=lease_s) == 1

    def retire_triggerer(self, triggerer_id: TriggererId) -> None:
        self._execute(RETIRE_TRIGGERER, id=triggerer_id)

    def lock_lapsed_triggerers_skip(self, limit: int) -> list[Triggerer]:
        return [Triggerer(*row) for row in self._rows(LOCK_LAPSED_TRIGGERERS, n=limit)]

    def release_waits(self, triggerers: Sequence[TriggererId]) -> int:
        return self._execute(RELEASE_WAITS, ids=sorted(set(triggerers)))

    def claim_waits_skip(
        self, triggerer_id: TriggererId, pins: Sequence[tuple[LocationId, SnapshotId]], limit: int
    ) -> list[Wait]:
        wanted = sorted(set(pins))
        rows = self._rows(
            CLAIM_WAITS,
            id=triggerer_id,
            locations=[location_id for location_id, _ in wanted],
            snapshots=[snapshot_id for _, snapshot_id in wanted],
            n=limit,
        )
        return [_wait_of(row) for row in rows]

    def disown_waits(self, triggerer_id: TriggererId, keep: Sequence[WaitKey]) -> int:
        return self._execute(
            DISOWN_WAITS,
            id=triggerer_id,
            tasks=[key.task_id for key in keep],
            places=[key.place for key in keep],
            stints=[key.stint for key in keep],
        )

    def drop_waits(self, triggerer_id: TriggererId) -> list[WaitKey]:
        return [WaitKey(*row) for row in self._rows(DROP_WAITS, id=triggerer_id)]
