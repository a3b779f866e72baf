"""The parts of the planner: batches, gates, estimates, modes, rendering, selection of partitions."""

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
    Durations,
    PlanChanged,
    PoolLoad,
    Work,
    critical_path,
    makespan,
    plan_tasks,
    render_text,
    replan,
    sentence,
    to_launch,
)
from partita.core.planner.batches import batches_of
from partita.core.planner.render import duration_text

AS_OF = datetime(2024, 1, 15, tzinfo=UTC)
DAYS = Daily("2024-01-01", end="2024-01-15")


def test_waves_and_critical_path_of_the_worked_graph() -> None:
    """S-102: list_files 1, load_dim 4, process 3, join 2, report 1: the floor is 7."""
    work = [Work(1), Work(4), Work(3, (0,)), Work(2, (2, 1)), Work(1, (3,))]
    assert critical_path(work) == ((0, 2, 3, 4), 7.0)
    assert makespan(work, 100) == 7.0


@pytest.mark.parametrize(("slots", "expected"), [(1, 26), (2, 16), (4, 10), (8, 7)])
def test_makespan_with_six_files_mapped(slots: int, expected: int) -> None:
    """S-103: 26 minutes with one slot, 16 with two, 10 with four, 7 with eight; the floor is 7."""
    files = [Work(3, (0,)) for _ in range(6)]
    work = [Work(1), Work(4), *files, Work(2, (1, *range(2, 8))), Work(1, (8,))]
    assert makespan(work, slots) == expected


def test_a_pool_holds_back_only_what_needs_it() -> None:
    work = [Work(5, (), (("db", 1),)), Work(5, (), (("db", 1),)), Work(5)]
    assert makespan(work, 3, {"db": 1}) == 10
    assert makespan(work, 3, {"db": 2}) == 5
    assert makespan([Work(5, (), (("db", 9),))], 1, {"db": 2}) == 5


def test_no_slots_never_end() -> None:
    with pytest.raises(ValueError, match="0 slots"):
        makespan([Work(1)], 0)


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


def test_an_estimate_has_a_basis_or_is_none(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS, pools=({"name": "one"},)), asset_of("b", DAYS, {"a": (DAYS, None)})])
    assert made.plan().estimate is None
    made.cells.slots = 4
    assert made.plan().estimate is None
    made.cells.history[made.catalog.asset("a").step] = Durations(10.0, 5)
    made.cells.pool_loads["one"] = PoolLoad(1, 1)
    found = made.plan().estimate
    assert found is not None
    assert (found.critical_s, found.makespan_s, found.sample_size, found.unknown) == (20.0, 150.0, 5, ("b",))
    assert found.critical_path == ("a", "b")
    assert found.basis == "mean of 5 earlier attempts, 4 at once; b never ran"
    assert [(one.name, one.slots, one.held, one.wanted) for one in made.plan().pools] == [
        ("default", None, 0, 14),
        ("one", 1, 1, 14),
    ]


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


def test_a_plan_is_refused_with_its_difference(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS), asset_of("b", DAYS, {"a": (DAYS, None)})])
    made.run_all("a")
    shown = made.plan("b", partitions="2024-01-01..2024-01-03")
    assert replan(made.catalog, made.cells, shown) == shown
    made.cells.open([made.ref("b", "2024-01-01")])
    assert replan(made.catalog, made.cells, shown).hash == shown.hash
    made.run("b", "2024-01-02")
    with pytest.raises(PlanChanged, match="1 cell of b dropped out"):
        replan(made.catalog, made.cells, shown)


def test_the_plan_in_words(world: Any, asset_of: Any) -> None:
    made = world([asset_of("raw/weather", DAYS), asset_of("delays", DAYS, {"raw/weather": (DAYS, None)})])
    made.run_all("raw/weather")
    for day in ("2024-01-01", "2024-01-02", "2024-01-03"):
        made.run("delays", day)
        made.run("raw/weather", day, "v2")
    found = made.plan("delays", to_key="2024-01-10")
    assert sentence(found) == "Materialize 10 cells of 1 asset: 7 missing, 3 stale because raw/weather changed"
    assert render_text(found, made.catalog).splitlines() == [
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
    assert render_text(few, made.catalog).splitlines()[1:] == [
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
