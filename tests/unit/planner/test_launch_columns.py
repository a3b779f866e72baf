"""A large launch goes by columns: it asks for the same tasks and writes the same rows as one by values, task for task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.unit.duties.duty_world import PIN
from tests.unit.duties.duty_world import World as Duties
from tests.unit.planner import test_planner_laws as laws
from tests.unit.planner import test_subsets as subsets

import partita.core.planner.launch as module
from partita.assets import Daily, Hourly, RetrySpec, Rolling
from partita.core.duties.launch import LaunchRefused, launch
from partita.core.duties.launch_tasks import LaunchTasks
from partita.core.duties.pause import pause
from partita.core.duties.values import Launch, NewBackfill
from partita.core.planner import Plan, to_launch
from partita.core.store.values import AssetId

FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
HOURS = Hourly("2024-01-13", end="2024-01-14", tz="Europe/Berlin")
BACKFILL = NewBackfill("all", 3, "ann")


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Launch, Launch]]:
    """The launch of a plan by values and by columns."""

    def made(found: Plan, catalog: Any, **options: Any) -> tuple[Launch, Launch]:
        by_values = to_launch(found, catalog, cause={"by": "ann"}, **options)
        with monkeypatch.context() as patched:
            patched.setattr(module, "COLUMNS_FROM", 0)
            by_columns = to_launch(found, catalog, cause={"by": "ann"}, **options)
        assert isinstance(by_columns.tasks, LaunchTasks)
        return by_values, by_columns

    return made


def _rows(duties: Duties) -> dict[str, list[dict[str, Any]]]:
    """All rows; ids of tasks as their ranks, for launches draw different numbers of them."""
    rank = {row["id"]: at for at, row in enumerate(sorted(duties.rows("task"), key=lambda row: int(row["id"])))}
    ids = {"task_id", "upstream_id", "downstream_id"}

    def ranked(table: str) -> Iterator[dict[str, Any]]:
        for row in duties.rows(table):
            yield {
                name: rank.get(one, one) if name in ids or (table, name) == ("task", "id") else one
                for name, one in row.items()
            }

    return {table: sorted(ranked(table), key=repr) for table in duties.memory.dump()}


def _same(by_values: Launch, by_columns: Launch, prepare: Callable[[Duties], object] = lambda _: None) -> Duties:
    assert tuple(by_columns.tasks) == by_values.tasks
    worlds = []
    for asked in (by_values, by_columns):
        duties = Duties()
        prepare(duties)
        launch(duties.store, replace(asked, pins=(PIN,), schemes={}))
        worlds.append(duties)
    assert _rows(worlds[0]) == _rows(worlds[1])
    return worlds[1]


@given(shape=laws.shapes())
@settings(suppress_health_check=FIXTURES, max_examples=60, deadline=None)
def test_columns_say_what_values_say(shape: laws.Shape, world: Any, asset_of: Any, both: Any) -> None:
    made = laws._build(shape, world, asset_of)
    found = laws._plan(made, shape)
    if found.task_count:
        _same(*both(found, made.catalog, backfill=BACKFILL, newest_first=shape.upstream))


@given(shape=subsets.shapes())
@settings(suppress_health_check=FIXTURES, max_examples=60, deadline=None)
def test_columns_say_what_values_say_of_parts_of_groups(
    shape: subsets.Shape, world: Any, asset_of: Any, both: Any
) -> None:
    made = subsets._build(shape, world, asset_of)
    found = subsets._plan(made, shape)
    if found.task_count:
        _same(*both(found, made.catalog, lane="backfill", priority=2))


@pytest.mark.parametrize("rule", ["all_success", "always", "one_success"])
def test_windows_of_windows_with_deadlines(rule: Any, world: Any, asset_of: Any, both: Any) -> None:
    """Blocks of gates, an asset's own past, a rule that waits for nobody, deadlines of some."""
    wide = Rolling(n=9, unit="hours", edge="clip")
    inputs = {"a": (HOURS, wide), "b": (HOURS, wide)}
    made = world(
        [
            asset_of("a", HOURS, deadline_s=60.0),
            asset_of("b", HOURS, inputs, trigger_rule=rule, retries=RetrySpec(max_retries=2)),
        ]
    )
    by_values, by_columns = both(made.plan(), made.catalog, backfill=BACKFILL, tags={"why": "test"})
    duties = _same(by_values, by_columns)
    assert len(duties.rows("deadline")) == 24
    assert any(row["kind"] == "gate" for row in duties.rows("task")) == (rule == "all_success")


def test_what_others_own_or_somebody_paused_goes_by_values(world: Any, asset_of: Any, both: Any) -> None:
    """And leaves nothing behind of the try by columns."""
    made = world([asset_of("a", HOURS), asset_of("b", HOURS, {"a": (HOURS, None)})])
    values, columns = both(made.plan(), made.catalog)
    other = replace(values, tasks=values.tasks[3:5], pins=(PIN,), schemes={})
    duties = _same(values, columns, prepare=lambda duties: launch(duties.store, other))
    assert sum(row["kind"] == "gate" for row in duties.rows("task")) == 2
    paused = _same(
        values, columns, prepare=lambda duties: pause(duties.store, [AssetId(1)], who="ann", reason="", said={})
    )
    assert "!paused:1" in str(paused.rows("task")[0]["pool_set"])


def test_columns_that_contradict_themselves_are_refused(world: Any, asset_of: Any, both: Any) -> None:
    made = world([asset_of("a", Daily("2024-01-10"))])
    _, asked = both(made.plan(), made.catalog)
    asked.tasks.upstream[0] = (3,)
    duties = Duties()
    with pytest.raises(LaunchRefused, match="not in the order"):
        launch(duties.store, asked)
    assert not duties.rows("run")
