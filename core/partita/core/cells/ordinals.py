"""From the keys of a block to the ordinals of a space, remembered: pages keep their keys while versions move.

Process-wide and bounded, because parsing 10,000 time keys costs more than all the arithmetic on them.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

import numpy as np
import numpy.typing as npt

from partita.assets import PartitionSpace
from partita.core.catalog.names import names_of
from partita.core.cells.values import CellBlock

_BLOCKS_KEPT = 1024  # of up to 4,096 cells: 16 MB
_MIN_KEYS = 16  # below that, looking up costs as much as asking the space
_known: OrderedDict[tuple[int, bytes], tuple[PartitionSpace, npt.NDArray[np.int32]]] = OrderedDict()
_lock = Lock()


def ordinals_of(space: PartitionSpace, block: CellBlock) -> npt.NDArray[np.int32]:
    """The ordinal of each key of the block; -1 for keys that are no partitions of the space."""
    if len(block.keys) < _MIN_KEYS:
        return names_of(space).ordinals(block.keys).astype(np.int32)
    asked = (id(space), block.token)
    with _lock:
        known = _known.get(asked)
        # The space is held by the entry, so its id cannot have been given to another one.
        if known is not None:
            _known.move_to_end(asked)
            return known[1]
    found = names_of(space).ordinals(block.keys).astype(np.int32)
    with _lock:
        _known[asked] = (space, found)
        while len(_known) > _BLOCKS_KEPT:
            _known.popitem(last=False)
    return found
