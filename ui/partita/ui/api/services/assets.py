"""Assets, partitions, cells and the graph, read for people.

Owns the composition: definitions from the catalog, states from the board, facts from the tables. Never makes a list of all keys
of an asset: strips are buckets, pages are bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

import numpy as np

from partita.assets import AssetKey, CheckSpec, PartitaError, PartitionSet, UnknownPartition, select_assets
from partita.core.catalog import Catalog, CatalogAsset, set_of
from partita.core.catalog.dynamic import dynamic_parts
from partita.core.cells import STATES, HeldBack, Shown, counts_of
from partita.core.store.queries import api_assets as sql
from partita.core.store.queries import api_system
from partita.core.store.queries.api_freshness import POLICIES
from partita.core.store.queries.api_read import Row, now, rows
from partita.core.store.queries.identity_read import SET_ASIDE
from partita.core.store.queries.reader import Reader
from partita.ui.api.models import (
    AssetDetail,
    AssetList,
    AssetSummary,
    AutomationView,
    CellDetail,
    CheckTally,
    CheckView,
    CodeView,
    GraphEdge,
    GraphNode,
    GraphView,
    HeldBackView,
    LastCheck,
    PartitionItem,
    PartitionPage,
    PoolUseView,
    Problem,
    Resolved,
    RetryView,
    SetAsideView,
    Strip,
    Why,
)
from partita.ui.api.services import asset_views as views
from partita.ui.api.services.automation import condition_text
from partita.ui.api.services.base import Backend
from partita.ui.api.services.board import Board
from partita.ui.api.services.cells import CellService, one_partition
from partita.ui.api.services.strips import parse_where, strip_of
from partita.ui.api.services.verdict import verdict_of
from partita.ui.api.services.windows import window_of
from partita.ui.api.services.words import scheme_text


class AssetService:
    def __init__(self, backend: Backend, board: Board) -> None:
        self._backend = backend
        self._board = board
        self._cells = CellService(backend)

    # ------------------------------------------------------------------ lists

    def find(self, *, select: str | None = None, search: str | None = None) -> AssetList:
        """`select` in the selection grammar; `search` is a part of a key, group, owner or description."""
        catalog = self._backend.catalogs.active()
        keys = [key for key in _selected(catalog, select) if _matches(catalog.assets[key], search)]
        _, shown = self._board.view(catalog, keys)
        with self._backend.store.read() as reader:
            facts = _Facts(reader, catalog, keys)
        return AssetList(assets=[_summary(catalog, key, shown[key], facts) for key in keys], total=len(keys))

    def graph(self, *, select: str | None = None) -> GraphView:
        catalog = self._backend.catalogs.active()
        keys = _selected(catalog, select)
        _, shown = self._board.view(catalog, keys)
        errors = self._load_errors(catalog)
        inside = set(keys)
        return GraphView(
            nodes=[_node(catalog, key, shown[key], errors) for key in keys],
            edges=[
                GraphEdge(from_key=one.upstream, to=key, input=one.name, mapping=views.mapping_text(one.spec.mapping))
                for key in keys
                for one in catalog.assets[key].inputs
                if one.upstream in inside
            ],
            hash="-".join(f"{location}.{snapshot}" for location, snapshot in catalog.vector),
        )

    # ------------------------------------------------------------------ one asset

    def detail(self, key: str) -> AssetDetail:
        catalog, at, asset, shown = self._look(key)
        definition, spec = catalog.definition(asset.key), asset.spec
        with self._backend.store.read() as reader:
            facts = _Facts(reader, catalog, [asset.key])
            names = [check.name for check in views.checks_of(catalog, asset)]
            found = (
                rows(reader, sql.FAILING_CHECKS, asset_id=asset.id, names=names, depth=_RESULTS_READ) if names else []
            )
            failing = {row["name"]: row for row in found}
            aside = rows(reader, SET_ASIDE, asset_id=asset.id)
            policies = rows(reader, POLICIES, asset_id=asset.id) if spec.freshness is not None else []
            late = [now(reader) - row["state_since"] for row in policies if row["state"] == "late"]
        summary = _summary(catalog, asset.key, shown, facts)
        upstream, downstream = views.neighbours(catalog, asset)
        return AssetDetail(
            **summary.model_dump(exclude={"checks"}),
            checks=[_check(check, facts, failing) for check in views.checks_of(catalog, asset)],
            verdict=verdict_of(
                summary.counts,
                partitioned=definition is not None,
                # Cells of two dimensions are no hours or months.
                cadence=None if summary.partitions_kind == "multi" else summary.cadence,
                external=asset.external,
                fresh_to=summary.fresh_to,
                next_due_at=views.next_due(definition, at),
                now=at,
                stale_because=self._stale_because(asset, shown),
                load_error=summary.load_error,
                late_since=at - late[0] if late else None,
            ),
            upstream=upstream,
            downstream=downstream,
            partitions=views.partitions_view(definition, shown.space),
            set_aside=[
                SetAsideView(
                    scheme=scheme_text(row["scheme"]),
                    present=row["present"],
                    cells=row["cells"],
                    moved_at=row["moved_at"],
                )
                for row in aside
            ],
            retries=RetryView(
                max_retries=spec.retries.max_retries,
                delay_s=spec.retries.delay_s,
                backoff=spec.retries.backoff,
                max_delay_s=spec.retries.max_delay_s,
            ),
            timeout_s=spec.timeout_s,
            pools=[PoolUseView(name=use.name, slots=use.slots) for use in spec.pools],
            batch=views.batch_text(spec.batch),
            io=spec.io,
            code=CodeView(
                fingerprint=spec.fingerprint or None,
                file=spec.source.file if spec.source else None,
                line=spec.source.line if spec.source else None,
                function=_function(catalog, asset),
            ),
            params_schema=dict(spec.params_schema) if spec.params_schema is not None else None,
            metadata=dict(spec.metadata),
        )

    def strip(
        self, key: str, *, lo: int | None = None, hi: int | None = None, buckets: int = 400, where: str | None = None
    ) -> Strip:
        _, _, _, shown = self._look(key)
        return strip_of(shown, lo=lo, hi=hi, buckets=buckets, where=parse_where(where))

    def partitions(
        self, key: str, *, state: str | None = None, offset: int = 0, limit: int = 100, partitions: str | None = None
    ) -> PartitionPage:
        """One page, in order of the definition; `partitions` narrows by a selection text."""
        _, _, asset, shown = self._look(key)
        chosen = shown.space.select(partitions, partial(_in_state, shown)) if partitions else shown.space.all()
        if state is not None:
            chosen &= _in_state(shown, state)
        page = list(chosen.page(offset, limit))
        keys = [str(one) for one in shown.space.keys_of(page)]
        with self._backend.store.read() as reader:
            found = {row["partition"]: row for row in rows(reader, sql.CELLS, asset_id=asset.id, partitions=keys)}
        items = [_item(shown, at, one, found.get(one)) for at, one in zip(page, keys, strict=True)]
        return PartitionPage(total=len(chosen), items=items)

    def resolve(self, key: str, partitions: str) -> Resolved:
        """What a text selects; a text that does not parse is an answer, because somebody is still typing it."""
        _, _, _, shown = self._look(key)
        try:
            chosen = shown.space.select(partitions, partial(_in_state, shown))
        except PartitaError as wrong:
            problem = Problem(what=wrong.what, rule=wrong.rule, fix=wrong.fix)
            return Resolved(count=0, ranges_text="", counts={}, error=problem)
        codes = [shown.codes[lo:hi] for lo, hi in chosen.ranges]
        return Resolved(
            count=len(chosen),
            ranges_text=views.ranges_text(shown.space, chosen),
            counts=counts_of(np.concatenate(codes)) if codes else {},
            error=None,
        )

    def cell(self, key: str, partition: str) -> CellDetail:
        return self._cells.detail(key, partition)

    def why(self, key: str, partition: str) -> Why:
        return self._cells.why(key, partition)

    def held_back_view(self, key: str) -> HeldBackView:
        return self._cells.held_back_view(key)

    def held_back(self, key: str) -> HeldBack:
        return self._cells.held_back(key)

    def partition_of(self, key: str, text: str) -> str:
        """The stored key that a person means; raises when it is none or several."""
        catalog, _, asset, shown = self._look(key)
        try:
            return one_partition(shown.space, text, asset.key)
        except UnknownPartition:
            if dynamic_parts(catalog.definition(asset.key)) and text:
                return text  # it may be history: who asks about it says what is known of it
            raise

    # ------------------------------------------------------------------ parts

    def _look(self, key: str) -> tuple[Catalog, datetime, CatalogAsset, Shown]:
        catalog = self._backend.catalogs.active()
        asset = catalog.asset(key)
        at, shown = self._board.view(catalog, [asset.key])
        return catalog, at, asset, shown[asset.key]

    def _load_errors(self, catalog: Catalog) -> Mapping[AssetKey, str]:
        with self._backend.store.read() as reader:
            return _load_errors(reader, catalog)

    def _stale_because(self, asset: CatalogAsset, shown: Shown) -> str | None:
        stale = np.flatnonzero(shown.codes == STATES.index("stale"))
        if not len(stale):
            return None
        told = self._cells.why(asset.key, shown.space.key_at(int(stale[0])))
        return next((one.text for one in told.reasons if one.code.startswith("stale_")), None)


_RESULTS_READ = 10_000  # of each check, to know which partitions fail it


class _Facts:
    """What the tables say about some assets, in a handful of statements."""

    def __init__(self, reader: Reader, catalog: Catalog, keys: Sequence[AssetKey]) -> None:
        ids = [catalog.assets[key].id for key in keys]
        self.materialized_at: Mapping[int, datetime] = {
            row["asset_id"]: row["at"] for row in rows(reader, sql.LAST_MATERIALIZED, ids=ids)
        }
        checks = [
            (catalog.assets[key].id, check.name)
            for key in keys
            for check in views.checks_of(catalog, catalog.assets[key])
        ]
        found = rows(reader, sql.LAST_CHECKS, ids=[one for one, _ in checks], names=[name for _, name in checks])
        self.checks: Mapping[tuple[int, str], Row] = {(row["asset_id"], row["name"]): row for row in found}
        self.load_errors = _load_errors(reader, catalog)


def _load_errors(reader: Reader, catalog: Catalog) -> Mapping[AssetKey, str]:
    modules = {row["name"]: row["modules"] for row in rows(reader, api_system.LOCATIONS)}
    return views.load_errors(modules, catalog)


def _selected(catalog: Catalog, select: str | None) -> Sequence[AssetKey]:
    return select_assets(catalog.graph, select) if select and select.strip() else catalog.graph.order


def _matches(asset: CatalogAsset, search: str | None) -> bool:
    if not search:
        return True
    spec = asset.spec
    haystack = " ".join((asset.key, spec.group, spec.owner or "", spec.description, *spec.kinds)).casefold()
    return all(part in haystack for part in search.casefold().split())


def _summary(catalog: Catalog, key: AssetKey, shown: Shown, facts: _Facts) -> AssetSummary:
    asset, definition = catalog.assets[key], catalog.definition(key)
    spec = asset.spec
    results = [facts.checks.get((asset.id, check.name)) for check in views.checks_of(catalog, asset)]
    return AssetSummary(
        id=asset.id,
        key=key,
        location=asset.location,
        group=spec.group,
        owner=spec.owner,
        kinds=list(spec.kinds),
        tags=spec.tags,
        description=spec.description,
        external=asset.external,
        partitions_kind=views.kind_of(definition),
        cadence=views.cadence_of(definition),
        partition_count=shown.space.size,
        counts=shown.counts(),
        automation=None if (said := condition_text(asset)) is None else AutomationView(condition=said),
        checks=CheckTally(
            passed=sum(1 for one in results if one is not None and one["passed"]),
            failed=sum(1 for one in results if one is not None and not one["passed"]),
            total=len(results),
        ),
        last_materialized_at=facts.materialized_at.get(asset.id),
        load_error=facts.load_errors.get(key),
        fresh_to=views.fresh_to(shown.space, shown.codes),
    )


def _node(catalog: Catalog, key: AssetKey, shown: Shown, errors: Mapping[AssetKey, str]) -> GraphNode:
    asset = catalog.assets[key]
    return GraphNode(
        key=key,
        group=asset.spec.group,
        location=asset.location,
        external=asset.external,
        kinds=list(asset.spec.kinds),
        counts=shown.counts(),
        partition_count=shown.space.size,
        load_error=errors.get(key),
    )


def _check(check: CheckSpec, facts: _Facts, failing: Mapping[str, Row]) -> CheckView:
    bad = failing.get(check.name)
    row = next((one for (_, name), one in facts.checks.items() if name == check.name), None)
    return CheckView(
        name=check.name,
        blocking=check.blocking,
        description=check.description,
        last=None if row is None else _last(row),
        failing=0 if bad is None else bad["failing"],
        last_failing=None if bad is None else _last(bad),
    )


def _last(row: Row) -> LastCheck:
    return LastCheck(passed=row["passed"], at=row["at"], partition=row["partition"], detail=dict(row["detail"]))


def _function(catalog: Catalog, asset: CatalogAsset) -> str | None:
    for stored in catalog.snapshots:
        if stored.location_id == asset.location_id:
            return next((step.function for step in stored.snapshot.steps if step.id == asset.step.id), None)
    return None


def _in_state(shown: Shown, state: str) -> PartitionSet:
    """The cells that show a state; none for a state that cells do not show."""
    if state not in STATES:
        return PartitionSet.empty()
    return set_of(shown.codes == STATES.index(state))


def _item(shown: Shown, ordinal: int, key: str, row: Row | None) -> PartitionItem:
    window = window_of(shown.space, ordinal)
    error = row["last_error"] if row is not None else None
    return PartitionItem(
        partition=key,
        dimensions=shown.space.dimension_keys_at(ordinal),
        window_start=window.covers_from if window is not None else None,
        window_end=window.covers_to if window is not None else None,
        due_at=window.due_at if window is not None else None,
        state=STATES[int(shown.codes[ordinal])],
        data_version=row["data_version"] if row is not None else None,
        location=row["location"] if row is not None else None,
        published_at=row["published_at"] if row is not None else None,
        reason=error.strip().partition("\n")[0] if error else None,
    )
