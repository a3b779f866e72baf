"""Requests above the limit: which of what automation asks for waits for a person, and how it is kept. Pure.

What one cause asks for is one request: steps that read a common upstream that moved, or each other. It waits as a whole, with
what reads it. One request waits per consumer: what comes in later joins it, so that a flood of events leaves one row and loses
nothing. What an older request holds already stays in it, however small the new cause.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from partita.assets import AssetKey, PartitionSet
from partita.core.automation.eager import Judged
from partita.core.automation.values import Limits
from partita.core.catalog import Catalog, StepKey
from partita.core.catalog.edges import Bools
from partita.core.planner.partition_words import partitions_text
from partita.core.planner.values import Reason
from partita.core.store.values import AssetId, CellRef
from partita.core.store.values_requests import HeldContent


class HeldCell(NamedTuple):
    """Why a cell is asked for, and the state of its inputs that asks."""

    reason: Reason
    state: int


HeldCells = Mapping[CellRef, HeldCell]


@dataclass(frozen=True, slots=True)
class Asking:
    """Partitions of one step that are asked for: per ordinal its cells, and the verdict on them."""

    key: StepKey
    cells: Mapping[int, tuple[CellRef, ...]]
    judged: Mapping[int, Judged]

    def only(self, ordinals: Collection[int]) -> Asking:
        return Asking(self.key, self.cells, {at: one for at, one in self.judged.items() if at in ordinals})

    @property
    def count(self) -> int:
        """How many cells are asked for."""
        return sum(len(self.cells[at]) for at in self.judged)


@dataclass(frozen=True, slots=True)
class Split:
    """What may go now, and what waits: per group its steps and the limit that it is above."""

    go: tuple[Asking, ...]
    held: tuple[tuple[tuple[Asking, ...], int], ...]


def split(
    catalog: Catalog,
    asking: Sequence[Asking],
    waiting: Collection[CellRef],
    *,
    together: Collection[AssetKey] | None,
    limits: Limits,
    as_of: datetime,
) -> Split:
    """`asking` in topological order; `waiting` are the cells that older requests hold. `together` are the upstreams that moved;
    None: all of it has one cause."""
    stays = _stays(catalog, asking, waiting, as_of)
    go: list[Asking] = []
    held: list[tuple[tuple[Asking, ...], int]] = []
    for group in _groups(catalog, asking, together):
        limit = _exceeded(catalog, group, limits)
        if limit is not None:
            held.append((group, limit))
            continue
        old = tuple(one.only(stays[one.key]) for one in group if one.key in stays)
        held += [(old, limits.max_cells)] if old else []
        rest = [one.only(one.judged.keys() - stays.get(one.key, set())) for one in group]
        go += [one for one in rest if one.judged]
    order = {key: at for at, key in enumerate(catalog.steps)}
    return Split(tuple(sorted(go, key=lambda one: order[one.key])), tuple(held))


def _stays(
    catalog: Catalog, asking: Sequence[Asking], waiting: Collection[CellRef], as_of: datetime
) -> dict[StepKey, set[int]]:
    """Per step the ordinals that an older request holds, and those that read them."""
    found: dict[StepKey, set[int]] = {}
    if not waiting:
        return found
    masks: dict[AssetKey, Bools] = {}
    for one in asking:
        members = catalog.steps[one.key]
        here = {at for at in one.judged if any(cell in waiting for cell in one.cells[at])}
        size = catalog.space(members[0].key, as_of).size
        mask = _mask(here, size)
        edges = [(given.upstream, catalog.edge(m.key, given, as_of)) for m in members for given in m.inputs]
        own = {member.key for member in members}
        for upstream, edge in edges:
            if upstream in masks and upstream not in own:
                mask |= edge.any(masks[upstream])
        mask &= _mask(one.judged.keys(), size)
        while True:  # along self-dependencies
            more = mask.copy()
            for upstream, edge in edges:
                if upstream in own:
                    more |= edge.any(mask)
            more &= _mask(one.judged.keys(), size)
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


def _groups(
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


def _exceeded(catalog: Catalog, group: Sequence[Asking], limits: Limits) -> int | None:
    """The limit that a group is above; None when it may go. An asset with a limit of its own goes by that alone."""
    rest = 0
    for one in group:
        own = [limit for asset in catalog.steps[one.key] if (limit := asset.spec.automatic_limit) is not None]
        if own and one.count > min(own):
            return min(own)
        rest += 0 if own else one.count
    return limits.max_cells if rest > limits.max_cells else None


# ------------------------------------------------------------------ what is kept


def cells_of(group: Iterable[Asking]) -> dict[CellRef, HeldCell]:
    """The cells of a group with their reasons and states."""
    return {
        cell: HeldCell(judged.reason, judged.state)
        for one in group
        for at, judged in one.judged.items()
        for cell in one.cells[at]
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
