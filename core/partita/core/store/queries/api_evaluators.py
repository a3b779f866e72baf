"""Read-only statements about observers, schedules and sensors, for people."""

from __future__ import annotations

from partita.core.store.sql import text

# `served`: a live server has the version whose code is to be called.
_EVALUATOR = """e.id, l.name AS location, e.name, e.kind, e.spec, e.cursor, e.tick_at, e.due_at, e.failures, e.token,
    e.triggerer_id, e.started_at, e.ended_at, e.outcome, e.error, e.detail, e.paused_by, e.paused_at, e.retired_at,
    e.catch_up, e.pace,
    EXISTS (SELECT 1 FROM code_server c WHERE c.location_id = e.location_id AND c.lease_expires_at > now()
            AND c.versions ? s.hash) AS served
    FROM evaluator e JOIN location l ON l.id = e.location_id JOIN snapshot s ON s.id = e.snapshot_id"""
LIST_EVALUATORS = text(f"""
    SELECT {_EVALUATOR} WHERE (CAST(:kind AS text) IS NULL OR e.kind = :kind) AND (e.retired_at IS NULL OR :retired)
    ORDER BY e.kind, l.name, e.name
""")
EVALUATOR = text(f"SELECT {_EVALUATOR} WHERE e.id = :id")
TRIGGERERS = text("SELECT count(*) AS n FROM triggerer WHERE state = 'live' AND lease_expires_at > now()")
EVALUATIONS = text("""
    SELECT token, tick_at, started_at, ended_at, outcome, error, traceback, detail, log FROM evaluation
    WHERE evaluator_id = :id ORDER BY token DESC LIMIT :limit
""")
ASKED = text("""
    SELECT id, token, key, request, state, run_id, error, asked_at, done_at FROM asked
    WHERE evaluator_id = :id ORDER BY token DESC, id DESC LIMIT :limit
""")
