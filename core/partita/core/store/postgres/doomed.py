"""Files whose last pointer was wiped with its data."""

from __future__ import annotations

from collections.abc import Collection

from partita.core.store.encode import clean_text
from partita.core.store.postgres.base import PostgresPart
from partita.core.store.sql import text
from partita.core.store.values_actions import AuditId, DoomedFile

# In the order of names, so that two with the same files wait for each other at the first of them.
DOOM_FILES = text("""
    INSERT INTO doomed_file (file, audit_id, since)
    SELECT file, :audit, now() FROM unnest(CAST(:files AS text[])) AS u(file) ORDER BY file COLLATE "C"
    ON CONFLICT (file) DO UPDATE SET since = now(), audit_id = excluded.audit_id WHERE doomed_file.taken_at IS NULL
""")

LOCK_DOOMED = text("""
    SELECT file, taken_at FROM doomed_file WHERE file = ANY(CAST(:files AS text[])) ORDER BY file FOR UPDATE
""")

SPARE_FILES = text("DELETE FROM doomed_file WHERE file = ANY(CAST(:files AS text[])) AND taken_at IS NULL")

# The margin is longer than any transaction: one that read a pointer, and began an attempt with it, may be younger than the wipe.
TAKE_DOOMED = text("""
    WITH due AS (
        SELECT file FROM doomed_file
        WHERE file = ANY(CAST(:files AS text[])) AND taken_at IS NULL
          AND since <= least(now() - make_interval(secs => :grace_s),
                             (SELECT min(t.started_at) - interval '5 minutes' FROM task t WHERE t.state = 'running'))
        ORDER BY file FOR UPDATE
    )
    UPDATE doomed_file d SET taken_at = now() FROM due WHERE d.file = due.file
""")

TAKEN = text("""
    SELECT file, audit_id, since, taken_at FROM doomed_file
    WHERE file = ANY(CAST(:files AS text[])) AND removed_at IS NULL AND taken_at IS NOT NULL ORDER BY since, file
""")

DOOMED_FILES = text("""
    SELECT file, audit_id, since, taken_at FROM doomed_file WHERE removed_at IS NULL ORDER BY since, file LIMIT :n
""")

REMOVED = text("""
    UPDATE doomed_file SET removed_at = now() WHERE file = ANY(CAST(:files AS text[])) AND taken_at IS NOT NULL
""")

WANTED = text("""
    DELETE FROM doomed_file
    WHERE file = ANY(CAST(:files AS text[])) AND taken_at IS NOT NULL AND removed_at IS NULL
""")


class DoomedPart(PostgresPart):
    def doom_files(self, files: Collection[str], audit_id: AuditId) -> None:
        if files:
            self._execute(DOOM_FILES, audit=audit_id, files=_names(files))

    def spare_files(self, files: Collection[str]) -> set[str]:
        if not files:
            return set()
        names = _names(files)
        gone = {row[0] for row in self._rows(LOCK_DOOMED, files=names) if row[1] is not None}
        self._execute(SPARE_FILES, files=names)
        return gone

    def take_doomed(self, files: Collection[str], grace_s: float) -> list[DoomedFile]:
        names = _names(files)
        if not names:
            return []
        self._execute(TAKE_DOOMED, files=names, grace_s=grace_s)
        return [DoomedFile(*row) for row in self._rows(TAKEN, files=names)]

    def doomed_files(self, limit: int) -> list[DoomedFile]:
        return [DoomedFile(*row) for row in self._rows(DOOMED_FILES, n=limit)]

    def settle_doomed(self, removed: Collection[str], wanted: Collection[str]) -> None:
        if removed:
            self._execute(REMOVED, files=_names(removed))
        if wanted:
            self._execute(WANTED, files=_names(wanted))


def _names(files: Collection[str]) -> list[str]:
    return sorted({clean_text(one) for one in files})
