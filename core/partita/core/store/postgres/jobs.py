"""Named jobs."""

# ruff: noqa: S608 - statements are put together from constants of this package only

from __future__ import annotations

from typing import Any

from partita.core.store.encode import clean_text, optional_text, to_json
from partita.core.store.postgres.base import PostgresPart
from partita.core.store.sql import text
from partita.core.store.values_jobs import Job

_NAMES = (
    "name", "request", "lane", "created_by", "created_at", "tags", "cron", "tz", "max_cells", "max_active", "paused_by",
    "paused_at", "pause_reason", "next_at", "last_tick", "last_run", "last_note",
)  # fmt: skip
_COLUMNS = ", ".join(_NAMES)
_JSON = ("request", "tags")
_VALUES = ", ".join(f"CAST(:{name} AS jsonb)" if name in _JSON else f":{name}" for name in _NAMES)

INSERT_JOB = text(f"INSERT INTO job ({_COLUMNS}) VALUES ({_VALUES}) ON CONFLICT (name) DO NOTHING")
LOCK_JOB = text(f"SELECT {_COLUMNS} FROM job WHERE name = :name FOR UPDATE")
WRITE_JOB = text(f"UPDATE job SET ({_COLUMNS}) = ROW({_VALUES}) WHERE name = :name")
DELETE_JOB = text("DELETE FROM job WHERE name = :name")
JOBS = text(f"SELECT {_COLUMNS} FROM job ORDER BY name")
DUE_JOBS = text(f"SELECT {_COLUMNS} FROM job WHERE next_at <= now() ORDER BY next_at, name LIMIT :n")


class JobsPart(PostgresPart):
    def insert_job(self, job: Job) -> bool:
        return self._execute(INSERT_JOB, **_values(job)) == 1

    def lock_job(self, name: str) -> Job | None:
        found = self._rows(LOCK_JOB, name=name)
        return Job(*found[0]) if found else None

    def write_job(self, job: Job) -> None:
        self._expect(self._execute(WRITE_JOB, **_values(job)), 1, f"job {job.name}")

    def delete_job(self, name: str) -> bool:
        return self._execute(DELETE_JOB, name=name) == 1

    def jobs(self) -> list[Job]:
        return [Job(*row) for row in self._rows(JOBS)]

    def due_jobs(self, limit: int) -> list[Job]:
        return [Job(*row) for row in self._rows(DUE_JOBS, n=limit)]


def _values(job: Job) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(job, name) for name in _NAMES}
    return values | {
        "request": to_json(job.request),
        "tags": to_json(job.tags),
        "lane": clean_text(job.lane),
        "created_by": clean_text(job.created_by),
        "paused_by": optional_text(job.paused_by),
        "pause_reason": optional_text(job.pause_reason),
        "last_note": optional_text(job.last_note),
    }
