"""Read-only statements about what people did by hand."""

from __future__ import annotations

from partita.core.store.sql import text

# An acceptance has its own record of having been taken back.
AUDIT = text("""
    SELECT a.id, a.at, a.who, a.action, a.reason, a.detail,
           coalesce(u.at, p.undone_at) AS undone_at, coalesce(u.who, p.undone_by) AS undone_by
    FROM audit a
    LEFT JOIN audit u ON u.undo_of = a.id
    LEFT JOIN acceptance p ON a.action = 'accept' AND p.id = CAST(a.detail->>'acceptance' AS bigint)
    WHERE (CAST(:who AS text) IS NULL OR a.who = :who)
      AND (CAST(:action AS text) IS NULL OR a.action = :action)
      AND (CAST(:before AS bigint) IS NULL OR a.id < :before)
    ORDER BY a.id DESC LIMIT :limit
""")
