"""The tenth part of the store port: freshness policies, the times in which they were broken, and what happened to cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_freshness import Freshness, FreshnessUpdate, LateSpan, TaskStory
    from partita.core.store.values_ids import AssetId, CellRef


class FreshnessTx(Protocol):
    """Operations of `Tx` on freshness."""

    def set_freshness(self, wanted: Mapping[AssetId, str], unwanted: Collection[AssetId]) -> None:
        """From now on these policies hold: new ones from now, changed ones too, to be looked at at once. The unwanted ones go;
        what was late stays recorded."""

    def take_due_freshness_skip(self, limit: int) -> list[Freshness]:
        """Locks those whose `next_at` has come, and those that are late; the ones looked at longest ago first."""

    def freshness_of(self, assets: Collection[AssetId]) -> dict[AssetId, Freshness]:
        """No lock."""

    def late_spans(self, assets: Collection[AssetId], after: datetime) -> dict[AssetId, list[LateSpan]]:
        """Those that have not ended, or ended after; by `from_at`. No lock."""

    def write_freshness(self, updates: Sequence[FreshnessUpdate]) -> None:
        """Of rows that this transaction holds; `looked_at` becomes now. Conflict when one is gone."""

    def put_late_spans(self, spans: Sequence[LateSpan]) -> None:
        """Inserts, or replaces the end and what was spent of the one that began then."""

    def prune_late_spans(self, assets: Collection[AssetId], before: datetime) -> None:
        """Deletes what ended before."""

    def read_began(self, cells: Collection[CellRef]) -> dict[CellRef, datetime]:
        """When the attempt began, and read its inputs, that made what each of these holds; of those that no attempt made nothing.
        No lock."""

    def failed_checks(self, cells: Collection[CellRef]) -> dict[CellRef, datetime]:
        """Those of the cells of whose last attempt a check did not pass, with when. No lock."""

    def stories(self, cells: Collection[CellRef], tasks: int) -> dict[CellRef, list[TaskStory]]:
        """Of each cell the newest tasks that owned it, up to so many, oldest first, with their attempts and waits. No lock."""
