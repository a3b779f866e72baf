"""Which upstream cells one cell reads: those that exist."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from partita.assets import PartitionSpace
from partita.core.catalog.names import names_of
from partita.core.store.values import AssetId, CellRef

if TYPE_CHECKING:
    from partita.core.catalog.catalog import Catalog
    from partita.core.catalog.values import CatalogAsset

Ranges = tuple[tuple[int, int], ...]
"""Half-open ranges of ordinals."""


def refs_of(asset_id: AssetId, space: PartitionSpace, ranges: Ranges) -> tuple[CellRef, ...]:
    """The cells of these ordinals of a space."""
    names = names_of(space)
    return tuple(CellRef(asset_id, names.key(ordinal)) for start, stop in ranges for ordinal in range(start, stop))


def upstream_cells(
    catalog: Catalog, asset: CatalogAsset, as_of: datetime, ordinal: int
) -> Mapping[str, tuple[CellRef, ...]]:
    """Per input of one cell, by name, the upstream cells that exist."""
    return {
        one.name: refs_of(
            one.upstream_id,
            catalog.space(one.upstream, as_of),
            tuple(catalog.edge(asset.key, one, as_of).ranges_of(ordinal)),
        )
        for one in asset.inputs
    }
