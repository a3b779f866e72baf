"""Who reads whom among some assets, as arrays: from cells to the cells that they read, and to those that read them.

An asset stands at its place in the order of the graph. Edges from each partition to itself, by far the most common, are tables of
places, so that cells of many assets are followed at once; other mappings are asked one by one, those of an asset with itself
apart. Owns no status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from partita.assets import AssetKey
from partita.core.catalog.edges import EdgeMap, Ints
from partita.core.catalog.moment import Link

Others = Mapping[int, Sequence[tuple[int, EdgeMap]]]
"""By the place of an asset, the place of another one and what leads from cells to cells."""


@dataclass(frozen=True, slots=True, eq=False)
class Wires:
    """`depth` is how far each asset lies below those that read nothing: whoever reads lies deeper."""

    depth: Ints
    above: Table
    below: Table
    own: Mapping[int, Sequence[EdgeMap]]
    mapped_above: Others
    mapped_below: Others

    @staticmethod
    def of(links: Sequence[Sequence[Link]], place: Mapping[AssetKey, int] | None = None) -> Wires:
        """The edges of the assets at each place; inputs that are external are left out."""
        places = place or {}
        above: list[list[int]] = [[] for _ in links]
        below: list[list[int]] = [[] for _ in links]
        depth = [0] * len(links)
        own: dict[int, list[EdgeMap]] = {}
        mapped_above: dict[int, list[tuple[int, EdgeMap]]] = {}
        mapped_below: dict[int, list[tuple[int, EdgeMap]]] = {}
        for at, inputs in enumerate(links):
            for one, edge in inputs:
                if one.external:
                    continue
                up = places[one.upstream]
                if up == at:
                    own.setdefault(at, []).append(edge)
                    continue
                depth[at] = max(depth[at], depth[up] + 1)
                if edge.same:
                    above[at].append(up)
                    below[up].append(at)
                else:
                    mapped_above.setdefault(at, []).append((up, edge))
                    mapped_below.setdefault(up, []).append((at, edge))
        return Wires(np.array(depth, dtype=np.int64), Table.of(above), Table.of(below), own, mapped_above, mapped_below)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """For each place a list of places."""

    start: Ints
    values: Ints

    @staticmethod
    def of(lists: Sequence[Sequence[int]]) -> Table:
        """The table of these lists."""
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        values = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(lengths.sum()))
        return Table(np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths))), values)

    def of_each(self, at: Ints) -> tuple[Ints, Ints]:
        """(index into `at`, place in its list) of everything in the lists of these places."""
        starts, counts = self.start[at], self.start[at + 1] - self.start[at]
        which = np.repeat(np.arange(len(at)), counts)
        within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        return which, self.values[starts[which] + within]
