"""The catalog: all assets of a vector of snapshots as one graph, with their ids, spaces and compiled mappings.

An immutable value apart from its caches. It reads nothing: `load.py` builds it from a `DefinitionsReader`. The catalog of
a run is built from the snapshots that the run is pinned to, by the same code.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from datetime import datetime
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from partita.assets import (
    AssetKey,
    AssetSpec,
    CycleError,
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
from partita.core.catalog.moment import Moment
from partita.core.catalog.names import names_of
from partita.core.catalog.values import CatalogAsset, CatalogInput, StepKey, StoredSnapshot, Vector
from partita.core.store.values import AssetId, LocationId, SnapshotId

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
        specs = [(one.location, asset) for one in self.snapshots for asset in one.snapshot.assets]
        self.graph = AssetGraph(specs)
        self._mappings: dict[PartitionMapping, PartitionMapping] = {}
        self.assets: dict[AssetKey, CatalogAsset] = {}
        for one in self.snapshots:
            for spec in one.snapshot.assets:
                self.assets[spec.key] = self._entry(one, spec, ids)
        self.by_id = {asset.id: asset for asset in self.assets.values()}
        self.order = {key: index for index, key in enumerate(self.graph.order)}
        self.steps = self._steps()
        self._defs: dict[AssetKey, PartitionsDef | None] = {
            key: from_spec(asset.spec.partitions) for key, asset in self.assets.items()
        }
        # Caches go by these numbers: the hash of a scheme, or of a mapping by table, costs as much as it has keys, and is
        # asked for with every partition.
        schemes: dict[PartitionsDef | None, int] = {}
        self._scheme = {key: schemes.setdefault(found, len(schemes)) for key, found in self._defs.items()}
        mappings: dict[object, int] = {}
        self._mapping = {
            id(one.mapping): mappings.setdefault(one.mapping, len(mappings))
            for asset in self.assets.values()
            for one in asset.inputs
        }
        self._moments: WeakValueDictionary[datetime, Moment] = WeakValueDictionary()
        self._named = {
            key: tuple(part.name for part in parts)
            for key, found in self._defs.items()
            if (parts := dynamic_parts(found))
        }
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
        """The assets whose publications are work for the automation consumer: those with eager consumers."""
        return frozenset(
            self.assets[key].id for key, pairs in self.consumers.items() if any(asset.eager for asset, _ in pairs)
        )

    @cached_property
    def dynamic_schemes(self) -> Mapping[str, DynamicScheme]:
        """The dynamic schemes by name."""
        return schemes_of({key: self._defs[key] for key in self._named})

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
            raise UnknownAsset(f"asset {key!r} is not known", fix=suggest(key, self.assets))
        return found

    def version_of(self, location_id: LocationId) -> tuple[str, SnapshotId, str] | None:
        """(name, snapshot id, version) of a location."""
        for one in self.snapshots:
            if one.location_id == location_id:
                return one.location, one.snapshot_id, one.version
        return None

    def definition(self, key: AssetKey) -> PartitionsDef | None:
        """The partition scheme of an asset; None when it is not partitioned."""
        return self._defs[key]

    def space(self, key: AssetKey, as_of: datetime) -> PartitionSpace:
        """The partitions of an asset that exist at `as_of`. Equal spaces are one object, so that caches meet."""
        scheme = (self._scheme[key], self.keys.revision if key in self._named else 0)
        asked = (scheme, as_of)
        known = self._spaces.get(asked)
        if isinstance(known, PartitionSpace):
            return known
        fresh = space_of(self._defs[key], as_of, self.keys.keys)
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
        asked = (self._mapping.get(id(one.mapping), one.mapping), id(down), id(up))
        known = self._edges.get(asked)
        # An id may be reused after its space left the cache: the kept edge itself says what it was made for.
        if isinstance(known, EdgeMap) and known.down is down and known.up is up:
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

    def _entry(self, stored: StoredSnapshot, spec: AssetSpec, ids: Mapping[AssetKey, AssetId]) -> CatalogAsset:
        snapshot_id, version = stored.kept.get(spec.key, (stored.snapshot_id, stored.version))
        inputs = tuple(
            CatalogInput(
                name=one.name,
                upstream=one.upstream,
                upstream_id=ids[one.upstream],
                mapping=self._mapping_of(spec.key, one),
                kind=one.kind,
                external=self._is_constant(one.upstream),
                spec=one,
            )
            for one in spec.inputs
            if one.upstream in self.graph
        )
        return CatalogAsset(
            id=ids[spec.key],
            key=spec.key,
            spec=spec,
            location=stored.location,
            location_id=stored.location_id,
            snapshot_id=snapshot_id,
            version=version,
            step=StepKey(stored.location_id, spec.step or spec.key),
            inputs=inputs,
            dependency_hash=self._dependency_hash(spec, ids),
            unresolved=tuple(one for one in spec.inputs if one.upstream not in self.graph),
        )

    def _mapping_of(self, key: AssetKey, one: InputSpec) -> PartitionMapping:
        """The mapping of an input; equal ones are one object."""
        mapping = self_mapping(from_spec(one.mapping)) if one.upstream == key else from_spec(one.mapping)
        return self._mappings.setdefault(mapping, mapping)

    def _dependency_hash(self, spec: AssetSpec, ids: Mapping[AssetKey, AssetId]) -> str:
        """What the location says, unless one of its upstreams was renamed: then the first keys count."""
        if not self._origins or not spec.dependency_hash:
            return spec.dependency_hash
        first = {
            one.upstream: origin
            for one in spec.inputs
            if one.upstream in ids and (origin := self._origins.get(ids[one.upstream], one.upstream)) != one.upstream
        }
        return dependency_hash(spec.inputs, first) if first else spec.dependency_hash

    def _is_constant(self, key: AssetKey) -> bool:
        upstream = self.graph.assets[key]
        return upstream.kind == "external" and not upstream.observed

    def _steps(self) -> Mapping[StepKey, tuple[CatalogAsset, ...]]:
        """The assets of each step, steps in topological order; external assets have none."""
        members: dict[StepKey, list[CatalogAsset]] = {}
        for key in self.graph.order:
            asset = self.assets[key]
            if not asset.external:
                members.setdefault(asset.step, []).append(asset)
        order = _step_order(members, self.assets)
        return {step: tuple(members[step]) for step in order}


def _step_order(
    members: Mapping[StepKey, Sequence[CatalogAsset]], assets: Mapping[AssetKey, CatalogAsset]
) -> list[StepKey]:
    """Steps so that each comes after those it reads; a group's last member decides. Ties keep the order given."""
    waits: dict[StepKey, set[StepKey]] = {
        step: {
            assets[one.upstream].step
            for asset in group
            for one in asset.inputs
            if not assets[one.upstream].external and assets[one.upstream].step != step
        }
        for step, group in members.items()
    }
    done: list[StepKey] = []
    placed: set[StepKey] = set()
    path: list[StepKey] = []

    def place(step: StepKey) -> None:
        stack = [(step, iter(sorted(waits[step])))]
        path.append(step)
        while stack:
            current, rest = stack[-1]
            following = next((one for one in rest if one not in placed), None)
            if following is None:
                stack.pop()
                path.pop()
                placed.add(current)
                done.append(current)
            elif following in path:
                raise _step_cycle([*path[path.index(following) :], following])
            else:
                stack.append((following, iter(sorted(waits[following]))))
                path.append(following)

    for step in members:
        if step not in placed:
            place(step)
    return done


def _step_cycle(path: Sequence[StepKey]) -> Exception:
    names = tuple(step.id for step in path)
    return CycleError(
        f"steps depend on each other: {' -> '.join(names)}",
        rule="the assets of one step are made together, so nothing between them may depend on the step",
        fix="take the asset in the middle out of the way, or split the group",
        path=names,
    )
