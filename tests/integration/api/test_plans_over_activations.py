"""A plan that was made before a partition scheme changed, launched after it: refused, never an old window under an equal key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from tests.integration.duties.conftest import Paused
from tests.integration.store.pauses import in_thread, until_blocked

from partita.assets import Daily, PartitionsDef, Snapshot, StepSpec, canonical_json, snapshot_hash
from partita.core.duties.launch import PlanOutdated, launch
from partita.core.duties.values import Launch
from partita.core.planner import PlanChanged, PlanRequest, plan, to_launch
from partita.core.runtime.activate import activate

UTC_DAYS = Daily("2013-01-01", end="2013-01-11")
NEW_YORK_DAYS = Daily("2013-01-01", end="2013-01-11", tz="America/New_York")


def scheme(world: Any, partitions: PartitionsDef) -> None:
    world.activate([world.spec("orders", partitions)], checks=())


def planned(world: Any) -> Launch:
    with world.store.read() as reader:
        made = plan(
            world.catalog,
            reader,
            PlanRequest("orders", partitions="2013-01-01", as_of=datetime(2013, 2, 1, tzinfo=UTC)),
        )
    return to_launch(made, world.catalog, cause={"kind": "api", "by": "ann"})


def tasks(world: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(world.url) as connection:
        return connection.execute("SELECT state FROM task ORDER BY id").fetchall()


def published(world: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(world.url) as connection:
        found = connection.execute(
            "SELECT partition, window_start FROM cell WHERE data_version IS NOT NULL ORDER BY 1"
        ).fetchall()
    return [(key, start.astimezone(UTC).hour) for key, start in found]


def test_activated_between_plan_and_launch(world: Any) -> None:
    scheme(world, UTC_DAYS)
    before = planned(world)
    scheme(world, NEW_YORK_DAYS)
    with pytest.raises(PlanOutdated, match=r"another partition scheme .* plan again"):
        launch(world.store, before)
    assert tasks(world) == []
    launch(world.store, planned(world))
    world.work()
    assert published(world) == [("2013-01-01", 5)]


def test_a_plan_that_was_shown_says_what_differs(world: Any) -> None:
    from partita.ui.api.models import LaunchRequest
    from partita.ui.api.models import PlanRequest as Asked

    scheme(world, UTC_DAYS)
    shown = world.services.plans.create(Asked(selection="orders", partitions="2013-01-01"))
    scheme(world, NEW_YORK_DAYS)
    with pytest.raises(PlanChanged) as refused:
        world.services.plans.launch(shown.id, LaunchRequest(confirm_cells=shown.cell_count))
    assert refused.value.difference is not None
    assert tasks(world) == []


def test_launched_first_it_is_cancelled_by_the_activation(world: Any) -> None:
    scheme(world, UTC_DAYS)
    launch(world.store, planned(world))
    scheme(world, NEW_YORK_DAYS)
    assert tasks(world) == [("cancelled",)]


def test_an_activation_waits_for_the_launch_that_came_before_it(world: Any) -> None:
    """However close they are: the activation sees the tasks of a launch that had looked at the old scheme."""
    scheme(world, UTC_DAYS)
    paused = Paused(world.store, after="lock_schemes")
    asked = planned(world)
    launching = in_thread(lambda: launch(paused, asked))
    paused.wait_reached()
    activating = in_thread(lambda: scheme(world, NEW_YORK_DAYS))
    until_blocked(world.url)
    paused.go_on()
    assert launching.result(120).task_ids
    activating.result(120)
    assert tasks(world) == [("cancelled",)]


def test_a_launch_waits_for_the_activation_that_came_before_it(world: Any) -> None:
    scheme(world, UTC_DAYS)
    asked = planned(world)
    spec = world.spec("orders", NEW_YORK_DAYS)
    step = StepSpec(id="orders", assets=("orders",), function="flights.assets:orders")
    snapshot = Snapshot(location="flights", assets=(spec,), steps=(step,))
    with world.store.begin() as tx:
        activate(tx, "flights", snapshot, snapshot_hash(snapshot), canonical_json(snapshot))
        launching = in_thread(lambda: launch(world.store, asked))
        until_blocked(world.url)
    with pytest.raises(PlanOutdated):
        launching.result(120)
    assert tasks(world) == []


def test_a_change_that_leaves_keys_and_windows_neither_refuses_a_launch_nor_cancels_its_work(world: Any) -> None:
    scheme(world, UTC_DAYS)
    before = planned(world)
    scheme(world, Daily("2013-01-01", end="2013-01-11", horizon=-1))
    launch(world.store, before)
    scheme(world, UTC_DAYS)
    assert tasks(world) == [("scheduled",)]
    world.work()
    assert published(world) == [("2013-01-01", 0)]
