"""Cells and attempts in memory: fences, publication, last attempts."""

from __future__ import annotations

from collections.abc import Sequence

from partita.core.store.encode import as_stored, optional_text
from partita.core.store.memory.base import MemoryPart, distinct
from partita.core.store.memory.tables import Row
from partita.core.store.values import (
    AttemptEnd,
    AttemptId,
    CellAttempt,
    CellFact,
    CellRef,
    CheckRow,
    Fence,
    NewAttempt,
    Publication,
)


def _key(cell: CellRef) -> tuple[int, str]:
    return (cell.asset_id, cell.partition)


class CellsPart(MemoryPart):
    def next_fence(self) -> Fence:
        return Fence(self._db.next("fence"))

    def reserve_attempt_ids(self, n: int) -> list[AttemptId]:
        return [AttemptId(self._db.next("attempt")) for _ in range(n)]

    def raise_fences(self, cells: Sequence[CellRef], fences: Sequence[Fence]) -> None:
        for cell, fence in zip(cells, fences, strict=True):
            row = self._db.cell.get(_key(cell))
            if row is not None and fence > row["fence"]:
                self._db.cell.put(row | {"fence": fence})

    def read_cells(self, cells: Sequence[CellRef]) -> dict[CellRef, CellFact]:
        rows = (self._db.cell.get(_key(cell)) for cell in sorted(set(cells)))
        return {fact.cell: fact for row in rows if row is not None for fact in (self._fact(row),)}

    def lock_cells(self, cells: Sequence[CellRef]) -> dict[CellRef, CellFact]:
        return self.read_cells(cells)

    def start_attempts(self, attempts: Sequence[NewAttempt]) -> None:
        for new in attempts:
            self._db.attempt.put(
                {
                    "id": new.id,
                    "task_id": new.task_id,
                    "run_id": new.run_id,
                    "number": new.number,
                    "worker_id": new.worker_id,
                    "snapshot_id": new.snapshot_id,
                    "fence": new.fence,
                    "queued_at": new.queued_at,
                    "started_at": self._now,
                    "finished_at": None,
                    "outcome": None,
                    "error": None,
                    "traceback": None,
                    "inputs": as_stored(list(new.inputs)),
                    "log": new.log,
                    "pid": None,
                    "usage": None,
                }
            )

    def publish_cells(self, publications: Sequence[Publication]) -> None:
        ordered = sorted(publications, key=lambda publication: publication.cell)
        distinct((publication.cell for publication in ordered), "publish_cells")
        ids = self.intern(
            text for publication in ordered for text in (publication.fingerprint, publication.dependency_hash)
        )
        for publication in ordered:
            row = self._db.cell.get(_key(publication.cell))
            if row is None or row["fence"] != publication.fence:
                raise self._conflict(f"the cell {publication.cell} is not at fence {publication.fence}")
            if publication.confirms and row["data_version"] != publication.data_version:
                raise self._conflict(f"the cell {publication.cell} does not hold the version that is confirmed")
            self._db.cell.put(row | self._published(publication, ids))
            self._append_change(publication.cell)

    def _published(self, publication: Publication, ids: dict[str, int]) -> Row:
        row: Row = {
            "fingerprint_id": ids[publication.fingerprint],
            "dependency_hash_id": ids[publication.dependency_hash],
            "consumed_digest": publication.consumed_digest,
            "published_at": self._now,
            "published_attempt": publication.attempt_id,
            "published_run": publication.run_id,
            "last_outcome": "unchanged" if publication.confirms else "published",
            "last_attempt": publication.attempt_id,
            "last_attempt_at": self._now,
            "last_error": None,
        }
        if publication.confirms:
            return row
        return row | {
            "data_version": publication.data_version,
            "location": publication.location,
            "metadata": as_stored(publication.metadata),
            "version_at": self._now,
        }

    def note_attempts(self, notes: Sequence[CellAttempt]) -> None:
        ordered = sorted(notes, key=lambda note: note.cell)
        distinct((note.cell for note in ordered), "note_attempts")
        for note in ordered:
            row = self._db.cell.get(_key(note.cell))
            if row is None or row["fence"] != note.fence:
                continue
            self._db.cell.put(
                row
                | {
                    "last_outcome": note.outcome,
                    "last_attempt": note.attempt_id,
                    "last_attempt_at": self._now,
                    "last_error": optional_text(note.error),
                }
            )
            self._append_change(note.cell)

    def end_attempts(self, ends: Sequence[AttemptEnd]) -> None:
        distinct((end.id for end in ends), "end_attempts")
        for end in ends:
            row = self._db.attempt.get(end.id)
            if row is None or row["finished_at"] is not None:
                continue
            self._db.attempt.put(
                row
                | {
                    "finished_at": self._now,
                    "outcome": end.outcome.value,
                    "error": optional_text(end.error),
                    "traceback": optional_text(end.traceback),
                    "usage": as_stored(end.usage),
                }
            )

    def insert_checks(self, checks: Sequence[CheckRow]) -> None:
        for check in checks:
            row = {
                "attempt_id": check.attempt_id,
                "asset_id": check.cell.asset_id,
                "partition": check.cell.partition,
                "name": check.name,
                "passed": check.passed,
                "blocking": check.blocking,
                "detail": as_stored(check.detail),
                "at": self._now,
            }
            if self._db.check_result.key_of(row) not in self._db.check_result:
                self._db.check_result.put(row)
