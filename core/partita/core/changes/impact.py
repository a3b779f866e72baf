"""What another version of the definitions would do to the cells: which become stale, fresh, or out of reach.

Owns the comparison of two statuses of the same cells: under the active catalog and under a candidate. Both come from the code
that computes every status, so that what is told here is what will be shown after the deployment. Reads through `Statuses`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from partita.assets import AssetKey, PartitionSet
from partita.core.catalog import Catalog, set_of
from partita.core.catalog.edges import Bools
from partita.core.catalog.names import names_of
from partita.core.cells import AssetStatus, Statuses


@dataclass(frozen=True, slots=True)
class Impact:
    """The cells of one asset. `published` under the active definitions; sets are over the candidate's ordinals."""

    key: AssetKey
    published: int
    stale: PartitionSet
    """Published cells that are not stale now and will be."""
    fresh: int
    """Published cells that are stale now and will not be."""
    out_of_reach: int
    """Published cells whose partition, or asset, exists no more. They stay stored."""
    upstream_stale: int
    """Cells that keep their own inputs and code, and will have something stale or missing above."""

    @property
    def none(self) -> bool:
        """Whether nothing happens to the asset's cells."""
        return not (self.stale or self.fresh or self.out_of_reach or self.upstream_stale)


def impact_of(
    active: Statuses, candidate: Statuses, keys: Iterable[AssetKey], renamed: Mapping[AssetKey, AssetKey] | None = None
) -> list[Impact]:
    """What happens to the cells of these assets, and of all below them, in key order; what nothing happens to is left out.
    `renamed` gives the new key of each old one; a renamed asset is told under the new one."""
    was = {after: before for before, after in (renamed or {}).items()}
    wanted = set(keys)
    for catalog in (active.catalog, candidate.catalog):
        wanted |= set(catalog.graph.descendants(*(key for key in wanted if key in catalog.assets)))
    pairs = {(was.get(key, key), key) for key in wanted if key in candidate.catalog.assets}
    pairs |= {(key, key) for key in wanted - candidate.catalog.assets.keys() if key not in (renamed or {})}
    active.prefetch([before for before, _ in pairs if before in active.catalog.assets], ancestors=True)
    candidate.prefetch([key for _, key in pairs if key in candidate.catalog.assets], ancestors=True)
    found = [
        _impact(active, candidate, before, key)
        for before, key in sorted(pairs, key=lambda pair: pair[1])
        if _made(active.catalog, candidate.catalog, before, key)
    ]
    return [one for one in found if not one.none]


def _made(active: Catalog, candidate: Catalog, before: AssetKey, key: AssetKey) -> bool:
    asset = active.assets.get(before)
    again = candidate.assets.get(key)
    return asset is not None and not asset.external and (again is None or not again.external)


def _impact(active: Statuses, candidate: Statuses, before: AssetKey, key: AssetKey) -> Impact:
    now = active.status(before)
    published = int(now.held.published.sum())
    if key not in candidate.catalog.assets:
        return Impact(key, published, PartitionSet.empty(), 0, published, 0)
    then = candidate.status(key)
    stale_now, above_now, reached = _moved(now, then)
    stale = then.stale & ~stale_now
    return Impact(
        key=key,
        published=published,
        stale=set_of(stale),
        fresh=int((stale_now & then.held.published & ~then.stale).sum()),
        out_of_reach=published - reached,
        upstream_stale=int((then.upstream_stale & ~then.stale & ~above_now & ~stale_now).sum()),
    )


def _moved(now: AssetStatus, then: AssetStatus) -> tuple[Bools, Bools, int]:
    """What is stale, and stale above, now, over the ordinals of then; and how many published cells have a place there."""
    if now.space is then.space:
        return now.stale, now.upstream_stale, int(now.held.published.sum())
    stale = np.zeros(then.space.size, dtype=np.bool_)
    above = np.zeros(then.space.size, dtype=np.bool_)
    mine, theirs = names_of(now.space), names_of(then.space)
    reached = 0
    for ordinal in now.held.published.nonzero()[0]:
        place = theirs.find(mine.key(int(ordinal)))
        if place >= 0 and theirs.window(place) == mine.window(int(ordinal)):
            reached += 1
            stale[place] = now.stale[ordinal]
            above[place] = now.upstream_stale[ordinal]
    return stale, above, reached
