"""Doomed files in memory."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from partita.core.store.encode import clean_text
from partita.core.store.memory.base import MemoryPart
from partita.core.store.memory.tables import Row
from partita.core.store.values_actions import AuditId, DoomedFile

_MARGIN = timedelta(minutes=5)  # longer than any transaction: one that read a pointer may have begun after the wipe


class DoomedPart(MemoryPart):
    def doom_files(self, files: Collection[str], audit_id: AuditId) -> None:
        for file in sorted({clean_text(one) for one in files}):
            row = self._db.doomed_file.get(file)
            if row is None or row["taken_at"] is None:
                new = {"file": file, "audit_id": audit_id, "since": self._now, "taken_at": None, "removed_at": None}
                self._db.doomed_file.put(new)

    def spare_files(self, files: Collection[str]) -> set[str]:
        gone: set[str] = set()
        for file in sorted({clean_text(one) for one in files}):
            row = self._db.doomed_file.get(file)
            if row is not None and row["taken_at"] is not None:
                gone.add(file)
            elif row is not None:
                self._db.doomed_file.delete(file)
        return gone

    def take_doomed(self, files: Collection[str], grace_s: float) -> list[DoomedFile]:
        running = [row["started_at"] - _MARGIN for row in self._db.task if row["state"] == "running"]
        before = min([self._now - timedelta(seconds=grace_s), *running])
        named = {clean_text(one) for one in files}
        for row in self._not_removed():
            if row["file"] in named and row["taken_at"] is None and row["since"] <= before:
                self._db.doomed_file.put(row | {"taken_at": self._now})
        return [_doomed(row) for row in self._not_removed() if row["file"] in named and row["taken_at"] is not None]

    def doomed_files(self, limit: int) -> list[DoomedFile]:
        return [_doomed(row) for row in self._not_removed()][:limit]

    def settle_doomed(self, removed: Collection[str], wanted: Collection[str]) -> None:
        for file in sorted({clean_text(one) for one in removed}):
            row = self._db.doomed_file.get(file)
            if row is not None and row["taken_at"] is not None:
                self._db.doomed_file.put(row | {"removed_at": self._now})
        for file in sorted({clean_text(one) for one in wanted}):
            row = self._db.doomed_file.get(file)
            if row is not None and row["taken_at"] is not None and row["removed_at"] is None:
                self._db.doomed_file.delete(file)

    def _not_removed(self) -> list[Row]:
        rows = [row for row in self._db.doomed_file if row["removed_at"] is None]
        return sorted(rows, key=lambda row: (row["since"], row["file"]))


def _doomed(row: Row) -> DoomedFile:
    return DoomedFile(row["file"], row["audit_id"], row["since"], row["taken_at"])
