"""The asset graph over all locations: who feeds whom, in which order, and what the longest path is.

Built once from snapshots and immutable. Refuses cycles (naming the path), unknown upstreams (with a suggestion) and
one key in two locations (naming both). An asset may depend on its own earlier partitions, through a mapping that
reaches back in time; such an edge orders partitions, not assets.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from partita.assets.errors import CycleError, DefinitionError, UnknownAsset, suggest
from partita.assets.keys import AssetKey
from partita.assets.mappings.own import self_mapping
from partita.assets.partitions.definitions import PartitionsDef
from partita.assets.scheme_specs import MappingSpec
from partita.assets.spec_values import from_spec, mapping_from_spec
from partita.assets.specs import AssetSpec, InputSpec

if TYPE_CHECKING:
    import networkx

Edge = tuple[AssetKey, InputSpec]


class CriticalPath(NamedTuple):
    """The longest chain of dependent assets and the sum of its durations.

    >>> read = InputSpec(name="orders", upstream="orders", mapping=IdentitySpec())
    >>> graph = AssetGraph([AssetSpec(key="orders"), AssetSpec(key="totals", inputs=[read])])
    >>> graph.critical_path({"orders": 90.0, "totals": 30.0})
    CriticalPath(path=('orders', 'totals'), length=120.0)
    """

    path: tuple[AssetKey, ...]
    length: float


class AssetGraph:
    """All assets and their edges. Items are specs, or (location, spec) pairs.

    >>> def reads(key: str, *upstream: str) -> AssetSpec:
    ...     return AssetSpec(key=key, inputs=[InputSpec(name=up, upstream=up, mapping=AllSpec()) for up in upstream])
    >>> graph = AssetGraph([reads("delays", "flights", "weather"), reads("flights"), reads("weather"), reads("map", "delays")])
    >>> graph.waves()
    (('flights', 'weather'), ('delays',), ('map',))
    >>> sorted(graph.ancestors("map", depth=1))
    ['delays']
    """

    def __init__(self, assets: Iterable[AssetSpec | tuple[str, AssetSpec]]) -> None:
        self._locations: dict[AssetKey, str] = {}
        specs: dict[AssetKey, AssetSpec] = {}
        for item in assets:
            location, spec = ("", item) if isinstance(item, AssetSpec) else item
            if spec.key in specs:
                raise _twice(spec, self._locations[spec.key], location, specs[spec.key])
            specs[spec.key], self._locations[spec.key] = spec, location
        self.assets: Mapping[AssetKey, AssetSpec] = MappingProxyType(dict(sorted(specs.items())))
        self._upstream: dict[AssetKey, tuple[Edge, ...]] = {}
        self._parents: dict[AssetKey, tuple[AssetKey, ...]] = {}
        downstream: dict[AssetKey, list[Edge]] = {key: [] for key in self.assets}
        for key, spec in self.assets.items():
            edges = tuple((one.upstream, one) for one in spec.inputs if self._resolves(spec, one))
            self._upstream[key] = edges
            self._parents[key] = tuple(dict.fromkeys(up for up, _ in edges if up != key))
            for up, one in edges:
                downstream[up].append((key, one))
        self._downstream = {key: tuple(edges) for key, edges in downstream.items()}
        self._children = {
            key: tuple(dict.fromkeys(down for down, _ in edges if down != key)) for key, edges in downstream.items()
        }
        self.order: tuple[AssetKey, ...] = self._topological()
        self._partitions: dict[AssetKey, PartitionsDef | None] = {}
        self._rank = {key: i for i, key in enumerate(self.order)}

    def __repr__(self) -> str:
        edges = sum(map(len, self._parents.values()))
        return f"<AssetGraph {len(self.assets)} assets, {edges} edges>"

    def __contains__(self, key: object) -> bool:
        return key in self.assets

    def __iter__(self) -> Iterator[AssetKey]:
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.assets)

    def asset(self, key: str) -> AssetSpec:
        """The spec of a key; raises UnknownAsset with a suggestion."""
        spec = self.assets.get(AssetKey(key))
        if spec is None:
            raise UnknownAsset(
                f"asset {key!r} does not exist", rule="no location defines it", fix=suggest(key, self.assets)
            )
        return spec

    def location_of(self, key: str) -> str:
        """The location that defines an asset."""
        return self._locations[self.asset(key).key]

    def partitions_of(self, key: str) -> PartitionsDef | None:
        """The partition definition of an asset; None when it is unpartitioned."""
        spec = self.asset(key)
        if spec.key not in self._partitions:
            self._partitions[spec.key] = from_spec(spec.partitions)
        return self._partitions[spec.key]

    def upstream(self, key: str) -> tuple[Edge, ...]:
        """(upstream key, input) for each input, in the order of declaration; a self-dependency included."""
        return self._upstream[self.asset(key).key]

    def downstream(self, key: str) -> tuple[Edge, ...]:
        """(downstream key, its input) for each consumer, by key; a self-dependency included."""
        return self._downstream[self.asset(key).key]

    def ancestors(self, *keys: str, depth: int | None = None) -> frozenset[AssetKey]:
        """All assets that feed the given ones, at most `depth` edges away; the given ones themselves not included."""
        return self._reach(keys, self._parents, depth)

    def descendants(self, *keys: str, depth: int | None = None) -> frozenset[AssetKey]:
        """All assets that the given ones feed, at most `depth` edges away; the given ones themselves not included."""
        return self._reach(keys, self._children, depth)

    def sort(self, keys: Iterable[str]) -> tuple[AssetKey, ...]:
        """The keys in topological order, each once."""
        return tuple(sorted({self.asset(key).key for key in keys}, key=self._rank.__getitem__))

    def waves(self, keys: Iterable[str] | None = None) -> tuple[tuple[AssetKey, ...], ...]:
        """The assets in the earliest possible waves; only edges within the chosen keys count. Keys sorted in a wave."""
        chosen = self.order if keys is None else self.sort(keys)
        wave_of: dict[AssetKey, int] = {}
        for key in chosen:
            wave_of[key] = 1 + max((wave_of[up] for up in self._parents[key] if up in wave_of), default=-1)
        waves: list[list[AssetKey]] = [[] for _ in range(1 + max(wave_of.values(), default=-1))]
        for key, wave in sorted(wave_of.items()):
            waves[wave].append(key)
        return tuple(map(tuple, waves))

    def critical_path(self, durations: Mapping[AssetKey, float]) -> CriticalPath:
        """The longest chain among the assets that have a duration: the floor of the run time, however many workers.

        Of equally long chains the one that comes first in topological order.
        """
        best: dict[AssetKey, tuple[float, AssetKey | None]] = {}
        for key in self.sort(durations):
            before: AssetKey | None = None
            for up in self._parents[key]:
                if up in best and (before is None or best[up][0] > best[before][0]):
                    before = up
            best[key] = (durations[key] + (best[before][0] if before is not None else 0), before)
        if not best:
            return CriticalPath((), 0)
        at: AssetKey | None = max(best, key=lambda key: (best[key][0], -self._rank[key]))
        length = best[at][0] if at is not None else 0
        path: list[AssetKey] = []
        while at is not None:
            path.append(at)
            at = best[at][1]
        return CriticalPath(tuple(reversed(path)), length)

    def to_networkx(self) -> networkx.DiGraph[AssetKey]:
        """The graph for algorithms of networkx; edges run from upstream to downstream, without self-dependencies."""
        import networkx as nx

        graph: nx.DiGraph[AssetKey] = nx.DiGraph()
        graph.add_nodes_from(self.assets)
        graph.add_edges_from((up, key) for key, parents in self._parents.items() for up in parents)
        return graph

    def _resolves(self, spec: AssetSpec, one: InputSpec) -> bool:
        if one.upstream == spec.key:
            if not reaches_back(one.mapping):
                raise CycleError(
                    f"asset {spec.key!r} depends on itself: {spec.key} -> {spec.key}",
                    rule="a self-dependency reaches earlier partitions only",
                    fix="map it by time with an end offset of -1 or less",
                    path=(spec.key, spec.key),
                )
            return True
        if one.upstream in self.assets:
            return True
        if one.location is not None and one.location not in self._locations.values():
            return False  # its location is not loaded here; absence is not an error of this asset
        raise UnknownAsset(
            f"asset {spec.key!r}: input {one.name!r} names {one.upstream!r}, which does not exist",
            rule="every upstream is defined in some location",
            fix=suggest(one.upstream, self.assets),
        )

    def _reach(
        self, keys: Collection[str], edges: Mapping[AssetKey, tuple[AssetKey, ...]], depth: int | None
    ) -> frozenset[AssetKey]:
        start = {self.asset(key).key for key in keys}
        seen: set[AssetKey] = set()
        frontier, left = start, depth
        while frontier and left != 0:
            frontier = {other for key in frontier for other in edges[key]} - seen
            seen |= frontier
            left = None if left is None else left - 1
        return frozenset(seen - start)

    def _topological(self) -> tuple[AssetKey, ...]:
        waiting = {key: len(parents) for key, parents in self._parents.items()}
        ready = [key for key, count in waiting.items() if not count]
        heapq.heapify(ready)
        order: list[AssetKey] = []
        while ready:
            key = heapq.heappop(ready)
            order.append(key)
            for child in self._children[key]:
                waiting[child] -= 1
                if not waiting[child]:
                    heapq.heappush(ready, child)
        if len(order) < len(self.assets):
            raise self._cycle(set(order))
        return tuple(order)

    def _cycle(self, sorted_already: set[AssetKey]) -> CycleError:
        import networkx as nx

        rest = self.to_networkx().subgraph(sorted(self.assets.keys() - sorted_already))
        nodes = [edge[0] for edge in nx.find_cycle(rest)]
        first = nodes.index(min(nodes))
        path = (*nodes[first:], *nodes[:first], nodes[first])
        shown = " -> ".join(self._named(key, path) for key in path)
        return CycleError(f"assets depend on each other in a cycle: {shown}", rule="assets form no cycle", path=path)

    def _named(self, key: AssetKey, path: tuple[AssetKey, ...]) -> str:
        several = len({self._locations[one] for one in path}) > 1
        return f"{key} (in {self._locations[key]})" if several else key


def reaches_back(mapping: MappingSpec) -> bool:
    """True when an asset may depend on itself by this mapping: on earlier partitions, the current one left out.

    >>> reaches_back(TimeOverlapSpec(offset_start=-7, offset_end=-1)), reaches_back(IdentitySpec())
    (True, False)
    """
    try:
        self_mapping(mapping_from_spec(mapping))
    except DefinitionError:
        return False
    return True


def _twice(spec: AssetSpec, before: str, now: str, first: AssetSpec) -> DefinitionError:
    def place(location: str, one: AssetSpec) -> str:
        source = f" ({one.source.file}:{one.source.line})" if one.source else ""
        return f"location {location!r}{source}" if location else f"this location{source}"

    return DefinitionError(
        f"asset {spec.key!r} is defined twice: in {place(before, first)} and in {place(now, spec)}",
        rule="a key belongs to one definition",
        fix="rename one of them, or keep it in one location",
    )
