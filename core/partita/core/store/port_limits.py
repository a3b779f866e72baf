"""The fifth part of the store port: runs that take too long, and versions that no server has."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_definitions import Stranded
    from partita.core.store.values_ids import SnapshotId, WorkerId
    from partita.core.store.values_runs import Run, Taken


class LimitsTx(Protocol):
    """Operations of `Tx` on the limits of waiting."""

    def places_taken(self, queues: Collection[str], workers: Collection[WorkerId]) -> Taken:
        """What is QUEUED of these queues, and RUNNING on these workers. No lock."""

    def lock_overdue_runs_skip(self, limit: int) -> list[Run]:
        """Running ones whose timeout has come and was not seen yet, by that instant and id."""

    def note_gone_versions(self, snapshot_ids: Collection[SnapshotId]) -> None:
        """Since now, for those of which it is not known yet. `put_code_server` and `renew_code_server` take back those that the
        server has. Forgets others of which nothing waits any more: what was given up, or cancelled."""

    def stranded_runs(self, limit: int) -> list[Stranded]:
        """Runs with tasks that are QUEUED or UP_FOR_RETRY for the reason VERSION_GONE, and whose version is known to be gone: by
        run, location, snapshot. No lock."""
