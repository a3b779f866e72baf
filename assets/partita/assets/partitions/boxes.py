"""Sets in a product of dimensions: row-major ordinals, decomposed into boxes and composed from them.

A box is one set per dimension and means their product. A set falls into few boxes when its rows repeat, which is
what selections and mappings of multi schemes make. Knows sizes only, no keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import prod

from partita.assets.partitions.sets import PartitionSet, Range

Box = tuple[PartitionSet, ...]


def product_set(box: Sequence[PartitionSet], sizes: Sequence[int]) -> PartitionSet:
    """The row-major ordinals of a box; costs by the runs of the answer.

    >>> product_set([PartitionSet.from_ordinals([1, 2]), PartitionSet.from_ordinals([0, 3])], sizes=(31, 4))
    <PartitionSet 4: 4, 7..8, 11>
    """
    if not all(box):
        return PartitionSet.empty()
    if not box:
        return PartitionSet(((0, 1),))
    ranges: Sequence[Range] = box[-1].ranges
    block = sizes[-1]
    for chosen, size in zip(reversed(box[:-1]), reversed(sizes[:-1]), strict=True):
        if tuple(ranges) == ((0, block),):
            ranges = [(start * block, stop * block) for start, stop in chosen.ranges]
        else:
            ranges = [(row * block + start, row * block + stop) for row in chosen for start, stop in ranges]
        block *= size
    return PartitionSet.from_ranges(ranges)


def union_of_boxes(boxes: Iterable[Sequence[PartitionSet]], sizes: Sequence[int]) -> PartitionSet:
    """The row-major ordinals in any of the boxes."""
    return PartitionSet.from_ranges(one for box in boxes for one in product_set(box, sizes).ranges)


def boxes_of(chosen: PartitionSet, sizes: Sequence[int]) -> list[Box]:
    """Disjoint boxes whose union is the set; rows with equal content share one. `sizes` are the sizes of the dimensions.

    >>> everywhere_on_two_days = PartitionSet.from_ranges([(4, 12)])
    >>> boxes_of(everywhere_on_two_days, sizes=(31, 4))
    [(<PartitionSet 2: 1..2>, <PartitionSet 4: 0..3>)]
    """
    if not chosen:
        return []
    if len(sizes) <= 1:
        return [(chosen,) if sizes else ()]
    block = prod(sizes[1:])
    whole: list[Range] = []
    parts: dict[int, list[Range]] = {}
    for start, stop in chosen.ranges:
        _cut_rows(start, stop, block, whole, parts)
    rows_by_content: dict[PartitionSet, list[Range]] = {}
    for row, ranges in parts.items():
        rows_by_content.setdefault(PartitionSet.from_ranges(ranges), []).append((row, row + 1))
    if whole:
        rows_by_content.setdefault(PartitionSet(((0, block),)), []).extend(whole)
    return [
        (PartitionSet.from_ranges(rows), *inner)
        for content, rows in rows_by_content.items()
        for inner in boxes_of(content, sizes[1:])
    ]


def _cut_rows(start: int, stop: int, block: int, whole: list[Range], parts: dict[int, list[Range]]) -> None:
    first, last = -(-start // block), stop // block
    if first > last:  # within one row
        parts.setdefault(last, []).append((start - last * block, stop - last * block))
        return
    if start < first * block:
        parts.setdefault(first - 1, []).append((start - (first - 1) * block, block))
    if first < last:
        whole.append((first, last))
    if stop > last * block:
        parts.setdefault(last, []).append((0, stop - last * block))


def split_dimension(boxes: Iterable[Box], dimension: int) -> list[Box]:
    """The same boxes, cut so that each holds one element in a dimension."""
    return [
        (*box[:dimension], PartitionSet(((one, one + 1),)), *box[dimension + 1 :])
        for box in boxes
        for one in box[dimension]
    ]


def coordinates(ordinal: int, sizes: Sequence[int]) -> tuple[int, ...]:
    """The position of an ordinal in each dimension."""
    found: list[int] = []
    for size in reversed(sizes):
        ordinal, position = divmod(ordinal, size)
        found.append(position)
    return tuple(reversed(found))


def row_major(position: Sequence[int], sizes: Sequence[int]) -> int:
    """The ordinal of a position."""
    return reduce(lambda ordinal, pair: ordinal * pair[1] + pair[0], zip(position, sizes, strict=True), 0)
