"""Runs and their tallies; completions append tallies and never touch a run row."""

# ruff: noqa: S608 - statements are put together from constants of this package only

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from partita.core.store.encode import optional_text, texts_of
from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.sql import text
from partita.core.store.values import Exclusive, Run, RunId, RunState, RunUpdate, Tally, TaskState

APPEND_TALLIES = text("""
    INSERT INTO run_tally (run_id, state, n)
    SELECT * FROM unnest(CAST(:runs AS bigint[]), CAST(:states AS text[]), CAST(:counts AS integer[]))
""")

TAKE_TALLIES = text("""
    DELETE FROM run_tally WHERE seq IN (SELECT seq FROM run_tally ORDER BY seq LIMIT :n FOR UPDATE SKIP LOCKED)
    RETURNING seq, run_id, state, n
""")

RUN_COLUMNS = """id, backfill_id, state, as_of, cancel_requested_at IS NOT NULL, tallies, task_count, request, cause, params,
    lane, timed_out_at IS NOT NULL, cancelled_from, keys_revision, max_active"""

READ_RUNS = text(f"SELECT {RUN_COLUMNS} FROM run WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id")
LOCK_RUNS = text(f"SELECT {RUN_COLUMNS} FROM run WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id FOR NO KEY UPDATE")

WRITE_RUNS = text("""
    UPDATE run r
    SET state = u.state, tallies = u.tallies, finished_at = coalesce(u.finished_at, r.finished_at),
        cancel_requested_at = CASE WHEN u.cancel_requested THEN coalesce(r.cancel_requested_at, now()) END,
        timed_out_at = coalesce(r.timed_out_at, CASE WHEN u.timed_out THEN now() END),
        cancelled_from = u.cancelled_from
    FROM unnest(CAST(:ids AS bigint[]), CAST(:expect_states AS text[]), CAST(:states AS text[]), CAST(:tallies AS jsonb[]),
                CAST(:cancels AS boolean[]), CAST(:finished_at AS timestamptz[]), CAST(:timed_out AS boolean[]),
                CAST(:cancelled_from AS bigint[]))
         AS u(id, expect_state, state, tallies, cancel_requested, finished_at, timed_out, cancelled_from)
    WHERE r.id = u.id AND r.state = u.expect_state
""")

LIMIT_RUN = text("UPDATE run SET max_active = :max_active WHERE id = :id")

TRY_DUTY = text("SELECT pg_try_advisory_xact_lock(4, :duty)")

NOTE_DUTY = text("""
    INSERT INTO duty (name, holder, last_ran_at, last_ms, failures, last_error)
    VALUES (:name, :holder, now(), :ms, :failures, :error)
    ON CONFLICT (name) DO UPDATE
    SET holder = excluded.holder, last_ran_at = excluded.last_ran_at, last_ms = coalesce(excluded.last_ms, duty.last_ms),
        failures = excluded.failures, last_error = excluded.last_error
""")


def run_of(row: Any) -> Run:
    run_id, backfill_id, state, *rest = row
    return Run(run_id, backfill_id, _STATES[state], *rest)


_STATES = {state.value: state for state in RunState}
_TASK_STATES = {state.value: state for state in TaskState}


class RunsPart(PostgresPart):
    def try_duty(self, duty: Exclusive) -> bool:
        [(free,)] = self._rows(TRY_DUTY, duty=int(duty))
        return bool(free)

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
        return [Tally(run_id, _TASK_STATES[state], n) for _, run_id, state, n in rows]

    def lock_runs(self, ids: Sequence[RunId]) -> list[Run]:
        return [run_of(row) for row in self._rows(LOCK_RUNS, ids=sorted(set(ids)))]

    def read_runs(self, ids: Sequence[RunId]) -> list[Run]:
        return [run_of(row) for row in self._rows(READ_RUNS, ids=sorted(set(ids)))]

    def write_runs(self, updates: Sequence[RunUpdate]) -> None:
        rows: list[RunUpdate] = ordered(updates, lambda update: update.id, "write_runs")
        if not rows:
            return
        texts = texts_of(update.tallies for update in rows)
        written = self._set_rows(
            WRITE_RUNS,
            ids=[update.id for update in rows],
            expect_states=[update.expect_state.value for update in rows],
            states=[update.state.value for update in rows],
            tallies=[texts[id(update.tallies)] for update in rows],
            cancels=[update.cancel_requested for update in rows],
            finished_at=[update.finished_at for update in rows],
            timed_out=[update.timed_out for update in rows],
            cancelled_from=[update.cancelled_from for update in rows],
        )
        self._expect(written, len(rows), f"runs {[update.id for update in rows[:20]]}")

    def limit_run(self, run_id: RunId, max_active: int | None) -> None:
        self._execute(LIMIT_RUN, id=run_id, max_active=max_active)

    def note_duty(
        self, name: str, holder: str, ms: float | None, *, failures: int = 0, error: str | None = None
    ) -> None:
        self._execute(NOTE_DUTY, name=name, holder=holder, ms=ms, failures=failures, error=optional_text(error))
