"""Runs and their tallies; completions append tallies and never touch a run row."""

# ruff: noqa: S608 - statements are put together from constants of this package only

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import text

from partita.core.store.encode import clean_text, optional_text, to_json
from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.values import Run, RunId, RunState, RunUpdate, Tally, TaskState

APPEND_TALLIES = text("""
    INSERT INTO run_tally (run_id, state, n)
    SELECT * FROM unnest(CAST(:runs AS bigint[]), CAST(:states AS text[]), CAST(:counts AS integer[]))
""")

TAKE_TALLIES = text("""
    DELETE FROM run_tally WHERE seq IN (SELECT seq FROM run_tally ORDER BY seq LIMIT :n FOR UPDATE SKIP LOCKED)
    RETURNING seq, run_id, state, n
""")

_RUN_COLUMNS = (
    """id, backfill_id, state, as_of, cancel_requested_at IS NOT NULL, tallies, task_count, request, cause, params"""
)

READ_RUNS = text(f"SELECT {_RUN_COLUMNS} FROM run WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id")
LOCK_RUNS = text(f"SELECT {_RUN_COLUMNS} FROM run WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR NO KEY UPDATE")

# A run that ends takes its backfill along: a backfill is one run.
WRITE_RUNS = text("""
    WITH written AS (
        UPDATE run r
        SET state = u.state, tallies = u.tallies, finished_at = coalesce(u.finished_at, r.finished_at),
            cancel_requested_at = CASE WHEN u.cancel_requested THEN coalesce(r.cancel_requested_at, now()) END
        FROM unnest(CAST(:ids AS bigint[]), CAST(:expect_states AS text[]), CAST(:states AS text[]), CAST(:tallies AS jsonb[]),
                    CAST(:cancels AS boolean[]), CAST(:finished_at AS timestamptz[]))
             AS u(id, expect_state, state, tallies, cancel_requested, finished_at)
        WHERE r.id = u.id AND r.state = u.expect_state
        RETURNING r.backfill_id, u.state, u.finished_at
    ), ended AS (
        UPDATE backfill b SET state = w.state, finished_at = coalesce(w.finished_at, now())
        FROM written w WHERE b.id = w.backfill_id AND w.state <> 'running' AND b.state = 'running'
    )
    SELECT count(*) FROM written
""")

NOTE_DUTY = text("""
    INSERT INTO duty (name, holder, last_ran_at, last_ms, failures, last_error)
    VALUES (:name, :holder, now(), :ms, :failures, :error)
    ON CONFLICT (name) DO UPDATE
    SET holder = excluded.holder, last_ran_at = excluded.last_ran_at, last_ms = coalesce(excluded.last_ms, duty.last_ms),
        failures = excluded.failures, last_error = excluded.last_error
""")

AUDIT = text("INSERT INTO audit (who, action, detail) VALUES (:who, :action, CAST(:detail AS jsonb))")


def run_of(row: Any) -> Run:
    run_id, backfill_id, state, as_of, cancel_requested, tallies, task_count, request, cause, params = row
    return Run(
        run_id, backfill_id, RunState(state), as_of, cancel_requested, tallies, task_count, request, cause, params
    )


class RunsPart(PostgresPart):
    def append_tallies(self, tallies: Sequence[Tally]) -> None:
        if tallies:
            self._execute(
                APPEND_TALLIES,
                runs=[tally.run_id for tally in tallies],
                states=[tally.state.value for tally in tallies],
                counts=[tally.n for tally in tallies],
            )

    def take_tallies(self, limit: int) -> list[Tally]:
        rows = sorted(self._rows(TAKE_TALLIES, n=limit))
        return [Tally(row[1], TaskState(row[2]), row[3]) for row in rows]

    def lock_runs(self, ids: Sequence[RunId]) -> list[Run]:
        return [run_of(row) for row in self._rows(LOCK_RUNS, ids=sorted(set(ids)))]

    def read_runs(self, ids: Sequence[RunId]) -> list[Run]:
        return [run_of(row) for row in self._rows(READ_RUNS, ids=sorted(set(ids)))]

    def write_runs(self, updates: Sequence[RunUpdate]) -> None:
        rows: list[RunUpdate] = ordered(updates, lambda update: update.id, "write_runs")
        if not rows:
            return
        written = self._rows(
            WRITE_RUNS,
            ids=[update.id for update in rows],
            expect_states=[update.expect_state.value for update in rows],
            states=[update.state.value for update in rows],
            tallies=[to_json(update.tallies) for update in rows],
            cancels=[update.cancel_requested for update in rows],
            finished_at=[update.finished_at for update in rows],
        )[0][0]
        self._expect(written, len(rows), f"runs {[update.id for update in rows[:20]]}")

    def note_duty(
        self, name: str, holder: str, ms: float | None, *, failures: int = 0, error: str | None = None
    ) -> None:
        self._execute(NOTE_DUTY, name=name, holder=holder, ms=ms, failures=failures, error=optional_text(error))

    def audit(self, who: str, action: str, detail: Mapping[str, Any]) -> None:
        self._execute(AUDIT, who=clean_text(who), action=action, detail=to_json(detail))
