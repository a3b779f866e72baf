"""The parts of the planner: batches, gates, modes, rendering, selection of partitions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from partita.assets import (
    AnyBatchSpec,
    AssetKey,
    Daily,
    DefinitionError,
    Hourly,
    Monthly,
    Multi,
    PartitionSet,
    PerBatchSpec,
    SelectionError,
    SingleBatchSpec,
    Static,
    UpToBatchSpec,
    space_of,
)
from partita.core.planner import (
    PlanChanged,
    plan_tasks,
    render_text,
    replan,
    sentence,
    to_launch,
)
from partita.core.planner.batches import batches_of
from partita.core.planner.words import duration_text

AS_OF = datetime(2024, 1, 15, tzinfo=UTC)
DAYS = Daily("2024-01-01", end="2024-01-15")


def test_batches_by_size() -> None:
    space = space_of(DAYS, AS_OF)
    cells = PartitionSet(((0, 3), (5, 7)))
    assert [list(one) for one in batches_of(SingleBatchSpec(), space, cells)] == [[0], [1], [2], [5], [6]]
    assert [list(one) for one in batches_of(UpToBatchSpec(n=2), space, cells)] == [[0, 1], [2, 5], [6]]
    assert batches_of(AnyBatchSpec(), space, cells) == (cells,)
    assert batches_of(AnyBatchSpec(), space, PartitionSet.empty()) == ()


def test_a_batch_a_day_is_a_local_day_of_23_24_or_25_hours() -> None:
    """The example's weather: one task a day over all origins, on the days of the clock changes too."""
    hours = Hourly("2013-03-09", end="2013-03-12", tz="America/New_York")
    space = space_of(Multi(hour=hours, origin=Static("EWR", "JFK", "LGA")), AS_OF)
    batch = PerBatchSpec(dims={"hour": "1d", "origin": "all"})
    assert [len(one) for one in batches_of(batch, space, space.all())] == [72, 69, 72]
    each = batches_of(PerBatchSpec(dims={"hour": "1d"}), space, space.all())
    assert [len(one) for one in each] == [24, 24, 24, 23, 23, 23, 24, 24, 24]
    autumn = space_of(Hourly("2013-11-02", end="2013-11-05", tz="America/New_York"), AS_OF)
    assert [len(one) for one in batches_of(PerBatchSpec(dims={"": "1d"}), autumn, autumn.all())] == [24, 25, 24]
    assert [len(one) for one in batches_of(PerBatchSpec(dims={"": "6h"}), autumn, autumn.all())][:3] == [6, 6, 6]


def test_batch_slices_that_mean_nothing_are_refused() -> None:
    space = space_of(Multi(day=DAYS, origin=Static("EWR", "JFK")), AS_OF)
    with pytest.raises(DefinitionError, match="'1 day'"):
        batches_of(PerBatchSpec(dims={"day": "1 day"}), space, space.all())
    with pytest.raises(DefinitionError, match="without time"):
        batches_of(PerBatchSpec(dims={"day": "1d", "origin": "1d"}), space, space.all())


def test_a_wide_join_goes_through_one_gate(world: Any, asset_of: Any) -> None:
    """DESIGN section 6: edges are rows only up to a mean of four a task; here 14 x 14 would be 196."""
    made = world([asset_of("a", DAYS), asset_of("b", Static(*"abcdefghijklmn"), {"a": (DAYS, None)})])
    found = made.plan()
    tasks = plan_tasks(found, made.catalog)
    assert sum(task.gate for task in tasks) == 1
    assert sum(len(task.upstream) for task in tasks) == 28
    launch = to_launch(found, made.catalog, cause={"kind": "person"})
    assert [task.kind for task in launch.tasks].index("gate") == 14
    assert launch.tasks[14].cells == ()
    thin = world([asset_of("a", DAYS), asset_of("b", DAYS, {"a": (DAYS, None)})])
    assert not any(task.gate for task in plan_tasks(thin.plan(), thin.catalog))


def test_a_launch_carries_windows_pools_retries_and_pins(world: Any, asset_of: Any) -> None:
    made = world(
        [
            asset_of(
                "a",
                DAYS,
                pools=({"name": "wh", "slots": 2},),
                retries={"max_retries": 3, "delay_s": 30},
                timeout_s=60.0,
            )
        ]
    )
    task = to_launch(made.plan(partitions="2024-01-02"), made.catalog, cause={}).tasks[0]
    assert [(use.name, use.slots) for use in task.pools] == [("wh", 2)]
    assert (task.retry.max_retries, task.retry.delay_s, task.timeout_s) == (3, 30, 60)
    cell = task.cells[0]
    assert (cell.reason, cell.cell.partition) == ("missing", "2024-01-02")
    assert cell.window == (datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 3, tzinfo=UTC))


def test_asking_for_one_member_runs_the_whole_group(world: Any, asset_of: Any) -> None:
    made = world([asset_of("m1", DAYS, step="m"), asset_of("m2", DAYS, step="m")])
    made.run_all("m1")
    found = made.plan("m2", partitions="2024-01-02")
    assert made.keys(found) == {"m1": ["2024-01-02"], "m2": ["2024-01-02"]}
    assert found.task_count == 1
    assert {asset.key: list(asset.by_reason) for asset in found.assets} == {"m1": ["forced"], "m2": ["missing"]}


def test_a_range_of_dates_serves_every_cadence(world: Any, asset_of: Any) -> None:
    months = Monthly("2023-01-01", end="2024-01-01")
    hours = Hourly("2024-01-01", end="2024-01-15")
    made = world(
        [asset_of("d", DAYS), asset_of("m", months), asset_of("h", hours), asset_of("u"), asset_of("s", Static("x"))]
    )
    found = made.plan(from_key="2023-11-15", to_key="2024-01-02")
    assert {key: len(cells) for key, cells in made.keys(found).items()} == {"d": 2, "h": 48, "m": 1, "s": 1, "u": 1}


def test_bad_requests_name_the_thing_and_the_fix(world: Any, asset_of: Any) -> None:
    """Law 10."""
    made = world([asset_of("raw/days", DAYS)])
    with pytest.raises(SelectionError, match=r"partitions of 'raw/days'.*2024-02-01"):
        made.plan(partitions="2024-02-01")
    with pytest.raises(SelectionError, match="mode 'stale_'"):
        made.plan(mode=("stale_",))
    with pytest.raises(SelectionError, match="raw/days"):
        made.plan("raw/day")


def test_words_that_narrow_nothing_are_refused(world: Any, asset_of: Any) -> None:
    """Whoever names a partition of an asset that has none meant another asset; beside others it is taken whole."""
    made = world([asset_of("raw/days", DAYS), asset_of("plain"), asset_of("letters", Static("a", "b"))])
    with pytest.raises(
        SelectionError, match=r"'2024-01-12' of 'plain': no asset of it has partitions.*leave the partitions out"
    ):
        made.plan("plain", partitions="2024-01-12")
    with pytest.raises(
        SelectionError, match=r"'2024-01-12' of 'plain, letters': no asset of it has partitions of time"
    ):
        made.plan("plain, letters", from_key="2024-01-12")
    assert made.keys(made.plan("raw/days, plain", partitions="2024-01-12")) == {
        "raw/days": ["2024-01-12"],
        "plain": [""],
    }
    assert made.keys(made.plan("raw/days, letters", to_key="2024-01-11"))["letters"] == ["a", "b"]


def test_a_plan_is_refused_with_its_difference(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS), asset_of("b", DAYS, {"a": (DAYS, None)})])
    made.run_all("a")
    shown = made.plan("b", partitions="2024-01-01..2024-01-03")
    assert replan(made.catalog, made.cells, shown) == shown
    made.cells.open([made.ref("b", "2024-01-01")])
    assert replan(made.catalog, made.cells, shown).hash == shown.hash
    made.run("b", "2024-01-02")
    with pytest.raises(PlanChanged, match=r"1 cell of b \(2024-01-02\) dropped out"):
        replan(made.catalog, made.cells, shown)


def test_the_plan_in_words(world: Any, asset_of: Any) -> None:
    made = world([asset_of("raw/weather", DAYS), asset_of("delays", DAYS, {"raw/weather": (DAYS, None)})])
    made.run_all("raw/weather")
    for day in ("2024-01-01", "2024-01-02", "2024-01-03"):
        made.run("delays", day)
        made.run("raw/weather", day, "v2")
    found = made.plan("delays", to_key="2024-01-10")
    assert sentence(found) == "Materialize 10 cells of 1 asset: 7 missing, 3 stale because raw/weather changed"
    assert render_text(found, made.catalog).splitlines()[:-1] == [
        "Materialize 10 cells of 1 asset: 7 missing, 3 stale because raw/weather changed",
        "",
        "asset   cells  why                      partitions",
        "delays     10  7 missing, 3 stale data  2024-01-01..2024-01-10",
        "",
        "wave 1: delays (10)",
        "10 tasks",
        "pool default: wants 10, a pool to be made",
    ]


def test_few_missing_partitions_of_an_upstream_are_named(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS), asset_of("b", DAYS, {"a": (DAYS, None)})])
    few = made.plan("b", from_key="2024-01-01", to_key="2024-01-02")
    assert render_text(few, made.catalog, width=100).splitlines()[1:] == [
        "blocked: b 2024-01-01..2024-01-02: a 2024-01-01, 2024-01-02 are missing and not in the plan",
        "hint: --upstream plans missing upstream partitions too",
    ]
    many = made.plan("b", to_key="2024-01-05")
    assert [one.absent for one in many.blocked] == [()]
    assert "a is missing and not in the plan" in render_text(many, made.catalog)


def test_durations_in_words() -> None:
    assert [duration_text(s) for s in (0.4, 42, 200, 7300, 200_000)] == ["0.4 s", "42 s", "3 min", "2 h", "2 d"]


def test_blocked_cells_say_why(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a"), asset_of("b", None, {"a": (None, None)}), asset_of("c", None, {"b": (None, None)})])
    found = made.plan("b, c")
    assert found.empty
    assert [(one.key, one.reason, one.upstream) for one in found.blocked] == [
        ("b", "upstream_missing", "a"),
        ("c", "upstream_blocked", "b"),
    ]
    assert sentence(found) == "Nothing to do; 2 cells are blocked"
    assert render_text(found, made.catalog).splitlines()[1:] == [
        "blocked: b: a is missing and not in the plan",
        "blocked: c: b is itself blocked",
        "hint: --upstream plans missing upstream partitions too",
    ]
    made.cells.open([made.ref("a")])
    assert [(one.key, one.reason) for one in made.plan("b").blocked] == [("b", "upstream_in_progress")]
    assert AssetKey("a") not in made.keys(found)
