"""The snapshot of a code location: to its canonical bytes and hash, and back to a graph that is known to be sound."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import harness

from partita.assets import AssetGraph, Snapshot, canonical_json, snapshot_hash
from partita.core.catalog import check_activation, read_snapshot
from planner_rows.measure import Timed, check, timed
from planner_rows.world import AS_OF, definitions

SIZES = (1_000, 3_000, 10_000)
of_size = cache(definitions)


def snapshot(bench: harness.Bench) -> None:
    """10,000 assets with three inputs each, out and in."""
    check(read_snapshot(canonical_json(of_size(SIZES[0]))) == of_size(SIZES[0]), "a snapshot read back is the same")
    check(len(loaded(canonical_json(of_size(SIZES[1]))).order) == SIZES[1], "all assets are in the graph")
    for id, what, call_of in (
        ("snapshot_out", "10,000 assets to their canonical bytes and hash", serialise),
        ("snapshot_in", "the bytes of 10,000 assets to the graph, validated as for activation", load),
    ):
        timed(bench, Timed(id, what, 2_000, SIZES, call_of))


def serialise(size: int) -> Callable[[], object]:
    """The hash of so many assets, which is that of their canonical bytes."""
    return partial(snapshot_hash, of_size(size))


def load(size: int) -> Callable[[], object]:
    """From bytes to the checked graph of so many assets."""
    return partial(loaded, canonical_json(of_size(size)))


def loaded(body: bytes) -> AssetGraph:
    """What a location does with a version before it activates it."""
    found: Snapshot = read_snapshot(body)
    check_activation([found], AS_OF)
    return AssetGraph(found.assets)
