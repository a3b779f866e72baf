"""Observations of external assets: facts, confirmations, and the event that consumers follow (S-005, S-223)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.unit.duties.duty_world import START, World, cell

from partita.core.decide.observe import Observation
from partita.core.duties.channels import Channel
from partita.core.duties.observe import Observed, observe
from partita.core.duties.values import AUTOMATION
from partita.core.store.values import AssetId

DAY = (START, START + timedelta(days=1))


def _todo(world: World) -> list[tuple[int, str]]:
    with world.store.begin() as tx:
        return [(one.cell.asset_id, one.cell.partition) for one in tx.take_todo_skip(AUTOMATION, 100)]


def _cell(world: World) -> dict[str, Any]:
    return next(row for row in world.rows("cell") if row["partition"] == "a")


def _say(world: World, *said: tuple[str, str], followed: frozenset[AssetId] = frozenset({AssetId(1)})) -> Observed:
    observations = [Observation(cell(1, partition), version, DAY) for partition, version in said]
    return observe(world.store, observations, by="@observe files", followed=followed)


def test_a_version_that_moved_is_an_event_that_consumers_follow(world: World) -> None:
    done = _say(world, ("a", "v1"), ("b", "v1"))
    assert done.moved == (cell(1, "a"), cell(1, "b"))
    assert done.channels == (Channel.EVENT, Channel.TODO)
    row = _cell(world)
    assert (row["data_version"], row["last_outcome"], row["window_start"]) == ("v1", "published", START)
    assert row["metadata"] == {"observed_by": "@observe files"}
    assert [event["body"]["data_version"] for event in world.events("observed")] == ["v1", "v1"]
    assert _todo(world) == [(1, "a"), (1, "b")]


def test_the_same_version_only_says_that_the_cell_is_fresh(world: World) -> None:
    _say(world, ("a", "v1"))
    _todo(world)
    world.clock.forward(60)
    done = _say(world, ("a", "v1"))
    assert done == Observed((), 1)
    assert done.channels == ()
    row = _cell(world)
    assert row["published_at"] - row["version_at"] == timedelta(seconds=60)
    assert len(world.events("observed")) == 1
    assert _todo(world) == []


def test_a_version_that_goes_back_is_a_new_fact_with_a_higher_fence(world: World) -> None:
    _say(world, ("a", "v1"))
    first = _cell(world)["fence"]
    _say(world, ("a", "v2"))
    _say(world, ("a", "v1"))
    assert _cell(world)["fence"] > first
    assert len(world.events("observed")) == 3


def test_of_a_cell_that_is_named_twice_the_last_word_counts(world: World) -> None:
    _say(world, ("a", "v1"), ("a", "v2"))
    assert _cell(world)["data_version"] == "v2"


def test_without_automated_consumers_nobody_is_told(world: World) -> None:
    _say(world, ("a", "v1"), followed=frozenset())
    assert _todo(world) == []
