"""Assets looked at together say what each says by itself: statuses as the rows of a stack, and plans made with stacks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partita.assets import All, Daily, Identity, Mapping, PartitionsDef, Rolling, Static, TimeOverlap, UpToBatchSpec
from partita.core.catalog import set_of
from partita.core.cells import stack as narrow
from partita.core.cells.stack import Stack
from partita.core.planner.rows import SharedSets, runs_of_rows
from partita.core.planner.sequences import Runs

DAYS = Daily("2024-01-11", end="2024-01-15")
LATER = Daily("2024-01-10", end="2024-01-14")
LETTERS = Static("a", "b")
NAMES = ("p", "q", "r", "s", "t", "u", "v")
PARTS = ("published", "missing", "stale_code", "stale_dependencies", "stale_data", "stale", "failed")
FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]  # the fixtures are a class and a function
Graph = list[tuple[PartitionsDef | None, dict[int, Mapping | None], dict[str, Any]]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Per asset its partitions, what it reads by position (itself at times), and what else is said of it.

    Most share a scheme and read the same partition, so that stacks have several rows and other assets between them.
    """
    found: Graph = []
    for at in range(draw(st.integers(2, len(NAMES)))):
        scheme = draw(st.sampled_from([DAYS, DAYS, DAYS, LATER, LETTERS, None]))
        inputs: dict[int, Mapping | None] = {}
        for up in range(at):
            if draw(st.booleans()):
                mappings: list[Mapping | None] = [None, None, All()]
                if scheme in (DAYS, LATER) and found[up][0] in (DAYS, LATER):
                    mappings += [Identity(), TimeOverlap(-1, 0), Rolling(2, "days")]
                inputs[up] = draw(st.sampled_from(mappings))
        if scheme == DAYS and draw(st.integers(0, 4)) == 0:
            inputs[at] = TimeOverlap(-1, -1)
        more: dict[str, Any] = {}
        if draw(st.integers(0, 5)) == 0:
            more = {"kind": "external"} if not inputs else {"batch": UpToBatchSpec(n=2)}
        found.append((scheme, inputs, more))
    return found


EVENTS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 7), st.sampled_from(["v1", "v1", "v1", "v2", "failed", "skipped"])),
    max_size=40,
)
RECODED = st.sets(st.integers(0, 6), max_size=2)


def _made(graph: Graph, events: Any, recoded: set[int], world: Any, asset_of: Any) -> Any:
    def specs(codes: dict[int, str]) -> list[Any]:
        return [
            asset_of(
                NAMES[at],
                scheme,
                {NAMES[up]: (graph[up][0], mapping) for up, mapping in inputs.items()},
                code=codes.get(at, "1"),
                **more,
            )
            for at, (scheme, inputs, more) in enumerate(graph)
        ]

    made = world(specs({}))
    for at, partition, what in events:
        if at >= len(graph) or graph[at][2].get("kind") == "external":
            continue
        key = made.catalog.asset(NAMES[at]).key
        space = made.catalog.space(key, made.as_of)
        name = str(space.key_at(partition % space.size))
        if what in ("failed", "skipped"):
            made.cells.note(made.ref(key, name), what)
        else:
            made.run(key, name, what)
    made.define(specs(dict.fromkeys(recoded, "2")))
    return made


@given(graph=graphs(), events=EVENTS, recoded=RECODED)
@settings(suppress_health_check=FIXTURES, max_examples=80)
def test_the_rows_of_a_stack_are_the_statuses_of_its_assets(
    graph: Graph, events: Any, recoded: set[int], world: Any, asset_of: Any
) -> None:
    made = _made(graph, events, recoded, world, asset_of)
    alike: dict[int, list[Any]] = {}
    statuses, alone = made.statuses(), made.statuses()
    for asset in made.catalog.assets.values():
        alike.setdefault(statuses.space(asset.key).size, []).append(asset)
    for assets in alike.values():
        stack = Stack(statuses, assets)
        for part in PARTS:
            rows = np.broadcast_to(getattr(stack, part), stack.shape)
            for asset, row in zip(assets, rows, strict=True):
                status = alone.direct(asset.key)
                expected = status.held.published if part == "published" else getattr(status, part)
                assert np.array_equal(row, expected), (asset.key, part)
        for asset in assets:  # what a stack worked out is what an asset then says
            assert np.array_equal(statuses.direct(asset.key).stale_data, alone.direct(asset.key).stale_data)


@contextmanager
def _one_by_one() -> Iterator[None]:
    widest, narrow.WIDEST = narrow.WIDEST, 0
    try:
        yield
    finally:
        narrow.WIDEST = widest


MODES = [("missing", "failed", "stale"), ("missing",), ("stale",), ("failed",), ("missing", "stale"), ("all",)]


@given(
    graph=graphs(),
    events=EVENTS,
    recoded=RECODED,
    mode=st.sampled_from(MODES),
    chosen=st.sets(st.integers(0, 6), min_size=1),
    more=st.tuples(st.booleans(), st.booleans()),
    latest=st.booleans(),
    rows=st.integers(1, 3),
)
@settings(suppress_health_check=FIXTURES, max_examples=150)
def test_a_plan_made_with_stacks_is_the_plan_made_one_by_one(
    graph: Graph,
    events: Any,
    recoded: set[int],
    mode: tuple[str, ...],
    chosen: set[int],
    more: tuple[bool, bool],
    latest: bool,
    rows: int,
    world: Any,
    asset_of: Any,
) -> None:
    made = _made(graph, events, recoded, world, asset_of)
    selected = [one for one in sorted(chosen) if one < len(graph)] or [0]
    selection = ",".join(NAMES[one] for one in selected)
    asked: dict[str, Any] = {"mode": mode, "upstream": more[0], "downstream": more[1]}
    if latest and any(graph[one][0] is not None and "kind" not in graph[one][2] for one in selected):
        asked["partitions"] = "latest 2"
    cells, narrow.CELLS = narrow.CELLS, 4 * rows  # few rows a stack, so that one reads what another decided
    try:
        stacked = made.plan(selection, **asked)
    finally:
        narrow.CELLS = cells
    with _one_by_one():
        alone = made.plan(selection, **asked)
    assert stacked == alone


@given(
    masks=st.integers(1, 9).flatmap(
        lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=1, max_size=6)
    ),
    values=st.lists(st.integers(0, 2), min_size=54, max_size=54),
)
def test_rows_as_sets_and_runs(masks: list[list[bool]], values: list[int]) -> None:
    chosen = np.array(masks)
    found = np.array(values[: chosen.size]).reshape(chosen.shape)
    sets = SharedSets()
    by_row = sets.of_rows(chosen)
    assert by_row == [set_of(row) for row in chosen]
    assert all(sets.of(row) is one for row, one in zip(chosen, by_row, strict=True))
    assert runs_of_rows(found, chosen) == [Runs.of_array(row[mine]) for row, mine in zip(found, chosen, strict=True)]
