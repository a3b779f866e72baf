"""The asset graph over all locations: who feeds whom, in which order, and what the longest path is.

Built once from snapshots and immutable. Refuses cycles (naming the path), unknown upstreams (with a suggestion) and
one key in two locations (naming both). An asset may depend on its own earlier partitions, through a mapping that
reaches back in time; such an edge orders partitions, not assets.

It asks of an asset only what `AssetNode` lists, so that a control plane with 10,000 assets need not read all of each. Inside,
assets are their places in key order: at that size building the graph from texts costs twice as much.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from partita.assets.errors import CycleError, DefinitionError, UnknownAsset, suggest
from partita.assets.keys import AssetKey
from partita.assets.mappings.own import self_mapping
from partita.assets.partitions.definitions import PartitionsDef
from partita.assets.scheme_specs import MappingSpec, PartitionsSpec
from partita.assets.spec_values import from_spec, mapping_from_spec

if TYPE_CHECKING:
    import networkx


class InputNode(Protocol):
    """What the graph asks of an input; `InputSpec` has it."""

    @property
    def name(self) -> str: ...
    @property
    def upstream(self) -> AssetKey: ...
    @property
    def mapping(self) -> MappingSpec: ...
    @property
    def location(self) -> str | None: ...


class SourceNode(Protocol):
    """Where a definition stands; `SourceRef` has it."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...


class AssetNode(Protocol):
    """What the graph and the selection grammar ask of an asset; `AssetSpec` has it."""

    @property
    def key(self) -> AssetKey: ...
    @property
    def kind(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def owner(self) -> str | None: ...
    @property
    def tags(self) -> Mapping[str, str]: ...
    @property
    def kinds(self) -> Sequence[str]: ...
    @property
    def inputs(self) -> Sequence[InputNode]: ...
    @property
    def partitions(self) -> PartitionsSpec | None: ...
    @property
    def observed(self) -> bool: ...
    @property
    def source(self) -> SourceNode | None: ...


Edge = tuple[AssetKey, InputNode]


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

    def __init__(self, assets: Iterable[AssetNode | tuple[str, AssetNode]]) -> None:
        self._locations: dict[AssetKey, str] = {}
        nodes: dict[AssetKey, AssetNode] = {}
        for item in assets:
            location, node = item if isinstance(item, tuple) else ("", item)
            key = node.key
            if key in nodes:
                raise _twice(node, self._locations[key], location, nodes[key])
            nodes[key], self._locations[key] = node, location
        self._keys = sorted(nodes)
        self.assets: Mapping[AssetKey, AssetNode] = MappingProxyType({key: nodes[key] for key in self._keys})
        self._place = {key: place for place, key in enumerate(self._keys)}
        self._parents: list[tuple[int, ...]] = []
        self._children: list[list[int]] = [[] for _ in self._keys]
        self._connect()
        self._order = self._topological()
        self._partitions: dict[AssetKey, PartitionsDef | None] = {}

    def _connect(self) -> None:
        place_of = self._place
        loaded = set(self._locations.values())
        for place, node in enumerate(self.assets.values()):
            above: dict[int, None] = {}
            for one in node.inputs:
                up = place_of.get(one.upstream)
                if up is None:
                    self._check_absent(node, one, loaded)
                elif up == place:
                    _check_own(node, one)
                else:
                    above[up] = None
            self._parents.append(tuple(above))
            for up in above:
                self._children[up].append(place)

    @cached_property
    def order(self) -> tuple[AssetKey, ...]:
        """All assets in topological order; of those that could come next, the one with the smallest key."""
        return tuple(self._keys[place] for place in self._order)

    @cached_property
    def rank(self) -> Mapping[AssetKey, int]:
        """The place of each asset in `order`."""
        return {key: rank for rank, key in enumerate(self.order)}

    def __repr__(self) -> str:
        edges = sum(map(len, self._parents))
        return f"<AssetGraph {len(self.assets)} assets, {edges} edges>"

    def __contains__(self, key: object) -> bool:
        return key in self.assets

    def __iter__(self) -> Iterator[AssetKey]:
        return iter(self.order)

    def __len__(self) -> int:
        return len(self.assets)

    def asset(self, key: str) -> AssetNode:
        """The asset of a key, as it was given; raises UnknownAsset with a suggestion."""
        return self.assets[self._keys[self._at(key)]]

    def location_of(self, key: str) -> str:
        """The location that defines an asset."""
        found = self._locations.get(AssetKey(key))
        return self._locations[self.asset(key).key] if found is None else found

    def partitions_of(self, key: str) -> PartitionsDef | None:
        """The partition definition of an asset; None when it is unpartitioned."""
        spec = self.asset(key)
        if spec.key not in self._partitions:
            self._partitions[spec.key] = from_spec(spec.partitions)
        return self._partitions[spec.key]

    def upstream(self, key: str) -> tuple[Edge, ...]:
        """(upstream key, input) for each input, in the order of declaration; a self-dependency included."""
        return tuple((one.upstream, one) for one in self.asset(key).inputs if one.upstream in self.assets)

    def downstream(self, key: str) -> tuple[Edge, ...]:
        """(downstream key, its input) for each consumer, by key; a self-dependency included."""
        at = self._at(key)
        own = self._keys[at]
        below = [self.assets[self._keys[place]] for place in sorted({at, *self._children[at]})]
        return tuple((node.key, one) for node in below for one in node.inputs if one.upstream == own)

    def ancestors(self, *keys: str, depth: int | None = None) -> frozenset[AssetKey]:
        """All assets that feed the given ones, at most `depth` edges away; the given ones themselves not included."""
        return self._reach(keys, self._parents, depth)

    def descendants(self, *keys: str, depth: int | None = None) -> frozenset[AssetKey]:
        """All assets that the given ones feed, at most `depth` edges away; the given ones themselves not included."""
        return self._reach(keys, self._children, depth)

    def sort(self, keys: Iterable[str]) -> tuple[AssetKey, ...]:
        """The keys in topological order, each once."""
        return tuple(sorted({self._keys[self._at(key)] for key in keys}, key=self.rank.__getitem__))

    def waves(self, keys: Iterable[str] | None = None) -> tuple[tuple[AssetKey, ...], ...]:
        """The assets in the earliest possible waves; only edges within the chosen keys count. Keys sorted in a wave."""
        chosen = self.order if keys is None else self.sort(keys)
        wave_of: dict[AssetKey, int] = {}
        for key in chosen:
            wave_of[key] = 1 + max((wave_of[up] for up in self._above(key) if up in wave_of), default=-1)
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
            for up in self._above(key):
                if up in best and (before is None or best[up][0] > best[before][0]):
                    before = up
            best[key] = (durations[key] + (best[before][0] if before is not None else 0), before)
        if not best:
            return CriticalPath((), 0)
        at: AssetKey | None = max(best, key=lambda key: (best[key][0], -self.rank[key]))
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
        graph.add_edges_from((up, key) for key in self._keys for up in self._above(key))
        return graph

    def _at(self, key: str) -> int:
        place = self._place.get(AssetKey(key))
        if place is None:
            raise UnknownAsset(
                f"asset {key!r} does not exist", rule="no location defines it", fix=suggest(key, self.assets)
            )
        return place

    def _above(self, key: AssetKey) -> Iterator[AssetKey]:
        return (self._keys[place] for place in self._parents[self._place[key]])

    def _check_absent(self, node: AssetNode, one: InputNode, loaded: Collection[str]) -> None:
        if one.location is not None and one.location not in loaded:
            return  # its location is not loaded here; absence is not an error of this asset
        raise UnknownAsset(
            f"asset {node.key!r}: input {one.name!r} names {one.upstream!r}, which does not exist",
            rule="every upstream is defined in some location",
            fix=suggest(one.upstream, self.assets),
        )

    def _reach(self, keys: Collection[str], edges: Sequence[Sequence[int]], depth: int | None) -> frozenset[AssetKey]:
        start = {self._at(key) for key in keys}
        seen: set[int] = set()
        frontier, left = start, depth
        while frontier and left != 0:
            frontier = {other for place in frontier for other in edges[place]} - seen
            seen |= frontier
            left = None if left is None else left - 1
        return frozenset(self._keys[place] for place in seen - start)

    def _topological(self) -> list[int]:
        waiting = [len(parents) for parents in self._parents]
        ready = [place for place, count in enumerate(waiting) if not count]  # ascending, which is a heap
        order: list[int] = []
        while ready:
            place = heapq.heappop(ready)
            order.append(place)
            for child in self._children[place]:
                waiting[child] -= 1
                if not waiting[child]:
                    heapq.heappush(ready, child)
        if len(order) < len(self._keys):
            raise self._cycle({self._keys[place] for place in order})
        return order

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


def _check_own(node: AssetNode, one: InputNode) -> None:
    if not reaches_back(one.mapping):
        raise CycleError(
            f"asset {node.key!r} depends on itself: {node.key} -> {node.key}",
            rule="a self-dependency reaches earlier partitions only",
            fix="map it by time with an end offset of -1 or less",
            path=(node.key, node.key),
        )


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


def _twice(spec: AssetNode, before: str, now: str, first: AssetNode) -> DefinitionError:
    def place(location: str, one: AssetNode) -> str:
        source = f" ({one.source.file}:{one.source.line})" if one.source else ""
        return f"location {location!r}{source}" if location else f"this location{source}"

    return DefinitionError(
        f"asset {spec.key!r} is defined twice: in {place(before, first)} and in {place(now, spec)}",
        rule="a key belongs to one definition",
        fix="rename one of them, or keep it in one location",
    )
