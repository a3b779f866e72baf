"""Sets in a product of dimensions, held as boxes: costs go by runs in each dimension, never by rows.

A choice in an inner dimension is one box here, where row-major ranges need one for every row around it. The form is canonical:
disjoint boxes, rows of equal content in one box, ordered by first row; equal sets are equal values. Knows sizes only, no keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from partita.assets.partitions.boxes import Box, boxes_of, coordinates, union_of_boxes
from partita.assets.partitions.sets import PartitionSet


@dataclass(frozen=True, slots=True)
class BoxSet:
    """A set of row-major ordinals of a product with these sizes, the first dimension outermost.

    >>> day = BoxSet.of((300, 24, 365), [(PartitionSet(((0, 300),)), PartitionSet(((0, 24),)), PartitionSet(((7, 8),)))])
    >>> len(day), len(day.boxes), day.to_set().runs
    (7200, 1, 7200)
    """

    sizes: tuple[int, ...]
    boxes: tuple[Box, ...] = ()

    @staticmethod
    def of(sizes: Sequence[int], boxes: Iterable[Sequence[PartitionSet]]) -> BoxSet:
        """The union of boxes, which may overlap; each has one set of positions for each dimension."""
        return BoxSet(tuple(sizes), _canonical([tuple(box) for box in boxes if all(box)], len(sizes)))

    @staticmethod
    def full(sizes: Sequence[int]) -> BoxSet:
        """Everything."""
        return BoxSet.of(sizes, [[PartitionSet.from_ranges([(0, size)]) for size in sizes]])

    @staticmethod
    def from_set(chosen: PartitionSet, sizes: Sequence[int]) -> BoxSet:
        """The boxes of row-major ordinals."""
        return BoxSet.of(sizes, boxes_of(chosen, sizes))

    @staticmethod
    def from_json(stored: Sequence[Sequence[Sequence[Sequence[int]]]], sizes: Sequence[int]) -> BoxSet:
        """Rebuild a set from `to_json`."""
        return BoxSet.of(sizes, [[PartitionSet.from_json(side) for side in box] for box in stored])

    def to_json(self) -> list[list[list[list[int]]]]:
        """Per box and dimension the ranges."""
        return [[side.to_json() for side in box] for box in self.boxes]

    def to_set(self) -> PartitionSet:
        """The row-major ordinals; costs by their runs."""
        return union_of_boxes(self.boxes, self.sizes)

    def __len__(self) -> int:
        return sum(prod(map(len, box)) for box in self.boxes)

    def __bool__(self) -> bool:
        return bool(self.boxes)

    def __contains__(self, ordinal: object) -> bool:
        if not isinstance(ordinal, int) or not 0 <= ordinal < prod(self.sizes):
            return False
        position = coordinates(ordinal, self.sizes)
        return any(all(at in side for at, side in zip(position, box, strict=True)) for box in self.boxes)

    def __or__(self, other: BoxSet) -> BoxSet:
        return BoxSet.of(self.sizes, (*self.boxes, *other.boxes))

    def __and__(self, other: BoxSet) -> BoxSet:
        shared = ([a & b for a, b in zip(one, two, strict=True)] for one in self.boxes for two in other.boxes)
        return BoxSet.of(self.sizes, shared)

    def __sub__(self, other: BoxSet) -> BoxSet:
        left = list(self.boxes)
        for gone in other.boxes:
            left = [part for box in left for part in _without(box, gone)]
        return BoxSet.of(self.sizes, left)

    def complement(self) -> BoxSet:
        """Everything else."""
        return BoxSet.full(self.sizes) - self

    def page(self, offset: int, limit: int) -> list[int]:
        """The ordinals at positions offset .. offset+limit-1, ascending; costs by the page and the runs."""
        return list(_page(self.boxes, self.sizes, offset, limit))

    def __repr__(self) -> str:
        return f"<BoxSet {len(self)} of {' x '.join(map(str, self.sizes))} in {len(self.boxes)} boxes>"


def _canonical(boxes: Sequence[Box], dims: int) -> tuple[Box, ...]:
    if not boxes:
        return ()
    if dims == 0:
        return ((),)
    if dims == 1:
        return ((PartitionSet.from_ranges(run for (side,) in boxes for run in side.ranges),),)
    if len(boxes) == 1:
        return (boxes[0],)
    rows: dict[tuple[Box, ...], list[tuple[int, int]]] = {}
    known: dict[tuple[int, ...], tuple[Box, ...]] = {}
    for start, stop, active in _segments([box[0] for box in boxes]):
        if active not in known:
            known[active] = _canonical([boxes[at][1:] for at in active], dims - 1)
        rows.setdefault(known[active], []).append((start, stop))
    return tuple((PartitionSet.from_ranges(ranges), *inner) for content, ranges in rows.items() for inner in content)


def _segments(sides: Sequence[PartitionSet]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """The pieces of a dimension in which the same sides (by position, at least one) hold, ascending."""
    edges: dict[int, list[tuple[int, bool]]] = {}
    for at, side in enumerate(sides):
        for start, stop in side.ranges:
            edges.setdefault(start, []).append((at, True))
            edges.setdefault(stop, []).append((at, False))
    active: set[int] = set()
    before = 0
    for place in sorted(edges):
        if active:
            yield before, place, tuple(sorted(active))
        for at, begins in sorted(edges[place], key=lambda edge: edge[1]):
            (active.add if begins else active.discard)(at)
        before = place


def _without(box: Box, gone: Box) -> Iterator[Box]:
    """A box less another, as disjoint boxes: outside in the first dimension; inside there, outside in the second; and so on."""
    inside: list[PartitionSet] = []
    for at, (mine, theirs) in enumerate(zip(box, gone, strict=True)):
        outside = mine - theirs
        if outside:
            yield (*inside, outside, *box[at + 1 :])
        shared = mine & theirs
        if not shared:
            return
        inside.append(shared)


def _page(boxes: Sequence[Box], sizes: Sequence[int], offset: int, limit: int) -> Iterator[int]:
    if not boxes or limit <= 0:
        return
    if not sizes:
        yield from range(1 if offset == 0 else 0)
        return
    block = prod(sizes[1:])
    for start, stop, active in _segments([box[0] for box in boxes]):
        inner = [boxes[at][1:] for at in active]
        each = sum(prod(map(len, box)) for box in inner)
        skipped = min(offset // each, stop - start)
        offset -= skipped * each
        for row in range(start + skipped, stop):
            for one in _page(inner, sizes[1:], offset, limit):
                yield row * block + one
                limit -= 1
            offset = 0
            if limit <= 0:
                return
