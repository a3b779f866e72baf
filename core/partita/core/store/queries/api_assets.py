"""Read-only statements about assets and single cells, for people."""

# ruff: noqa: S608 - the fragments are constants of this package; values are always parameters
from __future__ import annotations

from partita.core.store.queries.waits_read import REASON_DETAIL
from partita.core.store.sql import text

# What of each asset may have changed: its answers differ whenever the status of one of its cells may differ. They are read in one
# snapshot; sums instead of maxima, because lower numbers may commit later.
CHANGE_TOKENS = text("""
    SELECT c.asset_id, count(*), sum(c.seq) FROM cell_change c GROUP BY c.asset_id
""")
# A change that came and was folded between two looks left no other trace; xmin moves with every write of a page.
PAGE_TOKENS = text("""
    SELECT p.asset_id, count(*), sum(CAST(CAST(p.xmin AS text) AS bigint)) FROM cell_page p GROUP BY p.asset_id
""")
OPEN_TOKENS = text("""
    SELECT o.asset_id, count(*) AS open, sum(o.task_id) AS tasks,
           coalesce(sum(o.task_id) FILTER (WHERE t.state = 'queued'), 0) AS queued,
           coalesce(sum(o.task_id) FILTER (WHERE t.state = 'running'), 0) AS running,
           coalesce(sum(o.task_id) FILTER (WHERE t.state = 'up_for_retry'), 0) AS retrying
    FROM open_cell o JOIN task t ON t.id = o.task_id GROUP BY o.asset_id
""")

# By the event index: the cells of an asset may be millions.
LAST_MATERIALIZED = text("""
    SELECT u.asset_id, e.at FROM unnest(CAST(:ids AS bigint[])) AS u(asset_id)
    CROSS JOIN LATERAL (SELECT e.at FROM event e WHERE e.asset_id = u.asset_id AND e.kind = 'materialized'
                        ORDER BY e.id DESC LIMIT 1) AS e
""")

# The last result of each check, whatever the partition; `check_result_asset` leads to it.
LAST_CHECKS = text("""
    SELECT u.asset_id, u.name, k.passed, k.at, k.partition, k.detail
    FROM unnest(CAST(:ids AS bigint[]), CAST(:names AS text[])) AS u(asset_id, name)
    CROSS JOIN LATERAL (SELECT k.passed, k.at, k.partition, k.detail FROM check_result k
                        WHERE k.asset_id = u.asset_id AND k.name = u.name ORDER BY k.at DESC LIMIT 1) AS k
""")

# The partitions whose last result of a check is a failure, newest first, among the last `depth` results of each check: there
# may be millions.
FAILING_CHECKS = text("""
    SELECT DISTINCT ON (u.name) u.name, count(*) OVER (PARTITION BY u.name) AS failing, k.passed, k.at, k.partition, k.detail
    FROM unnest(CAST(:names AS text[])) AS u(name)
    CROSS JOIN LATERAL (
        SELECT DISTINCT ON (r.partition) r.passed, r.at, r.partition, r.detail
        FROM (SELECT c.passed, c.at, c.partition, c.detail FROM check_result c
              WHERE c.asset_id = :asset_id AND c.name = u.name ORDER BY c.at DESC LIMIT :depth) AS r
        ORDER BY r.partition, r.at DESC) AS k
    WHERE NOT k.passed ORDER BY u.name, k.at DESC, k.partition
""")

CELL = text("""
    SELECT c.window_start, c.window_end, c.data_version, c.location, c.metadata, c.published_at, c.version_at,
           c.published_attempt, c.published_run, c.last_outcome, c.last_attempt, c.last_attempt_at, c.last_error,
           f.text AS fingerprint, r.as_of, r.cause
    FROM cell c LEFT JOIN fingerprint f ON f.id = c.fingerprint_id LEFT JOIN run r ON r.id = c.published_run
    WHERE c.asset_id = :asset_id AND c.partition = :partition
""")

# The wipe that took from a cell what it held, where nothing was published since; undoable while the cell has its fence.
WIPED = text("""
    SELECT a.id, a.who, a.at, a.reason, c.fence = k.fence AS undoable
    FROM audit a JOIN kept_cell k ON k.audit_id = a.id AND k.asset_id = :asset_id AND k.partition = :partition
        JOIN cell c ON c.asset_id = k.asset_id AND c.partition = k.partition
    WHERE a.action = 'wipe' AND k.data_version IS NOT NULL AND c.data_version IS NULL
        AND NOT EXISTS (SELECT FROM audit u WHERE u.undo_of = a.id)
    ORDER BY a.id DESC LIMIT 1
""")

CELLS = text("""
    SELECT c.partition, c.data_version, c.location, c.published_at, c.last_error FROM cell c
    WHERE c.asset_id = :asset_id AND c.partition = ANY(CAST(:partitions AS text[]))
""")

OPEN_TASK = text(f"""
    SELECT t.id, t.run_id, t.state, t.reason, {REASON_DETAIL} FROM open_cell o JOIN task t ON t.id = o.task_id
    WHERE o.asset_id = :asset_id AND o.partition = :partition
""")
