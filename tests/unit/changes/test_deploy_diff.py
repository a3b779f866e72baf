"""A deployment before it happens: what changed, why, and which cells become stale (S-055, S-056, law 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.assets import (
    AssetKey,
    AssetSpec,
    CheckSpec,
    Daily,
    InputSpec,
    ModuleSpec,
    Multi,
    PartitionsDef,
    SinglePartitions,
    Snapshot,
    SourceRef,
    Static,
    StepSpec,
    asset_key,
    default_mapping,
    space_of,
    to_spec,
)
from partita.core.catalog import Catalog, KnownIdentities, StoredSnapshot
from partita.core.cells import Statuses
from partita.core.changes import DeployDiff, compare, deploy_diff
from partita.core.changes.compare import common_count
from partita.core.planner.memory import MemoryCells
from partita.core.store.values import AssetId, CellRef, LocationId, SnapshotId
from partita.core.store.values_identity import AssetRow

AS_OF = datetime(2026, 3, 11, tzinfo=UTC)
DAYS = Daily("2026-03-01")


@dataclass
class Built:
    """One asset with its step; what differs between two versions is said by keyword."""

    key: str
    partitions: PartitionsDef | None = DAYS
    inputs: Mapping[str, PartitionsDef | None] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=lambda: {"": "1"})
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> AssetSpec:
        inputs = tuple(
            InputSpec(
                name=up.replace("/", "_"),
                upstream=asset_key(up),
                mapping=to_spec(default_mapping(self.partitions, scheme)),
            )
            for up, scheme in self.inputs.items()
        )
        fields = {
            "fingerprint": f"{self.key} {sorted(self.code.items())}",
            "dependency_hash": repr([(one.upstream, one.mapping) for one in inputs]),
            "source": SourceRef(module="shop", file="shop.py", line=1),
            **self.more,
        }
        return AssetSpec(
            key=asset_key(self.key), step=self.key, partitions=to_spec(self.partitions), inputs=inputs, **fields
        )

    @property
    def step(self) -> StepSpec:
        function = f"shop:{self.key.rpartition('/')[2]}"
        return StepSpec(id=self.key, assets=(asset_key(self.key),), function=function, code=dict(self.code))


def snapshot(*built: Built, checks: Sequence[CheckSpec] = (), ok: bool = True, location: str = "shop") -> Snapshot:
    return Snapshot(
        location=location,
        assets=tuple(one.spec for one in built),
        steps=tuple(one.step for one in built),
        checks=tuple(checks),
        modules=(ModuleSpec(name="shop", ok=ok),),
    )


class World:
    """The active version of a location with its cells."""

    def __init__(self, *active: Snapshot) -> None:
        keys = [spec.key for one in active for spec in one.assets]
        self.ids = {key: AssetId(number) for number, key in enumerate(keys, start=1)}
        stored = [
            StoredSnapshot(LocationId(number), one.location, SnapshotId(number), f"v{number}", one)
            for number, one in enumerate(active, start=1)
        ]
        self.catalog = Catalog(stored, self.ids)
        rows = [AssetRow(asset_id, key, None, None, None) for key, asset_id in self.ids.items()]
        self.known = KnownIdentities.of(rows, ())
        self.cells = MemoryCells(at=AS_OF)

    def publish(self, key: str, *partitions: str) -> None:
        """As an attempt does that reads what is there."""
        asset = self.catalog.asset(key)
        space = self.catalog.space(asset.key, AS_OF)
        for partition in partitions or [str(one) for one in space.keys(space.all())]:
            digests = Statuses(self.catalog, self.cells, AS_OF).expected_digest(asset)
            self.cells.publish(
                CellRef(asset.id, partition),
                "v1",
                fingerprint=asset.spec.fingerprint,
                dependency_hash=asset.spec.dependency_hash,
                digest=int(digests[space.ordinal_of(partition)]),
            )

    def diff(self, *candidates: Snapshot) -> DeployDiff:
        return deploy_diff(self.catalog, candidates, self.known, self.cells, AS_OF)


ORDERS = Built("raw/orders", code={"": "1", "shop.rate": "a"})
REVENUE = Built("revenue", inputs={"raw/orders": DAYS}, code={"": "2"})


@pytest.fixture
def world() -> World:
    """Ten days of orders and of the revenue made of them."""
    world = World(snapshot(ORDERS, REVENUE))
    world.publish("raw/orders")
    world.publish("revenue")
    return world


def test_the_same_definitions_are_no_difference(world: World) -> None:
    found = world.diff(snapshot(ORDERS, REVENUE))
    assert found.empty
    assert not found.costs
    assert found.impacts == ()


def test_changed_code_names_the_function_and_the_cells(world: World) -> None:
    changed = Built("raw/orders", code={"": "1", "shop.rate": "b", "shop.helper": "c"})
    found = world.diff(snapshot(changed, REVENUE))
    [change] = found.differences[0].changed
    assert change.code is not None
    assert change.code.text == "shop.rate changed, shop.helper is reached now"
    orders, revenue = found.impacts
    assert (orders.key, len(orders.stale), orders.published) == ("raw/orders", 10, 10)
    # Not stale itself: should the orders come out equal, nothing of it is made again (early cutoff).
    assert (revenue.key, len(revenue.stale), revenue.upstream_stale) == ("revenue", 0, 10)
    assert found.costs


def test_the_functions_own_body_and_a_code_version_are_named_too(world: World) -> None:
    found = world.diff(snapshot(Built("raw/orders", code={"": "9", "shop.rate": "a"}), REVENUE))
    code = found.differences[0].changed[0].code
    assert code is not None
    assert code.text == "shop.orders changed"
    pinned = Built("raw/orders", more={"code_version": "2", "fingerprint": "pinned"})
    code = world.diff(snapshot(pinned, REVENUE)).differences[0].changed[0].code
    assert code is not None
    assert code.text == "code_version none became '2'"


def test_settings_make_nothing_stale(world: World) -> None:
    found = world.diff(
        snapshot(Built("raw/orders", code=ORDERS.code, more={"owner": "team:x", "priority": 3}), REVENUE)
    )
    [change] = found.differences[0].changed
    assert change.only_settings
    assert set(change.settings) == {"owner", "priority"}
    assert not found.costs
    assert not found.empty


def test_changed_inputs_are_told_and_make_stale(world: World) -> None:
    alone = Built("revenue", code=REVENUE.code)
    found = world.diff(snapshot(ORDERS, alone))
    [change] = found.differences[0].changed
    assert change.dependencies == ("no longer reads raw/orders as raw_orders",)
    assert change.code is None
    assert [(one.key, len(one.stale)) for one in found.impacts] == [("revenue", 10)]


def test_a_moved_start_tells_what_vanishes_and_what_stays_fresh(world: World) -> None:
    """S-095: before anything is applied."""
    later = Daily("2026-03-04")
    found = world.diff(
        snapshot(
            Built("raw/orders", later, code=ORDERS.code),
            Built("revenue", later, {"raw/orders": later}, code=REVENUE.code),
        )
    )
    for change in found.differences[0].changed:
        assert change.partitions is not None
        assert (change.partitions.appear, change.partitions.vanish) == (0, 3)
        assert change.partitions.vanish_examples == ("2026-03-01", "2026-03-03")
    assert [(one.key, len(one.stale), one.out_of_reach) for one in found.impacts] == [
        ("raw/orders", 0, 3),
        ("revenue", 0, 3),
    ]
    assert found.costs


def test_a_removed_asset_says_what_it_holds(world: World) -> None:
    found = world.diff(snapshot(ORDERS))
    assert found.differences[0].removed == ("revenue",)
    assert [(one.key, one.out_of_reach) for one in found.impacts] == [("revenue", 10)]
    assert found.costs


def test_what_a_broken_module_defined_is_not_removed(world: World) -> None:
    """Law 8."""
    found = world.diff(snapshot(ok=False))
    assert found.empty
    assert not found.costs


def test_a_candidate_that_does_not_fit_is_refused_with_every_problem(world: World) -> None:
    found = world.diff(snapshot(REVENUE))
    assert "which no location defines" in found.problems[0]
    assert found.impacts == ()
    assert found.space_of(AssetKey("revenue")) is None


def test_another_location_below_is_seen() -> None:
    world = World(snapshot(ORDERS), snapshot(REVENUE, location="marts"))
    world.publish("raw/orders")
    world.publish("revenue")
    longer = Daily("2026-02-27")
    found = world.diff(snapshot(Built("raw/orders", longer, code=ORDERS.code)))
    assert found.impacts == (), "days that the consumer does not read change nothing for it"
    found = world.diff(snapshot(Built("raw/orders", code={"": "x"})))
    assert [(one.key, one.upstream_stale) for one in found.impacts] == [("raw/orders", 0), ("revenue", 10)]


def test_a_location_of_its_first_load_only_adds() -> None:
    world = World()
    found = world.diff(snapshot(ORDERS, REVENUE))
    assert found.differences[0].added == ("raw/orders", "revenue")
    assert not found.costs


@pytest.mark.parametrize(
    ("after", "proposed"),
    [
        (
            Built("sales", code={"": "2"}, inputs={"raw/orders": DAYS}),
            "the same code, the same inputs, the same partitions",
        ),
        (Built("marts/revenue", code={"": "7"}), "the same last part of its key, the same partitions"),
        (Built("sales", code={"": "7"}), None),
        (Built("marts/revenue", None, code={"": "2"}), None),
    ],
)
def test_a_likely_rename_is_proposed_and_not_assumed(after: Built, proposed: str | None) -> None:
    before = snapshot(ORDERS, REVENUE)
    found = compare(before, snapshot(ORDERS, after), AS_OF)
    assert [(one.before, one.after, one.because) for one in found.renames] == (
        [("revenue", after.key, proposed)] if proposed else []
    )
    assert found.removed == ("revenue",)


def test_a_tie_proposes_no_rename() -> None:
    twins = [Built("a", code={"": "2"}), Built("b", code={"": "2"})]
    assert compare(snapshot(Built("old", code={"": "2"})), snapshot(*twins), AS_OF).renames == ()


def test_checks_are_told() -> None:
    old = [
        CheckSpec(name="n", asset=asset_key("revenue"), fingerprint="1"),
        CheckSpec(name="gone", asset=asset_key("revenue")),
    ]
    new = [CheckSpec(name="n", asset=asset_key("revenue"), fingerprint="1", blocking=True)]
    found = compare(snapshot(REVENUE, checks=old), snapshot(REVENUE, checks=new), AS_OF)
    assert found.checks == ("gone on revenue is gone", "n on revenue blocks publication")


SPACES = st.one_of(
    st.builds(lambda keys: Static(*sorted(keys)), st.sets(st.sampled_from("abcdef"), min_size=1)),
    st.builds(lambda day: Daily(f"2026-03-{day:02}"), st.integers(1, 9)),
)


@given(SPACES, SPACES, SPACES, SPACES)
def test_common_partitions_are_those_of_both_key_sets(
    a: SinglePartitions, b: SinglePartitions, c: SinglePartitions, d: SinglePartitions
) -> None:
    """Counted by dimension, equal to the count by key."""
    for one, other in ((a, b), (Multi(x=a, y=b), Multi(x=c, y=d)), (a, Multi(x=a, y=b))):
        left, right = space_of(one, AS_OF), space_of(other, AS_OF)
        keys = {str(key) for key in left.keys(left.all())} & {str(key) for key in right.keys(right.all())}
        assert common_count(left, right) == len(keys)


def test_another_zone_has_other_cells_under_the_same_keys() -> None:
    """Daily in New York has every key of daily in UTC, and none of its windows (DESIGN section 5)."""
    world = World(snapshot(Built("orders")))
    world.publish("orders")
    eastern = Daily("2026-03-01", tz="America/New_York")
    found = world.diff(snapshot(Built("orders", eastern)))
    [change] = found.differences[0].changed
    assert change.partitions is not None
    assert (change.partitions.before, change.partitions.vanish) == (10, 10)
    assert change.partitions.appear == change.partitions.after
    [impact] = found.impacts
    assert (impact.published, impact.out_of_reach, len(impact.stale)) == (10, 10, 0)
    assert found.costs
    same = world.diff(snapshot(Built("orders", Daily("2026-03-04"))))
    assert [one.out_of_reach for one in same.impacts] == [3]
