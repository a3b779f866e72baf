"""The masks of many assets as sets and runs: the rows of an array at the cost of one look at all of it.

Says for each row what `set_of` and `Runs.of_array` say of it. Equal masks become one set, so that a plan in which asset after
asset follows one cause holds it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from partita.assets import PartitionSet
from partita.core.catalog import set_of
from partita.core.catalog.edges import Bools
from partita.core.planner.sequences import Runs


class SharedSets:
    """The sets of masks; equal ones are one object."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], PartitionSet] = {}

    def of(self, mask: Bools) -> PartitionSet:
        """The ordinals of the true values."""
        asked = (len(mask), np.packbits(mask).tobytes())
        known = self._known.get(asked)
        if known is None:
            known = self._known[asked] = set_of(mask)
        return known

    def of_rows(self, masks: Bools) -> list[PartitionSet]:
        """`of` of each row."""
        size = masks.shape[1]
        asked = [(size, row.tobytes()) for row in np.packbits(masks, axis=1)]
        fresh = {one: at for at, one in enumerate(asked) if one not in self._known}
        self._known.update(zip(fresh, sets_of_rows(masks[list(fresh.values())]), strict=True))
        return [self._known[one] for one in asked]


def sets_of_rows(masks: Bools) -> list[PartitionSet]:
    """The ordinals of the true values of each row.

    >>> sets_of_rows(np.array([[True, True, False], [False, False, False], [True, False, True]]))
    [<PartitionSet 2: 0..1>, <PartitionSet 0: >, <PartitionSet 2: 0, 2>]
    """
    # A column of false values behind each row ends its last run there.
    padded = np.zeros((masks.shape[0], masks.shape[1] + 1), dtype=np.bool_)
    padded[:, :-1] = masks
    flat = padded.ravel()
    turns = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    if len(flat) and flat[0]:
        turns = np.concatenate(([0], turns))
    rows, ordinals = np.divmod(turns, padded.shape[1])
    ranges = list(zip(ordinals[::2].tolist(), ordinals[1::2].tolist(), strict=True))
    return [PartitionSet(tuple(ranges[start:stop])) for start, stop in _parts(rows[::2], len(masks))]


def runs_of_rows(values: npt.NDArray[Any], chosen: Bools) -> list[Runs[Any]]:
    """The runs of the values at the chosen places of each row.

    >>> runs_of_rows(np.array([[1, 1, 2], [2, 2, 2]]), np.array([[True, True, True], [True, False, True]]))
    [Runs(runs=((1, 2), (2, 1))), Runs(runs=((2, 2),))]
    """
    rows = np.repeat(np.arange(len(chosen)), np.count_nonzero(chosen, axis=1))
    here = values[chosen]
    starts = np.flatnonzero((here[1:] != here[:-1]) | (rows[1:] != rows[:-1])) + 1
    starts = np.concatenate(([0], starts)) if len(here) else starts
    lengths = np.diff(starts, append=len(here))
    runs = list(zip(here[starts].tolist(), lengths.tolist(), strict=True))
    return [Runs(tuple(runs[start:stop])) for start, stop in _parts(rows[starts], len(chosen))]


def _parts(rows: npt.NDArray[np.int64], n: int) -> Sequence[tuple[int, int]]:
    """Where each of `n` rows begins and ends in a rising list of rows."""
    return list(pairwise(np.searchsorted(rows, np.arange(n + 1)).tolist()))
