"""Read-only statements about what people are asked: the open questions of tasks that are awaiting input."""

from __future__ import annotations

from partita.core.store.sql import text

QUESTIONS = text("""
    SELECT w.task_id, w.place, w.stint, w.args ->> 'question' AS question, w.since, w.deadline_at, t.run_id, t.step
    FROM wait w JOIN task t ON t.id = w.task_id
    WHERE w.state = 'open' AND w.asks
      AND (CAST(:run_id AS bigint) IS NULL OR t.run_id = :run_id)
      AND (CAST(:tasks AS bigint[]) IS NULL OR w.task_id = ANY(CAST(:tasks AS bigint[])))
    ORDER BY w.deadline_at, w.task_id, w.place LIMIT :limit
""")

# One row a run, with the question whose deadline is the nearest: the list of what needs a person stays short.
ASKING_RUNS = text("""
    SELECT t.run_id, count(DISTINCT w.task_id) AS n, min(w.deadline_at) AS until,
           (array_agg(w.task_id ORDER BY w.deadline_at, w.task_id, w.place))[1] AS task_id,
           (array_agg(w.args ->> 'question' ORDER BY w.deadline_at, w.task_id, w.place))[1] AS question
    FROM wait w JOIN task t ON t.id = w.task_id
    WHERE w.state = 'open' AND w.asks
    GROUP BY t.run_id ORDER BY until, t.run_id LIMIT :limit
""")
