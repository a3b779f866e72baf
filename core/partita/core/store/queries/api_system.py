"""Read-only statements about locations, pools, automation, processes and the event stream, for people."""

# ruff: noqa: S608 - the fragments are constants of this module; values are always parameters
from __future__ import annotations

from partita.core.store.sql import text

LOCATIONS = text("""
    SELECT l.id, l.name, l.state, l.error, l.modules, l.state_since, l.loaded_at, s.hash AS version, s.kept
    FROM location l LEFT JOIN snapshot s ON s.id = l.active_snapshot_id ORDER BY l.name
""")
# By when they were active last, not by when they were made: after a roll-back the two differ.
PREVIOUS_SNAPSHOT = text("""
    SELECT id FROM snapshot WHERE location_id = :location AND id <> :active AND activated_at IS NOT NULL
    ORDER BY activated_at DESC, id DESC LIMIT 1
""")
CODE_SERVERS = text("""
    SELECT c.server_id, c.location_id, c.address, c.versions, c.lease_expires_at > now() AS live, c.lease_expires_at
    FROM code_server c ORDER BY c.location_id, c.server_id
""")

POOLS = text("""
    SELECT p.name, p.slots, coalesce((SELECT sum(h.slots) FROM pool_slot h WHERE h.pool = p.name), 0) AS held
    FROM pool p ORDER BY p.name
""")
# By party: what holds slots, and what is ready and waits for some.
LANES = text("SELECT name, weight, reserved FROM lane ORDER BY name")
LANE_TASKS = text("""
    SELECT lane, fair_key, sum(active) AS active, sum(waiting) AS waiting
    FROM (
        SELECT lane, fair_key, count(DISTINCT task_id) AS active, 0 AS waiting FROM pool_slot GROUP BY lane, fair_key
        UNION ALL
        SELECT lane, fair_key, 0, count(*) FROM task WHERE state = 'scheduled' AND kind = 'step' GROUP BY lane, fair_key
    ) AS found
    GROUP BY lane, fair_key ORDER BY lane, active DESC, waiting DESC, fair_key
""")
POOL_NAMES = text("SELECT name FROM pool ORDER BY name")
POOL_HOLDERS = text("""
    SELECT h.pool, h.task_id, t.run_id, t.step, t.lane, h.slots, h.since
    FROM pool_slot h JOIN task t ON t.id = h.task_id ORDER BY h.pool, h.since, h.task_id LIMIT :limit
""")
POOL_WAITING = text("""
    SELECT u.use ->> 0 AS pool, sum(w.n) AS n
    FROM (SELECT t.pool_set, count(*) AS n FROM task t WHERE t.state = 'scheduled' GROUP BY t.pool_set) AS w,
         LATERAL jsonb_array_elements(CAST(w.pool_set AS jsonb)) AS u(use)
    GROUP BY 1
""")

AUTOMATION_REQUESTS = text("""
    SELECT q.at, a.key AS consumer, q.partition, q.cause, q.run_id, q.verdict
    FROM automation_request q JOIN asset a ON a.id = q.asset_id ORDER BY q.at DESC LIMIT :limit
""")
LAST_REQUESTS = text("""
    SELECT DISTINCT ON (q.asset_id) a.key AS consumer, q.at, q.cause
    FROM automation_request q JOIN asset a ON a.id = q.asset_id
    WHERE q.asset_id = ANY(CAST(:ids AS bigint[])) ORDER BY q.asset_id, q.at DESC
""")
NEXT_LOOKS = text("SELECT asset_id, next_at FROM automation_clock WHERE asset_id = ANY(CAST(:ids AS bigint[]))")

COMPONENTS = text("""
    SELECT c.id, c.kind, c.name, c.pid, c.last_seen_at, extract(epoch FROM now() - c.last_seen_at) AS silent_s
    FROM component c WHERE c.last_seen_at > now() - interval '1 day' ORDER BY c.kind, c.name
""")
WORKERS = text("""
    SELECT w.id, w.host, w.pid, w.capacity, w.queues, w.lease_expires_at > now() AND w.state = 'live' AS live, w.started_at,
           w.renewed_at, nullif(w.version, '') AS version,
           (SELECT count(*) FROM task t WHERE t.worker_id = w.id AND t.state = 'running') AS running
    FROM worker w WHERE w.state <> 'gone' ORDER BY w.id
""")
DUTIES = text("SELECT d.name, d.holder, d.last_ran_at, d.last_ms, d.failures, d.last_error FROM duty d ORDER BY d.name")
# Whether there is work that only triggerers do: something outside to look at (no person is asked, no cell of ours), or a function
# to evaluate.
TRIGGERER_WANTED = text("""
    SELECT EXISTS (SELECT FROM wait w WHERE w.state = 'open' AND NOT w.asks AND w.asset_id IS NULL)
        OR EXISTS (SELECT FROM evaluator e WHERE e.paused_at IS NULL AND e.retired_at IS NULL) AS wanted
""")
PULSE = text("SELECT p.last_ok FROM db_pulse p WHERE p.id = 1")

# Events commit out of order of their ids. Below the oldest running transaction nothing can come any more, so (xid, id) order is
# final there: no reader of it skips or repeats (DESIGN section 6, "Events").
_EVENT = """e.id, CAST(CAST(e.xid AS text) AS bigint) AS xid, e.at, e.kind, a.key AS asset, e.partition, e.run_id, e.task_id,
    e.body, r.as_of, r.cause"""
EVENTS_AFTER = text(f"""
    SELECT {_EVENT} FROM event e LEFT JOIN asset a ON a.id = e.asset_id LEFT JOIN run r ON r.id = e.run_id
    WHERE (e.xid, e.id) > (CAST(CAST(:xid AS text) AS xid8), CAST(:id AS bigint))
      AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY e.xid, e.id LIMIT :limit
""")
EVENTS_END = text("""
    SELECT CAST(CAST(e.xid AS text) AS bigint) AS xid, e.id FROM event e
    WHERE e.xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY e.xid DESC, e.id DESC LIMIT 1
""")
EVENT_XID = text("SELECT CAST(CAST(e.xid AS text) AS bigint) AS xid FROM event e WHERE e.id = :id")
