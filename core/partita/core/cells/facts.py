"""The kept cells of many assets at one moment: a byte of facts and the state shown for each, all assets in one array each.

Owns what a fact is, and where the cells of an asset stand; judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from partita.assets import AssetKey, PartitionSpace
from partita.core.catalog.edges import Bools, Ints
from partita.core.catalog.moment import Moment
from partita.core.cells.held import Codes
from partita.core.cells.status import AssetStatus, Statuses
from partita.core.cells.wires import Wires

PUBLISHED, DIRECT, HOLDS, ABOVE, LACKS = (np.uint8(1 << bit) for bit in range(5))
"""Published; missing or stale itself; holds back later partitions of its asset; upstream stale; lacking, as consumers know it."""
CARRIED = ABOVE | LACKS
"""What follows from the cells above as well."""

Facts = npt.NDArray[np.uint8]


def facts_of(status: AssetStatus) -> Facts:
    """The facts of an asset's cells. Those that are carried hold for a whole status only."""
    direct = status.missing | status.stale
    holds = (status.missing & ~status.skipped) | status.stale
    facts: Facts = (
        status.held.published * PUBLISHED
        | direct * DIRECT
        | holds * HOLDS
        | status.upstream_stale * ABOVE
        | status.lacking * LACKS
    )
    return facts


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Cells of assets, one asset after the other in the order of the graph; those that are not kept have none."""

    moment: Moment | None
    order: Mapping[AssetKey, int]
    spaces: Mapping[AssetKey, PartitionSpace]
    wires: Wires
    offset: Ints
    facts: Facts
    codes: Codes

    @staticmethod
    def empty() -> Rows:
        """No cells of no assets."""
        none = np.zeros(0, dtype=np.uint8)
        return Rows(None, {}, {}, Wires.of([]), np.zeros(1, dtype=np.int64), none, none)

    def at(self, statuses: Statuses, wanted: Iterable[AssetKey]) -> tuple[Rows, set[AssetKey]]:
        """The rows for the moment of `statuses`, and the assets of which nothing is known in them yet.

        They share these arrays where no partition came or went and nothing more is wanted.
        """
        new = [key for key in wanted if key not in self.spaces]
        if statuses.moment is self.moment and not new:
            return self, set()
        known = self.spaces.keys() | {*new, *statuses.catalog.graph.ancestors(*new)}
        spaces = {key: statuses.space(key) for key in known}
        fresh = {key for key, space in spaces.items() if space is not self.spaces.get(key)}
        if not fresh:
            return replace(self, moment=statuses.moment), fresh
        return self._laid_out(statuses, spaces, fresh), fresh

    def facts_of(self, key: AssetKey) -> Facts:
        """The facts of an asset, to be written to."""
        return self.facts[self._slice(self.order[key])]

    def codes_of(self, key: AssetKey) -> Codes:
        """The states of an asset as indexes into STATES, to be written to."""
        return self.codes[self._slice(self.order[key])]

    def size(self, at: int) -> int:
        """How many cells the asset at a place has."""
        return int(self.offset[at + 1] - self.offset[at])

    def marked(self, at: int, fact: np.uint8) -> Bools:
        """The cells of the asset at a place of which a fact holds."""
        return (self.facts[self._slice(at)] & fact) > 0

    def _laid_out(self, statuses: Statuses, spaces: Mapping[AssetKey, PartitionSpace], fresh: set[AssetKey]) -> Rows:
        graph = statuses.catalog.graph
        sizes = [spaces[key].size if key in spaces else 0 for key in graph.order]
        offset = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        facts, codes = (np.zeros(int(offset[-1]), dtype=np.uint8) for _ in range(2))
        order = self.order or {key: at for at, key in enumerate(graph.order)}
        links = [statuses.links(statuses.catalog.assets[key]) if key in spaces else () for key in graph.order]
        found = Rows(statuses.moment, order, spaces, Wires.of(links, order), offset, facts, codes)
        for key in spaces.keys() - fresh:
            found.facts_of(key)[:] = self.facts_of(key)
            found.codes_of(key)[:] = self.codes_of(key)
        return found

    def _slice(self, at: int) -> slice:
        return slice(int(self.offset[at]), int(self.offset[at + 1]))
