"""One cell, in full: what it holds, why it shows its state, what it was made from, and who tried.

Owns the composition; the reasons are the core's.
"""

from __future__ import annotations

from collections.abc import Sequence

from partita.assets import PartitionSet, PartitionSpace, SelectionError, UnknownPartition, split_key
from partita.assets.partitions.multi import ProductSpace
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.cells import CellReason, HeldBack, Statuses, held_back
from partita.core.cells import Why as CoreWhy
from partita.core.cells import why as explain
from partita.core.decide.dynamic import EXPIRED
from partita.core.store.queries import api_assets as sql
from partita.core.store.queries import api_runs
from partita.core.store.queries.api_read import Row, now, one, rows
from partita.core.store.queries.reader import Reader
from partita.ui.api.models import CellAddress, CellDetail, InputView, OpenTask, Published, Reason, Why
from partita.ui.api.services import run_views
from partita.ui.api.services.asset_views import ranges_text
from partita.ui.api.services.base import Backend
from partita.ui.api.services.dynamic import ended_keys, how_to_add
from partita.ui.api.services.words import plural

_ATTEMPTS_SHOWN = 50
_CHECKS_SHOWN = 200


class CellService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def why(self, key: str, partition: str) -> Why:
        catalog = self._backend.catalogs.active()
        asset = catalog.asset(key)
        with self._backend.store.read() as reader:
            told = _explained(catalog, reader, asset, partition)
            task = _open_task(reader, asset, partition)
        sentence = told.sentence
        if task is not None and task.reason is not None:
            sentence = f"{sentence}; the task {task.reason.text}"
        return Why(
            state=told.state,
            sentence=sentence,
            reasons=[_reason(one) for one in told.reasons],
            open_task=task,
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
        window = None if ordinal is None else space.window_at(ordinal)
        summaries = [run_views.attempt_summary(attempt) for attempt in attempts]
        return CellDetail(
            key=asset.key,
            partition=partition,
            dimensions=_dimensions(space, ordinal, partition),
            window_start=window.start if window is not None else None,
            window_end=window.end if window is not None else None,
            due_at=window.end if window is not None else None,
            state=told.state,
            reasons=[_reason(reason) for reason in told.reasons],
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
    return run_views.open_task(one(reader, sql.OPEN_TASK, asset_id=asset.id, partition=partition))


def _reason(told: CellReason) -> Reason:
    upstream = None
    if told.upstream is not None and told.partition is not None:
        upstream = CellAddress(key=told.upstream, partition=told.partition)
    return Reason(code=told.code, text=told.text, evidence=None, upstream=upstream)


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
