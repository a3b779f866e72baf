"""Finished history on its way out: days, what may refer to them, deletion in bounded visits."""

# ruff: noqa: S608 - statements are put together from constants of this module only

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

from partita.core.store.encode import to_json
from partita.core.store.postgres.base import TERMINAL, PostgresPart
from partita.core.store.sql import text
from partita.core.store.values_retention import ArchiveDay, ArchiveHolds, ArchiveState, Unread

_DAY = "day, state, rows, started_at, exported_at, done_at"

UNDER_WAY = text(f"SELECT {_DAY} FROM archive_day WHERE state <> 'done' FOR UPDATE")
ARCHIVE_DAYS = text(f"SELECT {_DAY} FROM archive_day ORDER BY day DESC LIMIT :n")

OLDEST_HISTORY = text("""
    SELECT CAST(least(
        (SELECT min(finished_at) FROM run WHERE finished_at IS NOT NULL),
        (SELECT at FROM event ORDER BY id LIMIT 1),
        (SELECT at FROM automation_request WHERE run_id IS NOT NULL ORDER BY at LIMIT 1)
    ) AT TIME ZONE 'UTC' AS date)
""")

OPEN_RUN = text("SELECT id, created_at FROM run WHERE state = 'running' ORDER BY id LIMIT 1")
OPEN_BACKFILL = text("""
    SELECT b.id FROM run r JOIN backfill b ON b.id = r.backfill_id
    WHERE r.finished_at >= :lower AND r.finished_at < :upper AND b.finished_at IS NULL ORDER BY b.id LIMIT 1
""")
# What waits is a small table, whatever the history.
WAITING_EVENT = text("""
    SELECT EXISTS (SELECT 1 FROM event_todo w JOIN event e ON e.id = w.event_id WHERE e.at < :upper)
        OR EXISTS (SELECT 1 FROM alert_signal WHERE at < :upper)
""")
# The first event that each is still to be told of: one row of an index, however far behind it is.
UNREAD = text("""
    SELECT v.name, v.paused_at IS NOT NULL FROM evaluator v CROSS JOIN LATERAL (
        SELECT e.at FROM event e
        WHERE (e.xid, e.id) > (
            CAST(split_part(v.position, ':', 1) AS xid8), CAST(split_part(v.position, ':', 2) AS bigint)
        )
        ORDER BY e.xid, e.id LIMIT 1
    ) first
    WHERE v.retired_at IS NULL AND v.position IS NOT NULL AND first.at < :upper
      AND (jsonb_path_exists(v.spec, '$.watches[*]') OR jsonb_path_exists(v.spec, '$.runs[*]')
           OR jsonb_path_exists(v.spec, '$.tasks[*]'))
    ORDER BY v.name, v.paused_at IS NOT NULL LIMIT 1
""")

BEGIN_ARCHIVE = text("""
    INSERT INTO archive_day (day, state) VALUES (:day, 'exporting')
    ON CONFLICT (day) DO UPDATE SET state = 'exporting', started_at = now(), exported_at = NULL, done_at = NULL
    WHERE archive_day.state = 'done'
""")
NOTE_EXPORTED = text("""
    UPDATE archive_day SET state = 'deleting', exported_at = now(), rows = CAST(:rows AS jsonb)
    WHERE day = :day AND state = 'exporting'
""")
END_ARCHIVE = text("UPDATE archive_day SET state = 'done', done_at = now() WHERE day = :day AND state = 'deleting'")

OLD_TASKS = text(f"""
    SELECT t.id FROM run r JOIN task t ON t.run_id = r.id
    WHERE r.finished_at >= :lower AND r.finished_at < :upper AND t.state IN {TERMINAL}
    ORDER BY r.finished_at, t.run_id, t.id LIMIT :n
""")
_OF_TASKS = "task_id = ANY(CAST(:tasks AS bigint[]))"
DELETE_CHECKS = text(f"""
    DELETE FROM check_result c USING attempt a WHERE a.{_OF_TASKS} AND c.attempt_id = a.id
""")
DELETE_ATTEMPTS = text(f"DELETE FROM attempt WHERE {_OF_TASKS}")
DELETE_TASK_CELLS = text(f"DELETE FROM task_cell WHERE {_OF_TASKS}")
DELETE_CAUSES = text(f"DELETE FROM cell_cause WHERE {_OF_TASKS}")
DELETE_WAITS = text(f"DELETE FROM wait WHERE {_OF_TASKS}")
DELETE_EDGES_BELOW = text("DELETE FROM task_edge WHERE upstream_id = ANY(CAST(:tasks AS bigint[]))")
DELETE_EDGES_ABOVE = text("DELETE FROM task_edge WHERE downstream_id = ANY(CAST(:tasks AS bigint[]))")
DELETE_TASKS = text("DELETE FROM task WHERE id = ANY(CAST(:tasks AS bigint[]))")

OLD_RUNS = text("""
    SELECT r.id FROM run r WHERE r.finished_at >= :lower AND r.finished_at < :upper
    AND NOT EXISTS (SELECT 1 FROM task t WHERE t.run_id = r.id)
    ORDER BY r.finished_at, r.id LIMIT :n
""")
DELETE_PINS = text("DELETE FROM run_pin WHERE run_id = ANY(CAST(:runs AS bigint[]))")
DELETE_TAGS = text("DELETE FROM run_tag WHERE run_id = ANY(CAST(:runs AS bigint[]))")
DELETE_TALLIES = text("DELETE FROM run_tally WHERE run_id = ANY(CAST(:runs AS bigint[]))")
DELETE_CAPS = text(
    "DELETE FROM pool WHERE name = ANY(SELECT 'run:' || u.id FROM unnest(CAST(:runs AS bigint[])) AS u(id))"
)
DELETE_RUNS = text("DELETE FROM run WHERE id = ANY(CAST(:runs AS bigint[]))")

DELETE_REQUESTS = text("""
    WITH old AS (
        SELECT asset_id, partition, state_digest FROM automation_request
        WHERE at >= :lower AND at < :upper AND run_id IS NOT NULL ORDER BY at, asset_id, partition, state_digest LIMIT :n
    )
    DELETE FROM automation_request q USING old
    WHERE q.asset_id = old.asset_id AND q.partition = old.partition AND q.state_digest = old.state_digest
""")
# Days go one after the other, so the lowest numbers are the day's, but for a few around midnight.
DELETE_EVENTS = text("""
    WITH old AS (
        SELECT id, at FROM (SELECT id, at FROM event ORDER BY id LIMIT :n) lowest WHERE at >= :lower AND at < :upper
    )
    DELETE FROM event e USING old WHERE e.id = old.id AND e.at = old.at
""")
DELETE_SCATTERED_EVENTS = text("""
    WITH old AS (SELECT id, at FROM event WHERE at >= :lower AND at < :upper LIMIT :n)
    DELETE FROM event e USING old WHERE e.id = old.id AND e.at = old.at
""")

FORGET_KEYS = text("""
    WITH seen AS (SELECT min(keys_revision) AS first FROM run WHERE state = 'running' AND keys_revision > 0), old AS (
        SELECT scheme, key, revision FROM dynamic_key
        WHERE ended IS NOT NULL AND ended_at <= now() - make_interval(secs => :keep_s)
        AND ended <= coalesce((SELECT first FROM seen), ended)
        ORDER BY ended_at, scheme, key, revision LIMIT :n FOR UPDATE SKIP LOCKED
    )
    DELETE FROM dynamic_key k USING old WHERE k.scheme = old.scheme AND k.key = old.key AND k.revision = old.revision
""")

_OF_TASK = (
    DELETE_CHECKS,
    DELETE_ATTEMPTS,
    DELETE_TASK_CELLS,
    DELETE_CAUSES,
    DELETE_WAITS,
    DELETE_EDGES_BELOW,
    DELETE_EDGES_ABOVE,
    DELETE_TASKS,
)


class RetentionPart(PostgresPart):
    def archive_under_way(self) -> ArchiveDay | None:
        rows = self._rows(UNDER_WAY)
        return _day(rows[0]) if rows else None

    def archive_days(self, limit: int) -> Sequence[ArchiveDay]:
        return [_day(row) for row in self._rows(ARCHIVE_DAYS, n=limit)]

    def oldest_history(self) -> date | None:
        found: date | None = self._rows(OLDEST_HISTORY)[0][0]
        return found

    def archive_holds(self, day: date) -> ArchiveHolds:
        lower, upper = day_bounds(day)
        runs = self._rows(OPEN_RUN)
        backfills = self._rows(OPEN_BACKFILL, lower=lower, upper=upper)
        [(waiting,)] = self._rows(WAITING_EVENT, upper=upper)
        run_id, since = runs[0] if runs else (None, None)
        unread = self._rows(UNREAD, upper=upper)
        return ArchiveHolds(
            run_id, since, backfills[0][0] if backfills else None, waiting, Unread(*unread[0]) if unread else None
        )

    def begin_archive(self, day: date) -> None:
        self._execute(BEGIN_ARCHIVE, day=day)

    def note_exported(self, day: date, rows: Mapping[str, int]) -> None:
        self._expect(self._execute(NOTE_EXPORTED, day=day, rows=to_json(rows)), 1, f"the export of {day}")

    def end_archive(self, day: date) -> None:
        self._expect(self._execute(END_ARCHIVE, day=day), 1, f"the end of {day}")

    def delete_history(self, day: date, limit: int) -> int:
        lower, upper = day_bounds(day)
        tasks = [row[0] for row in self._rows(OLD_TASKS, lower=lower, upper=upper, n=limit)]
        if tasks:
            for statement in _OF_TASK:
                self._execute(statement, tasks=tasks)
            return len(tasks)
        runs = [row[0] for row in self._rows(OLD_RUNS, lower=lower, upper=upper, n=limit)]
        if runs:
            for statement in (DELETE_PINS, DELETE_TAGS, DELETE_TALLIES, DELETE_CAPS, DELETE_RUNS):
                self._execute(statement, runs=runs)
            return len(runs)
        for statement in (DELETE_REQUESTS, DELETE_EVENTS, DELETE_SCATTERED_EVENTS):
            if deleted := self._execute(statement, lower=lower, upper=upper, n=limit):
                return deleted
        return 0

    def forget_keys(self, keep_s: float, limit: int) -> int:
        return self._execute(FORGET_KEYS, keep_s=keep_s, n=limit)


def day_bounds(day: date) -> tuple[datetime, datetime]:
    """The midnight (UTC) that a day begins with, and the next."""
    lower = datetime.combine(day, time(), tzinfo=UTC)
    return lower, lower + timedelta(days=1)


def _day(row: tuple[object, ...]) -> ArchiveDay:
    day, state, rows, started_at, exported_at, done_at = row
    return ArchiveDay(day, ArchiveState(str(state)), rows, started_at, exported_at, done_at)  # type: ignore[arg-type]
