"""A part of the store port: files whose last pointer was wiped with its data, until they are removed."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_actions import AuditId, DoomedFile


class DoomedTx(Protocol):
    """Operations of `Tx` on doomed files. Locked after cells, in the order of their names."""

    def doom_files(self, files: Collection[str], audit_id: AuditId) -> None:
        """They may be removed once a while has passed. One that is doomed already counts from now on; one that is taken stays."""

    def spare_files(self, files: Collection[str]) -> set[str]:
        """They are wanted again. Waits for whoever takes them; returns those that are taken or gone, which stay so."""

    def take_doomed(self, files: Collection[str], grace_s: float) -> list[DoomedFile]:
        """Takes those of these that are doomed for so long, and since before any attempt that runs began; returns them with those
        of these that were taken before and are not removed, oldest first."""

    def doomed_files(self, limit: int) -> list[DoomedFile]:
        """All that are not removed, oldest first. No lock."""

    def settle_doomed(self, removed: Collection[str], wanted: Collection[str]) -> None:
        """Of files that were taken: these are removed, and those are referred to and no longer doomed."""
