"""Requests above the limit: which of what automation asks for waits for a person, and how it is kept. Pure.

What one cause asks for is one request: steps that read a common upstream that moved, or each other. It waits as a whole, with
what reads it. The limit is of the cause, not of a decision: what automation asked for before because of the same run counts.
One request waits per consumer: what comes in later joins it, so that a flood of events leaves one row and loses nothing. What
an older request holds already stays in it, however small the new cause.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from partita.assets import AssetKey, PartitionSet
from partita.core.automation.judge import Judged
from partita.core.automation.values import Limits
from partita.core.catalog import Catalog, StepKey
from partita.core.catalog.edges import Bools
from partita.core.planner.partition_words import partitions_text
from partita.core.planner.values import Reason
from partita.core.store.values import AssetId, CellRef, RunId
from partita.core.store.values_requests import HeldContent


class HeldCell(NamedTuple):
    """Why a cell is asked for, and the state of its inputs that asks."""

    reason: Reason
    state: int


HeldCells = Mapping[CellRef, HeldCell]
Caused = tuple[RunId, AssetId]
"""A run at the root of a cause, and an asset of which cells were asked for because of it."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Partitions of one step that are asked for: per ordinal its cells, of a subsettable group some of them, and the verdict on
    each."""

    key: StepKey
    cells: Mapping[int, Mapping[CellRef, Judged]]
    roots: Mapping[int, frozenset[RunId]] = field(default_factory=dict)
    """Per ordinal the runs that it goes back to."""

    def only(self, ordinals: Collection[int]) -> Asking:
        return Asking(self.key, {at: cells for at, cells in self.cells.items() if at in ordinals}, self.roots)

    @property
    def count(self) -> int:
        """How many cells are asked for."""
        return sum(map(len, self.cells.values()))

    def count_of(self, root: RunId) -> int:
        """How many of them go back to a run."""
        return sum(len(cells) for at, cells in self.cells.items() if root in self.roots.get(at, ()))


class Above(NamedTuple):
    """The limit that a request is above, with the cells that automation asked for before because of the same run."""

    limit: int
    before: int = 0


@dataclass(frozen=True, slots=True)
class Split:
    """What may go now, and what waits: per group its steps and what it is above."""

    go: tuple[Asking, ...]
    held: tuple[tuple[tuple[Asking, ...], Above], ...]


def split(
    catalog: Catalog,
    asking: Sequence[Asking],
    waiting: Collection[CellRef],
    *,
    together: Collection[AssetKey] | None,
    limits: Limits,
    as_of: datetime,
    caused: Mapping[Caused, int],
) -> Split:
    """`asking` in topological order; `waiting` are the cells that older requests hold. `together` are the upstreams that moved;
    None: all of it has one cause. `caused` is what was asked for before, by run and asset."""
    stays = _stays(catalog, asking, waiting, as_of)
    go: list[Asking] = []
    held: list[tuple[tuple[Asking, ...], Above]] = []
    for group in groups_of(catalog, asking, together):
        above = _exceeded(catalog, group, limits, caused)
        if above is not None:
            held.append((group, above))
            continue
        old = tuple(one.only(stays[one.key]) for one in group if one.key in stays)
        held += [(old, Above(limits.max_cells))] if old else []
        rest = [one.only(one.cells.keys() - stays.get(one.key, set())) for one in group]
        go += [one for one in rest if one.cells]
    order = {key: at for at, key in enumerate(catalog.steps)}
    return Split(tuple(sorted(go, key=lambda one: order[one.key])), tuple(held))


def _stays(
    catalog: Catalog, asking: Sequence[Asking], waiting: Collection[CellRef], as_of: datetime
) -> dict[StepKey, set[int]]:
    """Per step the ordinals that an older request holds, and those that read them."""
    if not waiting:
        return {}
    held = {one.key: {at for at in one.cells if any(cell in waiting for cell in one.cells[at])} for one in asking}
    return with_readers(catalog, asking, held, as_of)


def with_readers(
    catalog: Catalog, asking: Sequence[Asking], chosen: Mapping[StepKey, Collection[int]], as_of: datetime
) -> dict[StepKey, set[int]]:
    """Per step the chosen ordinals, and those of `asking` (in topological order) that read them, directly or not."""
    found: dict[StepKey, set[int]] = {}
    masks: dict[AssetKey, Bools] = {}
    for one in asking:
        members = catalog.steps[one.key]
        size = catalog.space(members[0].key, as_of).size
        mask = _mask(chosen.get(one.key, ()), size)
        edges = [(given.upstream, catalog.edge(m.key, given, as_of)) for m in members for given in m.inputs]
        own = {member.key for member in members}
        for upstream, edge in edges:
            if upstream in masks and upstream not in own:
                mask |= edge.any(masks[upstream])
        mask &= _mask(one.cells.keys(), size)
        while True:  # along self-dependencies
            more = mask.copy()
            for upstream, edge in edges:
                if upstream in own:
                    more |= edge.any(mask)
            more &= _mask(one.cells.keys(), size)
            if (more == mask).all():
                break
            mask = more
        if mask.any():
            found[one.key] = set(np.flatnonzero(mask).tolist())
            masks.update(dict.fromkeys(own, mask))
    return found


def _mask(ordinals: Iterable[int], size: int) -> Bools:
    mask = np.zeros(size, dtype=np.bool_)
    mask[list(ordinals)] = True
    return mask


def groups_of(
    catalog: Catalog, asking: Sequence[Asking], together: Collection[AssetKey] | None
) -> list[tuple[Asking, ...]]:
    """Steps of one cause, in topological order."""
    if together is None:
        return [tuple(asking)] if asking else []
    asked = {asset.key for one in asking for asset in catalog.steps[one.key]}
    groups: list[tuple[set[AssetKey], list[Asking]]] = []
    for one in asking:
        members = catalog.steps[one.key]
        tokens = {asset.key for asset in members}
        tokens |= {
            given.upstream
            for asset in members
            for given in asset.inputs
            if given.upstream in asked or given.upstream in together
        }
        joined = [group for group in groups if group[0] & tokens]
        groups = [group for group in groups if not group[0] & tokens]
        steps = [step for _, found in joined for step in found]
        groups.append((tokens.union(*(found for found, _ in joined)), [*steps, one]))
    order = {key: at for at, key in enumerate(catalog.steps)}
    return [tuple(sorted(found, key=lambda step: order[step.key])) for _, found in groups]


def _exceeded(catalog: Catalog, group: Sequence[Asking], limits: Limits, caused: Mapping[Caused, int]) -> Above | None:
    """The limit that a group is above; None when it may go. An asset with a limit of its own goes by that alone.

    What a run leads to is counted together, however many decisions it comes in: a trickle is held where a flood would be.
    """
    roots = sorted({root for one in group for at in one.cells for root in one.roots.get(at, ())})
    for root in (None, *roots):
        now = before = 0
        for one in group:
            members = catalog.steps[one.key]
            asked = one.count if root is None else one.count_of(root)
            earlier = 0 if root is None else sum(caused.get((root, asset.id), 0) for asset in members)
            own = [limit for asset in members if (limit := asset.spec.automatic_limit) is not None]
            if own and asked and asked + earlier > min(own):
                return Above(min(own), earlier)
            now, before = (now, before) if own else (now + asked, before + earlier)
        if now and now + before > limits.max_cells:
            return Above(limits.max_cells, before)
    return None


def counts_of(asking: Sequence[Asking]) -> dict[Caused, int]:
    """What is asked for, by the run that it goes back to and by asset."""
    found: dict[Caused, int] = {}
    for one in asking:
        for at, cells in one.cells.items():
            for root in one.roots.get(at, ()):
                for cell in cells:
                    found[root, cell.asset_id] = found.get((root, cell.asset_id), 0) + 1
    return found


# ------------------------------------------------------------------ what is kept


def cells_of(group: Iterable[Asking]) -> dict[CellRef, HeldCell]:
    """The cells of a group with their reasons and states."""
    return {
        cell: HeldCell(judged.reason, judged.state)
        for one in group
        for cells in one.cells.values()
        for cell, judged in cells.items()
    }


def content_of(
    catalog: Catalog, cells: HeldCells, as_of: datetime, *, cell_limit: int, cause: Mapping[str, Any], merged: int
) -> HeldContent:
    """What is stored of these cells."""
    return HeldContent(
        assets=tuple(sorted({cell.asset_id for cell in cells})),
        cells=len(cells),
        cell_limit=cell_limit,
        preview=preview_of(catalog, cells, as_of),
        cause=cause,
        body=encode_cells(cells),
        merged=merged,
    )


def preview_of(catalog: Catalog, cells: HeldCells, as_of: datetime) -> list[dict[str, Any]]:
    """Per asset, in topological order: how many cells, by reason, and which partitions in short."""
    found: dict[AssetId, list[CellRef]] = {}
    for cell in cells:
        found.setdefault(cell.asset_id, []).append(cell)
    known = [catalog.by_id[asset_id] for asset_id in found if asset_id in catalog.by_id]
    rows = []
    for asset in sorted(known, key=lambda one: catalog.order[one.key]):
        space = catalog.space(asset.key, as_of)
        mine = found[asset.id]
        at = space.ordinals_of([cell.partition for cell in mine])
        reasons = Counter(cells[cell].reason for cell in mine)
        rows.append(
            {
                "asset": asset.key,
                "cells": len(mine),
                "by_reason": {reason.value: reasons[reason] for reason in Reason if reasons[reason]},
                "partitions": partitions_text(space, PartitionSet.from_ordinals(one for one in at if one >= 0)),
            }
        )
    return rows


def encode_cells(cells: HeldCells) -> bytes:
    """By asset and partition; keys are data, never joined into one text (law 9)."""
    by_asset: dict[AssetId, list[list[str]]] = {}
    for cell in sorted(cells):
        held = cells[cell]
        by_asset.setdefault(cell.asset_id, []).append([cell.partition, held.reason.value, f"{held.state:x}"])
    return zlib.compress(json.dumps(list(by_asset.items()), ensure_ascii=False, separators=(",", ":")).encode())


def decode_cells(body: bytes | None) -> dict[CellRef, HeldCell]:
    """The cells of a body; none of a request that has ended."""
    if body is None:
        return {}
    return {
        CellRef(AssetId(asset_id), partition): HeldCell(Reason(reason), int(state, 16))
        for asset_id, rows in json.loads(zlib.decompress(body))
        for partition, reason, state in rows
    }


def difference(before: HeldCells, after: HeldCells, catalog: Catalog) -> str:
    """What differs between two contents, in one line, by asset; "" when cells and reasons are the same."""
    parts: list[str] = []
    ids = sorted({cell.asset_id for cell in (*before, *after)})
    for asset_id in ids:
        was = {cell: one.reason for cell, one in before.items() if cell.asset_id == asset_id}
        now = {cell: one.reason for cell, one in after.items() if cell.asset_id == asset_id}
        asset = catalog.by_id.get(asset_id)
        name = str(asset.key) if asset is not None else f"an asset that is gone ({asset_id})"
        counts = (
            (len(was.keys() - now.keys()), "no longer to be made"),
            (len(now.keys() - was.keys()), "to be made as well"),
            (sum(was[cell] != now[cell] for cell in was.keys() & now.keys()), "to be made for another reason"),
        )
        parts += [f"{n:,} {'cell' if n == 1 else 'cells'} of {name} {what}" for n, what in counts if n]
    return "; ".join(parts)
