"""Read-only statements about runs, tasks, attempts and backfills, for people. They take no locks and decide nothing.

Callers run them with `api_read` and give the models. Every list is bounded by its caller.
"""

# ruff: noqa: S608 - the fragments are constants of this module; values are always parameters
from __future__ import annotations

from partita.core.store.queries.waits_read import REASON_DETAIL
from partita.core.store.sql import text

_TERMINAL = "('success', 'failed', 'upstream_failed', 'skipped', 'removed', 'cancelled')"

_RUN = """r.id, r.backfill_id, r.state, r.cause, r.request, r.plan_hash, r.as_of, r.created_at, r.finished_at,
    r.cancel_requested_at, r.times_out_at, r.timed_out_at, r.max_active,
    (SELECT jsonb_object_agg(g.name, g.value) FROM run_tag g WHERE g.run_id = r.id) AS tags"""
_RUN_FILTER = """(CAST(:state AS text) IS NULL OR r.state = :state)
    AND (cardinality(CAST(:names AS text[])) = 0 OR r.id IN (
        SELECT g.run_id FROM run_tag g
        JOIN unnest(CAST(:names AS text[]), CAST(:values AS text[])) AS u(name, value) USING (name, value)
        GROUP BY g.run_id HAVING count(*) = cardinality(CAST(:names AS text[]))))"""

LIST_RUNS = text(f"""
    SELECT {_RUN} FROM run r
    WHERE {_RUN_FILTER}
    ORDER BY r.created_at DESC, r.id DESC OFFSET :offset LIMIT :limit
""")
COUNT_RUNS = text(f"SELECT count(*) FROM run r WHERE {_RUN_FILTER}")
RUNS_BY_ID = text(f"SELECT {_RUN} FROM run r WHERE r.id = ANY(CAST(:ids AS bigint[])) ORDER BY r.id")

# Gates are the planner's plumbing: people count steps. A task's own start is that of its last attempt: those that were tried
# again are asked for their first, by `attempt_task`.
TASK_STATES_OF_RUNS = text("""
    SELECT t.run_id, t.state, count(*) AS n,
           min(CASE WHEN t.attempt_number > 1
                    THEN coalesce((SELECT min(p.started_at) FROM attempt p WHERE p.task_id = t.id), t.started_at)
                    ELSE t.started_at END) AS started_at
    FROM task t
    WHERE t.run_id = ANY(CAST(:ids AS bigint[])) AND t.kind = 'step'
    GROUP BY t.run_id, t.state
""")
CELLS_OF_RUNS = text("""
    SELECT t.run_id, a.key AS asset, c.state AS cell_state, t.state AS task_state, count(*) AS n
    FROM task t JOIN task_cell c ON c.task_id = t.id JOIN asset a ON a.id = c.asset_id
    WHERE t.run_id = ANY(CAST(:ids AS bigint[]))
    GROUP BY t.run_id, a.key, c.state, t.state ORDER BY t.run_id, a.key
""")
PARAMS_OF_RUN = text("SELECT r.params FROM run r WHERE r.id = :run_id")
PINS_OF_RUN = text("""
    SELECT l.name AS location, s.hash AS version
    FROM run_pin p JOIN location l ON l.id = p.location_id JOIN snapshot s ON s.id = p.snapshot_id
    WHERE p.run_id = :run_id ORDER BY l.name
""")

# The chain of upstreams that ended last before the task that ended last: what the run waited for. Gates are passed through.
LAST_PATH = text("""
    WITH RECURSIVE path AS (
        (SELECT t.id, t.kind, 0 AS depth FROM task t
         WHERE t.run_id = :run_id AND t.finished_at IS NOT NULL AND t.started_at IS NOT NULL
         ORDER BY t.finished_at DESC, t.id DESC LIMIT 1)
        UNION ALL
        (SELECT up.id, up.kind, path.depth + 1 FROM path
         CROSS JOIN LATERAL (
             SELECT u.id, u.kind FROM task_edge e JOIN task u ON u.id = e.upstream_id
             WHERE e.downstream_id = path.id AND u.finished_at IS NOT NULL
             ORDER BY u.finished_at DESC, u.id DESC LIMIT 1) AS up
         WHERE path.depth < 1000)
    )
    SELECT id FROM path WHERE kind = 'step' ORDER BY depth DESC
""")

_TASK = f"""t.id, t.run_id, t.step, t.state, t.outcome, t.reason, {REASON_DETAIL}, t.wave, t.attempt_number, t.user_failures,
    t.retry, t.ready_at, t.queued_at, t.started_at, t.finished_at, t.not_before, t.worker_id, t.error, t.cell_count,
    t.waiting_on, t.attempt_id, t.cancel_requested"""
_TASK_FILTER = """t.run_id = :run_id AND t.kind = 'step'
    AND (CAST(:state AS text) IS NULL OR t.state = :state)
    AND (CAST(:asset_id AS bigint) IS NULL
         OR EXISTS (SELECT 1 FROM task_cell c WHERE c.task_id = t.id AND c.asset_id = :asset_id))"""
LIST_TASKS = text(f"SELECT {_TASK} FROM task t WHERE {_TASK_FILTER} ORDER BY t.wave, t.id OFFSET :offset LIMIT :limit")
COUNT_TASKS = text(f"SELECT count(*) FROM task t WHERE {_TASK_FILTER}")
TASKS_BY_ID = text(f"SELECT {_TASK} FROM task t WHERE t.id = ANY(CAST(:ids AS bigint[])) ORDER BY t.id")

CELL_RANGES_OF_TASKS = text("""
    SELECT c.task_id, a.key AS asset, count(*) AS n, min(c.partition) AS first, max(c.partition) AS last
    FROM task_cell c JOIN asset a ON a.id = c.asset_id
    WHERE c.task_id = ANY(CAST(:ids AS bigint[])) GROUP BY c.task_id, a.key ORDER BY c.task_id, a.key
""")
CELLS_OF_TASK = text("""
    SELECT a.key AS asset, c.partition, c.state, c.data_version, c.error, c.attempt_id
    FROM task_cell c JOIN asset a ON a.id = c.asset_id
    WHERE c.task_id = :task_id ORDER BY a.key, c.partition LIMIT :limit
""")

_ATTEMPT = (
    """p.id, p.task_id, p.run_id, p.number, p.worker_id, p.queued_at, p.started_at, p.finished_at, p.outcome, p.error"""
)
ATTEMPTS_OF_TASKS = text(f"""
    SELECT {_ATTEMPT} FROM attempt p WHERE p.task_id = ANY(CAST(:ids AS bigint[])) ORDER BY p.task_id, p.number
""")
ATTEMPT = text(f"""
    SELECT {_ATTEMPT}, p.traceback, p.inputs, p.log, p.usage, r.as_of, r.cause
    FROM attempt p JOIN run r ON r.id = p.run_id WHERE p.id = :attempt_id
""")
ATTEMPTS_OF_CELL = text(f"""
    SELECT {_ATTEMPT} FROM attempt p
    WHERE p.task_id IN (SELECT c.task_id FROM task_cell c WHERE c.asset_id = :asset_id AND c.partition = :partition
                        ORDER BY c.task_id DESC LIMIT 50)
    ORDER BY p.started_at DESC, p.id DESC LIMIT :limit
""")
CHECKS_OF_ATTEMPTS = text("""
    SELECT k.attempt_id, a.key AS asset, k.name, k.partition, k.passed, k.blocking, k.at, k.detail
    FROM check_result k JOIN asset a ON a.id = k.asset_id
    WHERE k.attempt_id = ANY(CAST(:ids AS bigint[])) ORDER BY k.attempt_id, k.name, k.partition LIMIT :limit
""")

# What cancelling meets: the open steps of runs by state, and the steps that wait below one task.
OPEN_STEPS_OF_RUNS = text(f"""
    SELECT t.state, count(*) AS n FROM task t
    WHERE t.run_id = ANY(CAST(:ids AS bigint[])) AND t.kind = 'step' AND t.state NOT IN {_TERMINAL}
    GROUP BY t.state
""")
WAITING_BELOW = text("""
    WITH RECURSIVE below AS (
        SELECT e.downstream_id AS id FROM task_edge e WHERE e.upstream_id = :task_id
        UNION
        SELECT e.downstream_id FROM below JOIN task_edge e ON e.upstream_id = below.id
    )
    SELECT count(*) FROM below JOIN task t ON t.id = below.id WHERE t.state = 'none' AND t.kind = 'step'
""")

# The order in which admission and claims take them.
WAITING_TASKS = text(f"""
    SELECT {_TASK} FROM task t WHERE t.state IN ('scheduled', 'queued', 'deferred', 'awaiting_input', 'up_for_retry')
        AND t.kind = 'step'
    ORDER BY t.priority DESC, t.ready_at, t.id LIMIT :limit
""")
OPEN_TASK_STATES = text(f"""
    SELECT t.state, count(*) AS n, min(t.ready_at) FILTER (WHERE t.state IN ('scheduled', 'queued')) AS oldest_ready_at
    FROM run r JOIN task t ON t.run_id = r.id
    WHERE r.state = 'running' AND t.kind = 'step' AND t.state NOT IN {_TERMINAL} GROUP BY t.state
""")
