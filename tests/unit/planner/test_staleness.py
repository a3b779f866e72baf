"""Staleness goes by digests and fingerprints: what reverts is fresh again, times and formatting never matter."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partita.assets import AssetKey, Daily, Hourly, Monthly, Multi, PartitionSet, Static, TimeOverlap
from partita.core.cells import bucket_counts, counts, where, why
from partita.core.planner import sentence
from partita.core.store.values import TaskState

DAYS = Daily("2024-01-01", end="2024-01-11")
MONTHS = Monthly("2024-01-01", end="2024-02-01")
HOURS = Hourly("2024-01-01", end="2024-01-11")


def test_a_cell_goes_from_missing_to_fresh_to_stale_to_fresh(world: Any, asset_of: Any) -> None:
    """S-080: a corrected upstream partition makes what was built from it stale, and nothing else."""
    made = world([asset_of("raw", DAYS), asset_of("sums", DAYS, {"raw": (DAYS, None)})])
    assert made.state("sums", "2024-01-02") == "missing"
    made.run_all("raw")
    made.run_all("sums")
    assert counts(made.statuses().status(AssetKey("sums"))) == {"fresh": 10}
    made.run("raw", "2024-01-02", "v2")
    assert made.state("sums", "2024-01-02") == "stale"
    assert counts(made.statuses().status(AssetKey("sums"))) == {"fresh": 9, "stale": 1}
    made.run("raw", "2024-01-02", "v1")
    assert made.state("sums", "2024-01-02") == "fresh"


@given(versions=st.lists(st.tuples(st.integers(0, 239), st.sampled_from(["v1", "v2", "v3"])), max_size=12))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_wide_inputs_that_revert_make_their_consumers_fresh_again(
    world: Any, asset_of: Any, versions: list[tuple[int, str]]
) -> None:
    """Whatever happens to hours in between: what counts is what they hold."""
    made = world([asset_of("hours", HOURS), asset_of("days", DAYS, {"hours": (HOURS, None)})])
    space = made.catalog.space(AssetKey("hours"), made.as_of)
    for key in ("hours", "days"):
        for partition in made.catalog.space(AssetKey(key), made.as_of).keys(PartitionSet(((0, 1),))):
            made.run(key, str(partition))
    for partition in space.keys(space.all()):
        made.cells.publish(made.ref("hours", partition), "v1", fingerprint="code-1", dependency_hash="none")
    made.run_all("days")
    held = {}
    for at, version in versions:
        made.cells.publish(made.ref("hours", space.key_at(at)), version, fingerprint="code-1", dependency_hash="none")
        held[at] = version
    moved = {at // 24 for at, version in held.items() if version != "v1"}
    assert set(where(made.statuses().status(AssetKey("days")), "stale")) == moved
    for at in held:
        made.cells.publish(made.ref("hours", space.key_at(at)), "v1", fingerprint="code-1", dependency_hash="none")
    assert counts(made.statuses().status(AssetKey("days"))) == {"fresh": 10}


def test_code_dependencies_and_what_is_above_are_told_apart(world: Any, asset_of: Any) -> None:
    specs = [asset_of("a"), asset_of("b", None, {"a": (None, None)}), asset_of("c", None, {"b": (None, None)})]
    made = world(specs)
    for key in "abc":
        made.run(key)
    made.define([asset_of("a", code="2"), *specs[1:]])
    assert [made.state(key) for key in "abc"] == ["stale", "upstream_stale", "upstream_stale"]
    found = why(made.catalog, made.cells, made.as_of, "c", "")
    assert [(one.code, one.upstream) for one in found.reasons] == [("upstream_stale", "a")]
    assert found.sentence == "c is upstream stale: b is stale because a is"
    assert sentence(made.plan()) == (
        "Materialize 3 cells of 3 assets: 2 stale because a, b may change, 1 stale because the code changed"
    )
    made.define([*specs[:2], asset_of("c", None, {"b": (None, None), "a": (None, None)})])
    assert [made.state(key) for key in "abc"] == ["fresh", "fresh", "stale"]
    assert made.statuses().status(AssetKey("c")).stale_dependencies.tolist() == [True]


def test_equal_fingerprints_are_fresh_whatever_else_of_the_definition_changed(world: Any, asset_of: Any) -> None:
    """Formatting and docstrings do not reach the fingerprint; description, owner, pools and retries are not compared."""
    made = world([asset_of("a", DAYS)])
    made.run_all("a")
    made.define([asset_of("a", DAYS, description="told better", owner="me", priority=7)])
    assert made.plan().empty
    assert sentence(made.plan()) == "Nothing to do"


def test_a_later_failure_hides_no_success_and_is_shown(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS)])
    made.run_all("a")
    made.cells.note(made.ref("a", "2024-01-03"), "failed")
    status = made.statuses().status(AssetKey("a"))
    assert bool(status.fresh[2])
    assert counts(status) == {"fresh": 9, "failed": 1}
    assert made.keys(made.plan(mode=("failed",))) == {"a": ["2024-01-03"]}
    assert made.plan(mode=("missing", "stale")).empty


def test_open_cells_show_the_state_of_their_task(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS)])
    made.run("a", "2024-01-01")
    made.cells.open([made.ref("a", "2024-01-01")], TaskState.RUNNING)
    made.cells.open([made.ref("a", "2024-01-02")], TaskState.NONE)
    status = made.statuses().status(AssetKey("a"))
    assert counts(status) == {"running": 1, "scheduled": 1, "missing": 8}
    assert bucket_counts(status, [(0, 1), (1, 5), (5, 10)]) == [
        {"running": 1},
        {"missing": 3, "scheduled": 1},
        {"missing": 5},
    ]
    assert counts(status, PartitionSet(((1, 3),))) == {"missing": 1, "scheduled": 1}
    assert made.plan(partitions="2024-01-01, 2024-01-02").joined == 1


def test_an_external_asset_without_observations_never_moves_anything(world: Any, asset_of: Any) -> None:
    made = world([asset_of("src", DAYS, kind="external"), asset_of("a", DAYS, {"src": (DAYS, None)})])
    assert made.keys(made.plan()) == {"a": [f"2024-01-{day:02}" for day in range(1, 11)]}
    made.run_all("a")
    assert counts(made.statuses().status(AssetKey("a"))) == {"fresh": 10}
    assert counts(made.statuses().status(AssetKey("src"))) == {"fresh": 10}


def test_staleness_runs_along_a_self_dependency(world: Any, asset_of: Any) -> None:
    """S-081: a cumulative asset depends on its own previous partition, explicitly."""
    made = world([asset_of("s", DAYS, {"s": (DAYS, TimeOverlap(-1, -1))})])
    made.run_all("s")
    made.run("s", "2024-01-05", "v2")
    states = [made.state("s", f"2024-01-{day:02}") for day in range(4, 9)]
    assert states == ["fresh", "fresh", "stale", "upstream_stale", "upstream_stale"]
    found = made.plan()
    assert [sorted(wave["s"]) for wave in made.waves(found)] == [[f"2024-01-{day:02}"] for day in range(6, 11)]


def test_why_names_cells_of_several_dimensions_as_people_read_them(world: Any, asset_of: Any) -> None:
    airports = Multi(day=DAYS, origin=Static("EWR", "JFK"))
    made = world([asset_of("raw", airports), asset_of("a", airports, {"raw": (airports, None)})])
    found = why(made.catalog, made.cells, made.as_of, "a", '["2024-01-02","EWR"]')
    assert [one.text for one in found.reasons if one.code == "upstream_missing"] == ["raw 2024-01-02 × EWR is missing"]


def test_why_says_what_is_missing_and_what_does_not_exist(world: Any, asset_of: Any) -> None:
    late = Daily("2024-01-03", end="2024-01-11")
    made = world(
        [
            asset_of("late", late),
            asset_of("raw", DAYS),
            asset_of("a", DAYS, {"late": (late, None), "raw": (DAYS, None)}),
        ]
    )
    found = why(made.catalog, made.cells, made.as_of, "a", "2024-01-02")
    assert [one.code for one in found.reasons] == ["missing", "upstream_absent", "upstream_missing"]
    assert "it needs late 2024-01-02, which does not exist" in found.sentence
    assert [(one.key, one.reason, one.absent) for one in made.plan("a", partitions="2024-01-02").blocked] == [
        ("a", "upstream_absent", ("2024-01-02",)),
        ("a", "upstream_missing", ("2024-01-02",)),
    ]
    made.cells.note(made.ref("raw", "2024-01-02"), "failed")
    found = why(made.catalog, made.cells, made.as_of, "a", "2024-01-02")
    assert found.sentence.endswith("raw 2024-01-02 is missing; its last attempt failed"), "that is what to look at"
    made.cells.note(made.ref("a", "2024-01-05"), "skipped")
    assert made.state("a", "2024-01-05") == "skipped"
    assert why(made.catalog, made.cells, made.as_of, "a", "2024-01-05").reasons[0].code == "skipped"


def test_a_month_reads_its_days(world: Any, asset_of: Any) -> None:
    days = Daily("2024-01-01", end="2024-02-01")
    made = world([asset_of("d", days), asset_of("m", MONTHS, {"d": (days, None)})], as_of=_after())
    made.run_all("d")
    made.run_all("m")
    made.run("d", "2024-01-17", "v2")
    found = why(made.catalog, made.cells, made.as_of, "m", "2024-01")
    assert (found.state, found.sentence) == ("stale", "m 2024-01 is stale: d 2024-01-17 changed")


def _after() -> Any:
    from datetime import UTC, datetime

    return datetime(2024, 3, 1, tzinfo=UTC)
