"""Cells as they would be read after a change of schemes: without those that the activation sets aside.

Owns this one reader, which takes them out of what another one reads. What is set aside is decided by `decide/schemes.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import numpy as np

from partita.core.catalog import Catalog
from partita.core.catalog.names import Span, names_of
from partita.core.cells.pages import chosen
from partita.core.cells.values import CellBlock, CellDetail, CellsReader, OpenCell
from partita.core.decide.schemes import Windows
from partita.core.store.values import AssetId, CellRef


class AheadCells:
    """A `CellsReader` over `reader`. `active` says what windows the cells were made for, `ahead` which ones there will be."""

    def __init__(self, reader: CellsReader, active: Catalog, ahead: Catalog, as_of: datetime) -> None:
        self._reader = reader
        self._active = active
        self._ahead = ahead
        self._as_of = as_of

    def blocks(self, assets: Collection[AssetId]) -> Mapping[AssetId, Sequence[CellBlock]]:
        """Blocks without the cells that are set aside."""
        return {asset_id: self._kept(asset_id, found) for asset_id, found in self._reader.blocks(assets).items()}

    def open_cells(self, assets: Collection[AssetId]) -> Mapping[AssetId, Mapping[str, OpenCell]]:
        """As they are."""
        return self._reader.open_cells(assets)

    def fingerprint_ids(self, texts: Collection[str]) -> Mapping[str, int]:
        """As they are."""
        return self._reader.fingerprint_ids(texts)

    def details(self, cells: Collection[CellRef]) -> Mapping[CellRef, CellDetail]:
        """As they are."""
        return self._reader.details(cells)

    def _kept(self, asset_id: AssetId, blocks: Sequence[CellBlock]) -> Sequence[CellBlock]:
        now, then = self._active.by_id.get(asset_id), self._ahead.by_id.get(asset_id)
        if now is None or then is None or now.spec.partitions == then.spec.partitions:
            return blocks
        names = names_of(self._active.space(now.key, self._as_of))
        keys = [key for block in blocks for key in block.keys]
        windows = Windows(self._ahead.definition(then.key), keys, self._as_of)

        def stays(key: str) -> bool:
            ordinal = names.find(key)
            made_for: Span | None = names.window(ordinal) if ordinal >= 0 else None
            return ordinal >= 0 and windows.has(key) and windows.of(key) == made_for

        return [chosen(block, np.array([stays(key) for key in block.keys], dtype=np.bool_)) for block in blocks]
