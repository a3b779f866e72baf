"""Partition sets: ordinals held as sorted, disjoint, half-open ranges.

Every operation costs by the number of ranges (runs), never by the number of partitions. A set knows nothing
about keys; `PartitionSpace` translates between keys and ordinals.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PartitionSet:
    """An immutable set of ordinals; `ranges` are half-open, sorted, disjoint and never adjacent.

    >>> march, odd = PartitionSet.from_ranges([(0, 31)]), PartitionSet.from_ordinals([1, 3, 40])
    >>> march & odd, march | odd
    (<PartitionSet 2: 1, 3>, <PartitionSet 32: 0..30, 40>)
    >>> len(march - odd), (march - odd).runs
    (29, 3)
    """

    ranges: tuple[Range, ...] = ()

    @staticmethod
    def empty() -> PartitionSet:
        """The set without partitions."""
        return _EMPTY

    @staticmethod
    def from_ranges(ranges: Iterable[Sequence[int]]) -> PartitionSet:
        """Build a set from half-open ranges in any order; empty ones vanish, touching ones merge."""
        merged: list[Range] = []
        for start, stop in sorted((one[0], one[1]) for one in ranges if one[0] < one[1]):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        return PartitionSet(tuple(merged)) if merged else _EMPTY

    @staticmethod
    def from_ordinals(ordinals: Iterable[int]) -> PartitionSet:
        """Build a set from single ordinals in any order."""
        return PartitionSet.from_ranges((one, one + 1) for one in ordinals)

    @staticmethod
    def from_json(ranges: Iterable[Sequence[int]]) -> PartitionSet:
        """Rebuild a set from `to_json`."""
        return PartitionSet.from_ranges(ranges)

    def to_json(self) -> list[list[int]]:
        """The ranges as lists of two integers."""
        return [[start, stop] for start, stop in self.ranges]

    def __len__(self) -> int:
        return sum(stop - start for start, stop in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __contains__(self, ordinal: object) -> bool:
        if not isinstance(ordinal, int):
            return False
        at = bisect_right(self.ranges, ordinal, key=_start) - 1
        return at >= 0 and ordinal < self.ranges[at][1]

    def __iter__(self) -> Iterator[int]:
        return chain.from_iterable(range(start, stop) for start, stop in self.ranges)

    def __repr__(self) -> str:
        shown = ", ".join(str(a) if b == a + 1 else f"{a}..{b - 1}" for a, b in self.ranges[:8])
        more = f", ... {len(self.ranges) - 8} more runs" if len(self.ranges) > 8 else ""
        return f"<PartitionSet {len(self)}: {shown}{more}>"

    @property
    def runs(self) -> int:
        """How many ranges the set has: what operations on it cost."""
        return len(self.ranges)

    @property
    def first(self) -> int:
        """The smallest ordinal; raises IndexError on an empty set."""
        return self.ranges[0][0]

    @property
    def last(self) -> int:
        """The largest ordinal; raises IndexError on an empty set."""
        return self.ranges[-1][1] - 1

    def __or__(self, other: PartitionSet) -> PartitionSet:
        if not self.ranges or not other.ranges:
            return self if self.ranges else other
        return PartitionSet.from_ranges(chain(self.ranges, other.ranges))

    def __and__(self, other: PartitionSet) -> PartitionSet:
        found: list[Range] = []
        mine, theirs = self.ranges, other.ranges
        i = j = 0
        while i < len(mine) and j < len(theirs):
            start, stop = max(mine[i][0], theirs[j][0]), min(mine[i][1], theirs[j][1])
            if start < stop:
                found.append((start, stop))
            if mine[i][1] < theirs[j][1]:
                i += 1
            else:
                j += 1
        return PartitionSet(tuple(found)) if found else _EMPTY

    def __sub__(self, other: PartitionSet) -> PartitionSet:
        kept: list[Range] = []
        cuts = other.ranges
        j = 0
        for start, stop in self.ranges:
            while j < len(cuts) and cuts[j][1] <= start:
                j += 1
            at, k = start, j
            while k < len(cuts) and cuts[k][0] < stop:
                if at < cuts[k][0]:
                    kept.append((at, cuts[k][0]))
                at = cuts[k][1]
                k += 1
            if at < stop:
                kept.append((at, stop))
        return PartitionSet(tuple(kept)) if kept else _EMPTY

    def __xor__(self, other: PartitionSet) -> PartitionSet:
        return (self - other) | (other - self)

    def isdisjoint(self, other: PartitionSet) -> bool:
        """True when the two sets share no partition."""
        return not self & other

    def issubset(self, other: PartitionSet) -> bool:
        """True when every partition of this set is in `other`."""
        return not self - other

    def complement(self, size: int) -> PartitionSet:
        """The ordinals of 0..size-1 that are not in the set."""
        return PartitionSet.from_ranges([(0, size)]) - self

    def shift(self, by: int) -> PartitionSet:
        """The set with every ordinal moved by `by`."""
        return PartitionSet(tuple((start + by, stop + by) for start, stop in self.ranges)) if by else self

    def page(self, offset: int = 0, limit: int | None = None) -> PartitionSet:
        """The subset at positions offset .. offset+limit-1, in order of ordinals."""
        skip, left = max(offset, 0), limit
        taken: list[Range] = []
        for start, stop in self.ranges:
            if skip >= stop - start:
                skip -= stop - start
                continue
            begin, skip = start + skip, 0
            end = stop if left is None else min(stop, begin + left)
            if begin >= end:
                break
            taken.append((begin, end))
            if left is not None:
                left -= end - begin
        return PartitionSet(tuple(taken)) if taken else _EMPTY


def _start(one: Range) -> int:
    return one[0]


_EMPTY = PartitionSet()
