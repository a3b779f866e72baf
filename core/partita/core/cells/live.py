"""The status of a whole graph, kept as cells move: what a change does to everything below it, at the cost of what it touches.

`Live` holds a byte a cell for all assets in one array, and who reads whom as arrays beside it. A change is carried down wave by
wave: the cells that it touches are judged anew from their direct inputs, and only cells that turn from good to bad, or back,
go on to their consumers. Neither the graph nor the partitions that a change does not reach are looked at (law 4).

Owns no rule of staleness: `Statuses` judges the assets that moved and those that read them; this spreads the answer as
`Statuses.status` would, and equals it (tested on random graphs).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from partita.assets import AssetKey, PartitionSet
from partita.core.catalog import Catalog
from partita.core.catalog.edges import Bools, EdgeMap, Ints
from partita.core.cells.status import AssetStatus, Statuses, along_own

_PUBLISHED, _DIRECT, _HOLDS, _ABOVE, _LACKS = (np.uint8(1 << bit) for bit in range(5))
"""Published; missing or stale itself; holds back later partitions of its asset; upstream stale; lacking, as consumers know it."""
_CARRIED = _ABOVE | _LACKS
_Waiting = dict[int, list[tuple[Ints, Ints]]]
"""By depth in the graph, cells to be judged: places of assets, and the ordinal in each."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What a change did, by asset: the cells that are missing, stale or upstream stale and were not, and the reverse."""

    lacking: Mapping[AssetKey, PartitionSet]
    recovered: Mapping[AssetKey, PartitionSet]

    @property
    def count(self) -> int:
        """How many cells changed."""
        return sum(len(cells) for side in (self.lacking, self.recovered) for cells in side.values())


class Live:
    """Missing, stale and upstream stale of every cell at one instant. Not safe between threads."""

    def __init__(self, statuses: Statuses) -> None:
        catalog = statuses.catalog
        self.catalog: Catalog = catalog
        self.as_of: datetime = statuses.as_of
        self._moment = statuses.moment  # held, so that the statuses to come find its spaces and mappings
        self._keys: Sequence[AssetKey] = catalog.graph.order
        self._place = {key: at for at, key in enumerate(self._keys)}
        sizes = [statuses.space(key).size for key in self._keys]
        self._offset: Ints = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        self._flags = np.zeros(int(self._offset[-1]), dtype=np.uint8)
        self._wire(statuses)
        statuses.prefetch(self._keys, ancestors=False)
        for key in self._keys:
            status = statuses.status(key)
            self._row(self._place[key])[:] = (
                _flags_of(status) | status.upstream_stale * _ABOVE | status.lacking * _LACKS
            )

    def lacking(self, key: AssetKey) -> Bools:
        """The cells that are missing, stale or upstream stale."""
        return (self._row(self._place[key]) & _LACKS) > 0

    def upstream_stale(self, key: AssetKey) -> Bools:
        """The published cells with something missing or stale above."""
        return (self._row(self._place[key]) & _ABOVE) > 0

    def move(self, statuses: Statuses, keys: Iterable[AssetKey]) -> Moved:
        """Take in that cells of these assets changed; `statuses` reads the cells as they are now.

        Raises ValueError for statuses of another catalog or instant: their partitions are others.
        """
        if statuses.catalog is not self.catalog or statuses.as_of != self.as_of:
            raise ValueError(f"{self!r} cannot take in statuses of another catalog or instant")
        moved = dict.fromkeys(keys)
        below = (consumer.key for key in moved for consumer, _ in self.catalog.consumers.get(key, ()))
        touched = dict.fromkeys([*moved, *below])
        statuses.prefetch(touched, ancestors=False)
        waiting: _Waiting = {}
        for key in touched:
            self._judge(statuses.direct(key), waiting)
        return self._carry(waiting)

    def __repr__(self) -> str:
        return f"<Live {len(self._keys)} assets, {len(self._flags)} cells at {self.as_of:%Y-%m-%d %H:%M}>"

    def _wire(self, statuses: Statuses) -> None:
        """Who reads whom: edges from each partition to itself as arrays, others one by one."""
        above: list[list[int]] = [[] for _ in self._keys]
        below: list[list[int]] = [[] for _ in self._keys]
        self._depth = np.zeros(len(self._keys), dtype=np.int64)
        self._own: dict[int, list[EdgeMap]] = {}
        self._mapped_above: dict[int, list[tuple[int, EdgeMap]]] = {}
        self._mapped_below: dict[int, list[tuple[int, EdgeMap]]] = {}
        for at, key in enumerate(self._keys):
            for one, edge in statuses.links(self.catalog.assets[key]):
                if one.external:
                    continue
                up = self._place[one.upstream]
                if up == at:
                    self._own.setdefault(at, []).append(edge)
                    continue
                self._depth[at] = max(self._depth[at], self._depth[up] + 1)
                if edge.same:
                    above[at].append(up)
                    below[up].append(at)
                else:
                    self._mapped_above.setdefault(at, []).append((up, edge))
                    self._mapped_below.setdefault(up, []).append((at, edge))
        self._above, self._below = _Table.of(above), _Table.of(below)

    def _row(self, at: int) -> npt.NDArray[np.uint8]:
        return self._flags[self._offset[at] : self._offset[at + 1]]

    def _judge(self, direct: AssetStatus, waiting: _Waiting) -> None:
        """Note what an asset's cells are by themselves now; those that differ wait to be judged with what is above."""
        at = self._place[direct.asset.key]
        row = self._row(at)
        fresh = _flags_of(direct)
        differs = np.flatnonzero((row ^ fresh) & ~_CARRIED)
        if len(differs):
            row[differs] = (row[differs] & _CARRIED) | fresh[differs]
            waiting.setdefault(int(self._depth[at]), []).append((np.full_like(differs, at), differs))

    def _carry(self, waiting: _Waiting) -> Moved:
        """Judge what waits, the top of the graph first; what turns sends its consumers to wait further down."""
        turned: list[tuple[Ints, Ints, Bools]] = []
        while waiting:
            at, ordinals = self._each_once(waiting.pop(min(waiting)))
            cells = self._offset[at] + ordinals
            flags = self._flags[cells]
            above = self._above_of(at, ordinals) & ((flags & _PUBLISHED) > 0)
            lacks = above | ((flags & _DIRECT) > 0)
            self._flags[cells] = (flags & ~_CARRIED) | above * _ABOVE | lacks * _LACKS
            turns = lacks != ((flags & _LACKS) > 0)
            if turns.any():
                turned.append((at[turns], ordinals[turns], lacks[turns]))
                self._send(at[turns], ordinals[turns], waiting)
        return self._moved(turned)

    def _each_once(self, parts: Sequence[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
        """The cells that wait, each once; of an asset that reads itself all, because any may follow from any."""
        at = np.concatenate([places for places, _ in parts])
        ordinals = np.concatenate([ordinals for _, ordinals in parts])
        whole = [one for one in np.unique(at).tolist() if one in self._own] if self._own else []
        for one in whole:
            size = int(self._offset[one + 1] - self._offset[one])
            rest = at != one
            at = np.concatenate((at[rest], np.full(size, one, dtype=np.int64)))
            ordinals = np.concatenate((ordinals[rest], np.arange(size, dtype=np.int64)))
        _, first = np.unique(self._offset[at] + ordinals, return_index=True)
        return at[first], ordinals[first]

    def _above_of(self, at: Ints, ordinals: Ints) -> Bools:
        """Which of these cells, in order, need a cell that lacks."""
        which, ups = self._above.of_each(at)
        bad = (self._flags[self._offset[ups] + ordinals[which]] & _LACKS) > 0
        found: Bools = np.bincount(which[bad], minlength=len(at)) > 0
        special = self._mapped_above.keys() | self._own.keys()
        for one in [place for place in np.unique(at).tolist() if place in special] if special else ():
            mine = at == one
            for up, edge in self._mapped_above.get(one, ()):
                found[mine] |= edge.any((self._row(up) & _LACKS) > 0)[ordinals[mine]]
            if one in self._own:  # then all of its cells are here
                found[mine] = along_own(self._own[one], found[mine], (self._row(one) & _HOLDS) > 0)
        return found

    def _send(self, at: Ints, ordinals: Ints, waiting: _Waiting) -> None:
        """Let the consumers of these cells wait to be judged."""
        which, downs = self._below.of_each(at)
        depths = self._depth[downs]
        for depth in np.unique(depths).tolist():
            here = depths == depth
            waiting.setdefault(depth, []).append((downs[here], ordinals[which[here]]))
        for one in (
            [place for place in np.unique(at).tolist() if place in self._mapped_below] if self._mapped_below else ()
        ):
            marked = np.zeros(int(self._offset[one + 1] - self._offset[one]), dtype=np.bool_)
            marked[ordinals[at == one]] = True
            for down, edge in self._mapped_below[one]:
                hit = np.flatnonzero(edge.any(marked))
                if len(hit):
                    waiting.setdefault(int(self._depth[down]), []).append((np.full_like(hit, down), hit))

    def _moved(self, turned: Sequence[tuple[Ints, Ints, Bools]]) -> Moved:
        sides: tuple[dict[AssetKey, PartitionSet], dict[AssetKey, PartitionSet]] = {}, {}
        for at, ordinals, lacks in turned:
            # Cells come asset by asset, in order of ordinals.
            cuts = [0, *(np.flatnonzero(np.diff(at)) + 1).tolist(), len(at)]
            for start, stop in pairwise(cuts):
                key = self._keys[int(at[start])]
                here, now = ordinals[start:stop], lacks[start:stop]
                for side, chosen in zip(sides, (here[now], here[~now]), strict=True):
                    if len(chosen):
                        side[key] = _set_of_sorted(chosen)
        return Moved(*sides)


@dataclass(frozen=True, slots=True)
class _Table:
    """For each place a list of places."""

    start: Ints
    values: Ints

    @staticmethod
    def of(lists: Sequence[Sequence[int]]) -> _Table:
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        values = np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=int(lengths.sum()))
        return _Table(np.concatenate(([0], np.cumsum(lengths))), values)

    def of_each(self, at: Ints) -> tuple[Ints, Ints]:
        """(index into `at`, place in its list) of everything in the lists of these places."""
        starts, counts = self.start[at], self.start[at + 1] - self.start[at]
        which = np.repeat(np.arange(len(at)), counts)
        within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        return which, self.values[starts[which] + within]


def _flags_of(status: AssetStatus) -> npt.NDArray[np.uint8]:
    """What the cells are by themselves."""
    direct = status.missing | status.stale
    holds = (status.missing & ~status.skipped) | status.stale
    flags: npt.NDArray[np.uint8] = status.held.published * _PUBLISHED | direct * _DIRECT | holds * _HOLDS
    return flags


def _set_of_sorted(ordinals: Ints) -> PartitionSet:
    if len(ordinals) == 1:
        one = int(ordinals[0])
        return PartitionSet(((one, one + 1),))
    cuts = np.flatnonzero(np.diff(ordinals) > 1) + 1
    starts = ordinals[np.concatenate(([0], cuts))].tolist()
    stops = (ordinals[np.concatenate((cuts - 1, [-1]))] + 1).tolist()
    return PartitionSet(tuple(zip(starts, stops, strict=True)))
