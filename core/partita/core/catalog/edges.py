"""One input's mapping between two spaces, compiled to arrays: what the planner and the status do over whole assets.

A compiled mapping is a list of half-open ranges of upstream ordinals, each owned by a downstream ordinal. Sums over
ranges are differences of prefix sums, so the width of a mapping costs nothing. Owns no rule of staleness and reads
nothing; `partita.assets.mappings` stays the one place that says what a mapping means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from partita.assets import (
    All,
    Identity,
    Last,
    Mapping,
    PartitionSet,
    PartitionSpace,
    Rolling,
    Specific,
    StaticTable,
    TimeOverlap,
    self_levels,
)
from partita.assets.mappings.evaluate import Mapped, needed_runs, upstream_by_cell, upstream_of
from partita.assets.partitions.multi import ProductSpace

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class EdgeMap:
    """Ranges [lo, hi) of upstream ordinals needed by each downstream ordinal `owner` (ascending).

    A `uniform` mapping needs the same upstream partitions everywhere; its ranges are held once, with owner 0.
    `absent` marks the downstream ordinals that need a partition which does not exist.
    """

    mapping: Mapping
    down: PartitionSpace
    up: PartitionSpace
    uniform: bool
    owner: Ints
    lo: Ints
    hi: Ints
    absent: Bools

    @staticmethod
    def compile(mapping: Mapping, *, down: PartitionSpace, up: PartitionSpace) -> EdgeMap:
        """Evaluate a mapping for all existing downstream partitions."""
        if isinstance(mapping, All | Last | Specific):
            return _uniform(mapping, down, up)
        if isinstance(mapping, Identity) and down is up:
            every = np.arange(down.size, dtype=np.int64)
            return EdgeMap(mapping, down, up, False, every, every, every + 1, np.zeros(down.size, dtype=np.bool_))
        runs = needed_runs(mapping, down=down, up=up)
        if runs is not None:
            return _one_run_each(mapping, down, up, runs)
        owners: list[int] = []
        lows: list[int] = []
        highs: list[int] = []
        absent = np.zeros(down.size, dtype=np.bool_)
        for ordinal, needed in upstream_by_cell(mapping, down=down, up=up, cells=down.all()):
            absent[ordinal] = needed.absent_count > 0
            for start, stop in needed.existing.ranges:
                owners.append(ordinal)
                lows.append(start)
                highs.append(stop)
        return EdgeMap(mapping, down, up, False, _ints(owners), _ints(lows), _ints(highs), absent)

    def sums(self, values: Hashes) -> Hashes:
        """Per downstream ordinal the sum modulo 2^64 of the upstream values."""
        prefix = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)))
        parts = prefix[self.hi] - prefix[self.lo]
        if self.uniform:
            return np.full(self.down.size, parts.sum(dtype=np.uint64), dtype=np.uint64)
        total = np.zeros(self.down.size, dtype=np.uint64)
        if self._one_range_each:
            total[self.owner] = parts
        else:
            np.add.at(total, self.owner, parts)
        return total

    def any(self, marked: Bools) -> Bools:
        """The downstream ordinals that need at least one marked upstream ordinal."""
        if not marked.any():
            return np.zeros(self.down.size, dtype=np.bool_)
        prefix = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(marked, dtype=np.int64)))
        hit = prefix[self.hi] > prefix[self.lo]
        if self.uniform:
            return np.full(self.down.size, bool(hit.any()), dtype=np.bool_)
        found = np.zeros(self.down.size, dtype=np.bool_)
        found[self.owner[hit]] = True
        return found

    def highest(self, values: Ints) -> Ints:
        """Per downstream ordinal the largest upstream value, -1 where it needs none."""
        found = np.full(self.down.size, -1, dtype=np.int64)
        if not len(self.lo):
            return found
        padded = np.append(values, -1)
        edges = np.column_stack((self.lo, self.hi)).ravel()
        highest = np.maximum.reduceat(padded, edges)[::2]
        if self.uniform:
            found[:] = highest.max()
        else:
            np.maximum.at(found, self.owner, highest)
        return found

    def needed(self, marked: Bools) -> Bools:
        """The upstream ordinals that the marked downstream ordinals need."""
        steps = np.zeros(self.up.size + 1, dtype=np.int64)
        if self.uniform:
            chosen = np.full(len(self.lo), bool(marked.any()))
        else:
            chosen = marked[self.owner]
        np.add.at(steps, self.lo[chosen], 1)
        np.add.at(steps, self.hi[chosen], -1)
        return np.cumsum(steps)[:-1] > 0

    def ranges_of(self, ordinal: int) -> list[tuple[int, int]]:
        """The upstream ranges that one downstream ordinal needs."""
        if self.uniform:
            return list(zip(self.lo.tolist(), self.hi.tolist(), strict=True))
        first, last = np.searchsorted(self.owner, [ordinal, ordinal + 1])
        return list(zip(self.lo[first:last].tolist(), self.hi[first:last].tolist(), strict=True))

    def mapped(self, ordinal: int) -> Mapped:
        """What one downstream ordinal needs, absent keys by name."""
        return upstream_of(self.mapping, down=self.down, up=self.up, cells=PartitionSet(((ordinal, ordinal + 1),)))

    @cached_property
    def levels(self) -> Ints:
        """Of a self-dependency: how far along each ordinal is; what it needs of its own asset lies on lower levels only."""
        every = np.arange(self.down.size, dtype=np.int64)
        if isinstance(self.down, ProductSpace) or isinstance(self.mapping, StaticTable):
            level = self_levels(self.mapping, self.down)
            return np.fromiter(map(level, range(self.down.size)), dtype=np.int64, count=self.down.size)
        return every

    @property
    def nbytes(self) -> int:
        """What the arrays take, in bytes."""
        return self.owner.nbytes + self.lo.nbytes + self.hi.nbytes + self.absent.nbytes

    @cached_property
    def _one_range_each(self) -> bool:
        return bool((np.diff(self.owner) > 0).all())


def levels_of(edges: Sequence[EdgeMap]) -> Ints:
    """The levels of the self-dependencies (at least one) of one step, earlier partitions first.

    Where two reach back along different dimensions the order of ordinals serves: the other dimensions then stay.
    """
    first = edges[0].levels
    if all(np.array_equal(first, one.levels) for one in edges[1:]):
        return first
    return np.arange(edges[0].down.size, dtype=np.int64)


def in_order(edges: Sequence[EdgeMap], chosen: Bools) -> list[int]:
    """The chosen ordinals so that each comes after those that it needs by the self-dependencies of its step."""
    ordinals = np.flatnonzero(chosen)
    order: list[int] = ordinals[np.argsort(levels_of(edges)[ordinals], kind="stable")].tolist()
    return order


def mask_of(chosen: PartitionSet, size: int) -> Bools:
    """A set of ordinals as an array of truth values."""
    mask = np.zeros(size, dtype=np.bool_)
    for start, stop in chosen.ranges:
        mask[start:stop] = True
    return mask


def set_of(mask: Bools) -> PartitionSet:
    """The ordinals of the true values; costs by the number of runs."""
    if not len(mask):
        return PartitionSet.empty()
    edges = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    pairs = edges.reshape(-1, 2).tolist()
    return PartitionSet(tuple((start, stop) for start, stop in pairs)) if pairs else PartitionSet.empty()


def _uniform(mapping: Mapping, down: PartitionSpace, up: PartitionSpace) -> EdgeMap:
    first = PartitionSet(((0, 1),)) if down.size else PartitionSet.empty()
    needed = upstream_of(mapping, down=down, up=up, cells=first)
    lows = _ints([start for start, _ in needed.existing.ranges])
    highs = _ints([stop for _, stop in needed.existing.ranges])
    absent = np.full(down.size, needed.absent_count > 0, dtype=np.bool_)
    return EdgeMap(mapping, down, up, True, np.zeros(len(lows), dtype=np.int64), lows, highs, absent)


def _one_run_each(
    mapping: Mapping, down: PartitionSpace, up: PartitionSpace, runs: Sequence[tuple[int, int]]
) -> EdgeMap:
    wanted = np.array(runs, dtype=np.int64).reshape(-1, 2)
    lows, highs = wanted[:, 0], wanted[:, 1]
    clipped = isinstance(mapping, TimeOverlap | Rolling) and mapping.edge == "clip"
    absent = (lows < highs) & ((highs > up.size) | ((lows < 0) & (not clipped)))
    lows, highs = np.maximum(lows, 0), np.minimum(highs, up.size)
    owner = np.flatnonzero(lows < highs)
    return EdgeMap(mapping, down, up, False, owner, lows[owner], highs[owner], absent)


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)
