"""The catalog: all assets of a vector of snapshots as one graph, with their ids, spaces and compiled mappings.

An immutable value apart from its caches. What an asset is beyond its place in the graph is worked out when it is first
asked for, so that a question about 100 assets of 10,000 costs by the 100. It reads nothing: `load.py` builds it from a
`DefinitionsReader`. The catalog of a run is built from the snapshots that the run is pinned to, by the same code.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from copy import copy
from datetime import datetime
from functools import cached_property
from itertools import count
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from partita.assets import (
    AssetKey,
    AssetSpec,
    InputSpec,
    PartitionsDef,
    PartitionSpace,
    UnknownAsset,
    cell_hash,
    dependency_hash,
    from_spec,
    self_mapping,
    space_of,
    suggest,
)
from partita.assets import Mapping as PartitionMapping
from partita.assets.graph import AssetGraph
from partita.assets.partitions.multi import ProductSpace
from partita.core.catalog.dynamic import NO_KEYS, DynamicScheme, KeysAt, dynamic_parts, schemes_of
from partita.core.catalog.edges import EdgeMap, Hashes
from partita.core.catalog.made import Made
from partita.core.catalog.moment import Moment
from partita.core.catalog.names import names_of
from partita.core.catalog.steps import StepOrder
from partita.core.catalog.values import CatalogAsset, CatalogInput, StepKey, StoredSnapshot, Vector
from partita.core.store.values import AssetId

EXTERNAL_VERSION = "external"
"""The data version of every partition of an external asset that nobody observes; the claim counts with the same."""

_SPACES_KEPT = 4096
_EDGE_BYTES_KEPT = 64 << 20
_CONSTANT_BYTES_KEPT = 16 << 20
_V = TypeVar("_V")


def _one(value: object) -> int:
    return 1


class _Kept:
    """The most recently used values, up to a total weight; safe between threads."""

    def __init__(self, limit: int, weigh: Callable[[Any], int] = _one) -> None:
        self._limit = limit
        self._weigh = weigh
        self._weight = 0
        self._values: OrderedDict[Hashable, object] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> object | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Hashable, value: _V) -> _V:
        """Keeps the value that came first, so that equal keys give one object."""
        with self._lock:
            if key in self._values:
                return self._values[key]  # type: ignore[return-value]
            self._values[key] = value
            self._weight += self._weigh(value)
            while self._weight > self._limit and len(self._values) > 1:
                _, oldest = self._values.popitem(last=False)
                self._weight -= self._weigh(oldest)
            return value


class Catalog:
    """Assets, ids, steps and spaces of the union of some snapshots.

    Raises what the graph raises (CycleError, UnknownAsset, DefinitionError) when the union is not one; activation
    checks (`activation.py`) keep such a union from ever becoming active.
    """

    def __init__(
        self,
        snapshots: Iterable[StoredSnapshot],
        ids: Mapping[AssetKey, AssetId],
        keys: KeysAt = NO_KEYS,
        origins: Mapping[AssetId, AssetKey] | None = None,
    ) -> None:
        self.snapshots = tuple(sorted(snapshots, key=lambda one: one.location_id))
        self.keys = keys
        self._origins = dict(origins or {})
        self._ids = ids
        self.graph = AssetGraph((one.location, node) for one in self.snapshots for node in one.nodes)
        self._place = {node.key: (one, place) for one in self.snapshots for place, node in enumerate(one.nodes)}
        self.assets: Mapping[AssetKey, CatalogAsset] = Made(self._place, self._entry)
        self._steps = StepOrder(
            self.graph,
            {
                node.key: StepKey(one.location_id, node.step or node.key)
                for one in self.snapshots
                for node in one.nodes
                if node.kind != "external"
            },
        )
        # Caches go by these numbers: the hash of a scheme costs as much as it has keys, and is asked for with every partition.
        self._schemes: dict[PartitionsDef | None, int] = {}
        self._scheme: dict[AssetKey, tuple[PartitionsDef | None, int]] = {}
        self._numbers = count()
        # Equal mappings are one object, for the same reason.
        self._mappings: dict[PartitionMapping, PartitionMapping] = {}
        self._moments: WeakValueDictionary[datetime, Moment] = WeakValueDictionary()
        self._named = self._dynamic_names()
        self._spaces = _Kept(_SPACES_KEPT)
        self._edges = _Kept(_EDGE_BYTES_KEPT, lambda edge: edge.nbytes)
        self._constants = _Kept(_CONSTANT_BYTES_KEPT, lambda hashes: hashes.nbytes)

    def __repr__(self) -> str:
        return (
            f"<Catalog {len(self.assets)} assets of {', '.join(one.location for one in self.snapshots) or 'nothing'}>"
        )

    @cached_property
    def vector(self) -> Vector:
        """Which snapshot of each location this is."""
        return tuple((one.location_id, one.snapshot_id) for one in self.snapshots)

    @property
    def order(self) -> Mapping[AssetKey, int]:
        """The place of each asset in topological order."""
        return self.graph.rank

    @cached_property
    def by_id(self) -> Mapping[AssetId, CatalogAsset]:
        """The assets by their ids."""
        keys = {self._ids[key]: key for key in self._place}
        return Made(keys, lambda asset_id: self.assets[keys[asset_id]])

    @cached_property
    def steps(self) -> Mapping[StepKey, tuple[CatalogAsset, ...]]:
        """The assets of each step, steps in topological order; external assets have none."""
        members = self._steps.members
        return Made(members, lambda step: tuple(self.assets[key] for key in members[step]))

    def steps_of(self, keys: Iterable[AssetKey]) -> list[tuple[CatalogAsset, ...]]:
        """The whole steps of these assets, in the order of `steps`; costs by what is asked for."""
        return [tuple(self.assets[key] for key in members) for members in self._steps.of(keys)]

    @cached_property
    def consumers(self) -> Mapping[AssetKey, tuple[tuple[CatalogAsset, CatalogInput], ...]]:
        """Per asset the (consumer, input) pairs that read it."""
        found: dict[AssetKey, list[tuple[CatalogAsset, CatalogInput]]] = {}
        for asset in self.assets.values():
            for one in asset.inputs:
                found.setdefault(one.upstream, []).append((asset, one))
        return {key: tuple(pairs) for key, pairs in found.items()}

    @cached_property
    def automation_assets(self) -> frozenset[AssetId]:
        """The assets whose publications are work for the automation consumer: those with automated consumers."""
        return frozenset(
            self._ids[one.upstream]
            for stored in self.snapshots
            for node in stored.nodes
            if node.automation.type != "manual"
            for one in node.inputs
            if one.upstream in self._place
        )

    @cached_property
    def dynamic_schemes(self) -> Mapping[str, DynamicScheme]:
        """The dynamic schemes by name."""
        return schemes_of({key: self.definition(key) for key in self._named})

    @property
    def dynamic_assets(self) -> Collection[AssetKey]:
        """The assets that a dynamic scheme slices."""
        return self._named

    def with_keys(self, keys: KeysAt) -> Catalog:
        """The same definitions with these keys of the dynamic schemes; shares all that does not go by them."""
        view = copy(self)
        view.keys = keys
        view._moments = WeakValueDictionary()
        return view

    def keys_digest(self, key: AssetKey) -> str:
        """What stands for the dynamic keys that slice an asset, or what it reads; "" when none do."""
        if not self._named:
            return ""
        near = (key, *(one.upstream for one in self.assets[key].inputs))
        return self.keys.digest(name for one in near for name in self._named.get(one, ()))

    def asset(self, key: str) -> CatalogAsset:
        """The asset of this key; raises UnknownAsset with a suggestion."""
        found = self.assets.get(AssetKey(key))
        if found is None:
            raise UnknownAsset(
                f"asset {key!r} is not known", fix=suggest(key, self.assets) or "`partita assets` lists what there is"
            )
        return found

    def definition(self, key: AssetKey) -> PartitionsDef | None:
        """The partition scheme of an asset; None when it is not partitioned."""
        return self._scheme_of(key)[0]

    def space(self, key: AssetKey, as_of: datetime) -> PartitionSpace:
        """The partitions of an asset that exist at `as_of`. Equal spaces are one object, so that caches meet."""
        definition, number = self._scheme_of(key)
        scheme = (number, self.keys.revision if key in self._named else 0)
        asked = (scheme, as_of)
        known = self._spaces.get(asked)
        if isinstance(known, PartitionSpace):
            return known
        fresh = space_of(definition, as_of, self.keys.keys)
        shape = fresh.sizes if isinstance(fresh, ProductSpace) else (fresh.size,)
        same = self._spaces.put((scheme, shape), fresh)
        return self._spaces.put(asked, same)

    def at(self, as_of: datetime) -> Moment:
        """This catalog at an instant; the same moment for all who hold one of that instant."""
        known = self._moments.get(as_of)
        if known is None:
            known = self._moments[as_of] = Moment(self, as_of)
        return known

    def edge(self, consumer: AssetKey, one: CatalogInput, as_of: datetime) -> EdgeMap:
        """The compiled mapping of one input of `consumer` at `as_of`."""
        down, up = self.space(consumer, as_of), self.space(one.upstream, as_of)
        asked = (id(one.mapping), id(down), id(up))
        known = self._edges.get(asked)
        # An id may be reused after its space left the cache: the kept edge itself says what it was made for.
        if isinstance(known, EdgeMap) and known.mapping is one.mapping and known.down is down and known.up is up:
            return known
        fresh = EdgeMap.compile(one.mapping, down=down, up=up)
        if known is not None:
            return fresh
        return self._edges.put(asked, fresh)

    def constant_hashes(self, key: AssetKey, as_of: datetime) -> Hashes:
        """The cell hashes of an external asset that nobody observes: its version never moves."""
        space = self.space(key, as_of)
        known = self._constants.get(space)
        if isinstance(known, np.ndarray):
            return known
        names = names_of(space)
        hashes = np.fromiter(
            (cell_hash(names.key(ordinal), EXTERNAL_VERSION) for ordinal in range(space.size)),
            dtype=np.uint64,
            count=space.size,
        )
        return self._constants.put(space, hashes)

    def _entry(self, key: AssetKey) -> CatalogAsset:
        stored, place = self._place[key]
        spec = stored.spec(place)
        snapshot_id, version = stored.kept.get(key, (stored.snapshot_id, stored.version))
        return CatalogAsset(
            id=self._ids[key],
            key=key,
            spec=spec,
            location=stored.location,
            location_id=stored.location_id,
            snapshot_id=snapshot_id,
            version=version,
            step=StepKey(stored.location_id, spec.step or key),
            inputs=tuple(self._input(key, one) for one in spec.inputs if one.upstream in self._place),
            unresolved=tuple(one for one in spec.inputs if one.upstream not in self._place),
            dependency_hash=self._dependency_hash(spec),
        )

    def _input(self, key: AssetKey, one: InputSpec) -> CatalogInput:
        mapping = self_mapping(from_spec(one.mapping)) if one.upstream == key else from_spec(one.mapping)
        upstream = self.graph.assets[one.upstream]
        return CatalogInput(
            name=one.name,
            upstream=one.upstream,
            upstream_id=self._ids[one.upstream],
            mapping=self._mappings.setdefault(mapping, mapping),
            kind=one.kind,
            external=upstream.kind == "external" and not upstream.observed,
            spec=one,
        )

    def _dependency_hash(self, spec: AssetSpec) -> str:
        """What the location says, unless one of its upstreams was renamed: then the first keys count."""
        if not self._origins or not spec.dependency_hash:
            return spec.dependency_hash
        first = {
            one.upstream: origin
            for one in spec.inputs
            if one.upstream in self._ids
            and (origin := self._origins.get(self._ids[one.upstream], one.upstream)) != one.upstream
        }
        return dependency_hash(spec.inputs, first) if first else spec.dependency_hash

    def _dynamic_names(self) -> dict[AssetKey, tuple[str, ...]]:
        """The names of the dynamic schemes that slice each asset; those without any are left out."""
        # Stored assets of one scheme share its model, so it is looked at once; the entry keeps it, and with it its id.
        looked_at: dict[int, tuple[object, tuple[str, ...]]] = {}
        found: dict[AssetKey, tuple[str, ...]] = {}
        for key, node in self.graph.assets.items():
            spec = node.partitions
            known = looked_at.get(id(spec))
            if known is None:
                parts = dynamic_parts(from_spec(spec))
                known = looked_at[id(spec)] = (spec, tuple(part.name for part in parts))
            if known[1]:
                found[key] = known[1]
        return found

    def _scheme_of(self, key: AssetKey) -> tuple[PartitionsDef | None, int]:
        """The partition scheme of an asset and its number: equal schemes have one number, others have others."""
        known = self._scheme.get(key)
        if known is None:
            definition = from_spec(self.graph.assets[key].partitions)
            number = self._schemes.setdefault(definition, next(self._numbers))
            known = self._scheme.setdefault(key, (definition, number))
        return known
