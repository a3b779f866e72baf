"""Keys, ordinals and windows of a space, remembered: what is asked of the same partitions again and again.

A product's parts are remembered one by one, so that a year of hours over three origins costs a year of hours. Process-wide
and bounded; safe between threads (a race only works something out twice).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime
from threading import Lock

import numpy as np
import numpy.typing as npt

from partita.assets import PartitionSpace, join_key, split_key
from partita.assets.partitions.boxes import coordinates, row_major
from partita.assets.partitions.multi import ProductSpace

_SPACES_KEPT = 256
_ENTRIES_KEPT = 200_000

Span = tuple[datetime, datetime]


class SpaceNames:
    """What has been asked of one space. Answers as the space does; raises what it raises."""

    def __init__(self, space: PartitionSpace) -> None:
        self.space = space
        self._product = space if isinstance(space, ProductSpace) else None
        self._parts = [names_of(part) for part in self._product.parts] if self._product is not None else []
        self._keys: dict[int, str] = {}
        self._ordinals: dict[str, int] = {}
        self._windows: dict[int, Span | None] = {}

    def key(self, ordinal: int) -> str:
        """The stored key of an ordinal."""
        known = self._keys.get(ordinal)
        if known is None:
            _bound(self._keys)
            known = self._keys[ordinal] = self._key(ordinal)
        return known

    def find(self, key: str) -> int:
        """The ordinal of a stored key; -1 when no such partition exists."""
        known = self._ordinals.get(key)
        if known is None:
            _bound(self._ordinals)
            known = self._ordinals[key] = self._find(key)
        return known

    def window(self, ordinal: int) -> Span | None:
        """Start and end (UTC) of the window of an ordinal; None without time."""
        if self._product is not None:
            time_dim = self._product.time_dim
            if time_dim is None:
                return None
            return self._parts[time_dim].window(coordinates(ordinal, self._product.sizes)[time_dim])
        if ordinal not in self._windows:
            _bound(self._windows)
            window = self.space.window_at(ordinal)
            self._windows[ordinal] = None if window is None else (window.start, window.end)
        return self._windows[ordinal]

    def ordinals(self, keys: Iterable[str]) -> npt.NDArray[np.int64]:
        """The ordinal of each key; -1 for those that do not exist."""
        return np.array([self.find(key) for key in keys], dtype=np.int64)

    def _key(self, ordinal: int) -> str:
        if self._product is None:
            return self.space.key_at(ordinal)
        place = coordinates(ordinal, self._product.sizes)
        return join_key([part.key(at) for part, at in zip(self._parts, place, strict=True)])

    def _find(self, key: str) -> int:
        if self._product is None:
            found = self.space.find(key)
            return -1 if found is None else found
        keys = split_key(key)
        if keys is None or len(keys) != len(self._parts):
            return -1
        place = [part.find(one) for part, one in zip(self._parts, keys, strict=True)]
        return row_major(place, self._product.sizes) if min(place) >= 0 else -1


_names: OrderedDict[int, SpaceNames] = OrderedDict()
_lock = Lock()


def names_of(space: PartitionSpace) -> SpaceNames:
    """The names of a space. The entry holds the space, so that its id is not given to another one meanwhile."""
    with _lock:
        known = _names.get(id(space))
        if known is not None:
            _names.move_to_end(id(space))
            return known
    fresh = SpaceNames(space)
    with _lock:
        known = _names.setdefault(id(space), fresh)
        while len(_names) > _SPACES_KEPT:
            _names.popitem(last=False)
    return known


def _bound(memo: dict[int, str] | dict[str, int] | dict[int, Span | None]) -> None:
    if len(memo) >= _ENTRIES_KEPT:
        memo.clear()
