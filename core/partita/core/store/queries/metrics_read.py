"""What the metrics show of the tables. Each statement looks at small tables or partial indexes only: asking costs the same with
any history, and nothing is counted while nobody asks."""

from __future__ import annotations

from partita.core.store.sql import text

# By state, lane and queue: how many, and for how long the oldest has been in it.
TASKS = text("""
    SELECT 'scheduled' AS state, lane, queue, count(*) AS n, extract(epoch FROM now() - min(ready_at)) AS oldest_s
    FROM task WHERE state = 'scheduled' AND kind = 'step' GROUP BY lane, queue
    UNION ALL
    SELECT 'queued', lane, queue, count(*), extract(epoch FROM now() - min(queued_at))
    FROM task WHERE state = 'queued' GROUP BY lane, queue
    UNION ALL
    SELECT 'running', lane, queue, count(*), extract(epoch FROM now() - min(started_at))
    FROM task WHERE state = 'running' GROUP BY lane, queue
    UNION ALL
    SELECT 'up_for_retry', lane, queue, count(*), NULL FROM task WHERE state = 'up_for_retry' GROUP BY lane, queue
""")
LANES = text("SELECT name FROM lane ORDER BY name")
OPEN_RUNS = text("SELECT lane, count(*) AS n FROM run WHERE state = 'running' GROUP BY lane")
# Those with a live lease, and what runs on each by the index task_running.
WORKERS = text("""
    SELECT w.id, w.capacity, w.queues,
           (SELECT count(*) FROM task t WHERE t.worker_id = w.id AND t.state = 'running') AS running
    FROM worker w WHERE w.state <> 'gone' AND w.lease_expires_at > now()
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
