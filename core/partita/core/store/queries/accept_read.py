"""Read-only statements about acceptances, for people."""

from __future__ import annotations

from partita.core.store.sql import text

ACCEPTANCES = text("""
    SELECT id, at, who, reason, request, cells, undone_at, undone_by FROM acceptance ORDER BY id DESC LIMIT :limit
""")
ACCEPTANCE = text("""
    SELECT id, at, who, reason, request, cells, undone_at, undone_by FROM acceptance WHERE id = :id
""")
