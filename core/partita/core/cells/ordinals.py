"""From the keys of a block to their places in a space, remembered: pages keep their keys while versions move.

Process-wide and bounded, because parsing 10,000 time keys costs more than all the arithmetic on them. Cells without holes
between them, the usual case, are a slice: it takes no memory, and their columns are copied, or looked at, as they are.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import numpy as np
import numpy.typing as npt

from partita.assets import PartitionSpace
from partita.core.catalog.names import names_of
from partita.core.cells.values import CellBlock

Ordinals = npt.NDArray[np.int32]
Place = slice | Ordinals
"""Where the cells of a block stand: one run of ordinals, or an ordinal each, -1 for keys that are no partitions."""

_BYTES_KEPT = 64 << 20  # 4,096 pages with holes
_ENTRY_BYTES = 256  # of an entry beside its ordinals
_MIN_KEYS = 16  # below that, looking up costs as much as asking the space
_known: OrderedDict[tuple[int, bytes], tuple[PartitionSpace, Place]] = OrderedDict()
_kept = 0
_lock = Lock()


def place_of(space: PartitionSpace, block: CellBlock) -> Place:
    """Where the cells of the block stand in the space."""
    global _kept
    if len(block) < _MIN_KEYS:
        return _place(names_of(space).ordinals(block.keys).astype(np.int32))
    asked = (id(space), block.token)
    with _lock:
        known = _known.get(asked)
        # The space is held by the entry, so its id cannot have been given to another one.
        if known is not None:
            _known.move_to_end(asked)
            return known[1]
    found = _place(names_of(space).ordinals(block.keys).astype(np.int32))
    with _lock:
        if asked not in _known:
            _kept += _weight(found)
        _known[asked] = (space, found)
        while _kept > _BYTES_KEPT:
            _kept -= _weight(_known.popitem(last=False)[1][1])
    return found


def _place(ordinals: Ordinals) -> Place:
    first, n = int(ordinals[0]) if len(ordinals) else 0, len(ordinals)
    if first >= 0 and np.array_equal(ordinals, np.arange(first, first + n, dtype=np.int32)):
        return slice(first, first + n)
    return ordinals


def _weight(place: Place) -> int:
    return _ENTRY_BYTES + (0 if isinstance(place, slice) else place.nbytes)
