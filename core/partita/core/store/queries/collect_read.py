"""What still refers to files: cells, and what an undo would give back. Read when somebody collects, by no duty.

A pass over all cells: nothing else may ever be missed here, and no index of locations is paid for by every publication.
"""

from __future__ import annotations

from partita.core.store.sql import text

# The files by name, and locations of several parts, which the reader takes apart.
_OF_THEM = "(split_part({0}.location, '#', 1) = ANY(CAST(:files AS text[])) OR {0}.location LIKE 'lake:[%')"

# An undo gives back what was kept while the cell is at the fence of its action; that of a wipe with its data until it is
# collected.
REFERRED = text(f"""
    SELECT c.location FROM cell c WHERE c.location IS NOT NULL AND {_OF_THEM.format("c")}
    UNION
    SELECT k.location FROM kept_cell k
    JOIN cell c ON c.asset_id = k.asset_id AND c.partition = k.partition AND c.fence = k.fence
    JOIN audit a ON a.id = k.audit_id
    WHERE k.location IS NOT NULL AND {_OF_THEM.format("k")}
      AND NOT (a.action = 'wipe' AND a.detail @> '{{"data": true}}')
      AND NOT EXISTS (SELECT FROM audit u WHERE u.undo_of = k.audit_id)
""")  # noqa: S608 - constants of this module
