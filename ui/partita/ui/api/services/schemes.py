"""A choice about a changed partition scheme: previewed beside the other choices, then done as shown.

Owns putting together what is known, and the words. What a choice does is the core's (`decide/scheme_choice.py`).
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from hashlib import sha256

from partita.core.catalog.schemes import scheme_hash
from partita.core.decide.scheme_choice import KINDS, SchemeChange, SchemeTarget
from partita.core.duties.schemes import CHANNELS, choose_scheme, show_choice
from partita.core.store.port import Tx
from partita.ui.api.models.identity import SchemeChoiceView, SchemeDoneView, SchemePreview, SchemeRequest
from partita.ui.api.problems import NotWhatWasShown
from partita.ui.api.services.base import Backend
from partita.ui.api.services.words import plural


class SchemeService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def preview(self, request: SchemeRequest) -> SchemePreview:
        """What each choice would do now. Changes nothing. Raises UnknownAsset, SchemeRefused."""
        return self._decide(request)[1]

    def apply(self, request: SchemeRequest, shown: str) -> SchemeDoneView:
        """Does what was shown. Raises NotWhatWasShown when it would be something else now, SchemeRefused."""
        change, told = self._decide(request)
        if told.hash != shown:
            raise NotWhatWasShown(
                "something moved since this was shown", rule="what is done is what was shown", fix="look again"
            )
        done = choose_scheme(self._backend.store, change, who=self._backend.who)
        self._backend.wake(CHANNELS)
        return SchemeDoneView(written=done.written, cancelled=done.cancelled, sentence=told.chosen.sentence)

    def _decide(self, request: SchemeRequest) -> tuple[SchemeChange, SchemePreview]:
        catalog = self._backend.catalogs.active()
        asset = catalog.asset(request.key)

        def read(tx: Tx) -> dict[str, tuple[SchemeChange, int]]:
            now = tx.now()
            target = SchemeTarget(
                asset_id=asset.id,
                key=asset.key,
                scheme=scheme_hash(asset.spec.partitions),
                definition=catalog.definition(asset.key),
                fingerprint=asset.spec.fingerprint,
                dependency_hash=asset.dependency_hash,
                partitions=catalog.space(asset.key, now).size,
                as_of=now,
            )
            return {kind: show_choice(tx, kind, target) for kind in KINDS}

        found = self._backend.store.run(read)
        views = {kind: _view(change, under_way) for kind, (change, under_way) in found.items()}
        change = found[request.choice][0]
        preview = SchemePreview(
            key=asset.key, chosen=views[request.choice], choices=list(views.values()), hash=_hash(change)
        )
        return change, preview


def _view(change: SchemeChange, under_way: int) -> SchemeChoiceView:
    held = sum(1 for one in change.aside if one.held)
    return SchemeChoiceView(
        choice=change.kind,
        kept=change.kept,
        back=len(change.back),
        aside=held,
        derived=len(change.derived),
        parts=change.parts,
        missing=change.missing,
        open=under_way,
        why=change.why,
        sentence=choice_text(
            kept=change.kept,
            back=len(change.back),
            aside=held,
            derived=len(change.derived),
            parts=change.parts,
            missing=change.missing,
            why=change.why,
        ),
    )


def choice_text(*, kept: int, back: int, aside: int, derived: int, parts: int, missing: int, why: str) -> str:
    """What a choice does, in one line."""
    told = [f"{kept:,} kept"]
    if back:
        told.append(f"{back:,} come back")
    if aside:
        told.append(f"{aside:,} set aside")
    if derived:
        told.append(f"{derived:,} derived of {parts:,}")
    told.append(f"{plural(missing, 'partition')} missing")
    return ", ".join(told) + (f"; nothing can be derived: {why}" if why else "")


def _hash(change: SchemeChange) -> str:
    """Over what would be written; not over the instant, nor over partitions that begin to exist."""
    said = [
        change.kind,
        change.target.asset_id,
        change.target.scheme,
        [[one.id, one.partition] for one in change.back],
        [[one.partition, one.held] for one in change.aside],
        [asdict(one) for one in change.derived],
    ]
    return sha256(json.dumps(said, sort_keys=True, default=_text).encode()).hexdigest()[:32]


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
