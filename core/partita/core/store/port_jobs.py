"""A part of the store port: named jobs. A job is locked before everything that its tick launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_jobs import Job


class JobsTx(Protocol):
    """Operations of `Tx` on jobs."""

    def insert_job(self, job: Job) -> bool:
        """False when there is one of this name; then nothing changes."""

    def lock_job(self, name: str) -> Job | None: ...

    def write_job(self, job: Job) -> None:
        """All of a job that this transaction has locked. Raises Conflict when it is gone."""

    def delete_job(self, name: str) -> bool: ...

    def jobs(self) -> list[Job]:
        """All of them by name. No lock."""

    def due_jobs(self, limit: int) -> list[Job]:
        """Those whose next tick has come, earliest first. No lock."""
