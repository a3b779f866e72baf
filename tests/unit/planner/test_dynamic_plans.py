"""Plans over dynamic keys: they go by the keys of one revision, and say when these are others."""

from __future__ import annotations

import pytest
from tests.unit.planner.conftest import World, spec

from partita.assets import All, Dynamic, Multi, SelectionError, Static
from partita.core.catalog.dynamic import KeysAt
from partita.core.planner import PlanChanged, decode_plan, encode_plan, replan, to_launch

CUSTOMERS = Dynamic("customers")


def sliced(*specs: object) -> World:
    world = World(
        [
            spec("raw", CUSTOMERS),
            spec("clean", CUSTOMERS, {"raw": (CUSTOMERS, None)}),
            spec("report", None, {"clean": (CUSTOMERS, All())}),
            spec("grid", Multi(customer=CUSTOMERS, kind=Static("x", "y"))),
        ]
    )
    return keyed(world, 1, "b", "a")


def keyed(world: World, revision: int, *keys: str) -> World:
    world.catalog = world.catalog.with_keys(KeysAt(revision, {"customers": keys}))
    return world


def test_a_plan_has_the_keys_that_there_are() -> None:
    world = sliced()
    assert world.keys(world.plan("clean or raw")) == {"raw": ["b", "a"], "clean": ["b", "a"]}
    assert world.keys(world.plan("grid", partitions="customer=a"))["grid"] == ['["a","x"]', '["a","y"]']
    with pytest.raises(SelectionError, match="'c' does not exist; the keys are 'b', 'a'"):
        world.plan("raw", partitions="c")
    assert to_launch(world.plan("raw"), world.catalog, cause={}).keys_revision == 1


def test_a_key_that_came_is_missing_and_makes_what_reads_all_stale() -> None:
    world = sliced()
    for key in ("raw", "clean"):
        world.run_all(key)
    world.run("report")
    assert world.plan("raw or clean or report").empty
    keyed(world, 2, "b", "a", "c")
    assert world.keys(world.plan("raw or clean or report")) == {"raw": ["c"], "clean": ["c"], "report": [""]}
    keyed(world, 3, "b")
    assert world.keys(world.plan("raw or clean or report")) == {"report": [""]}  # it holds what is no longer read
    keyed(world, 4, "b", "a")
    assert world.plan("raw or clean or report").empty  # it came back: its cells were never gone


def test_what_was_shown_is_refused_when_keys_changed() -> None:
    world = sliced()
    shown = decode_plan(encode_plan(world.plan("raw")))
    before = world.catalog.keys
    assert replan(world.catalog, world.cells, shown, before).hash == shown.hash
    # As many keys, at the same places: only the keys tell them apart.
    keyed(world, 2, "b", "c")
    with pytest.raises(PlanChanged, match="keys of 'customers': 'c' came in and 'a' went") as refused:
        replan(world.catalog, world.cells, shown, before)
    assert refused.value.fresh is not None
    keyed(world, 3, "b", "a", "c")
    with pytest.raises(PlanChanged, match="keys of 'customers': 'c' came in; 3 cells of raw instead of 2"):
        replan(world.catalog, world.cells, shown, before)


def test_what_reads_the_keys_is_another_plan_too() -> None:
    world = sliced()
    world.run_all("raw")
    world.run_all("clean")
    shown = world.plan("report")
    before = world.catalog.keys
    keyed(world, 2, "b")
    with pytest.raises(PlanChanged, match="keys of 'customers': 'a' went"):
        replan(world.catalog, world.cells, shown, before)


def test_plans_without_dynamic_keys_keep_their_hash() -> None:
    world = World([spec("plain", Static("x"))])
    assert '"keys"' not in str(world.plan("plain").assets[0])
    assert world.plan("plain").assets[0].keys == ""
