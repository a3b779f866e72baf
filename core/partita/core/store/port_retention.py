"""The tenth part of the store port: finished history on its way out, day by day.

A day is half-open, from its midnight to the next (UTC): a run belongs to the day on which it finished, with all that it had;
events and decisions of automation to the day on which they were written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_retention import ArchiveDay, ArchiveHolds


class RetentionTx(Protocol):
    """Operations of `Tx` on history. Cells, what they hold and who made them are not history: nothing here touches them."""

    def archive_under_way(self) -> ArchiveDay | None:
        """The day that is not done, locked; None when there is none. Waits for who holds it."""

    def archive_days(self, limit: int) -> Sequence[ArchiveDay]:
        """The days that were begun, the latest first. No lock."""

    def oldest_history(self) -> date | None:
        """The first day of which anything finished is here. (Of events the one with the lowest number is taken for the first.)"""

    def archive_holds(self, day: date) -> ArchiveHolds:
        """What may refer to history of this day. No lock."""

    def begin_archive(self, day: date) -> None:
        """The day is under way from now on, `exporting`; again for a day that was done. Raises Violation when another one is."""

    def note_exported(self, day: date, rows: Mapping[str, int]) -> None:
        """The files of the day are complete: its rows may go. Raises Conflict unless it was `exporting`."""

    def end_archive(self, day: date) -> None:
        """Nothing of the day is left. Raises Conflict unless it was `deleting`."""

    def delete_history(self, day: date, limit: int) -> int:
        """Deletes up to `limit` tasks of the day with all that belongs to them, or, when none is left, as many runs, then
        requests of automation, then events; returns how many of these. 0: nothing is left. Requests that led to no run stay:
        a person's refusal is one."""

    def forget_keys(self, keep_s: float, limit: int) -> int:
        """Deletes lives of dynamic keys that ended more than so many seconds ago and that no open run sees, the oldest first;
        returns how many."""
