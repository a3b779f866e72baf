"""Read-only statements about the keys of dynamic schemes, for people."""

from __future__ import annotations

from partita.core.store.sql import text

COUNTS = text("""
    SELECT scheme, count(*) AS n FROM dynamic_key WHERE ended IS NULL AND scheme = ANY(CAST(:schemes AS text[])) GROUP BY scheme
""")

# In the order of partitions; what ended comes last in, first out. `lives` names one of the two conditions.
_PAGE = """
    SELECT key, added_at, added_by, expires_at, metadata, ended_at, ended_by FROM dynamic_key
    WHERE scheme = :scheme AND {lives} AND (CAST(:search AS text) IS NULL OR position(lower(:search) IN lower(key)) > 0)
    ORDER BY {order} OFFSET :offset LIMIT :limit
"""
_TOTAL = """
    SELECT count(*) FROM dynamic_key
    WHERE scheme = :scheme AND {lives} AND (CAST(:search AS text) IS NULL OR position(lower(:search) IN lower(key)) > 0)
"""
KEYS_THERE = text(_PAGE.format(lives="ended IS NULL", order="revision, place"))
KEYS_ENDED = text(_PAGE.format(lives="ended IS NOT NULL", order="ended DESC, revision, place"))
TOTAL_THERE = text(_TOTAL.format(lives="ended IS NULL"))
TOTAL_ENDED = text(_TOTAL.format(lives="ended IS NOT NULL"))

# The last life of each of these keys, when it has ended: a key that came back is there.
LAST_ENDED = text("""
    SELECT DISTINCT ON (u.scheme, u.key) u.scheme, u.key, k.ended_at, k.ended_by
    FROM unnest(CAST(:schemes AS text[]), CAST(:keys AS text[])) AS u(scheme, key)
    JOIN dynamic_key k ON k.scheme = u.scheme AND k.key = u.key
    WHERE NOT EXISTS (SELECT 1 FROM dynamic_key t WHERE t.scheme = u.scheme AND t.key = u.key AND t.ended IS NULL)
    ORDER BY u.scheme, u.key, k.ended DESC
""")
