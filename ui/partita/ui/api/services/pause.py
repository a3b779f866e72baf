"""Pausing and resuming: previewed, done as shown, listed.

Owns which assets a selection means: whole steps, for a task makes all of an atomic group. What a pause does is the core's.
"""

from __future__ import annotations

from collections.abc import Sequence

from partita.assets import select_assets
from partita.core.automation.catch_up import catch_up, missed, texts_of
from partita.core.catalog import Catalog
from partita.core.duties.pause import Paused, pause, resume
from partita.core.store.queries.api_read import Row, rows
from partita.core.store.queries.pause_read import OPEN_STEPS_OF_ASSETS, PAUSES
from partita.core.store.values import AssetId
from partita.core.store.values_actions import EVERYTHING
from partita.ui.api.models.pause import (
    MissedView,
    PauseConfirm,
    PausePreview,
    PauseRequest,
    PausesView,
    PauseVerb,
    PauseView,
)
from partita.ui.api.problems import NothingToDo, NotWhatWasShown
from partita.ui.api.services.base import Backend
from partita.ui.api.services.words import paused_text, plural


class PauseService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def active(self) -> PausesView:
        """What is paused now."""
        with self._backend.store.read() as reader:
            found = rows(reader, PAUSES)
        views = [_view(row) for row in found]
        return PausesView(
            everything=next((one for one in views if one.key is None), None),
            assets=[one for one in views if one.key is not None],
        )

    def preview(self, request: PauseRequest) -> PausePreview:
        """What it would change and meet now. Changes nothing. Raises SelectionError."""
        return self._look(request)[1]

    def apply(self, request: PauseConfirm) -> PausePreview:
        """Does what was shown. Raises NothingToDo, and NotWhatWasShown when it would be other assets now."""
        ids, told = self._look(request)
        if not ids:
            raise NothingToDo(
                told.sentence, rule=f"{request.verb} changes what is not so yet", fix="partita pause --list"
            )
        if len(told.assets) != request.confirm_assets:
            raise NotWhatWasShown(
                f"{request.confirm_assets} assets were confirmed, and it would be {len(told.assets)} now",
                rule="what is done is what was shown",
                fix="look at it again and confirm its count",
            )
        if request.verb == "resume" and (request.catch_up != "all" or request.pace is not None):
            catch_up(
                self._backend.store,
                self._backend.catalogs,
                ids,
                request.catch_up,
                pace=request.pace,
                who=self._backend.who,
            )
        do = pause if request.verb == "pause" else resume
        said: dict[str, object] = {"selection": request.selection or "everything"}
        if request.verb == "resume":
            said["catch_up"] = request.catch_up
        done: Paused = do(self._backend.store, ids, who=self._backend.who, reason=request.reason, said=said)
        self._backend.wake(done.channels)
        return told

    def _look(self, request: PauseRequest) -> tuple[list[AssetId], PausePreview]:
        catalog = self._backend.catalogs.active()
        everything = request.selection is None
        chosen = {EVERYTHING: ""} if everything else _steps_of(catalog, request.selection or "")
        with self._backend.store.read() as reader:
            paused = {row["asset_id"]: row for row in rows(reader, PAUSES)}
            wanted = [one for one in chosen if (one in paused) is (request.verb == "resume")]
            asked = None if everything else wanted
            states = (
                {row["state"]: row["n"] for row in rows(reader, OPEN_STEPS_OF_ASSETS, assets=asked)} if wanted else {}
            )
        running = states.pop("running", 0)
        keys = [] if everything else sorted(chosen[one] for one in wanted)
        waiting = sum(states.values())
        sentence = (
            _sentence(request.verb, everything, keys, waiting, running)
            if wanted
            else _nothing(request.verb, everything)
        )
        found = self._missed(catalog, wanted) if request.verb == "resume" and wanted else []
        if request.verb == "resume" and wanted:
            sentence += _missed_text(found) + _still(paused, wanted)
        option = "--all" if everything else f"'{request.selection}'"
        return wanted, PausePreview(
            verb=request.verb,
            everything=everything,
            sentence=sentence,
            assets=keys,
            waiting=waiting,
            running=running,
            missed=found,
            cli=f"partita {request.verb} {option}",
        )

    def _missed(self, catalog: Catalog, wanted: Sequence[AssetId]) -> list[MissedView]:
        with self._backend.store.begin(durable=False) as tx:
            now = tx.now()
            found = missed(tx, catalog, wanted, now)
        return [
            MissedView(asset=key, count=count, partitions=text) for key, count, text in texts_of(catalog, found, now)
        ]


def _missed_text(found: Sequence[MissedView]) -> str:
    cells = sum(one.count for one in found)
    if not cells:
        return ""
    return f" It missed {plural(cells, 'partition')} of {plural(len(found), 'asset')}."


def _steps_of(catalog: Catalog, selection: str) -> dict[AssetId, str]:
    keys = select_assets(catalog.graph, selection)
    own = [catalog.assets[key] for key in keys if key in catalog.assets and not catalog.assets[key].external]
    return {member.id: member.key for asset in own for member in catalog.steps[asset.step]}


def _sentence(verb: PauseVerb, everything: bool, keys: Sequence[str], waiting: int, running: int) -> str:
    what = "everything" if everything else plural(len(keys), "asset")
    if verb == "resume":
        return f"Resume {what}: {plural(waiting, 'task')} may start, and automation goes on."
    ends = "ends as it will" if running == 1 else "end as they will"
    waits = f"{plural(waiting, 'open task')} {'waits' if waiting == 1 else 'wait'}"
    return f"Pause {what}: {waits}, {plural(running, 'running task')} {ends}, automation asks for nothing."


def _nothing(verb: PauseVerb, everything: bool) -> str:
    what = "Everything" if everything else "All of it"
    return f"{what} is paused already." if verb == "pause" else "Nothing of it is paused."


def _still(paused: dict[AssetId, Row], wanted: Sequence[AssetId]) -> str:
    left = [row for asset_id, row in paused.items() if asset_id not in wanted]
    if any(row["asset_id"] == EVERYTHING for row in left):
        return " Everything is paused besides: partita resume --all ends that."
    if EVERYTHING in wanted and left:
        return f" {plural(len(left), 'asset')} paused by {'itself' if len(left) == 1 else 'themselves'} stay so."
    return ""


def _view(row: Row) -> PauseView:
    evidence = {"asset": row["asset_id"], "by": row["paused_by"], "at": row["paused_at"], "why": row["reason"]}
    return PauseView(
        key=row["key"], by=row["paused_by"], at=row["paused_at"], reason=row["reason"], text=paused_text(evidence)
    )
