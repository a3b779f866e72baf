"""Read-only statements about automatic requests above the limit, and faults of automation, for people."""

# ruff: noqa: S608 - the fragments are constants of this module; values are always parameters
from __future__ import annotations

from partita.core.store.sql import text

_REQUEST = """q.id, q.state, q.revision, q.cells, q.cell_limit, q.preview, q.cause, q.merged, q.created_at, q.updated_at,
    q.expires_at, q.ended_at, q.ended_by, q.end_reason, q.run_id"""
LIST_REQUESTS = text(f"""
    SELECT {_REQUEST} FROM held_request q WHERE CAST(:state AS text) IS NULL OR q.state = :state
    ORDER BY q.id DESC OFFSET :offset LIMIT :limit
""")
COUNT_REQUESTS = text("""
    SELECT count(*) AS n FROM held_request q WHERE CAST(:state AS text) IS NULL OR q.state = :state
""")
REQUEST = text(f"SELECT {_REQUEST} FROM held_request q WHERE q.id = :id")
REQUESTS_OF_ASSET = text("""
    SELECT q.id, q.cells, q.cell_limit, q.cause, q.created_at, q.expires_at, q.body FROM held_request q
    WHERE q.state = 'awaiting_input' AND q.assets @> ARRAY[CAST(:asset_id AS bigint)] ORDER BY q.id
""")
FAULTS = text("""
    SELECT f.kind, f.id, a.key AS asset, f.error, f.tries, f.since, f.last_at, f.next_at
    FROM automation_fault f LEFT JOIN asset a ON f.kind = 'asset' AND a.id = f.id ORDER BY f.since, f.kind, f.id LIMIT :limit
""")
