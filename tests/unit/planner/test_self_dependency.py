"""Assets that read their own earlier partitions: order, batches, edges, skips (S-081, S-162, S-165)."""

from __future__ import annotations

from typing import Any

import pytest

from partita.assets import (
    All,
    AnyBatchSpec,
    AssetKey,
    Daily,
    DimensionPair,
    Dimensions,
    Identity,
    Mapping,
    Multi,
    PerBatchSpec,
    Rolling,
    Static,
    StaticTable,
    TimeOverlap,
    UpToBatchSpec,
)
from partita.core.planner import plan_tasks

DAYS = Daily("2024-01-01", end="2024-01-06")
SHOPS = Multi(shop=Static("a", "b"), day=DAYS)  # time is the inner dimension: row-major order is not the order of time
YESTERDAY = Dimensions((DimensionPair("shop", None, All()), DimensionPair("day", "day", TimeOverlap(-1, -1))))


@pytest.mark.parametrize("batch", [AnyBatchSpec(), UpToBatchSpec(n=3)])
@pytest.mark.parametrize("mapping", [TimeOverlap(-1, -1), TimeOverlap(-2, 0), Rolling(3, "days")])
def test_each_partition_is_a_task_after_those_it_reads(world: Any, asset_of: Any, batch: Any, mapping: Mapping) -> None:
    """Whatever the batch says; the first one needs nothing."""
    made = world([asset_of("s", DAYS, {"s": (DAYS, mapping)}, batch=batch)])
    found = made.plan("s")
    assert made.waves(found) == [{"s": [f"2024-01-0{day}"]} for day in range(1, 6)]
    tasks = plan_tasks(found, made.catalog)
    reads = 1 if mapping == TimeOverlap(-1, -1) else 2
    assert [task.upstream for task in tasks] == [tuple(range(max(n - reads, 0), n)) for n in range(5)]
    assert not found.blocked


def test_the_partitions_of_one_day_may_share_a_task(world: Any, asset_of: Any) -> None:
    """A product is ordered by its day, not by its ordinals."""
    made = world(
        [asset_of("s", SHOPS, {"s": (SHOPS, YESTERDAY)}, batch=PerBatchSpec(dims={"shop": "all", "day": "1w"}))]
    )
    found = made.plan("s")
    assert made.waves(found) == [{"s": [f'["{shop}","2024-01-0{day}"]' for shop in ("a", "b")]} for day in range(1, 6)]
    assert [task.upstream for task in plan_tasks(found, made.catalog)] == [(), (0,), (1,), (2,), (3,)]


def test_a_gap_stops_what_comes_after_it_in_every_shop(world: Any, asset_of: Any) -> None:
    """Blocked by a missing earlier partition that is not planned."""
    made = world([asset_of("s", SHOPS, {"s": (SHOPS, YESTERDAY)})])
    for shop in ("a", "b"):
        made.run("s", f'["{shop}","2024-01-01"]')
    made.run("s", '["a","2024-01-02"]')
    found = made.plan("s", partitions="day=2024-01-03")
    assert made.keys(found) == {}
    (blocked,) = found.blocked
    assert len(blocked.cells) == 2
    whole = made.plan("s", partitions="day=2024-01-02..2024-01-03")
    assert made.waves(whole) == [
        {"s": ['["b","2024-01-02"]']},
        {"s": ['["a","2024-01-03"]', '["b","2024-01-03"]']},
    ]


def test_staleness_spreads_over_shops_in_order_of_time(world: Any, asset_of: Any) -> None:
    made = world([asset_of("s", SHOPS, {"s": (SHOPS, YESTERDAY)})])
    for day in range(1, 6):
        for shop in ("a", "b"):
            made.run("s", f'["{shop}","2024-01-0{day}"]')
    made.run("s", '["b","2024-01-02"]', "v2")
    assert made.state("s", '["b","2024-01-02"]') == "fresh"
    assert made.state("s", '["a","2024-01-03"]') == "stale"
    assert made.state("s", '["a","2024-01-04"]') == "upstream_stale"
    assert made.state("s", '["b","2024-01-05"]') == "upstream_stale"


def test_a_skipped_earlier_partition_satisfies(world: Any, asset_of: Any) -> None:
    """DESIGN section 5: it blocks nothing and makes nothing stale."""
    made = world([asset_of("s", DAYS, {"s": (DAYS, TimeOverlap(-1, -1))})])
    made.run("s", "2024-01-01")
    made.cells.note(made.ref("s", "2024-01-02"), "skipped")
    assert made.keys(made.plan("s", partitions="2024-01-03")) == {"s": ["2024-01-03"]}
    made.run("s", "2024-01-03")
    assert made.state("s", "2024-01-03") == "fresh"


def test_a_table_of_keys_orders_them(world: Any, asset_of: Any) -> None:
    """Without time, when no key needs itself."""
    stages = Static("gold", "silver", "bronze")
    table = StaticTable((("gold", ("silver",)), ("silver", ("bronze",))))
    made = world([asset_of("s", stages, {"s": (stages, table)}, batch=AnyBatchSpec())])
    assert made.waves(made.plan("s")) == [{"s": ["bronze"]}, {"s": ["silver"]}, {"s": ["gold"]}]


def test_two_self_dependencies_hold_together(world: Any, asset_of: Any) -> None:
    """Through different dimensions, where the others stay."""
    one = Dimensions((DimensionPair("shop", "shop", Identity()), DimensionPair("day", "day", TimeOverlap(-1, -1))))
    spec = asset_of("s", SHOPS, {"s": (SHOPS, one)})
    again = spec.inputs[0].model_copy(update={"name": "again"})
    made = world([spec.model_copy(update={"inputs": (*spec.inputs, again)})])
    assert len(made.plan("s").steps[0].batches) == 10
    assert made.catalog.asset("s").inputs[0].mapping == made.catalog.asset("s").inputs[1].mapping
    assert made.plan("s").wave_count() == 5
    assert AssetKey("s") in made.catalog.assets


def test_status_words_select_what_the_status_says(world: Any, asset_of: Any) -> None:
    """`missing`, `stale` and `failed` of the selection grammar are resolved by the planner."""
    made = world([asset_of("up", DAYS), asset_of("down", DAYS, {"up": (DAYS, None)})])
    for day in (1, 2, 3):
        made.run("up", f"2024-01-0{day}")
        made.run("down", f"2024-01-0{day}")
    made.run("up", "2024-01-02", "v2")
    made.cells.note(made.ref("down", "2024-01-03"), "failed")
    for text, days in (("missing", [4, 5]), ("stale", [2]), ("failed", [3]), ("missing, stale; latest 2", [4, 5])):
        found = made.plan("down", partitions=text, mode=("all",), upstream=True)
        assert made.keys(found)["down"] == [f"2024-01-0{day}" for day in days], text
