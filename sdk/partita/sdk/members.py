"""Which members of a group are made where, in process: the rule of the planner for a call in which nothing is made yet.

Owns sets per member only. Refuses to know what a caller asked for (`inprocess.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_

from partita.assets import AssetKey, PartitionSet, PartitionSpace, upstream_of
from partita.sdk.resolve import ResolvedInput

Chosen = Mapping[AssetKey, PartitionSet]


def union(sets: Iterable[PartitionSet]) -> PartitionSet:
    """All of them in one."""
    return reduce(or_, sets, PartitionSet.empty())


def with_members_read(
    chosen: Chosen, inputs: Sequence[ResolvedInput], space: PartitionSpace
) -> dict[AssetKey, PartitionSet]:
    """The chosen partitions of each member of a subsettable group, and what one member reads there of another."""
    found = dict(chosen)
    reach = union(found.values())
    inside = [one for one in inputs if one.local and one.upstream in found]
    while True:
        wanted = dict(found)
        for one in inside:
            cells = union(cells for key, cells in found.items() if key != one.upstream)
            wanted[one.upstream] |= upstream_of(one.mapping, down=space, up=space, cells=cells).existing & reach
        if wanted == found:
            return found
        found = wanted


def members_by_partition(chosen: Chosen) -> dict[tuple[AssetKey, ...], PartitionSet]:
    """The partitions by the members that are made in them; every partition is in one set."""
    parts: dict[tuple[AssetKey, ...], PartitionSet] = {(): union(chosen.values())}
    for key, cells in chosen.items():
        cut: dict[tuple[AssetKey, ...], PartitionSet] = {}
        for members, within in parts.items():
            cut[*members, key] = within & cells
            cut[members] = within - cells
        parts = {members: within for members, within in cut.items() if within}
    return parts
