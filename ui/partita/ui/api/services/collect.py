"""Collecting data that were wiped with them: shown, then removed where the data are.

Owns the sentences. What may be removed is the core's (`duties/collect.py`); how, is the caller's, who is where the files are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from partita.core.duties.collect import Remove, collect, doomed
from partita.core.store.queries.api_read import rows
from partita.core.store.queries.collect_read import REFERRED
from partita.ui.api.models.collect import CollectDone, CollectPreview
from partita.ui.api.services.base import Backend
from partita.ui.api.services.words import plural


class CollectService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def preview(self, grace_s: float, limit: int) -> CollectPreview:
        """What would be removed now. Changes nothing."""
        found, wanted = doomed(self._backend.store, self._referred, limit)
        now = self._backend.store.run(lambda tx: tx.now(), durable=False)
        before = now - timedelta(seconds=grace_s)
        free = [one for one in found if one.file not in wanted]
        due = [one.file for one in free if one.since <= before or one.taken_at is not None]
        waiting = len(free) - len(due)
        text = f"{plural(len(due), 'file')} to remove; {waiting:,} wiped too lately, {len(wanted):,} still referred to."
        return CollectPreview(sentence=text, files=due, waiting=waiting, wanted=len(wanted))

    def collect(self, files: Sequence[str], grace_s: float, remove: Remove) -> CollectDone:
        """Removes those of the files that were shown to which nothing refers. What an attempt may be reading stays until it has
        ended."""
        done = collect(self._backend.store, files, self._referred, remove, grace_s=grace_s)
        if done.removed:
            detail = {"files": len(done.removed)}
            self._backend.store.run(lambda tx: tx.audit(self._backend.who, "collect", detail))
        return CollectDone(
            removed=len(done.removed),
            wanted=len(done.wanted),
            left=[f"{file}: {why}" for file, why in done.left],
        )

    def _referred(self, files: Sequence[str]) -> list[str]:
        with self._backend.store.read() as reader:
            return [row["location"] for row in rows(reader, REFERRED, files=list(files))]
