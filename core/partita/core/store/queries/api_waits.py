"""Read-only statements about what a waiting task waits for: open tasks above it, who holds its slots, who stands in its line."""

from __future__ import annotations

from partita.core.store.postgres.base import TERMINAL
from partita.core.store.sql import text

# Through gates, which stand for many edges and are no work of their own.
OPEN_UPSTREAM = text(f"""
    WITH RECURSIVE up AS (
        SELECT e.upstream_id AS id FROM task_edge e WHERE e.downstream_id = :task_id
        UNION
        SELECT e.upstream_id FROM up JOIN task g ON g.id = up.id AND g.kind = 'gate' AND g.state NOT IN {TERMINAL}
        JOIN task_edge e ON e.downstream_id = g.id
    )
    SELECT t.id, t.run_id, t.step, t.state, count(*) OVER () AS total
    FROM up JOIN task t ON t.id = up.id AND t.kind = 'step' AND t.state NOT IN {TERMINAL}
    ORDER BY t.wave, t.id LIMIT :limit
""")  # noqa: S608 - a constant
HOLDERS_OF_POOL = text("""
    SELECT h.task_id AS id, t.run_id, t.step, t.state, h.slots, h.since, count(*) OVER () AS total
    FROM pool_slot h JOIN task t ON t.id = h.task_id WHERE h.pool = :pool ORDER BY h.since, h.task_id LIMIT :limit
""")
POOL_SET_OF_TASK = text("SELECT pool_set FROM task WHERE id = :task_id")

# Nothing more of a line (the same pools, queue, lane and key) is looked at once its first is blocked: what binds that binds all.
SAID_IN_LINE = text("""
    SELECT o.reason, o.reason_detail FROM task t
    JOIN task o ON o.state = 'scheduled' AND o.pool_set = t.pool_set AND o.queue = t.queue AND o.lane = t.lane
        AND o.fair_key = t.fair_key AND o.reason IS NOT NULL
    WHERE t.id = :task_id AND t.state = 'scheduled' ORDER BY o.id LIMIT 1
""")
SAID_OF_VERSION = text("""
    SELECT o.reason, o.reason_detail FROM task t
    JOIN task o ON o.state = 'queued' AND o.location_id = t.location_id AND o.snapshot_id = t.snapshot_id
        AND o.queue = t.queue AND o.reason IS NOT NULL
    WHERE t.id = :task_id AND t.state = 'queued' ORDER BY o.id LIMIT 1
""")
WAITING_OF_QUEUE = text("""
    SELECT count(*) AS n, min(ready_at) AS oldest FROM task
    WHERE state IN ('scheduled', 'queued') AND kind = 'step' AND queue = :queue
""")
LAST_SERVED = text("""
    SELECT max(c.lease_expires_at) AS until FROM code_server c JOIN location l ON l.id = c.location_id WHERE l.name = :name
""")

WAITS_OF_RUN = text("""
    SELECT t.state, t.reason, count(*) AS n, min(t.id) AS first FROM task t
    WHERE t.run_id = :run_id AND t.kind = 'step'
        AND t.state IN ('none', 'scheduled', 'queued', 'up_for_retry', 'deferred', 'awaiting_input')
    GROUP BY t.state, t.reason ORDER BY min(t.wave), t.state, t.reason
""")
IN_PROGRESS_ELSEWHERE = text(f"""
    SELECT t.run_id, count(*) AS n FROM cell_cause c JOIN task t ON t.id = c.task_id
    WHERE c.run_id = :run_id AND c.waits AND t.state NOT IN {TERMINAL} GROUP BY t.run_id ORDER BY t.run_id LIMIT 5
""")  # noqa: S608 - a constant
