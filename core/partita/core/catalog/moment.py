"""The catalog at one instant: every space and compiled mapping that a plan or a status asks for, looked up once.

The catalog's own caches are shared by all instants, bounded and locked; a plan over 10,000 assets asks them 200,000 questions.
A moment is shared by all who hold one of the same instant (`Catalog.at`) and goes with the last of them. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from partita.assets import AssetKey, PartitionSpace
from partita.core.catalog.edges import EdgeMap
from partita.core.catalog.values import CatalogAsset, CatalogInput

if TYPE_CHECKING:
    from partita.core.catalog.catalog import Catalog


class Link(NamedTuple):
    """One input of an asset with its compiled mapping."""

    input: CatalogInput
    edge: EdgeMap


class Moment:
    """Spaces and links at `as_of`. A race between threads only looks something up twice."""

    __slots__ = ("__weakref__", "_beyond", "_edges", "_links", "_plain", "_spaces", "as_of", "catalog")

    def __init__(self, catalog: Catalog, as_of: datetime) -> None:
        self.catalog = catalog
        self.as_of = as_of
        self._spaces: dict[AssetKey, PartitionSpace] = {}
        self._edges: dict[tuple[int, int, int], EdgeMap] = {}
        self._links: dict[AssetKey, tuple[Link, ...]] = {}
        self._plain: dict[AssetKey, bool] = {}
        self._beyond: Mapping[AssetKey, frozenset[AssetKey]] | None = None

    def space(self, key: AssetKey) -> PartitionSpace:
        """The partitions of an asset that exist."""
        known = self._spaces.get(key)
        if known is None:
            known = self._spaces[key] = self.catalog.space(key, self.as_of)
        return known

    def links(self, asset: CatalogAsset) -> tuple[Link, ...]:
        """The inputs of an asset with their compiled mappings, in their order."""
        known = self._links.get(asset.key)
        if known is None:
            links = [Link(one, self.edge(asset.key, one)) for one in asset.inputs]
            known = self._links[asset.key] = tuple(links)
        return known

    def plain(self, asset: CatalogAsset) -> bool:
        """Whether an asset needs nothing but the same partition of other assets, and external ones that are there."""
        known = self._plain.get(asset.key)
        if known is None:
            known = self._plain[asset.key] = not asset.unresolved and all(
                (edge.same and one.upstream != asset.key) or (one.external and not edge.any_absent)
                for one, edge in self.links(asset)
            )
        return known

    @property
    def beyond(self) -> Mapping[AssetKey, frozenset[AssetKey]]:
        """Of what reads assets whose dynamic scheme has no key yet: the nearest ones above these that have partitions. They may
        add keys in the run that makes both, so the reader goes after them."""
        if self._beyond is None:
            empty = {key for key in self.catalog.dynamic_assets if not self.space(key).size}
            self._beyond = self._over(empty) if empty else {}
        return self._beyond

    def _over(self, empty: Collection[AssetKey]) -> dict[AssetKey, frozenset[AssetKey]]:
        above: dict[AssetKey, frozenset[AssetKey]] = {}
        for key in self.catalog.graph.sort(empty):
            ups = {one.upstream for one in self.catalog.assets[key].inputs} - {key}
            above[key] = frozenset(up for one in ups for up in (above[one] if one in empty else (one,)))
        found = {}
        for key, asset in self.catalog.assets.items():
            read = [one.upstream for one in asset.inputs if one.upstream in empty]
            if read and key not in empty:
                found[key] = frozenset().union(*(above[one] for one in read))
        return found

    def edge(self, consumer: AssetKey, one: CatalogInput) -> EdgeMap:
        """The compiled mapping of one input."""
        down, up = self.space(consumer), self.space(one.upstream)
        # Equal mappings of a catalog are one object, and so are equal spaces; both are held here, so no others have their ids.
        asked = (id(one.mapping), id(down), id(up))
        known = self._edges.get(asked)
        if known is None:
            known = self._edges[asked] = self.catalog.edge(consumer, one, self.as_of)
        return known
