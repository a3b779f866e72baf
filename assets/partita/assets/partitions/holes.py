"""Excluded windows: the numbering of those that are left, by runs.

Places are windows of the cron counted from the first; ordinals are those of the windows left. Knows no times.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from partita.assets.partitions.sets import PartitionSet, Range


class Holes:
    """Translates between places and ordinals; before the first window they are the same."""

    __slots__ = ("_ordinals", "_starts", "_sums", "excluded")

    def __init__(self, excluded: PartitionSet) -> None:
        self.excluded = excluded
        self._starts = [start for start, _ in excluded.ranges]
        self._sums = [0, *accumulate(stop - start for start, stop in excluded.ranges)]
        # The ordinal of the first window after each hole.
        self._ordinals = [start - gone for start, gone in zip(self._starts, self._sums, strict=False)]

    def rank(self, place: int) -> int:
        """How many windows are left before a place: the ordinal of the first one from there on."""
        at = bisect_right(self._starts, place) - 1
        if at < 0:
            return place
        start, stop = self.excluded.ranges[at]
        return place - self._sums[at] - (min(place, stop) - start)

    def place(self, ordinal: int) -> int:
        """The place of an ordinal."""
        return ordinal + self._sums[bisect_right(self._ordinals, ordinal)]

    def places(self, run: Range) -> list[Range]:
        """The places of a run of ordinals; holes cut it."""
        first, last = self.place(run[0]), self.place(run[1] - 1) + 1
        return list((PartitionSet(((first, last),)) - self.excluded).ranges)


NO_HOLES = Holes(PartitionSet.empty())
