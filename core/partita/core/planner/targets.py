"""From a request to the cells in question: selection times partitions, and what upstream= and downstream= add.

Knows nothing of status except, for a request that wants missing or failed cells only, which cells drive the search
upwards. Cells are masks over ordinals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from partita.assets import AssetKey, PartitaError, PartitionSet, PartitionSpace, SelectionError, suggest
from partita.assets.partitions.multi import ProductSpace
from partita.assets.partitions.time import TimeSpace
from partita.assets.selection import select_assets
from partita.core.catalog import Catalog, mask_of, set_of
from partita.core.catalog.edges import Bools, everything, nothing
from partita.core.catalog.names import names_of
from partita.core.cells.stack import Stack
from partita.core.cells.status import AssetStatus, Statuses
from partita.core.planner.values import DEFAULT_MODE, MODES, PlanRequest
from partita.core.store.values import CellRef


@dataclass(frozen=True, slots=True)
class Targets:
    """`cells` per asset, and the assets that were only added by upstream= or downstream= (never forced)."""

    cells: Mapping[AssetKey, Bools]
    mode: tuple[str, ...]
    added: Mapping[AssetKey, Bools] = field(default_factory=dict)

    def mode_of_added(self) -> tuple[str, ...]:
        """`all` forces what was selected; what comes along is planned when it needs to be."""
        return DEFAULT_MODE if "all" in self.mode else self.mode


def targets_of_cells(catalog: Catalog, statuses: Statuses, cells: Iterable[CellRef], mode: tuple[str, ...]) -> Targets:
    """The targets of a request for these cells; those whose asset or partition is no more are left out."""
    found: dict[AssetKey, list[int]] = {}
    for cell in cells:
        asset = catalog.by_id.get(cell.asset_id)
        if asset is None or asset.external:
            continue
        at = names_of(statuses.space(asset.key)).find(cell.partition)
        if at >= 0:
            found.setdefault(asset.key, []).append(at)
    chosen: dict[AssetKey, Bools] = {}
    for key, ordinals in found.items():
        chosen[key] = np.zeros(statuses.space(key).size, dtype=np.bool_)
        chosen[key][ordinals] = True
    return Targets(chosen, mode)


def find_targets(catalog: Catalog, statuses: Statuses, request: PlanRequest) -> Targets:
    """The targets of a request; raises SelectionError, UnknownPartition or UnknownAsset."""
    unknown = [one for one in request.mode if one not in MODES]
    if unknown or not request.mode:
        raise SelectionError(
            f"mode {', '.join(map(repr, unknown)) or 'without a word'} is not known",
            rule=f"a mode is a union of {', '.join(MODES)}",
            fix=suggest(unknown[0], MODES) if unknown else "",
        )
    selected: dict[AssetKey, Bools] = {}
    narrowed = request.partitions is not None or request.from_key is not None or request.to_key is not None
    spaces = {
        key: statuses.space(key)
        for key in select_assets(catalog.graph, request.selection)
        if not catalog.assets[key].external
    }
    _refuse_words_for_none(spaces, request)
    for key, space in spaces.items():
        selected[key] = everything(space.size)
        if narrowed:
            selected[key] = mask_of(_partitions(key, space, request, statuses), space.size)
    targets = Targets(selected, request.mode)
    added: dict[AssetKey, Bools] = {}
    if request.upstream:
        _add_upstream(catalog, statuses, targets, added)
    if request.downstream:
        _add_downstream(catalog, statuses, targets, added)
    return Targets(selected, request.mode, added)


def wanted(status: AssetStatus | Stack, mode: tuple[str, ...]) -> Bools:
    """The cells that a mode asks for; of a stack row by row, or one row that stands for all."""
    if "all" in mode:
        return everything(status.space.size)
    asked: list[Bools] = [getattr(status, word) for word in ("missing", "failed", "stale") if word in mode]
    return reduce(np.logical_or, asked) if asked else nothing(status.space.size)


def with_status(status: AssetStatus, word: str) -> PartitionSet:
    """The partitions that a word of the selection grammar means: missing, stale (directly) or failed."""
    return set_of(wanted(status, (word,)))


def follows(mode: tuple[str, ...]) -> bool:
    """Whether a mode takes cells that become stale by the plan itself."""
    return "stale" in mode or "all" in mode


def _partitions(key: AssetKey, space: PartitionSpace, request: PlanRequest, statuses: Statuses) -> PartitionSet:
    if space.definition is None:
        return space.all()
    chosen = space.all()
    try:
        if request.partitions is not None and request.partitions.strip():
            chosen &= space.select(request.partitions, lambda word: with_status(statuses.direct(key), word))
        if (request.from_key is not None or request.to_key is not None) and _has_time(space):
            chosen &= space.span(request.from_key, request.to_key)
    except PartitaError as refused:
        raise SelectionError(f"partitions of {key!r}: {refused.what}", rule=refused.rule, fix=refused.fix) from refused
    return chosen


def _refuse_words_for_none(spaces: Mapping[AssetKey, PartitionSpace], request: PlanRequest) -> None:
    """Assets without partitions are taken whole beside others that have some; but words that narrow nothing at all were meant
    for other assets. Raises SelectionError."""
    if not spaces:
        return
    chosen = (request.partitions or "").strip()
    ends = [end for end in (request.from_key, request.to_key) if end is not None]
    if chosen and all(space.definition is None for space in spaces.values()):
        raise SelectionError(
            f"partitions {chosen!r} of {request.selection!r}: no asset of it has partitions",
            rule="partitions are chosen of assets that have some",
            fix="leave the partitions out, or select other assets",
        )
    if ends and not any(_has_time(space) for space in spaces.values()):
        raise SelectionError(
            f"from or to {ends[0]!r} of {request.selection!r}: no asset of it has partitions of time",
            rule="a span is chosen of assets with partitions of time",
            fix="leave the ends of the span out, or select other assets",
        )


def _has_time(space: PartitionSpace) -> bool:
    return isinstance(space, TimeSpace) or (isinstance(space, ProductSpace) and space.time_dim is not None)


def _add_upstream(catalog: Catalog, statuses: Statuses, targets: Targets, added: dict[AssetKey, Bools]) -> None:
    keys = catalog.graph.ancestors(*targets.cells)
    statuses.prefetch([*keys, *targets.cells], ancestors=False)
    for key in reversed(catalog.graph.sort({*keys, *targets.cells})):
        asset = catalog.assets[key]
        asked = _either(targets.cells.get(key), added.get(key))
        if asked is None or asset.external:
            continue
        if not follows(targets.mode):
            asked = asked & wanted(statuses.direct(key), targets.mode)
        for one in asset.inputs:
            if one.external or one.upstream == key or catalog.assets[one.upstream].external:
                continue
            _add(added, one.upstream, statuses.edge(asset, one).needed(asked))


def _add_downstream(catalog: Catalog, statuses: Statuses, targets: Targets, added: dict[AssetKey, Bools]) -> None:
    """What the selected cells feed; not what else their upstreams feed."""
    below: dict[AssetKey, Bools] = {}
    for key in catalog.graph.sort({*catalog.graph.descendants(*targets.cells), *targets.cells}):
        asset = catalog.assets[key]
        for one in asset.inputs:
            above = _either(targets.cells.get(one.upstream), below.get(one.upstream))
            if above is not None and one.upstream != key:
                _add(below, key, statuses.edge(asset, one).any(above))
    for key, mask in below.items():
        _add(added, key, mask)


def _either(left: Bools | None, right: Bools | None) -> Bools | None:
    if left is None or right is None:
        return left if right is None else right
    return np.logical_or(left, right)


def _add(added: dict[AssetKey, Bools], key: AssetKey, more: Bools) -> None:
    if more.any():
        added[key] = np.logical_or(added[key], more) if key in added else more
