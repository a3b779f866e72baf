"""Named jobs in memory."""

from __future__ import annotations

from dataclasses import asdict

from partita.core.store.encode import as_stored, clean_text, optional_text
from partita.core.store.memory.base import MemoryPart
from partita.core.store.memory.tables import Row
from partita.core.store.values_jobs import Job


class JobsPart(MemoryPart):
    def insert_job(self, job: Job) -> bool:
        if job.name in self._db.job:
            return False
        self._db.job.put(_row(job))
        return True

    def lock_job(self, name: str) -> Job | None:
        row = self._db.job.get(name)
        return None if row is None else Job(**row)

    def write_job(self, job: Job) -> None:
        if job.name not in self._db.job:
            raise self._conflict(f"job {job.name} is gone")
        self._db.job.put(_row(job))

    def delete_job(self, name: str) -> bool:
        if name not in self._db.job:
            return False
        self._db.job.delete(name)
        return True

    def jobs(self) -> list[Job]:
        return sorted((Job(**row) for row in self._db.job), key=lambda job: job.name)

    def due_jobs(self, limit: int) -> list[Job]:
        due = [Job(**row) for row in self._db.job if row["next_at"] is not None and row["next_at"] <= self._now]
        return sorted(due, key=lambda job: (job.next_at, job.name))[:limit]


def _row(job: Job) -> Row:
    return asdict(job) | {
        "request": as_stored(job.request),
        "tags": as_stored(job.tags),
        "lane": clean_text(job.lane),
        "created_by": clean_text(job.created_by),
        "paused_by": optional_text(job.paused_by),
        "pause_reason": optional_text(job.pause_reason),
        "last_note": optional_text(job.last_note),
    }
