"""One input's mapping between two spaces, compiled to arrays: what the planner and the status do over whole assets.

A compiled mapping is a list of half-open ranges of upstream ordinals, each owned by a downstream ordinal. Sums over
ranges are differences of prefix sums, so the width of a mapping costs nothing; a mapping of each partition to itself, by
far the most common, is no list at all, and products are mapped axis by axis (`axes.py`). Owns no rule of staleness and reads
nothing; `partita.assets.mappings` stays the one place that says what a mapping means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from partita.assets import (
    All,
    Dimensions,
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
from partita.assets.mappings.evaluate import Mapped, by_position, needed_runs, upstream_by_cell, upstream_of
from partita.assets.partitions.multi import ProductSpace

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Levels = npt.NDArray[np.int32]
_NO_INTS: Ints = np.array([], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class EdgeMap:
    """Ranges [lo, hi) of upstream ordinals needed by each downstream ordinal `owner` (ascending).

    A `uniform` mapping needs the same upstream partitions everywhere; its ranges are held once, with owner 0. One that is the
    `same` needs the ordinal itself and holds no ranges at all. `absent` marks the downstream ordinals that need a partition which
    does not exist. Answers may be the arrays that were asked about: they are for reading. Arrays may have further dimensions
    behind that of the ordinals; each row is then a value.
    """

    mapping: Mapping
    down: PartitionSpace
    up: PartitionSpace
    uniform: bool
    owner: Ints
    lo: Ints
    hi: Ints
    absent: Bools
    same: bool = False

    @staticmethod
    def compile(mapping: Mapping, *, down: PartitionSpace, up: PartitionSpace) -> EdgeMap:
        """Evaluate a mapping for all existing downstream partitions."""
        mapping = by_position(mapping, down, up)
        if isinstance(mapping, Identity) and down.same_partitions(up):
            return _same(mapping, down, up)
        if isinstance(mapping, All | Last | Specific):
            first = PartitionSet(((0, 1),)) if down.size else PartitionSet.empty()
            needed = upstream_of(mapping, down=down, up=up, cells=first)
            return uniform_edge(mapping, down, up, needed.existing, absent=needed.absent_count > 0)
        if isinstance(mapping, Dimensions):
            from partita.core.catalog.axes import compile_axes  # which holds edges of this kind

            return compile_axes(mapping, down, up)
        runs = needed_runs(mapping, down=down, up=up)
        found = _by_cell(mapping, down, up) if runs is None else _one_run_each(mapping, down, up, runs)
        return _same(mapping, down, up) if found.trivial else found

    @property
    def trivial(self) -> bool:
        """Whether the ranges say what `same` says."""
        every = np.arange(self.down.size, dtype=np.int64)
        return bool(
            not self.uniform
            and self.down.size == self.up.size
            and not self.any_absent
            and np.array_equal(self.owner, every)
            and np.array_equal(self.lo, every)
            and np.array_equal(self.hi, every + 1)
        )

    @property
    def held(self) -> bool:
        """Whether `owner`, `lo` and `hi` (or `same`) say what each downstream ordinal needs."""
        return not self.uniform

    @cached_property
    def any_absent(self) -> bool:
        """Whether anything at all is needed that does not exist."""
        return bool(self.absent.any())

    @property
    def touching(self) -> Bools:
        """The downstream ordinals that need any existing partition."""
        return self.any(everything(self.up.size))

    def sums(self, values: Hashes) -> Hashes:
        """Per downstream ordinal the sum modulo 2^64 of the upstream values."""
        if self.same:
            return values
        prefix = np.zeros((len(values) + 1, *values.shape[1:]), dtype=np.uint64)
        np.cumsum(values, axis=0, dtype=np.uint64, out=prefix[1:])
        parts = prefix[self.hi] - prefix[self.lo]
        if self.uniform:
            return self._everywhere(parts.sum(axis=0, dtype=np.uint64))
        total = np.zeros((self.down.size, *values.shape[1:]), dtype=np.uint64)
        if self._one_range_each:
            total[self.owner] = parts
        else:
            np.add.at(total, self.owner, parts)
        return total

    def any(self, marked: Bools) -> Bools:
        """The downstream ordinals that need at least one marked upstream ordinal."""
        if self.same:
            return marked
        found = np.zeros((self.down.size, *marked.shape[1:]), dtype=np.bool_)
        if not marked.any():
            return found
        prefix = np.zeros((len(marked) + 1, *marked.shape[1:]), dtype=np.int32)
        np.cumsum(marked, axis=0, dtype=np.int32, out=prefix[1:])
        hit = prefix[self.hi] > prefix[self.lo]
        if self.uniform:
            return self._everywhere(np.asarray(hit.any(axis=0)))
        if self._one_range_each:
            found[self.owner] = hit
        else:
            np.logical_or.at(found, self.owner, hit)
        return found

    def highest(self, values: Levels) -> Levels:
        """Per downstream ordinal the largest upstream value, -1 where it needs none."""
        if self.same:
            return values
        found = np.full((self.down.size, *values.shape[1:]), -1, dtype=values.dtype)
        if not len(self.lo):
            return found
        padded = np.concatenate((values, np.full((1, *values.shape[1:]), -1, dtype=values.dtype)))
        edges = np.column_stack((self.lo, self.hi)).ravel()
        highest = np.maximum.reduceat(padded, edges, axis=0)[::2]
        if self.uniform:
            return self._everywhere(highest.max(axis=0))
        np.maximum.at(found, self.owner, highest)
        return found

    def needed(self, marked: Bools) -> Bools:
        """The upstream ordinals that the marked downstream ordinals need."""
        if self.same:
            return marked
        steps = np.zeros((self.up.size + 1, *marked.shape[1:]), dtype=np.int32)
        chosen = (
            np.asarray(marked.any(axis=0))[np.newaxis].repeat(len(self.lo), 0) if self.uniform else marked[self.owner]
        )
        counted = chosen.astype(np.int32)
        np.add.at(steps, self.lo, counted)
        np.subtract.at(steps, self.hi, counted)
        return np.cumsum(steps, axis=0)[:-1] > 0

    def ranges_of(self, ordinal: int) -> Sequence[tuple[int, int]]:
        """The upstream ranges that one downstream ordinal needs."""
        if self.same:
            return [(ordinal, ordinal + 1)]
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

    def _everywhere(self, row: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One row for every downstream ordinal, held once."""
        return np.broadcast_to(row, (self.down.size, *row.shape))


@lru_cache(maxsize=16)
def nothing(size: int) -> Bools:
    """No ordinal at all: one array for everybody, not to be written to."""
    mask = np.zeros(size, dtype=np.bool_)
    mask.flags.writeable = False
    return mask


@lru_cache(maxsize=16)
def everything(size: int) -> Bools:
    """Every ordinal: one array for everybody, not to be written to."""
    mask = np.ones(size, dtype=np.bool_)
    mask.flags.writeable = False
    return mask


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
    edges: list[int] = (np.flatnonzero(mask[1:] != mask[:-1]) + 1).tolist()
    if mask[0]:
        edges.insert(0, 0)
    if mask[-1]:
        edges.append(len(mask))
    return PartitionSet(tuple(zip(edges[::2], edges[1::2], strict=True))) if edges else PartitionSet.empty()


def uniform_edge(
    mapping: Mapping, down: PartitionSpace, up: PartitionSpace, existing: PartitionSet, *, absent: bool
) -> EdgeMap:
    """The edge of a mapping that needs everywhere the same, which may be `absent` in part."""
    lows = _ints([start for start, _ in existing.ranges])
    highs = _ints([stop for _, stop in existing.ranges])
    gone = everything(down.size) if absent else nothing(down.size)
    return EdgeMap(mapping, down, up, True, np.zeros(len(lows), dtype=np.int64), lows, highs, gone)


def _same(mapping: Mapping, down: PartitionSpace, up: PartitionSpace) -> EdgeMap:
    return EdgeMap(mapping, down, up, False, _NO_INTS, _NO_INTS, _NO_INTS, nothing(down.size), same=True)


def _by_cell(mapping: Mapping, down: PartitionSpace, up: PartitionSpace) -> EdgeMap:
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
