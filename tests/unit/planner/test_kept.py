"""What is kept of the states that cells show equals what fresh statuses say, and costs by what changed (law 4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.planner.conftest import World, spec
from tests.unit.planner.test_live import EVENTS, FIXTURES, _happens, graphs

from partita.assets import AssetKey, Daily, Dynamic
from partita.core.catalog.dynamic import KeysAt
from partita.core.cells import Kept, Statuses

DAYS = Daily("2024-01-11")
CUSTOMERS = Dynamic("customers")
RAW = AssetKey("raw")


def _equal(kept: Kept, made: Any, as_of: Any = None) -> None:
    fresh = Statuses(made.catalog, made.cells, as_of or made.as_of)
    for key, shown in kept.shown.items():
        status = fresh.status(key)
        assert np.array_equal(shown.codes, status.shown), key
        assert np.array_equal(shown.lacking, status.lacking), key


@given(graph=graphs(), before=EVENTS, after=EVENTS, seen=st.sets(st.integers(0, 5), max_size=2))
@settings(suppress_health_check=FIXTURES, max_examples=60)
def test_what_is_kept_is_what_fresh_statuses_show(
    graph: Any, before: Any, after: Any, seen: set[int], world: Any, asset_of: Any
) -> None:
    names = "pqrstu"
    made = world(
        [
            asset_of(names[at], scheme, {names[up]: (graph[up][0], mapping) for up, mapping in inputs.items()})
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
    assert kept.shown.keys() == made.catalog.assets.keys()
    _equal(kept, made)


def _chain() -> World:
    made = World(
        [
            spec("raw", DAYS),
            spec("clean", DAYS, {"raw": (DAYS, None)}),
            spec("report", DAYS, {"clean": (DAYS, None)}),
            spec("page", DAYS, {"report": (DAYS, None)}),
            spec("apart", DAYS),
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


def test_windows_that_open_and_keys_that_come_are_taken_in() -> None:
    made = _chain()
    kept = Kept()
    kept.follow(made.statuses(), [], made.catalog.assets)
    later = made.as_of + timedelta(days=1)
    assert len(kept.follow(Statuses(made.catalog, made.cells, later), [], [])) == 5
    _equal(kept, made, later)

    made = World([spec("raw", CUSTOMERS), spec("clean", CUSTOMERS, {"raw": (CUSTOMERS, None)}), spec("apart", DAYS)])
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
    before = dict(kept.shown)
    made.run("raw", "2024-01-12", "v2")
    with monkeypatch.context() as broken:
        broken.setattr(type(made.cells), "open_cells", _fails)
        with pytest.raises(ConnectionError):
            kept.follow(made.statuses(), [RAW], [])
    assert dict(kept.shown) == before
    kept.follow(made.statuses(), [RAW], [])
    _equal(kept, made)


def _fails(cells: Any, assets: Any) -> Any:
    raise ConnectionError("the database went away")
