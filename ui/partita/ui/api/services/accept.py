"""Accepting changed code instead of rebuilding: previewed, applied as shown, taken back, listed.

Owns the order of these. What is accepted is the core's.
"""

from __future__ import annotations

from typing import Any

from partita.core.changes import AcceptPreview, CodeChange, preview_acceptance
from partita.core.duties.accept import Accepted, accept, take_back
from partita.core.store.queries.accept_read import ACCEPTANCE, ACCEPTANCES
from partita.core.store.queries.api_assets import CELL
from partita.core.store.queries.api_read import one, rows
from partita.core.store.values_accept import AcceptanceId
from partita.ui.api.models import (
    AcceptanceView,
    AcceptConfirm,
    AcceptedView,
    AcceptRequest,
    AcceptView,
    acceptance_view,
)
from partita.ui.api.problems import NotWhatWasShown
from partita.ui.api.services.base import Backend
from partita.ui.api.services.cells import code_change_of
from partita.ui.api.services.change_views import accept_view


class AcceptService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def preview(self, selection: str, partitions: str | None) -> AcceptPreview:
        """What would be accepted now. Changes nothing."""
        catalog = self._backend.catalogs.active()
        with self._backend.store.read() as reader:
            return preview_acceptance(catalog, reader, selection=selection, partitions=partitions, as_of=reader.now())

    def view(self, request: AcceptRequest) -> AcceptView:
        """The preview for people, with the functions that changed."""
        shown = self.preview(request.selection, request.partitions)
        return accept_view(shown, self._changes(shown))

    def confirm(self, request: AcceptConfirm) -> AcceptedView:
        """Records what was shown. Raises NotWhatWasShown when it is not what would be recorded now, AcceptRefused."""
        shown = self.preview(request.selection, request.partitions)
        if shown.cell_count != request.confirm_cells:
            raise NotWhatWasShown(
                f"{request.confirm_cells} cells were confirmed, and {shown.cell_count} would be accepted now",
                rule="what is recorded is what was shown",
                fix="look at it again and confirm its count",
            )
        return _accepted(self.apply(shown, request.reason))

    def undo(self, acceptance_id: int) -> AcceptedView:
        """Takes one back. Raises AcceptRefused."""
        return _accepted(self.take_back(acceptance_id))

    def listed(self, limit: int) -> list[AcceptanceView]:
        """The newest acceptances."""
        return [acceptance_view(row) for row in self.recent(limit)]

    def _changes(self, shown: AcceptPreview) -> dict[str, CodeChange]:
        """How the code changed that made the first cell of each asset."""
        catalog = self._backend.catalogs.active()
        found: dict[str, CodeChange] = {}
        with self._backend.store.read() as reader:
            for asset in shown.assets:
                if asset.code:
                    cell = {"asset_id": asset.asset_id, "partition": asset.space.key_at(asset.cells.first)}
                    change = code_change_of(self._backend, catalog.assets[asset.key], one(reader, CELL, **cell))
                    if change is not None:
                        found[asset.key] = change
        return found

    def apply(self, shown: AcceptPreview, reason: str) -> Accepted:
        """Records what was shown. Raises AcceptRefused."""
        request = {"selection": shown.selection, "partitions": shown.partitions, "as_of": shown.as_of.isoformat()}
        done = accept(self._backend.store, shown.targets(), who=self._backend.who, reason=reason, request=request)
        self._backend.wake(done.channels)
        return done

    def take_back(self, acceptance_id: int) -> Accepted:
        """Restores what was recorded before. Raises AcceptRefused."""
        done = take_back(self._backend.store, AcceptanceId(acceptance_id), who=self._backend.who)
        self._backend.wake(done.channels)
        return done

    def found(self, acceptance_id: int) -> dict[str, Any] | None:
        """One acceptance; None when there is none of this id."""
        with self._backend.store.read() as reader:
            row = one(reader, ACCEPTANCE, id=acceptance_id)
        return None if row is None else dict(row)

    def recent(self, limit: int) -> list[dict[str, Any]]:
        """The newest acceptances."""
        with self._backend.store.read() as reader:
            return [dict(row) for row in rows(reader, ACCEPTANCES, limit=limit)]


def _accepted(done: Accepted) -> AcceptedView:
    return AcceptedView(id=done.id, cells=done.cells, passed_over=done.passed_over)
