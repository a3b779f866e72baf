"""The ninth part of the store port: reports from outside that were answered."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_reports import KnownReport, ReportKey


class ReportsTx(Protocol):
    """Operations of `Tx` on reports."""

    def read_reports(self, ids: Collection[ReportKey]) -> dict[ReportKey, KnownReport]:
        """Those of these that were answered and are not forgotten. No lock."""

    def insert_reports(self, reports: Sequence[KnownReport]) -> set[ReportKey]:
        """Inserts those that are new, or whose time is over; waits for who is inserting the same. Returns them."""

    def forget_reports(self, limit: int) -> int:
        """Deletes reports whose time is over, passing over locked ones; returns how many."""
