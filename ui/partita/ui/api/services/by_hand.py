"""Marking and wiping by hand: previewed, done as shown, taken back.

Owns the order of these and their sentences. What is done is the core's.
"""

from __future__ import annotations

import shlex

from partita.core.changes.by_hand import ByHandPreview as Shown
from partita.core.changes.by_hand import preview_by_hand
from partita.core.decide.by_hand import ByHandRefused, MarkAs
from partita.core.duties.by_hand import Done, mark_failed, mark_materialized, take_back, wipe
from partita.core.store.values_actions import AuditId
from partita.ui.api.models.by_hand import ByHandAsset, ByHandConfirm, ByHandDone, ByHandPreview, ByHandRequest
from partita.ui.api.problems import NotWhatWasShown
from partita.ui.api.services.asset_views import ranges_text
from partita.ui.api.services.base import Backend
from partita.ui.api.services.words import plural


class ByHandService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def preview(self, request: ByHandRequest) -> ByHandPreview:
        """What it would change now. Changes nothing. Raises SelectionError, ByHandRefused."""
        return _view(self._look(request), request)

    def apply(self, request: ByHandConfirm) -> ByHandDone:
        """Does what was shown. Raises NotWhatWasShown when it would be other cells now, ByHandRefused."""
        shown = self._look(request)
        if shown.cell_count != request.confirm_cells:
            raise NotWhatWasShown(
                f"{request.confirm_cells} cells were confirmed, and it would be {shown.cell_count} now",
                rule="what is done is what was shown",
                fix="look at it again and confirm its count",
            )
        return self._told(self._do(shown, request))

    def undo(self, entry: int) -> ByHandDone:
        """Takes a mark or a wipe back. Raises ByHandRefused."""
        followed = self._backend.catalogs.active().automation_assets
        done = take_back(self._backend.store, AuditId(entry), who=self._backend.who, followed=followed)
        return self._told(done)

    def _look(self, request: ByHandRequest) -> Shown:
        catalog = self._backend.catalogs.active()
        with self._backend.store.read() as reader:
            shown = preview_by_hand(
                catalog,
                reader,
                request.verb,
                selection=request.selection,
                partitions=request.partitions,
                as_of=reader.now(),
            )
        if request.location is not None and shown.cell_count > 1:
            raise ByHandRefused(
                f"one location is given for {shown.cell_count} cells",
                rule="each cell has its own data",
                fix="mark them one by one, or leave the location out: then they are where they were",
            )
        return shown

    def _do(self, shown: Shown, request: ByHandConfirm) -> Done:
        store, who, reason = self._backend.store, self._backend.who, request.reason.strip()
        said = {"selection": request.selection, "partitions": request.partitions}
        targets = shown.targets()
        if request.verb == "materialized":
            mark = MarkAs(who, reason, request.data_version, request.location)
            followed = self._backend.catalogs.active().automation_assets
            return mark_materialized(store, targets, mark, said=said, followed=followed)
        if request.verb == "failed":
            cells = {target.cell: target.window for target in targets}
            return mark_failed(store, cells, who=who, reason=reason, said=said)
        return wipe(
            store, [target.cell for target in targets], who=who, reason=reason, said=said, with_data=request.data
        )

    def _told(self, done: Done) -> ByHandDone:
        self._backend.wake(done.channels)
        return ByHandDone(entry=done.entry, cells=done.cells, passed_over=done.passed_over)


def _view(shown: Shown, request: ByHandRequest) -> ByHandPreview:
    command = "wipe" if request.verb == "wipe" else f"mark {request.verb}"
    options = [f"--data-version {shlex.quote(request.data_version)}"] if request.data_version else []
    options += [f"--location {shlex.quote(request.location)}"] if request.location else []
    options += ["--data"] if request.data else []
    asked = f"{shlex.quote(request.selection)} --partitions {shlex.quote(request.partitions)}"
    return ByHandPreview(
        verb=request.verb,
        cells=shown.cell_count,
        sentence=_sentence(shown, with_data=request.data),
        assets=[
            ByHandAsset(
                key=one.key,
                cells=len(one.cells),
                partitions=ranges_text(one.space, one.cells) or "all",
                published=one.published,
                failed=one.failed,
            )
            for one in shown.assets
        ],
        cli=" ".join(["partita", command, asked, *options]),
    )


def _sentence(shown: Shown, *, with_data: bool) -> str:
    count, published = shown.cell_count, sum(one.published for one in shown.assets)
    cells = plural(count, "cell")
    counts = "counts" if count == 1 else "count"
    if not count:
        return "Nothing to wipe: no cell of it holds anything." if shown.verb == "wipe" else "No cell is chosen."
    if shown.verb == "wipe":
        become = "becomes" if count == 1 else "become"
        data = "stay where they are"
        if with_data:
            data = "can be collected after a day (`partita collect`), and until then this can be undone"
        return f"{cells} {become} missing; the data {data}, and nothing is made by itself."
    if shown.verb == "failed":
        return f"{cells} {counts} as failed; what is published of them ({published:,}) stays."
    return (
        f"{cells} {counts} as materialized by hand with the present code: {published:,} get another version, "
        f"{count - published:,} held nothing. Consumers follow."
    )
