"""What the metrics show of the tables. Each statement looks at small tables or partial indexes only: asking costs the same with
any history, and nothing is counted while nobody asks."""

from __future__ import annotations

from partita.core.store.sql import text

# By state and lane: how many, and for how long the oldest has been in it.
TASKS = text("""
    SELECT 'scheduled' AS state, lane, count(*) AS n, extract(epoch FROM now() - min(ready_at)) AS oldest_s
    FROM task WHERE state = 'scheduled' AND kind = 'step' GROUP BY lane
    UNION ALL
    SELECT 'queued', lane, count(*), extract(epoch FROM now() - min(queued_at)) FROM task WHERE state = 'queued' GROUP BY lane
    UNION ALL
    SELECT 'running', lane, count(*), extract(epoch FROM now() - min(started_at)) FROM task WHERE state = 'running' GROUP BY lane
    UNION ALL
    SELECT 'up_for_retry', lane, count(*), NULL FROM task WHERE state = 'up_for_retry' GROUP BY lane
""")
LANES = text("SELECT name FROM lane ORDER BY name")
OPEN_RUNS = text("SELECT lane, count(*) AS n FROM run WHERE state = 'running' GROUP BY lane")
WORKERS = text("""
    SELECT count(*) AS n, coalesce(sum(capacity), 0) AS slots FROM worker WHERE state <> 'gone' AND lease_expires_at > now()
""")
EVENTS = text("""
    SELECT consumer, count(*) AS n, extract(epoch FROM now() - min(created_at)) AS oldest_s FROM event_todo GROUP BY consumer
""")
# A process that has not been seen for a while is gone, and so are its counts.
PROCESSES = text("""
    SELECT id, kind, extract(epoch FROM now() - last_seen_at) AS silent_s, counts
    FROM component WHERE last_seen_at > now() - interval '5 minutes' ORDER BY id
""")
PULSE = text("SELECT extract(epoch FROM now() - last_ok) AS age_s FROM db_pulse")
