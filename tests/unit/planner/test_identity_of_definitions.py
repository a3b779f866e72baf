"""Keys through time: old snapshots mean the assets of then, references follow renames, moved assets count once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from partita.assets import AssetKey, AssetSpec, IdentitySpec, InputSpec, Snapshot, StepSpec, asset_key, dependency_hash
from partita.core.catalog import Catalog, KnownIdentities, StoredSnapshot, activation_problems, active_definitions
from partita.core.catalog.identity import follow_renames
from partita.core.store.values import AssetId, LocationId, SnapshotId
from partita.core.store.values_identity import AssetRow, FormerKey

T0 = datetime(2026, 3, 1, tzinfo=UTC)


def spec(key: str, *reads: str, location: str | None = None, **more: Any) -> AssetSpec:
    inputs = tuple(
        InputSpec(name="rows", upstream=asset_key(one), mapping=IdentitySpec(), location=location) for one in reads
    )
    return AssetSpec(key=asset_key(key), step=key, inputs=inputs, dependency_hash=dependency_hash(inputs), **more)


def stored(location: int, number: int, *specs: AssetSpec, at: datetime = T0) -> StoredSnapshot:
    snapshot = Snapshot(
        location=f"l{location}",
        assets=specs,
        steps=tuple(StepSpec(id=one.key, assets=(one.key,), function="m:f") for one in specs),
    )
    return StoredSnapshot(
        LocationId(location), f"l{location}", SnapshotId(number), f"v{number}", snapshot, activated_at=at
    )


def row(asset_id: int, key: str, *, home: int | None = None, retired: bool = False) -> AssetRow:
    return AssetRow(
        AssetId(asset_id), key, LocationId(1), None if home is None else LocationId(home), T0 if retired else None
    )


def built(known: KnownIdentities, *snapshots: StoredSnapshot) -> Catalog:
    return Catalog(active_definitions(snapshots, known), known.ids_of(snapshots), origins=known.origins())


def test_an_older_snapshot_means_the_assets_of_its_time() -> None:
    """`a` became `b` at noon, and another asset is called `a` since."""
    noon = T0 + timedelta(hours=12)
    known = KnownIdentities.of([row(1, "b"), row(2, "a")], [FormerKey(1, AssetId(1), "a", noon)])
    before = built(known, stored(1, 1, spec("a"), at=T0))
    after = built(known, stored(1, 2, spec("a"), spec("b"), at=noon))
    assert before.asset("a").id == 1
    assert (after.asset("a").id, after.asset("b").id) == (2, 1)


def test_consumers_have_the_dependency_hash_of_before() -> None:
    """What reads a renamed asset is not stale: neither by its hash nor by its digest, which goes by the id."""
    known = KnownIdentities.of(
        [row(1, "c"), row(3, "reads")],
        [FormerKey(1, AssetId(1), "a", T0), FormerKey(2, AssetId(1), "b", T0 + timedelta(days=1))],
    )
    for key in ("a", "b", "c"):  # also for a reader of another location that still names a former key
        reader = spec("reads", key)
        catalog = built(known, stored(1, 9, spec("c", renamed_from=("b", "a")), at=T0 + timedelta(days=2)),
                        stored(2, 8, reader, at=T0 + timedelta(days=2)))  # fmt: skip
        assert catalog.asset("reads").dependency_hash == spec("reads", "a").dependency_hash
        assert [one.upstream_id for one in catalog.asset("reads").inputs] == [1]


def test_the_location_of_an_upstream_is_no_dependency() -> None:
    assert spec("r", "a", location="x").dependency_hash == spec("r", "a", location="y").dependency_hash
    assert spec("r", "a", location="x").dependency_hash == spec("r", "a").dependency_hash
    assert spec("r", "a").dependency_hash != spec("r", "b").dependency_hash


def test_a_reference_to_a_former_key_is_one_to_the_asset_while_it_says_so() -> None:
    renamed = stored(1, 1, spec("b", renamed_from=("a",))).snapshot
    reader = stored(2, 2, spec("reads", "a")).snapshot
    assert activation_problems([renamed, reader], T0) == []
    forgotten = stored(1, 1, spec("b")).snapshot
    assert "reads 'a', which no location defines" in activation_problems([forgotten, reader], T0)[0]
    again = stored(1, 1, spec("b", renamed_from=("a",)), spec("a")).snapshot
    assert follow_renames([again, reader])[1] is reader


def test_of_two_definitions_the_one_counts_where_the_asset_was_moved_to() -> None:
    known = KnownIdentities.of([row(1, "a", home=2), row(2, "x")], ())
    old, new = stored(1, 1, spec("a"), spec("x")), stored(2, 2, spec("a"))
    both = built(known, old, new)
    assert (both.asset("a").location, both.asset("a").id) == ("l2", 1)
    assert both.asset("x").location == "l1"
    alone = built(known, old)
    assert alone.asset("a").location == "l1", "absence is not deletion: nobody else defines it yet"


def test_what_was_retired_by_hand_is_left_out() -> None:
    known = KnownIdentities.of([row(1, "a", retired=True), row(2, "x")], ())
    assert set(built(known, stored(1, 1, spec("a"), spec("x"))).assets) == {AssetKey("x")}
