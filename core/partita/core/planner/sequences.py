"""The tasks of a step held as sets: sequences that say what a tuple of the same things would, at the cost of their runs.

A plan of ten million cells with a task each is ten thousand sets, not ten million objects; a task becomes an object when it is
launched. Own no rule of how cells are cut into tasks (`batches.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, groupby, pairwise, repeat
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from partita.assets import PartitionSet
from partita.core.catalog.edges import Ints

_T = TypeVar("_T")


@dataclass(frozen=True)
class OneEach(Sequence[PartitionSet]):
    """A task for each of the cells, in order of ordinals."""

    cells: PartitionSet

    def __len__(self) -> int:
        return len(self.cells)

    def __bool__(self) -> bool:
        return bool(self.cells)

    def __iter__(self) -> Iterator[PartitionSet]:
        return (PartitionSet(((one, one + 1),)) for one in self.cells)

    @overload
    def __getitem__(self, index: int) -> PartitionSet: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PartitionSet]: ...
    def __getitem__(self, index: int | slice) -> PartitionSet | Sequence[PartitionSet]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        run = bisect_right(self._ends, at)
        one = self.cells.ranges[run][1] - (self._ends[run] - at)
        return PartitionSet(((one, one + 1),))

    @cached_property
    def _ends(self) -> list[int]:
        """How many cells lie up to the end of each run."""
        return list(accumulate(stop - start for start, stop in self.cells.ranges))


@dataclass(frozen=True)
class Runs(Sequence[_T]):
    """Values with how often each follows in a row; never twice the same value in a row."""

    runs: tuple[tuple[_T, int], ...]

    @staticmethod
    def of(values: Iterable[_T]) -> Runs[_T]:
        """The runs of single values."""
        return Runs(tuple((value, sum(1 for _ in same)) for value, same in groupby(values)))

    @staticmethod
    def of_array(values: npt.NDArray[Any]) -> Runs[Any]:
        """The runs of an array."""
        if not len(values):
            return Runs(())
        starts = [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist()]
        lengths = [stop - start for start, stop in zip(starts, [*starts[1:], len(values)], strict=True)]
        return Runs(tuple(zip(values[starts].tolist(), lengths, strict=True)))

    def __len__(self) -> int:
        return sum(n for _, n in self.runs)

    def __iter__(self) -> Iterator[_T]:
        return chain.from_iterable(repeat(value, n) for value, n in self.runs)

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        return self.runs[bisect_right(self._ends, at)][0]

    @cached_property
    def values(self) -> tuple[_T, ...]:
        """The values that occur, some more than once."""
        return tuple(value for value, _ in self.runs)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(n for _, n in self.runs))


def compact(batches: Sequence[PartitionSet]) -> Sequence[PartitionSet]:
    """The same tasks; one cell a task, by far the most common, is held as the set of those cells."""
    if isinstance(batches, OneEach) or not batches or any(len(one) > 1 for one in batches):
        return batches
    firsts = [one.first for one in batches]
    rising = all(a < b for a, b in pairwise(firsts))
    return OneEach(PartitionSet.from_ordinals(firsts)) if rising else batches


def task_of_each(batches: Sequence[PartitionSet], cells: int) -> Ints:
    """For each planned cell, in order of ordinals, the position of its task."""
    if isinstance(batches, OneEach):
        return np.arange(cells, dtype=np.int64)
    ordinals = np.fromiter(chain.from_iterable(batches), dtype=np.int64, count=cells)
    tasks = np.repeat(np.arange(len(batches)), [len(one) for one in batches])
    return tasks[np.argsort(ordinals, kind="stable")]


def cells_by_task(batches: Sequence[PartitionSet]) -> tuple[Ints, Ints]:
    """The ordinals of all cells, task by task, and for each the position of its task."""
    if isinstance(batches, OneEach):
        return ordinals_of(batches.cells), np.arange(len(batches))
    sizes = np.array([len(one) for one in batches], dtype=np.int64)
    return np.concatenate([ordinals_of(one) for one in batches]), np.repeat(np.arange(len(batches)), sizes)


def ordinals_of(cells: PartitionSet) -> Ints:
    """The ordinals of a set, ascending."""
    if not cells.ranges:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([np.arange(start, stop) for start, stop in cells.ranges])


def between(batches: Sequence[PartitionSet], start: int, stop: int) -> PartitionSet:
    """The cells of the tasks from one position up to another."""
    if isinstance(batches, OneEach):
        return batches.cells.page(start, stop - start)
    return PartitionSet.from_ranges(one for batch in batches[start:stop] for one in batch.ranges)
