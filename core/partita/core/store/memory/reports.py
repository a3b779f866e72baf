"""Reports from outside that were answered, in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from partita.core.store.encode import as_stored
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.values_reports import KnownReport, ReportKey


class ReportsPart(MemoryPart):
    def read_reports(self, ids: Collection[ReportKey]) -> dict[ReportKey, KnownReport]:
        found = {one: self._db.report.get(tuple(one)) for one in ids}
        return {
            one: KnownReport(one, row["content"], row["answer"], row["expires_at"])
            for one, row in found.items()
            if row is not None and row["expires_at"] > self._now
        }

    def insert_reports(self, reports: Sequence[KnownReport]) -> set[ReportKey]:
        distinct((one.id for one in reports), "insert_reports")
        new: set[ReportKey] = set()
        for one in sorted(reports, key=lambda one: one.id):
            there = self._db.report.get(tuple(one.id))
            if there is not None and there["expires_at"] > self._now:
                continue
            told = {"content": one.content, "answer": as_stored(one.answer), "expires_at": one.expires_at}
            self._db.report.put({"scope": one.id.scope, "key": one.id.key, **told})
            new.add(one.id)
        return new

    def forget_reports(self, limit: int) -> int:
        rows = [row for row in self._db.report.rows.values() if row["expires_at"] <= self._now]
        old = sorted(rows, key=lambda row: (row["expires_at"], row["scope"], row["key"]))[:limit]
        for row in old:
            self._db.report.delete((row["scope"], row["key"]))
        return len(old)
