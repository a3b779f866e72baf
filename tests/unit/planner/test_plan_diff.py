"""The difference between two plans: cells, reasons, versions, batches and requests, over instants and changed schemes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from partita.assets import AnyBatchSpec, AssetKey, Daily, Multi, PartitionsDef, Static, UpToBatchSpec
from partita.core.planner import CellsOf, Changed, PlanChanged, Reason, ReasonChange, compare, replan

DAYS = Daily("2024-01-01", end="2024-01-15")
OPEN = Daily("2024-01-01")


def test_a_plan_compared_with_itself_is_the_same(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS), asset_of("b", DAYS, {"a": (DAYS, None)})])
    found = compare(made.plan(), made.plan(), made.catalog)
    assert found.same
    assert (found.was, found.text) == (found.now, "nothing differs")
    assert list(found.lines()) == []


def test_cells_come_in_drop_out_and_change_their_reason(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS), asset_of("b", DAYS, {"a": (DAYS, None)})])
    made.run_all("a")
    old = made.plan("b", partitions="2024-01-01..2024-01-03")
    made.run("b", "2024-01-02")
    made.cells.note(made.ref("b", "2024-01-03"), "failed")
    made.run("a", "2024-01-02", "v2")
    made.run("b", "2024-01-01")
    new = made.plan("b", partitions="2024-01-01..2024-01-04")
    (one,) = compare(old, new, made.catalog).assets
    assert one.key == "b"
    assert one.added == CellsOf(1, "2024-01-04")
    assert one.removed == CellsOf(1, "2024-01-01")
    assert set(one.reasons) == {
        ReasonChange(Reason.MISSING, Reason.STALE_DATA, CellsOf(1, "2024-01-02")),
        ReasonChange(Reason.MISSING, Reason.FAILED, CellsOf(1, "2024-01-03")),
    }
    assert list(compare(old, new, made.catalog).lines())[:3] == [
        "partitions is 2024-01-01..2024-01-04, was 2024-01-01..2024-01-03",
        "1 cell of b (2024-01-04) came in",
        "1 cell of b (2024-01-01) dropped out",
    ]


def test_apply_is_refused_with_the_value(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS)])
    shown = made.plan()
    made.run("a", "2024-01-02")
    with pytest.raises(PlanChanged, match=r"1 cell of a \(2024-01-02\) dropped out") as refused:
        replan(made.catalog, made.cells, shown)
    assert refused.value.difference == compare(shown, made.plan(), made.catalog)
    assert refused.value.fresh == made.plan().__class__(**_content(made.plan()))


def _content(plan: Any) -> dict[str, Any]:
    """A plan without what is outside its hash, as `replan` makes it."""
    names = ("request", "snapshots", "assets", "steps", "blocked", "hash")
    return {name: getattr(plan, name) for name in names}


def test_versions_batches_and_requests(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS)])
    old = made.plan(mode=("missing",))
    made.define([asset_of("a", DAYS, batch=UpToBatchSpec(n=5))])
    new = made.plan(upstream=True)
    found = compare(old, new, made.catalog)
    assert found.batches == (Changed("a", "14", "3"),)
    assert found.assets == ()
    assert found.request == (Changed("mode", "missing", "missing,failed,stale"), Changed("upstream", None, "yes"))
    assert "a is cut into 3 tasks, was 14" in found.text
    moved = old.__class__(**_content(old) | {"snapshots": (("loc", "v0"),)})
    assert compare(moved, old, made.catalog).snapshots == (Changed("loc", "v0", "v1"),)


@pytest.mark.parametrize(
    "scheme", [OPEN, Multi(shop=Static("x", "y"), day=OPEN), Multi(day=OPEN, shop=Static("x", "y"))]
)
def test_over_instants_cells_are_matched_by_what_they_are(world: Any, asset_of: Any, scheme: PartitionsDef) -> None:
    """A product numbers its cells anew with every window that closes."""
    made = world([asset_of("a", scheme)])
    old = made.plan()
    made.as_of += timedelta(days=2)
    new = made.plan()
    (one,) = compare(old, new, made.catalog).assets
    shops = "" if scheme is OPEN else "x, y"
    days = "2024-01-15..2024-01-16"
    assert one.removed is None
    assert one.added is not None
    assert one.added.count == (2 if scheme is OPEN else 4)
    assert set(one.added.partitions.split(" × ")) == {days, shops} - {""}
    back = compare(new, old, made.catalog).assets[0]
    assert (back.added, back.removed) == (None, one.added)


def test_a_scheme_that_changed_matches_nothing(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS), asset_of("gone")])
    old = made.plan()
    made.define([asset_of("a", Static("x", "y"))])
    found = compare(old, made.plan(), made.catalog)
    a, gone = found.assets
    assert (a.rescaled, a.added, a.removed) == (True, CellsOf(2, "x, y"), CellsOf(14, ""))
    assert (gone.key, gone.removed) == ("gone", CellsOf(1, ""))
    assert next(found.lines()) == "a is partitioned in another way"


@given(
    scheme=st.sampled_from([DAYS, Multi(shop=Static("x", "y"), day=OPEN), Static(*"abcdefgh")]),
    before=st.sets(st.integers(0, 27)),
    after=st.sets(st.integers(0, 27)),
    later=st.booleans(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_the_difference_is_that_of_the_keys(
    scheme: Any, before: set[int], after: set[int], later: bool, world: Any, asset_of: Any
) -> None:
    """old - removed + added = new, whatever the cells, in keys; and nothing else is said."""
    made = world([asset_of("a", scheme, batch=AnyBatchSpec())])
    _publish(made, before)
    old = made.plan()
    _publish(made, after)
    made.as_of += timedelta(days=3 if later else 0)
    new = made.plan()
    was, now = (set(_keys(plan, made)) for plan in (old, new))
    found = compare(old, new, made.catalog)
    counts = [(one.added.count if one.added else 0, one.removed.count if one.removed else 0) for one in found.assets]
    assert counts == ([(len(now - was), len(was - now))] if now != was else [])
    assert found.same == (now == was)


def _publish(made: Any, ordinals: set[int]) -> None:
    space = made.catalog.space(AssetKey("a"), made.as_of)
    for ordinal in ordinals:
        if ordinal < space.size:
            made.cells.publish(
                made.ref("a", str(space.key_at(ordinal))), "v", fingerprint="code-1", dependency_hash="none"
            )


def _keys(plan: Any, made: Any) -> list[str]:
    space = made.catalog.space(AssetKey("a"), plan.as_of)
    return [str(key) for asset in plan.assets for key in space.keys(asset.cells)]
