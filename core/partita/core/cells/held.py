"""What the store holds of one asset, by ordinal: its blocks laid over the space, a column at a time and only when asked for.

A plan of what is missing looks at one byte a cell; the hashes of its pages are then never touched. Where one page holds all
partitions of an asset in order, its columns are looked at as they are and nothing is copied. All columns are for reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from partita.assets import PartitionSpace
from partita.core.catalog.edges import Bools, Hashes
from partita.core.catalog.names import names_of
from partita.core.cells.lazy import Lazy
from partita.core.cells.ordinals import Place, place_of
from partita.core.cells.values import OUTCOME_SHIFT, PUBLISHED, CellBlock, Outcome

Codes = npt.NDArray[np.uint8]
Ids = npt.NDArray[np.uint32]
_ORDINARY = bytes([PUBLISHED | Outcome.PUBLISHED << OUTCOME_SHIFT])
Recorded = Literal["fingerprint", "dependency"]


class Held:
    """The cells of one asset. `opened` gives the code of the open task's state by partition; see `open_state`."""

    def __init__(self, space: PartitionSpace, blocks: Sequence[CellBlock], opened: Mapping[str, int]) -> None:
        self.space = space
        self._blocks = blocks
        self._opened = opened

    @property
    def flags(self) -> Codes:
        """The stored flags; 0 for cells without a row. Looked at once or twice, and not kept."""
        return self._column("flags", np.uint8)

    @Lazy
    def published(self) -> Bools:
        """The cells that hold a data version."""
        return (self.flags & np.uint8(PUBLISHED)).view(np.bool_)

    @Lazy
    def outcome(self) -> Codes:
        """How the last attempt ended, as an `Outcome`."""
        return self.flags >> np.uint8(OUTCOME_SHIFT)

    @Lazy
    def hash(self) -> Hashes:
        """The hashes of the data versions; 0 where there is none."""
        return self._column("hash", np.uint64)

    def made_by_another(self, recorded: Recorded, today: int) -> Bools | None:
        """The cells made by another code, or from other dependencies, than today's (an interned id); None for no cell.

        What was never recorded is no change.
        """
        found: Bools | None = None
        for place, block in zip(self._places, self._blocks, strict=True):
            column: Ids = getattr(block, recorded)
            if found is None:
                if column.tobytes() == _repeated(today, len(column)):
                    continue  # made as today, all of them: the usual case by far, and this is the cheapest way to see it
                found = np.zeros(self.space.size, dtype=np.bool_)
            _lay(found, place, (column != today) & (column != 0))
        return None if found is None else found & self.published

    def lay_published(self, row: Bools) -> None:
        """Mark the published cells in `row`, where nothing is marked so far, and keep it as `published`."""
        if self.ordinary and self._apart:
            for place in self._places:
                row[place] = True
        else:
            row[:] = self.published
        self.published = row

    def add_hashes(self, total: Hashes, factor: np.uint64, spare: Hashes) -> None:
        """Add `hash` times a factor to `total`; laid out first only where a later block overrides an earlier one.

        `spare` is as long as `total`, and written to.
        """
        if not self._apart:
            total += self.hash * factor
            return
        for place, block in zip(self._places, self._blocks, strict=True):
            if isinstance(place, slice):
                part = total[place]
                np.add(part, np.multiply(block.hash, factor, out=spare[: len(part)]), out=part)
            else:
                total[place] += block.hash * factor

    def consumed_another(self, expected: Hashes) -> Bools:
        """The published cells whose inputs hold something else than what they were made from."""
        found = np.zeros(self.space.size, dtype=np.bool_)
        self.lay_consumed_another(expected, found)
        return found

    def lay_consumed_another(self, expected: Hashes, row: Bools) -> None:
        """Mark the cells of `consumed_another` in `row`, where nothing is marked so far."""
        if not self._apart:
            np.not_equal(self._column("digest", np.uint64), expected, out=row)
        else:
            for place, block in zip(self._places, self._blocks, strict=True):
                row[place] = expected[place] != block.digest
        if not (self._apart and self.ordinary):  # else nothing without a version has been marked
            row &= self.published

    @Lazy
    def ordinary(self) -> bool:
        """Whether every cell that has a row was published by its last attempt."""
        return all(block.flags.tobytes() == _all_ordinary(len(block.flags)) for block in self._blocks)

    @Lazy
    def any_open(self) -> bool:
        """Whether an open task owns any cell."""
        return bool(self._opened)

    @Lazy
    def open_state(self) -> Codes:
        """0 where no open task owns the cell, else the code of its state."""
        if not self._opened:
            return _zeros(self.space.size, np.uint8)
        found = np.zeros(self.space.size, dtype=np.uint8)
        names = names_of(self.space)
        for partition, code in self._opened.items():
            ordinal = names.find(partition)
            if ordinal >= 0:
                found[ordinal] = code
        return found

    @Lazy
    def _places(self) -> list[Place]:
        return [place_of(self.space, block) for block in self._blocks]

    @Lazy
    def _apart(self) -> bool:
        """Whether the blocks, one after the other, hold each partition once and none that does not exist."""
        end = 0
        for place in self._places:
            first, stop = (place.start, place.stop) if isinstance(place, slice) else (place.min(), place.max() + 1)
            if first < end:
                return False
            end = stop
        return True

    def _column(self, name: str, kind: type[np.generic]) -> npt.NDArray[Any]:
        places = self._places
        if len(places) == 1 and isinstance(places[0], slice) and places[0] == slice(0, self.space.size):
            whole: npt.NDArray[Any] = getattr(self._blocks[0], name)
            return whole
        if not places:
            return _zeros(self.space.size, kind)
        found = np.zeros(self.space.size, dtype=kind)
        for place, block in zip(places, self._blocks, strict=True):
            _lay(found, place, getattr(block, name))
        return found


class Constant(Held):
    """An external asset that nobody observes: taken as present, whatever is stored."""

    def __init__(self, space: PartitionSpace) -> None:
        super().__init__(space, (), {})

    @property
    def flags(self) -> Codes:
        """Published, without any attempt."""
        return np.full(self.space.size, PUBLISHED, dtype=np.uint8)

    def lay_published(self, row: Bools) -> None:
        """Mark every cell."""
        row[:] = True
        self.published = row


@lru_cache(maxsize=64)
def _repeated(value: int, n: int) -> bytes:
    return np.full(n, value, dtype="<u4").tobytes()


@lru_cache(maxsize=64)
def _all_ordinary(n: int) -> bytes:
    return _ORDINARY * n


def _lay(over: npt.NDArray[Any], place: Place, column: npt.NDArray[Any]) -> None:
    if isinstance(place, slice):
        over[place] = column
    else:
        known = place >= 0
        over[place[known]] = column[known]


def _zeros(size: int, kind: type[np.generic]) -> npt.NDArray[Any]:
    """So many zeros, held once."""
    return np.broadcast_to(np.zeros((), dtype=kind), (size,))
