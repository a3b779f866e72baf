"""Which steps of a plan are looked at together, and what the assets of a stack read: the order of deciding, in waves.

A step is stacked when it makes one asset that reads nothing but the same partition of other assets, in a space that is not wide
(`cells/stack.py`). Everything else goes one step at a time. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from partita.assets import AssetKey
from partita.core.catalog import CatalogAsset, CatalogInput, Moment
from partita.core.catalog.edges import Bools, everything, nothing
from partita.core.cells import stack as narrow
from partita.core.cells.stack import Stack, in_chunks, together
from partita.core.cells.status import Statuses

Step = Sequence[CatalogAsset]


@dataclass(frozen=True, slots=True)
class Wave:
    """Steps that read nothing of each other: `stacks` and `steps` may be decided in any order."""

    stacks: Iterator[Stack]
    steps: Sequence[Step]


@dataclass(frozen=True, slots=True)
class Depth:
    """Steps that read nothing of each other: single assets that can be stacked, by the size of their space, and others."""

    alike: Mapping[int, Sequence[CatalogAsset]]
    steps: Sequence[Step]


def in_waves(statuses: Statuses, steps: Sequence[Step]) -> Iterator[Wave]:
    """All these steps, given in topological order, each after those that it reads."""
    for depth in by_depth(statuses.moment, steps):
        stacks = (one for assets in depth.alike.values() for one in in_chunks(statuses, assets))
        yield Wave(stacks, depth.steps)


def by_depth(moment: Moment, steps: Sequence[Step]) -> list[Depth]:
    """All these steps, given in topological order, by how many of them lie above, one after the other."""
    depth_of: dict[AssetKey, int] = {}
    found: list[tuple[dict[int, list[CatalogAsset]], list[Step]]] = []
    for members in steps:
        depth = 0
        for asset in members:
            for one in asset.inputs:
                depth = max(depth, depth_of.get(one.upstream, -1) + 1)
            for key in moment.beyond.get(asset.key, ()):
                depth = max(depth, depth_of.get(key, -1) + 1)
        for asset in members:
            depth_of[asset.key] = depth
        while len(found) <= depth:
            found.append(({}, []))
        alike, others = found[depth]
        size = moment.space(members[0].key).size
        if len(members) == 1 and 0 < size <= narrow.WIDEST and _plain(moment, members[0]):
            alike.setdefault(size, []).append(members[0])
        else:
            others.append(members)
    return [Depth(alike, others) for alike, others in found]


def _plain(moment: Moment, asset: CatalogAsset) -> bool:
    return moment.plain(asset) and asset.key not in moment.beyond


@dataclass(frozen=True, slots=True)
class Above:
    """What the rows of a stack read, external inputs apart: they always are there and never run.

    `reads[k]` holds the k-th input of each row that has so many, as (rows, upstreams); `inputs` one input for each upstream.
    """

    shape: tuple[int, int]
    reads: Sequence[tuple[list[int], list[AssetKey]]]
    inputs: Mapping[AssetKey, CatalogInput]

    @staticmethod
    def of(assets: Sequence[CatalogAsset], size: int) -> Above:
        """The upstreams of stacked assets of so many partitions."""
        reads: list[tuple[list[int], list[AssetKey]]] = []
        inputs: dict[AssetKey, CatalogInput] = {}
        for row, asset in enumerate(assets):
            place = 0
            for one in asset.inputs:
                if one.external:
                    continue
                if place == len(reads):
                    reads.append(([], []))
                rows, upstreams = reads[place]
                rows.append(row)
                upstreams.append(one.upstream)
                inputs[one.upstream] = one
                place += 1
        return Above((len(assets), size), reads, inputs)

    def marked(self, masks: Mapping[AssetKey, Bools]) -> Bools:
        """Per row the partitions that any of these upstreams marks; `nothing` when no row reads any of them."""
        found: Bools | None = None
        for rows, above in self.each(masks):
            if found is None:
                found = np.zeros(self.shape, dtype=np.bool_)
            found[rows] |= above
        return nothing(self.shape[1]) if found is None else found

    def each(self, known: Mapping[AssetKey, npt.NDArray[Any]]) -> Iterator[tuple[list[int] | slice, npt.NDArray[Any]]]:
        """What is known of the upstreams, as (rows, a row for each of them); no row comes twice in one."""
        for rows, upstreams in self.reads:
            above = [known.get(key) for key in upstreams]
            hits = [mine for mine in above if mine is not None]
            if len(hits) == self.shape[0]:
                yield slice(None), together(hits)
            elif hits:
                yield [row for row, mine in zip(rows, above, strict=True) if mine is not None], together(hits)


def chosen_of(assets: Sequence[CatalogAsset], size: int, cells: Mapping[AssetKey, Bools]) -> Bools:
    """Per row the chosen cells, or one row for all: `nothing`, `everything`."""
    none, every = nothing(size), everything(size)
    rows = [cells.get(asset.key, none) for asset in assets]
    for alike in (none, every):
        if all(row is alike for row in rows):
            return alike
    return together(rows)
