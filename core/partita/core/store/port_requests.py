"""The third part of the store port: automatic requests above the limit, and faults of automation.

Whoever writes a held request holds `lock_requests`, and takes it before the owners of cells: then none waits in a circle.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from partita.core.store.values_ids import AssetId, RunId
    from partita.core.store.values_requests import Fault, FaultKind, HeldContent, HeldRequest, RequestId, RequestState


class RequestsTx(Protocol):
    """Operations of `Tx` on requests that wait for approval, and on faults."""

    def lock_requests(self) -> None:
        """Waits for every other transaction that writes held requests (an advisory lock, held to the end)."""

    def held_requests(self, assets: Collection[AssetId]) -> list[HeldRequest]:
        """The requests that await a person and hold cells of one of these assets, by id."""

    def read_held_request(self, request_id: RequestId) -> HeldRequest | None: ...

    def insert_held_request(self, content: HeldContent, keep_s: float) -> RequestId: ...

    def replace_held_request(self, request_id: RequestId, content: HeldContent, keep_s: float) -> None:
        """New content, a higher revision and a new time to live. Conflict when it has ended."""

    def end_held_request(
        self, request_id: RequestId, state: RequestState, *, by: str, reason: str, run_id: RunId | None = None
    ) -> None:
        """Its body is dropped. Conflict when it has ended already, Violation for a rejection without a reason."""

    def overdue_held_requests(self) -> list[HeldRequest]:
        """Those that have waited past their time, by id."""

    def forget_held_requests(self, keep_s: float) -> int:
        """Deletes those that ended longer ago; returns how many."""

    def caused_cells(self, of: Collection[tuple[RunId, AssetId]]) -> dict[tuple[RunId, AssetId], int]:
        """How many cells of an asset automation asked for because of a run; pairs without any are left out."""

    def add_caused_cells(self, counts: Mapping[tuple[RunId, AssetId], int]) -> dict[tuple[RunId, AssetId], int]:
        """Adds to them; returns what they are now, with what others have added meanwhile."""

    def forget_caused_cells(self, keep_s: float) -> int:
        """Deletes those that were last added to longer ago; returns how many."""

    def faults(self) -> list[Fault]:
        """All of them, by kind and id: there are few."""

    def write_faults(self, faults: Sequence[Fault]) -> None:
        """Inserts or replaces."""

    def clear_faults(self, keys: Collection[tuple[FaultKind, int]]) -> None: ...

    def release_faults(self) -> None:
        """Makes all faults due, and all todo rows that were put back until later: the definitions are other ones now."""
