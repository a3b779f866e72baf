"""One cell, in full: what it holds, why it shows its state, what it was made from, and who tried.

Owns the composition; the reasons are the core's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from partita.assets import PartitionSet, PartitionSpace, SelectionError, UnknownPartition, split_key
from partita.assets.partitions.multi import ProductSpace
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.cells import CellReason, HeldBack, Statuses, held_back
from partita.core.cells import Why as CoreWhy
from partita.core.cells import why as explain
from partita.core.changes import CodeChange, code_change
from partita.core.decide.dynamic import EXPIRED
from partita.core.decide.traces import trace_of
from partita.core.store.queries import api_assets as sql
from partita.core.store.queries import api_runs
from partita.core.store.queries.api_read import Row, now, one, rows
from partita.core.store.queries.reader import Reader
from partita.core.store.values import RunId, WaitReason
from partita.ui.api.models import CellAddress, CellDetail, HeldBackView, InputView, OpenTask, Published, Reason, Why
from partita.ui.api.services import run_views
from partita.ui.api.services.approvals import approval_reason
from partita.ui.api.services.asset_views import ranges_text
from partita.ui.api.services.base import Backend
from partita.ui.api.services.change_views import code_change_view
from partita.ui.api.services.deadlines import deadline_of, late_reason
from partita.ui.api.services.dynamic import ended_keys, how_to_add
from partita.ui.api.services.waits import why_it_waits
from partita.ui.api.services.windows import window_of
from partita.ui.api.services.words import plural, wiped_text

_ATTEMPTS_SHOWN = 50
_CHECKS_SHOWN = 200
_CODE_CHANGED = "its code changed"  # as the core's reason says it


class CellService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def why(self, key: str, partition: str) -> Why:
        catalog = self._backend.catalogs.active()
        asset = catalog.asset(key)
        with self._backend.store.read() as reader:
            told = _with_wipe(_explained(catalog, reader, asset, partition), reader, asset, partition)
            task = _open_task(reader, asset, partition)
            row = one(reader, sql.CELL, asset_id=asset.id, partition=partition)
            late = late_reason(deadline_of(reader, asset.id, partition), now(reader))
            approval = approval_reason(reader, asset.id, partition)
            space = catalog.space(asset.key, now(reader))
        ordinal = space.find(partition)
        change = _code_change(self._backend, asset, row, told.reasons)
        sentence = told.sentence if change is None else told.sentence.replace(_CODE_CHANGED, _told(change), 1)
        if task is not None and task.reason is not None:
            paused = task.reason.code == WaitReason.PAUSED  # told as a sentence of its own, the others of the task
            sentence = f"{sentence}; {task.reason.text if paused else f'the task {task.reason.text}'}"
        reasons = [_reason(one, change) for one in told.reasons]
        if approval is not None:
            sentence = f"{sentence}; {approval.text}"
            reasons.append(approval)
        if late is not None:
            sentence = f"{sentence}; it is late: {late.text.partition('; ')[0]}"
            reasons.append(late)
        return Why(
            state=told.state,
            sentence=sentence,
            reasons=reasons,
            open_task=task,
            window=None if ordinal is None else window_of(space, ordinal),
        )

    def held_back_view(self, key: str) -> HeldBackView:
        """The same for the contract."""
        found = self.held_back(key)
        return HeldBackView(
            key=found.key,
            reaches=found.reaches,
            sentence=found.sentence,
            path=[CellAddress(key=above, partition=partition) for above, partition in found.path],
        )

    def held_back(self, key: str) -> HeldBack:
        """How far the data of an asset reaches, and the one cell that holds it back."""
        catalog = self._backend.catalogs.active()
        with self._backend.store.read() as reader:
            return held_back(catalog, reader, now(reader), key)

    def detail(self, key: str, partition: str) -> CellDetail:
        catalog = self._backend.catalogs.active()
        asset = catalog.asset(key)
        with self._backend.store.read() as reader:
            at = now(reader)
            told = _explained(catalog, reader, asset, partition)
            space = catalog.space(asset.key, at)
            ordinal = space.find(partition)
            address = {"asset_id": asset.id, "partition": partition}
            row = one(reader, sql.CELL, **address)
            attempts = rows(reader, api_runs.ATTEMPTS_OF_CELL, **address, limit=_ATTEMPTS_SHOWN)
            checks = _checks(reader, asset, partition, attempts)
            # What is no partition any more reads nothing now; what it once read is in its attempts.
            inputs = (
                [] if ordinal is None else _inputs(Statuses(catalog, reader, at), catalog, asset, ordinal, told.reasons)
            )
            task = _open_task(reader, asset, partition)
            deadline = deadline_of(reader, asset.id, partition)
            approval = approval_reason(reader, asset.id, partition)
        window = None if ordinal is None else window_of(space, ordinal)
        change = _code_change(self._backend, asset, row, told.reasons)
        late = late_reason(deadline, at)
        due_at = None if window is None else window.due_at
        summaries = [run_views.attempt_summary(attempt) for attempt in attempts]
        return CellDetail(
            key=asset.key,
            partition=partition,
            dimensions=_dimensions(space, ordinal, partition),
            window_start=window.covers_from if window is not None else None,
            window_end=window.covers_to if window is not None else None,
            due_at=deadline["due_at"] if deadline is not None else due_at,
            state=told.state,
            reasons=[
                *(_reason(reason, change) for reason in told.reasons),
                *(one for one in (approval, late) if one is not None),
            ],
            code_change=code_change_view(change) if change is not None else None,
            published=_published(row),
            last_attempt=summaries[0] if summaries else None,
            attempts=summaries,
            inputs=inputs,
            checks=[run_views.check_result(check) for check in checks],
            open_task=task,
        )


def one_partition(space: PartitionSpace, text: str, asset: str) -> str:
    """The stored key of the one partition that a text means; raises SelectionError when it means several."""
    if space.find(text) is not None:
        return text
    if not text.strip():
        raise SelectionError(
            f"{asset} has {plural(space.size, 'partition')}",
            rule="this asks about one",
            fix=f"name one of {ranges_text(space, space.all())}" if space.size else "",
        )
    chosen = space.select(text)
    if len(chosen) != 1:
        raise SelectionError(
            f"{text!r} means {len(chosen)} partitions of {asset}",
            rule="this asks about one",
            fix=f"name one of {ranges_text(space, chosen)}" if chosen else "name one that exists",
        )
    return space.key_at(chosen.first)


def _explained(catalog: Catalog, reader: Reader, asset: CatalogAsset, partition: str) -> CoreWhy:
    """Why a cell is as it is; of a removed dynamic key, since when it is no partition. Raises UnknownPartition with the command
    that adds a key that never was."""
    try:
        return explain(catalog, reader, now(reader), asset.key, partition)
    except UnknownPartition as unknown:
        gone = ended_keys(reader, catalog, asset, partition)
        if gone:
            return _gone(reader, asset, partition, gone)
        fix = "; ".join(part for part in (unknown.fix, how_to_add(catalog, asset, partition)) if part)
        raise UnknownPartition(unknown.what, rule=unknown.rule, fix=fix) from unknown


def _with_wipe(told: CoreWhy, reader: Reader, asset: CatalogAsset, partition: str) -> CoreWhy:
    """Of a cell that holds nothing because somebody wiped it, who, when and why: it was there."""
    missing = next((one for one in told.reasons if one.code == "missing"), None)
    row = one(reader, sql.WIPED, asset_id=asset.id, partition=partition) if missing is not None else None
    if missing is None or row is None:
        return told
    text = wiped_text(row["who"], row["at"], row["reason"], row["id"] if row["undoable"] else None)
    return replace(
        told,
        sentence=told.sentence.replace(missing.text, text, 1),
        reasons=tuple(replace(one, text=text) if one is missing else one for one in told.reasons),
    )


def _gone(reader: Reader, asset: CatalogAsset, partition: str, gone: Sequence[Row]) -> CoreWhy:
    reasons = []
    for life in gone:
        expired = life["ended_by"] == EXPIRED
        how = "expired" if expired else f"was removed by {life['ended_by']}"
        text = f"key {life['key']!r} of {life['scheme']!r} {how} at {life['ended_at']:%Y-%m-%d %H:%M:%S} UTC"
        reasons.append(CellReason("removed", text))
    row = one(reader, sql.CELL, asset_id=asset.id, partition=partition)
    if row is not None and row["data_version"] is not None:
        reasons.append(CellReason("removed", "what it held and its history stay"))
    sentence = f"{asset.key} {partition} is no longer a partition: {'; '.join(reason.text for reason in reasons)}"
    return CoreWhy(asset.key, partition, "removed", sentence, tuple(reasons), None)


def _dimensions(space: PartitionSpace, ordinal: int | None, partition: str) -> dict[str, str]:
    if ordinal is not None:
        return space.dimension_keys_at(ordinal)
    keys = split_key(partition) if isinstance(space, ProductSpace) else None
    return dict(zip(space.dims, keys, strict=False)) if isinstance(space, ProductSpace) and keys else {}


def _open_task(reader: Reader, asset: CatalogAsset, partition: str) -> OpenTask | None:
    row = one(reader, sql.OPEN_TASK, asset_id=asset.id, partition=partition)
    return None if row is None else run_views.open_task(row, why_it_waits(reader, row))


def code_change_of(backend: Backend, asset: CatalogAsset, row: Row | None) -> CodeChange | None:
    """How the code that made a cell differs from the present one: the version that its run was pinned to tells.

    None when that is not known: the cell was accepted since, or the run is no longer kept.
    """
    if row is None or row["published_run"] is None:
        return None
    before = backend.catalogs.of_run(RunId(row["published_run"]))
    made = before.by_id.get(asset.id)
    if made is None or made.spec.fingerprint != row["fingerprint"]:
        return None
    then = next(one for one in before.snapshots if one.location == made.location)
    present = next(one for one in backend.catalogs.active().snapshots if one.location == asset.location)
    return code_change(then.snapshot, present.snapshot, asset.key, was=made.key)


def _code_change(
    backend: Backend, asset: CatalogAsset, row: Row | None, reasons: Sequence[CellReason]
) -> CodeChange | None:
    return code_change_of(backend, asset, row) if any(one.code == "stale_code" for one in reasons) else None


def _told(change: CodeChange) -> str:
    return f"{_CODE_CHANGED} ({change.text})"


def _reason(told: CellReason, change: CodeChange | None) -> Reason:
    upstream = None
    if told.upstream is not None and told.partition is not None:
        upstream = CellAddress(key=told.upstream, partition=told.partition)
    text = _told(change) if change is not None and told.code == "stale_code" else told.text
    return Reason(code=told.code, text=text, evidence=None, upstream=upstream)


def _published(row: Row | None) -> Published | None:
    if row is None or row["data_version"] is None:
        return None
    metadata = dict(row["metadata"] or {})
    counted = metadata.get("rows")
    return Published(
        data_version=row["data_version"],
        location=row["location"],
        at=row["published_at"],
        attempt_id=row["published_attempt"],
        run_id=row["published_run"],
        trace_id=None if row["cause"] is None else trace_of(row["published_run"], row["as_of"], row["cause"]),
        code_fingerprint=row["fingerprint"],
        metadata=metadata,
        rows=counted if isinstance(counted, int) else None,
    )


def _checks(reader: Reader, asset: CatalogAsset, partition: str, attempts: Sequence[Row]) -> list[Row]:
    """Of the newest attempt that ran any check on this cell."""
    found = rows(reader, api_runs.CHECKS_OF_ATTEMPTS, ids=[one["id"] for one in attempts], limit=_CHECKS_SHOWN)
    mine = [one for one in found if one["partition"] == partition and one["asset"] == asset.key]
    newest = max((one["attempt_id"] for one in mine), default=None)
    return [one for one in mine if one["attempt_id"] == newest]


def _inputs(
    statuses: Statuses, catalog: Catalog, asset: CatalogAsset, ordinal: int, reasons: Sequence[CellReason]
) -> list[InputView]:
    views = []
    for wanted in asset.inputs:
        edge = statuses.edge(asset, wanted)
        cells = PartitionSet.from_ranges(edge.ranges_of(ordinal))
        moved = [
            reason.partition or wanted.upstream
            for reason in reasons
            if reason.code == "stale_data" and reason.upstream == wanted.upstream
        ]
        space = catalog.space(wanted.upstream, statuses.as_of)
        views.append(
            InputView(name=wanted.name, upstream=wanted.upstream, cells=ranges_text(space, cells), moved=moved)
        )
    return views
