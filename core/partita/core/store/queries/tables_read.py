"""How large the tables are that the control plane works on, and how much of them is dead. Asks the server's statistics, never the
tables."""

from __future__ import annotations

from partita.core.store.sql import text

# A partitioned table is told as one. What the server last counted: dead rows are those that a vacuum would free.
TABLES = text("""
    SELECT coalesce(parent.relname, s.relname) AS name, sum(s.n_live_tup) AS rows, sum(s.n_dead_tup) AS dead,
           sum(pg_table_size(s.relid)) AS bytes, sum(pg_indexes_size(s.relid)) AS index_bytes,
           max(greatest(s.last_vacuum, s.last_autovacuum)) AS vacuumed_at
    FROM pg_stat_user_tables s
    LEFT JOIN pg_inherits i ON i.inhrelid = s.relid LEFT JOIN pg_class parent ON parent.oid = i.inhparent
    WHERE s.schemaname = current_schema()
    GROUP BY 1 ORDER BY 4 DESC, 1
""")

# What would go: runs that finished before the first day that stays.
OLD_RUNS = text("""
    SELECT count(*) AS runs, coalesce(sum(task_count), 0) AS tasks, min(finished_at) AS first, max(finished_at) AS last
    FROM run WHERE finished_at < :before
""")
