"""A preview warns of a large launch that works on something outside without a limit (S-150), and of tasks that no worker takes
(S-148)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from partita.assets import Daily
from partita.core.planner import PoolLoad, decode_plan, encode_plan, render_text, warnings_of

DAYS = Daily("2024-01-01", end="2024-04-01")
AS_OF = datetime(2024, 5, 1, tzinfo=UTC)
USES = ("Warehouse",)


def warned(world: Any, *specs: Any, **request: Any) -> list[tuple[str, tuple[str, ...], int]]:
    made = world(specs, as_of=AS_OF)
    return [(one.resource, one.assets, one.tasks) for one in warnings_of(made.plan(**request), made.catalog)]


def test_tasks_of_one_resource_are_counted_together(world: Any, asset_of: Any) -> None:
    orders, items = (asset_of(key, DAYS, resources=USES) for key in ("orders", "items"))
    assert warned(world, orders, items, partitions="2024-01-01..2024-01-25") == [("Warehouse", ("items", "orders"), 50)]
    assert warned(world, orders, items, partitions="2024-01-01..2024-01-24") == [], "not large"


@pytest.mark.parametrize("limit", [{"pools": ({"name": "warehouse"},)}, {"max_active": 4}])
def test_a_pool_or_a_cap_is_a_limit(world: Any, asset_of: Any, limit: dict[str, Any]) -> None:
    assert warned(world, asset_of("orders", DAYS, resources=USES, **limit)) == []


def test_what_reads_from_outside_is_meant_and_what_reads_assets_is_not(world: Any, asset_of: Any) -> None:
    feed = asset_of("feed", DAYS, kind="external")
    loaded = asset_of("loaded", DAYS, {"feed": (DAYS, None)})
    mart = asset_of("mart", DAYS, {"loaded": (DAYS, None)})
    assert warned(world, feed, loaded, mart) == [("", ("loaded",), 91)]
    assert warned(world, feed, loaded, asset_of("mart", DAYS, {"loaded": (DAYS, None)}, resources=USES)) == [
        ("", ("loaded",), 91),
        ("Warehouse", ("mart",), 91),
    ]


def test_it_says_how_many_would_run_at_once_unless_the_launch_has_a_limit(world: Any, asset_of: Any) -> None:
    made = world([asset_of("orders", DAYS, resources=USES)], as_of=AS_OF)
    made.cells.pool_loads.update(default=PoolLoad(16, 0))
    found = made.plan()
    [one] = warnings_of(found, made.catalog)
    assert one.text == (
        "91 tasks of orders use Warehouse, and no pool or max_active limits them: up to 16 of them run at once"
    )
    assert "warning: 91 tasks" in render_text(found, made.catalog, width=200)
    assert "warning:" not in render_text(found, made.catalog, width=200, limited=True)


@pytest.mark.parametrize(
    ("served", "said"),
    [
        (("default",), ["gpu"]),
        (("gpu",), ["default"]),
        ((), ["gpu"]),  # that no worker at all is alive is told of everything, elsewhere
        (("default", "gpu"), []),
        (("*",), []),
    ],
)
def test_a_queue_that_no_worker_serves_is_named(
    world: Any, asset_of: Any, served: tuple[str, ...], said: list[str]
) -> None:
    made = world([asset_of("orders", DAYS), asset_of("model", DAYS, queue="gpu")], as_of=AS_OF)
    made.cells.queues = served
    found = made.plan()
    assert [one.queue for one in warnings_of(found, made.catalog) if one.queue] == said
    assert decode_plan(encode_plan(found)).unserved == found.unserved


def test_it_says_which_worker_to_start_also_where_the_launch_is_limited(world: Any, asset_of: Any) -> None:
    made = world([asset_of("orders", DAYS), asset_of("model", DAYS, queue="gpu")], as_of=AS_OF)
    made.cells.queues = ("default",)
    told = render_text(made.plan(), made.catalog, width=200, limited=True)
    assert (
        "warning: 91 tasks of model need a worker of queue gpu, and none is alive. Start one: partita worker --queues gpu."
        in told
    )
