"""What is kept of the states that cells show equals what fresh statuses say, and costs by what changed (law 4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.planner.conftest import World, spec

from partita.assets import (
    All,
    AssetKey,
    Daily,
    Dynamic,
    Identity,
    Mapping,
    Multi,
    PartitionsDef,
    Rolling,
    Static,
    TimeOverlap,
)
from partita.core.catalog.dynamic import KeysAt
from partita.core.cells import Kept, Statuses

OPEN_DAYS = Daily("2024-01-11")
DAYS = Daily("2024-01-11", end="2024-01-15")
LATER = Daily("2024-01-10", end="2024-01-14")
TIMES = (DAYS, LATER, OPEN_DAYS)
LETTERS = Static("a", "b")
GRID = Multi(letter=LETTERS, day=DAYS)
NAMES = ("p", "q", "r", "s", "t", "u")
FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]  # the fixtures are a class and a function
CUSTOMERS = Dynamic("customers")
RAW = AssetKey("raw")


@st.composite
def graphs(draw: st.DrawFn) -> list[tuple[PartitionsDef | None, dict[int, Mapping | None]]]:
    """Per asset its partitions and what it reads, by position; itself at times."""
    found: list[tuple[PartitionsDef | None, dict[int, Mapping | None]]] = []
    for at in range(draw(st.integers(2, len(NAMES)))):
        scheme = draw(st.sampled_from([DAYS, DAYS, LATER, OPEN_DAYS, LETTERS, GRID, None]))
        inputs: dict[int, Mapping | None] = {}
        for up in range(at):
            if draw(st.booleans()):
                mappings: list[Mapping | None] = [None, All()]
                if scheme in TIMES and found[up][0] in TIMES:
                    mappings += [Identity(), TimeOverlap(-1, 0), Rolling(2, "days")]
                inputs[up] = draw(st.sampled_from(mappings))
        if scheme in (DAYS, OPEN_DAYS) and draw(st.integers(0, 2)) == 0:
            inputs[at] = TimeOverlap(-1, -1)
        found.append((scheme, inputs))
    return found


EVENTS = st.lists(
    st.tuples(
        st.integers(0, 5), st.integers(0, 7), st.sampled_from(["v1", "v1", "v2", "failed", "skipped", "a day passes"])
    ),
    min_size=1,
    max_size=12,
)


def _equal(kept: Kept, made: Any, as_of: Any = None) -> None:
    fresh = Statuses(made.catalog, made.cells, as_of or made.as_of)
    for key in kept.known:
        status = fresh.status(key)
        assert np.array_equal(kept.shown(key).codes, status.shown), key
        assert np.array_equal(kept.lacking(key), status.lacking), key


@given(graph=graphs(), before=EVENTS, after=EVENTS, seen=st.sets(st.integers(0, 5), max_size=2))
@settings(suppress_health_check=FIXTURES, max_examples=100)
def test_what_is_kept_is_what_fresh_statuses_show(
    graph: Any, before: Any, after: Any, seen: set[int], world: Any, asset_of: Any
) -> None:
    made = world(
        [
            asset_of(NAMES[at], scheme, {NAMES[up]: (graph[up][0], mapping) for up, mapping in inputs.items()})
            for at, (scheme, inputs) in enumerate(graph)
        ]
    )
    for event in before:
        _happens(made, event)
    kept = Kept()
    some = [key for at, key in enumerate(made.catalog.assets) if at in seen]
    kept.follow(made.statuses(), [], some)
    _equal(kept, made)
    for event in after:
        key = _happens(made, event)
        kept.follow(made.statuses(), [key] if key else [], [])
        _equal(kept, made)
    kept.follow(made.statuses(), [], made.catalog.assets)
    assert set(kept.known) == set(made.catalog.assets)
    _equal(kept, made)


def _chain() -> World:
    made = World(
        [
            spec("raw", OPEN_DAYS),
            spec("clean", OPEN_DAYS, {"raw": (OPEN_DAYS, None)}),
            spec("report", OPEN_DAYS, {"clean": (OPEN_DAYS, None)}),
            spec("page", OPEN_DAYS, {"report": (OPEN_DAYS, None)}),
            spec("apart", OPEN_DAYS),
        ]
    )
    for key in ("raw", "clean", "report", "page"):
        made.run_all(key)
    return made


def test_only_what_a_change_reaches_is_judged() -> None:
    made = _chain()
    kept = Kept()
    assert len(kept.follow(made.statuses(), [], made.catalog.assets)) == 5
    assert kept.follow(made.statuses(), [], made.catalog.assets) == []
    # Pages that were folded look like a change: the asset and its readers are judged, and nothing turns.
    assert kept.follow(made.statuses(), [RAW], []) == ["raw", "clean"]
    made.run("raw", "2024-01-12", "v2")
    assert kept.follow(made.statuses(), [RAW], []) == ["raw", "clean", "report", "page"]
    _equal(kept, made)
    # A second cause for cells that lack already turns nothing further down.
    made.run("raw", "2024-01-12", "v3")
    assert kept.follow(made.statuses(), [RAW], []) == ["raw", "clean"]


def test_a_window_that_opens_is_seen_by_all_that_need_it() -> None:
    made = World(
        [
            spec("raw", OPEN_DAYS),
            spec("total", None, {"raw": (OPEN_DAYS, All())}),
            spec("page", None, {"total": (None, None)}),
        ]
    )
    for key in ("raw", "total", "page"):
        made.run_all(key)
    kept = Kept()
    kept.follow(made.statuses(), [], made.catalog.assets)
    assert not kept.lacking(AssetKey("page")).any()
    made.as_of += timedelta(days=1)  # neither total nor page has other partitions than before
    assert kept.follow(made.statuses(), [], []) == ["raw", "total", "page"]
    assert kept.shown(AssetKey("page")).counts() == {"upstream_stale": 1}
    _equal(kept, made)


def test_what_was_shown_stays_as_it_was() -> None:
    made = _chain()
    kept = Kept()
    kept.follow(made.statuses(), [], made.catalog.assets)
    before = kept.shown(AssetKey("page"))
    known = before.codes.copy()
    made.run("raw", "2024-01-12", "v2")
    kept.follow(made.statuses(), [RAW], [])
    assert np.array_equal(before.codes, known)
    assert not np.array_equal(kept.shown(AssetKey("page")).codes, known)


def test_windows_that_open_and_keys_that_come_are_taken_in() -> None:
    made = _chain()
    kept = Kept()
    kept.follow(made.statuses(), [], made.catalog.assets)
    later = made.as_of + timedelta(days=1)
    assert len(kept.follow(Statuses(made.catalog, made.cells, later), [], [])) == 5
    _equal(kept, made, later)

    made = World(
        [spec("raw", CUSTOMERS), spec("clean", CUSTOMERS, {"raw": (CUSTOMERS, None)}), spec("apart", OPEN_DAYS)]
    )
    made.catalog = made.catalog.with_keys(KeysAt(1, {"customers": ("a",)}))
    kept = Kept()
    kept.follow(made.statuses(), [], made.catalog.assets)
    made.catalog = made.catalog.with_keys(KeysAt(2, {"customers": ("a", "b")}))
    assert kept.follow(made.statuses(), [], []) == ["raw", "clean"]
    _equal(kept, made)


def test_nothing_is_taken_in_when_reading_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _chain()
    kept = Kept()
    kept.follow(made.statuses(), [], made.catalog.assets)
    before = {key: kept.shown(key) for key in kept.known}
    made.run("raw", "2024-01-12", "v2")
    with monkeypatch.context() as broken:
        broken.setattr(type(made.cells), "open_cells", _fails)
        with pytest.raises(ConnectionError):
            kept.follow(made.statuses(), [RAW], [])
    assert {key: kept.shown(key) for key in kept.known} == before
    kept.follow(made.statuses(), [RAW], [])
    _equal(kept, made)


def _fails(cells: Any, assets: Any) -> Any:
    raise ConnectionError("the database went away")


def _happens(made: Any, event: tuple[int, int, str]) -> Any:
    at, partition, what = event
    if what == "a day passes":
        made.as_of += timedelta(days=1)
        return None
    if NAMES[at] not in made.catalog.assets:
        return None
    key = made.catalog.asset(NAMES[at]).key
    space = made.catalog.space(key, made.as_of)
    name = str(space.key_at(partition % space.size))
    if what in ("failed", "skipped"):
        made.cells.note(made.ref(key, name), what)
    else:
        made.run(key, name, what)
    return key
