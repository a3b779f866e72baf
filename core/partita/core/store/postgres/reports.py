"""Reports from outside that were answered, until they are forgotten."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from partita.core.store.encode import to_json
from partita.core.store.postgres.base import PostgresPart, ordered
from partita.core.store.sql import text
from partita.core.store.values_reports import KnownReport, ReportKey

READ_REPORTS = text("""
    SELECT r.scope, r.key, r.content, r.answer, r.expires_at
    FROM unnest(CAST(:scopes AS text[]), CAST(:keys AS text[])) AS u(scope, key)
    JOIN report r ON r.scope = u.scope AND r.key = u.key
    WHERE r.expires_at > now()
""")

# In key order, so that two with the same keys wait for each other at the first of them.
INSERT_REPORTS = text("""
    INSERT INTO report (scope, key, content, answer, expires_at)
    SELECT * FROM unnest(CAST(:scopes AS text[]), CAST(:keys AS text[]), CAST(:contents AS text[]),
                         CAST(:answers AS jsonb[]), CAST(:expiries AS timestamptz[]))
    ON CONFLICT (scope, key) DO UPDATE
        SET content = excluded.content, answer = excluded.answer, expires_at = excluded.expires_at
        WHERE report.expires_at <= now()
    RETURNING scope, key
""")

FORGET_REPORTS = text("""
    WITH old AS (
        SELECT scope, key FROM report WHERE expires_at <= now()
        ORDER BY expires_at, scope, key LIMIT :n FOR UPDATE SKIP LOCKED
    )
    DELETE FROM report r USING old WHERE r.scope = old.scope AND r.key = old.key
""")


class ReportsPart(PostgresPart):
    def read_reports(self, ids: Collection[ReportKey]) -> dict[ReportKey, KnownReport]:
        if not ids:
            return {}
        rows = self._rows(READ_REPORTS, scopes=[one.scope for one in ids], keys=[one.key for one in ids])
        found = (KnownReport(ReportKey(row[0], row[1]), row[2], row[3], row[4]) for row in rows)
        return {one.id: one for one in found}

    def insert_reports(self, reports: Sequence[KnownReport]) -> set[ReportKey]:
        rows: list[KnownReport] = ordered(reports, lambda one: one.id, "insert_reports")
        if not rows:
            return set()
        new = self._rows(
            INSERT_REPORTS,
            scopes=[one.id.scope for one in rows],
            keys=[one.id.key for one in rows],
            contents=[one.content for one in rows],
            answers=[to_json(one.answer) for one in rows],
            expiries=[one.expires_at for one in rows],
        )
        return {ReportKey(row[0], row[1]) for row in new}

    def forget_reports(self, limit: int) -> int:
        return self._execute(FORGET_REPORTS, n=limit)
