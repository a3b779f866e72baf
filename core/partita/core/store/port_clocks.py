"""The fifth part of the store port: the clocks of automated assets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_clocks import Clock, ClockUpdate, Gathered
    from partita.core.store.values_ids import AssetId


class ClocksTx(Protocol):
    """Operations of `Tx` on clocks."""

    def set_clocks(self, wanted: Mapping[AssetId, str], unwanted: Collection[AssetId]) -> None:
        """Makes the clocks of these conditions, due at once and never looked at. One of another condition becomes due at once
        and keeps the rest; one of the same stays as it is. Those of `unwanted` are deleted."""

    def take_due_clocks_skip(self, limit: int) -> list[Clock]:
        """Locks the clocks that are due, earliest first, passing over those that another transaction holds."""

    def clocks_of(self, assets: Collection[AssetId]) -> dict[AssetId, Clock]:
        """The clocks of these assets. No lock."""

    def gather(self, gathered: Sequence[Gathered]) -> set[AssetId]:
        """Adds keys to what is pending of these clocks; the first of them says when they are looked at. Waits for looks that are
        under way. Returns the assets that have a clock."""

    def write_clocks(self, updates: Sequence[ClockUpdate]) -> None:
        """Of clocks that this transaction took."""
