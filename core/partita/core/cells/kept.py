"""What the cells of many assets show, kept as cells move and windows open: judged anew only where something changed.

`Kept` holds two bytes a cell: the state it shows, and whether it lacks (missing, stale or upstream stale), which is all that its
consumers need to know of it. A change is carried down asset by asset: those that moved and those that read them are judged from
their direct inputs, and only an asset whose lacking cells turned sends its consumers on (law 4: neither the graph nor what a
change does not reach is looked at). Owns no rule of staleness: `AssetStatus` judges; tested equal to statuses worked out anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from partita.assets import AssetKey, PartitionSpace
from partita.core.catalog.edges import Bools
from partita.core.cells.held import Codes
from partita.core.cells.status import Statuses, counts_of


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What the cells of one asset show: `codes[ordinal]` is an index into STATES; `lacking` as in `AssetStatus`."""

    space: PartitionSpace
    codes: Codes
    lacking: Bools

    def counts(self) -> dict[str, int]:
        """How many cells show each state; only states that occur."""
        return counts_of(self.codes)


class Kept:
    """Of some assets and all that lies above them what their cells show. Not safe between threads."""

    def __init__(self) -> None:
        self._shown: dict[AssetKey, Shown] = {}

    @property
    def shown(self) -> Mapping[AssetKey, Shown]:
        """What is kept, as of the last `follow`."""
        return self._shown

    def follow(self, statuses: Statuses, moved: Iterable[AssetKey], wanted: Iterable[AssetKey]) -> list[AssetKey]:
        """Take in that cells of the `moved` assets changed, that partitions came or went, and keep the `wanted` ones too.

        `statuses` reads the cells as they are now, of the same graph as before. Gives the assets that were judged, in
        topological order. When reading fails, nothing has been taken in.
        """
        catalog = statuses.catalog
        graph = catalog.graph
        new = [key for key in wanted if key not in self._shown]
        known = self._shown.keys() | {*new, *graph.ancestors(*new)}
        fresh = {key for key in known if key not in self._shown or statuses.space(key) is not self._shown[key].space}
        touched = fresh | (known & set(moved))
        touched |= known & {consumer.key for key in touched for consumer, _ in catalog.consumers.get(key, ())}
        found: dict[AssetKey, Shown] = {}
        read: set[AssetKey] = set()
        waiting = sorted((catalog.order[key], key) for key in touched)
        while waiting:
            _, key = heappop(waiting)
            if key in found:
                continue
            if key not in read:  # all that wait are read in a few statements
                batch = {key, *(one for _, one in waiting)} - read
                statuses.prefetch(batch, ancestors=False)
                read |= batch
            before = self._shown.get(key)
            found[key] = now = self._judge(statuses, key, found)
            if before is None or (before.space is now.space and np.array_equal(before.lacking, now.lacking)):
                continue  # consumers of a new asset are new as well, or were touched
            for consumer, _ in catalog.consumers.get(key, ()):
                if consumer.key in known and consumer.key != key:
                    heappush(waiting, (catalog.order[consumer.key], consumer.key))
        self._shown |= found
        return list(found)

    def _judge(self, statuses: Statuses, key: AssetKey, found: Mapping[AssetKey, Shown]) -> Shown:
        status = statuses.below(key, lambda up: (found.get(up) or self._shown[up]).lacking)
        return Shown(status.space, status.shown, status.lacking)
