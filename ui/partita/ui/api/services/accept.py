"""Accepting changed code instead of rebuilding: previewed, applied as shown, taken back, listed.

Owns the order of these. What is accepted is the core's.
"""

from __future__ import annotations

from typing import Any

from partita.core.changes import AcceptPreview, preview_acceptance
from partita.core.duties.accept import Accepted, accept, take_back
from partita.core.store.queries.accept_read import ACCEPTANCE, ACCEPTANCES
from partita.core.store.queries.api_read import one, rows
from partita.core.store.values_accept import AcceptanceId
from partita.ui.api.services.base import Backend


class AcceptService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def preview(self, selection: str, partitions: str | None) -> AcceptPreview:
        """What would be accepted now. Changes nothing."""
        catalog = self._backend.catalogs.active()
        with self._backend.store.read() as reader:
            return preview_acceptance(catalog, reader, selection=selection, partitions=partitions, as_of=reader.now())

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
