"""Whose conditions ask whether an asset is late: what became late, or is so no more, is looked at by their clocks at once. Pure.

The partitions are the one that is late (or that came), and those of consumers that read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import numpy as np

from partita.assets import CellSpec, DepSpec
from partita.assets.conditions import condition_of, nodes_of
from partita.core.catalog import Catalog, CatalogAsset
from partita.core.catalog.names import names_of
from partita.core.freshness.judging import Found
from partita.core.store.values import AssetId
from partita.core.store.values_clocks import Gathered

_WORD = "late"


def to_look_at(catalog: Catalog, moved: Iterable[Found], now: datetime) -> list[Gathered]:
    """By asset the partitions to be looked at."""
    found: dict[AssetId, set[str]] = {}
    for one in moved:
        asset = one.asked.asset
        space = catalog.space(asset.key, now)
        at = space.find(one.awaited.partition) if one.awaited is not None else None
        ordinal = at if at is not None else space.size - 1
        if ordinal < 0:
            continue
        if _asks(asset, CellSpec):
            found.setdefault(asset.id, set()).add(names_of(space).key(ordinal))
        mask = np.zeros(space.size, dtype=np.bool_)
        mask[ordinal] = True
        for consumer, reads in catalog.consumers.get(asset.key, ()):
            if _asks(consumer, DepSpec):
                below = catalog.edge(consumer.key, reads, now).any(mask)
                names = names_of(catalog.space(consumer.key, now))
                found.setdefault(consumer.id, set()).update(names.key(at) for at in np.flatnonzero(below).tolist())
    return [Gathered(asset_id, tuple(sorted(keys)), now) for asset_id, keys in sorted(found.items()) if keys]


def _asks(asset: CatalogAsset, of: type[CellSpec | DepSpec]) -> bool:
    condition = condition_of(asset.spec.automation)
    return condition is not None and any(isinstance(one, of) and one.is_ == _WORD for one in nodes_of(condition))
