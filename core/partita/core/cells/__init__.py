"""The status of cells, by asset as arrays, from packed pages and what is not folded into them yet."""

from typing import TYPE_CHECKING

from partita.core.cells.why import CellReason, Why, why
from partita.core.faces import on_demand

if TYPE_CHECKING:
    from partita.core.cells.fold import fold_pages
    from partita.core.cells.kept import Kept, Shown
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
else:
    __getattr__ = on_demand(
        __name__,
        {
            "partita.core.cells.fold": "fold_pages",
            "partita.core.cells.kept": "Kept Shown",
            "partita.core.cells.old": "HeldBack held_back",
            "partita.core.cells.status": "STATES AssetStatus Statuses bucket_counts counts counts_of where",
            "partita.core.cells.values": "CellBlock CellDetail CellRow CellsReader OpenCell Outcome",
        },
    )

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
