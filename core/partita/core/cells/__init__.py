"""The status of cells, by asset as arrays, from packed pages and what is not folded into them yet."""

from partita.core.cells.fold import fold_pages
from partita.core.cells.kept import Kept, Shown
from partita.core.cells.live import Live, Moved
from partita.core.cells.old import HeldBack, held_back
from partita.core.cells.status import STATES, AssetStatus, Statuses, bucket_counts, counts, counts_of, where
from partita.core.cells.values import (
    CellBlock,
    CellDetail,
    CellRow,
    CellsReader,
    OpenCell,
    Outcome,
)
from partita.core.cells.why import CellReason, Why, why

__all__ = [
    "STATES",
    "AssetStatus",
    "CellBlock",
    "CellDetail",
    "CellReason",
    "CellRow",
    "CellsReader",
    "HeldBack",
    "Kept",
    "Live",
    "Moved",
    "OpenCell",
    "Outcome",
    "Shown",
    "Statuses",
    "Why",
    "bucket_counts",
    "counts",
    "counts_of",
    "fold_pages",
    "held_back",
    "where",
    "why",
]
