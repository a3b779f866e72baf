"""Partitions as people read them: ranges of times, lists of names, dimensions side by side.

`2013-01-01..2013-01-31`, `EWR, JFK`, `2013-01-01..2013-01-31 × EWR, JFK, LGA`. For reading only: what is stored and what
selects stays a key or a selection text.
"""

from __future__ import annotations

from collections.abc import Sequence

from partita.assets import PartitionSet, PartitionSpace, ProductSpace, TimePartitions, boxes_of, product_set, split_key

_TIMES = " × "
_LISTED = 4


def partitions_text(space: PartitionSpace, cells: PartitionSet, limit: int = 4) -> str:
    """A set of partitions: "2013-01-01..2013-01-31, 2013-02-03 and 2 more ranges". "" for an unpartitioned asset."""
    if space.definition is None:
        return ""
    if not isinstance(space, ProductSpace):
        return _side(space, cells, limit)
    boxes = boxes_of(cells, space.sizes)
    more = len(boxes) - limit
    texts = [_box(space, box, limit) for box in boxes[:limit]]
    return "; ".join(texts) + (f"; and {more} more" if more > 0 else "")


def span_text(space: PartitionSpace | None, first: str, last: str, count: int) -> str:
    """`count` partitions of which only the smallest and the largest stored key are known. `space` is None for an asset that
    is gone."""
    if first == last or count == 1:
        return key_text(space, first)
    found = None if space is None else _between(space, first, last)
    if space is not None and found is not None and len(found) == count:
        return partitions_text(space, found)
    return f"{key_text(space, first)} … {key_text(space, last)} ({count:,})"


def range_text(space: PartitionSpace, start: int, stop: int) -> str:
    """Neighbouring windows of time, `stop` exclusive, as they may stand in a selection. Whole days of hours are told by
    their dates."""
    first, last = str(space.key_at(start)), str(space.key_at(stop - 1))
    if stop - start > 1 and "T" in first:
        day, until = first.partition("T")[0], last.partition("T")[0]
        opens, closes = space.locate(day), space.locate(until)
        if opens and closes and (opens.first, closes.last) == (start, stop - 1):
            first, last = day, until
    return first if first == last else f"{first}..{last}"


def key_text(space: PartitionSpace | None, key: str) -> str:
    """One stored key; "all" for the only cell of an unpartitioned asset."""
    parts = split_key(key) if isinstance(space, ProductSpace) else None
    return _TIMES.join(parts) if parts else key or "all"


def _between(space: PartitionSpace, first: str, last: str) -> PartitionSet | None:
    """Everything from one stored key to another, in each dimension."""
    if not isinstance(space, ProductSpace):
        return _range(space, first, last)
    corners = zip(space.parts, split_key(first) or (), split_key(last) or (), strict=False)
    sides = [_range(part, low, high) for part, low, high in corners]
    known = [side for side in sides if side is not None]
    return product_set(known, space.sizes) if len(known) == len(space.parts) else None


def _range(space: PartitionSpace, first: str, last: str) -> PartitionSet | None:
    low, high = space.find(first), space.find(last)
    if low is None or high is None:
        return None
    return PartitionSet.from_ranges([(min(low, high), max(low, high) + 1)])


def _box(space: ProductSpace, box: Sequence[PartitionSet], limit: int) -> str:
    return _TIMES.join(_side(part, side, limit) for part, side in zip(space.parts, box, strict=True))


def _side(space: PartitionSpace, cells: PartitionSet, limit: int) -> str:
    """The partitions of one dimension: times as ranges, names as a list, for their order says nothing."""
    if isinstance(space.definition, TimePartitions):
        parts = [range_text(space, start, stop) for start, stop in cells.ranges[:limit]]
        left, one, many = cells.runs - limit, "more range", "more ranges"
    elif len(cells) == space.size > _LISTED:
        return f"all {space.size:,}"
    else:
        parts = [str(key) for key in space.keys(cells, 0, _LISTED)]
        left, one, many = len(cells) - _LISTED, "more", "more"
    return ", ".join(parts) + (f" and {left:,} {one if left == 1 else many}" if left > 0 else "")
