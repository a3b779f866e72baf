"""The asset graph: edges, order, waves, critical path, and what it refuses (S-001, S-101, S-102)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import (
    All,
    AssetGraph,
    AssetKey,
    AssetSpec,
    CycleError,
    Daily,
    DefinitionError,
    DimensionPair,
    Dimensions,
    Identity,
    InputSpec,
    Mapping,
    Rolling,
    SourceRef,
    TimeOverlap,
    UnknownAsset,
    asset_key,
    from_spec,
    mapping_to_spec,
    to_spec,
)


def _spec(key: str, *upstream: str, mapping: Mapping | None = None, location: str | None = None) -> AssetSpec:
    spec = mapping_to_spec(mapping or All())
    inputs = tuple(
        InputSpec(name=f"in{i}", upstream=asset_key(up), mapping=spec, location=location)
        for i, up in enumerate(upstream)
    )
    return AssetSpec(key=asset_key(key), inputs=inputs)


flights = AssetGraph(
    [
        ("a", _spec("delays", "raw/flights", "raw/weather", "airlines")),
        ("a", _spec("raw/flights", "source/flights")),
        ("a", _spec("raw/weather")),
        ("a", _spec("airlines")),
        ("a", _spec("source/flights")),
        ("b", _spec("route_health", "delays", location="a")),
    ]
)


def test_edges_and_reach() -> None:
    """Upstream in order of declaration, downstream by key, reach by depth."""
    assert [key for key, _ in flights.upstream("delays")] == ["raw/flights", "raw/weather", "airlines"]
    assert [(key, one.name) for key, one in flights.downstream("delays")] == [("route_health", "in0")]
    assert flights.ancestors("delays", depth=1) == {"raw/flights", "raw/weather", "airlines"}
    assert flights.ancestors("route_health") == set(flights.assets) - {"route_health"}
    assert flights.descendants("source/flights") == {"raw/flights", "delays", "route_health"}
    assert flights.descendants("source/flights", depth=0) == frozenset()
    assert flights.location_of("route_health") == "b"
    assert flights.to_networkx().number_of_edges() == 5


def test_order_and_waves_are_deterministic() -> None:
    """Topological, then by key; a wave is as early as possible."""
    assert flights.order == ("airlines", "raw/weather", "source/flights", "raw/flights", "delays", "route_health")
    assert flights.waves() == (
        ("airlines", "raw/weather", "source/flights"),
        ("raw/flights",),
        ("delays",),
        ("route_health",),
    )
    assert flights.waves(["route_health", "delays", "airlines"]) == (("airlines",), ("delays",), ("route_health",))
    assert flights.waves([]) == ()


def test_the_worked_graph_of_the_requirements() -> None:
    """S-102: 7 minutes along list_files > process > join > report."""
    graph = AssetGraph(
        [
            _spec("list_files"),
            _spec("load_dim"),
            _spec("process", "list_files"),
            _spec("join", "process", "load_dim"),
            _spec("report", "join"),
        ]
    )
    minutes = {"list_files": 1, "load_dim": 4, "process": 3, "join": 2, "report": 1}
    found = graph.critical_path({AssetKey(key): value for key, value in minutes.items()})
    assert found == (("list_files", "process", "join", "report"), 7)
    assert graph.critical_path({}) == ((), 0)
    assert graph.critical_path({AssetKey("join"): 2.0, AssetKey("list_files"): 5.0}).path == ("list_files",)


def test_a_cycle_is_refused_with_its_path() -> None:
    """Also across locations, both named."""
    with pytest.raises(CycleError) as refused:
        AssetGraph([_spec("a", "c"), _spec("b", "a"), _spec("c", "b"), _spec("d", "c"), _spec("e")])
    assert refused.value.path == ("a", "b", "c", "a")
    assert "a -> b -> c -> a" in str(refused.value)
    with pytest.raises(CycleError, match=r"x \(in one\) -> y \(in two\) -> x \(in one\)"):
        AssetGraph([("one", _spec("x", "y")), ("two", _spec("y", "x"))])


@pytest.mark.parametrize(
    ("mapping", "allowed"),
    [
        (TimeOverlap(-1, -1), True),
        (TimeOverlap(-7, -1), True),
        (TimeOverlap(-1, 0), True),  # windows include the current partition, but not of the asset itself
        (TimeOverlap(0, 0), False),
        (TimeOverlap(-1, 1), False),
        (TimeOverlap(1, 1), False),
        (Rolling(7, "days"), True),
        (Identity(), False),
        (All(), False),
        (Dimensions((DimensionPair("day", "day", TimeOverlap(-1, -1)), DimensionPair("o", "o", Identity()))), True),
        (Dimensions((DimensionPair("day", "day", TimeOverlap()), DimensionPair("o", "o", Identity()))), False),
    ],
)
def test_a_self_dependency_must_reach_back(mapping: Mapping, allowed: bool) -> None:
    """Earlier partitions of the asset itself are a mapping like any other; its own partition is a cycle."""
    spec = _spec("trend", "trend", mapping=mapping)
    if not allowed:
        with pytest.raises(CycleError, match="trend -> trend"):
            AssetGraph([spec])
        return
    graph = AssetGraph([spec])
    assert graph.waves() == (("trend",),)
    assert [key for key, _ in graph.upstream("trend")] == ["trend"]
    assert graph.ancestors("trend") == frozenset()


def test_an_unknown_upstream_is_refused_with_a_suggestion() -> None:
    """But an upstream in a location that is not loaded here is no error of this asset."""
    with pytest.raises(UnknownAsset, match="did you mean 'raw/flights'"):
        AssetGraph([_spec("raw/flights"), _spec("delays", "raw/flihgts")])
    graph = AssetGraph([("b", _spec("route_health", "delays", location="a"))])
    assert graph.upstream("route_health") == ()
    with pytest.raises(UnknownAsset):
        AssetGraph([("a", _spec("other")), ("b", _spec("route_health", "delays", location="a"))])
    with pytest.raises(UnknownAsset, match="did you mean 'delays'"):
        flights.asset("delay")


def test_one_key_in_two_places_is_refused_and_both_are_named() -> None:
    """Locations, and the lines where known."""
    first = AssetSpec(key=asset_key("x"), source=SourceRef(module="m", file="m.py", line=3))
    with pytest.raises(DefinitionError) as refused:
        AssetGraph([("one", first), ("two", AssetSpec(key=asset_key("x")))])
    assert "location 'one' (m.py:3) and in location 'two'" in str(refused.value)


def test_partitions_come_as_values() -> None:
    """The planner works on definitions, not on wire models."""
    days = Daily("2013-01-01", tz="America/New_York")
    graph = AssetGraph([AssetSpec(key=asset_key("x"), partitions=to_spec(days)), _spec("y", "x")])
    assert graph.partitions_of("x") == days
    assert graph.partitions_of("y") is None
    assert from_spec(graph.upstream("y")[0][1].mapping) == All()


@given(st.lists(st.sets(st.integers(0, 11), max_size=4), min_size=1, max_size=12), st.data())
def test_waves_and_critical_path_of_random_graphs(parents: list[set[int]], data: st.DataObject) -> None:
    """A wave is one after the latest parent's; the critical path is the longest of all chains."""
    upstream = {i: sorted(one for one in ups if one < i) for i, ups in enumerate(parents)}
    graph = AssetGraph(_spec(f"n{i:02}", *(f"n{up:02}" for up in ups)) for i, ups in upstream.items())
    depth = {key: n for n, wave in enumerate(graph.waves()) for key in wave}
    longest: dict[int, int] = {}
    weights = {i: data.draw(st.integers(0, 9)) for i in upstream}
    for i, ups in upstream.items():
        assert depth[AssetKey(f"n{i:02}")] == max((depth[AssetKey(f"n{up:02}")] + 1 for up in ups), default=0)
        longest[i] = weights[i] + max((longest[up] for up in ups), default=0)
    found = graph.critical_path({AssetKey(f"n{i:02}"): weight for i, weight in weights.items()})
    assert found.length == max(longest.values())
    assert sum(weights[int(key[1:])] for key in found.path) == found.length
    assert all(int(a[1:]) in upstream[int(b[1:])] for a, b in zip(found.path, found.path[1:], strict=False))


def test_importing_the_model_stays_light() -> None:
    """networkx is loaded when a graph algorithm asks for it, not before."""
    code = "import sys, partita.assets; print(sorted({'networkx', 'numpy', 'grpc', 'croniter'} & set(sys.modules)))"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"
