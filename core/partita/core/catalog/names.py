"""Keys, ordinals and windows of partitions, remembered by scheme: what is asked of the same partitions again and again.

Windows of a time scheme keep their ordinals while more of them close, so one memory serves a scheme at every instant; only
what exists is the space's. A product has none of its own: a year of hours over three origins costs a year of hours.
Process-wide and bounded; safe between threads (a race only works something out twice).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime
from threading import Lock

import numpy as np
import numpy.typing as npt

from partita.assets import (
    PartitionsDef,
    PartitionSet,
    PartitionSpace,
    StaticPartitions,
    TimePartitions,
    join_key,
    split_key,
)
from partita.assets.partitions.boxes import coordinates, row_major
from partita.assets.partitions.multi import ProductSpace
from partita.assets.partitions.time import TimeSpace
from partita.assets.partitions.zones import to_epoch

_SCHEMES_KEPT = 256
_AT_ONCE = 16  # keys that are looked for together, from which on neighbours are learned in a row
_ENTRIES_KEPT = 50_000  # of one scheme: five years of hours; about 10 MB

Span = tuple[datetime, datetime]


class _Memory:
    """What is known of one scheme."""

    __slots__ = ("keys", "ordinals", "windows")

    def __init__(self) -> None:
        self.keys: dict[int, str] = {}
        self.ordinals: dict[str, int] = {}
        self.windows: dict[int, Span | None] = {}

    def bound(self) -> None:
        if len(self.keys) + len(self.ordinals) + len(self.windows) >= _ENTRIES_KEPT:
            self.keys, self.ordinals, self.windows = {}, {}, {}


class SpaceNames:
    """The partitions of one space by name. Answers as the space does; raises what it raises."""

    __slots__ = ("_memory", "_parts", "_product", "space")

    def __init__(self, space: PartitionSpace) -> None:
        self.space = space
        self._product = space if isinstance(space, ProductSpace) else None
        self._parts = [SpaceNames(part) for part in self._product.parts] if self._product is not None else []
        self._memory = _memory_of(space.definition)

    def key(self, ordinal: int) -> str:
        """The stored key of an ordinal."""
        if self._product is not None:
            place = coordinates(ordinal, self._product.sizes)
            return join_key([part.key(at) for part, at in zip(self._parts, place, strict=True)])
        known = self._memory.keys.get(ordinal) if 0 <= ordinal < self.space.size else None
        if known is None:
            known = self.space.key_at(ordinal)
            self._memory.bound()
            self._memory.keys[ordinal] = known
        return known

    def find(self, key: str) -> int:
        """The ordinal of a stored key; -1 when no such partition exists."""
        if self._product is not None:
            return self._find_in_product(self._product, key)
        known = self._memory.ordinals.get(key)
        if known is None:
            known = self.space.find(key)
            if known is None:
                return -1  # not remembered: it may exist tomorrow
            self._memory.bound()
            self._memory.ordinals[key] = known
        return known if known < self.space.size else -1

    def window(self, ordinal: int) -> Span | None:
        """Start and end (UTC) of the window of an ordinal; None without time."""
        if self._product is not None:
            time_dim = self._product.time_dim
            if time_dim is None:
                return None
            return self._parts[time_dim].window(coordinates(ordinal, self._product.sizes)[time_dim])
        windows = self._memory.windows
        if 0 <= ordinal < self.space.size and ordinal in windows:
            return windows[ordinal]
        window = self.space.window_at(ordinal)
        known = None if window is None else (window.start, window.end)
        self._memory.bound()
        self._memory.windows[ordinal] = known
        return known

    def named(self, cells: PartitionSet) -> list[tuple[str, Span | None]]:
        """Key and window of each partition of a set, in order of ordinals."""
        if isinstance(self.space, TimeSpace):  # cheaper worked out in a row than remembered one by one
            return [
                (key, None if window is None else (window.start, window.end)) for key, window in self.space.named(cells)
            ]
        return [(self.key(ordinal), self.window(ordinal)) for ordinal in cells]

    def table(self, cells: PartitionSet, absent: int) -> tuple[list[str], list[int], list[int]]:
        """As `named`, in columns: keys, and the epoch seconds at which windows start and end, or `absent` without time."""
        if isinstance(self.space, TimeSpace):
            keys, starts, ends = self.space.table(cells)
            return [*keys], starts, ends
        rows = self.named(cells)
        spans = [
            (absent, absent) if window is None else (to_epoch(window[0]), to_epoch(window[1])) for _, window in rows
        ]
        return [key for key, _ in rows], [start for start, _ in spans], [end for _, end in spans]

    def ordinals(self, keys: Iterable[str]) -> npt.NDArray[np.int64]:
        """The ordinal of each key; -1 for those that do not exist."""
        keys = list(keys)
        if isinstance(self.space, TimeSpace) and len(keys) >= _AT_ONCE:
            self._learn(self.space, keys[0], keys[-1], len(keys))
        return np.array([self.find(key) for key in keys], dtype=np.int64)

    def _learn(self, space: TimeSpace, first: str, last: str, count: int) -> None:
        """Remembers the ordinals of neighbours: making the keys between two is a tenth of the work of reading them."""
        start, stop = self.find(first), self.find(last) + 1
        known = self._memory.ordinals
        if 0 <= start < stop <= start + 2 * count and stop - start <= _ENTRIES_KEPT // 2:
            middle = (start + stop) // 2
            if space.label_at(middle) in known:  # learned before
                return
            self._memory.bound()
            self._memory.ordinals.update(zip(space.labels(start, stop), range(start, stop), strict=True))

    def _find_in_product(self, space: ProductSpace, key: str) -> int:
        keys = split_key(key)
        if keys is None or len(keys) != len(self._parts):
            return -1
        place = [part.find(one) for part, one in zip(self._parts, keys, strict=True)]
        return row_major(place, space.sizes) if min(place) >= 0 else -1


_memories: OrderedDict[PartitionsDef, _Memory] = OrderedDict()
# The same by the identity of the definition, which the entry keeps alive: its hash costs as much as it has keys.
_met: OrderedDict[int, tuple[PartitionsDef, _Memory]] = OrderedDict()
_lock = Lock()


def names_of(space: PartitionSpace) -> SpaceNames:
    """The names of a space; cheap to make."""
    return SpaceNames(space)


def _memory_of(definition: PartitionsDef | None) -> _Memory:
    # The keys of a dynamic scheme change their places; it is asked each time, and so is the one key of no scheme.
    if not isinstance(definition, TimePartitions | StaticPartitions):
        return _Memory()
    with _lock:
        met = _met.get(id(definition))
        if met is not None and met[0] is definition:
            return met[1]
        known = _memories.setdefault(definition, _Memory())
        _memories.move_to_end(definition)
        while len(_memories) > _SCHEMES_KEPT:
            _memories.popitem(last=False)
        _met[id(definition)] = (definition, known)
        while len(_met) > _SCHEMES_KEPT:
            _met.popitem(last=False)
        return known
