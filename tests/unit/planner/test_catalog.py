"""Catalogs: effective snapshots, activation over the union of locations, pinned inputs, caches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from partita.assets import (
    All,
    AssetKey,
    Daily,
    Dynamic,
    Hourly,
    InputSpec,
    ModuleSpec,
    Monthly,
    Snapshot,
    SourceRef,
    Static,
    StepSpec,
    TimeOverlap,
    asset_key,
    to_spec,
)
from partita.core.catalog import (
    ActivationRefused,
    Catalog,
    CatalogCache,
    KnownIdentities,
    StoredSnapshot,
    Vector,
    check_activation,
    effective_snapshot,
    kept_of,
    resolve_inputs,
)
from partita.core.store.values import AssetId, CellRef, LocationId, RunId, SnapshotId

AS_OF = datetime(2024, 2, 15, tzinfo=UTC)
DAYS = Daily("2024-01-01")


def snapshot(location: str, *assets: Any, modules: tuple[ModuleSpec, ...] = ()) -> Snapshot:
    steps = tuple(StepSpec(id=one.step, assets=(one.key,), function="m:f") for one in assets if one.kind == "asset")
    return Snapshot(location=location, assets=assets, steps=steps, modules=modules)


def remote(key: str, location: str | None = None) -> InputSpec:
    return InputSpec(name="x", upstream=asset_key(key), mapping=to_spec(All()), location=location)


def from_module(spec: Any, module: str) -> Any:
    return spec.model_copy(update={"source": SourceRef(module=module, file=f"{module}.py", line=1)})


def test_a_broken_module_keeps_its_last_good_definitions(asset_of: Any) -> None:
    """Law 8: absence is not deletion."""
    good = snapshot("l", from_module(asset_of("a"), "m"), from_module(asset_of("b"), "n"))
    broken = snapshot(
        "l",
        from_module(asset_of("a", code="2"), "m"),
        modules=(ModuleSpec(name="m"), ModuleSpec(name="n", ok=False, error="boom")),
    )
    first = effective_snapshot(good)
    assert first.snapshot == good
    second = effective_snapshot(broken, first.snapshot, "v1", first.kept)
    assert {one.key: one.fingerprint for one in second.snapshot.assets} == {"a": "code-2", "b": "code-1"}
    assert [one.id for one in second.snapshot.steps] == ["a", "b"]
    assert second.kept_json() == [{"key": "b", "version": "v1"}]
    third = effective_snapshot(broken, second.snapshot, "v2", kept_of(second.kept_json()))
    assert third.kept == {"b": "v1"}  # the version that defines it, not the last one that kept it
    mended = snapshot("l", from_module(asset_of("a"), "m"), modules=(ModuleSpec(name="m"), ModuleSpec(name="n")))
    assert effective_snapshot(mended, third.snapshot, "v3", third.kept).snapshot == mended  # loaded without b: retired


def test_tasks_of_kept_assets_are_pinned_to_the_version_that_defines_them(asset_of: Any) -> None:
    stored = StoredSnapshot(
        LocationId(1),
        "l",
        SnapshotId(2),
        "v2",
        snapshot("l", asset_of("a"), asset_of("b")),
        {AssetKey("b"): (SnapshotId(1), "v1")},
    )
    catalog = Catalog([stored], {AssetKey("a"): AssetId(1), AssetKey("b"): AssetId(2)})
    assert (catalog.asset("a").snapshot_id, catalog.asset("b").snapshot_id) == (2, 1)


def test_a_sound_union_is_accepted(asset_of: Any) -> None:
    there = snapshot("there", asset_of("a", DAYS))
    here = snapshot("here", asset_of("b", DAYS).model_copy(update={"inputs": (remote("a", "there"),)}))
    check_activation([there, here], AS_OF)
    check_activation([here], AS_OF)  # the other location is not loaded yet: the planner blocks what needs it


def test_every_problem_of_a_union_is_named(asset_of: Any) -> None:
    one = snapshot("one", asset_of("a"))
    with pytest.raises(ActivationRefused, match="asset 'a' is defined in 'one' and in 'two'"):
        check_activation([one, snapshot("two", asset_of("a"))], AS_OF)
    unknown = asset_of("b").model_copy(update={"inputs": (remote("aa"), remote("a", "three"))})
    with pytest.raises(ActivationRefused) as refused:
        check_activation([one, snapshot("three"), snapshot("two", unknown)], AS_OF)
    assert refused.value.problems == (
        "'b' reads 'aa', which no location defines (did you mean 'a'?)",
        "'b' reads 'a' from location 'three', but 'one' defines it",
    )
    wrong = asset_of("b", DAYS).model_copy(
        update={"inputs": (InputSpec(name="x", upstream=asset_key("a"), mapping=to_spec(TimeOverlap())),)}
    )
    with pytest.raises(ActivationRefused, match="input 'x' of 'b' from 'a'"):
        check_activation([one, snapshot("two", wrong)], AS_OF)


def test_cycles_across_locations_are_refused_with_their_path(asset_of: Any) -> None:
    one = snapshot("one", asset_of("a").model_copy(update={"inputs": (remote("b", "two"),)}))
    two = snapshot("two", asset_of("b").model_copy(update={"inputs": (remote("a", "one"),)}))
    with pytest.raises(ActivationRefused, match=r"a \(in one\) -> b \(in two\) -> a"):
        check_activation([one, two], AS_OF)


def test_a_group_around_another_step_is_refused(asset_of: Any) -> None:
    m1, x = asset_of("m1", step="m"), asset_of("x", None, {"m1": (None, None)})
    m2 = asset_of("m2", None, {"x": (None, None)}, step="m")
    union = Snapshot(
        location="l",
        assets=(m1, m2, x),
        steps=(
            StepSpec(id="m", assets=(m1.key, m2.key), function="m:f"),
            StepSpec(id="x", assets=(x.key,), function="m:x"),
        ),
    )
    with pytest.raises(ActivationRefused, match="steps depend on each other"):
        check_activation([union], AS_OF)
    uneven = Snapshot(
        location="l",
        assets=(m1, asset_of("m3", DAYS, step="m")),
        steps=(StepSpec(id="m", assets=(m1.key, asset_key("m3")), function="m:f"),),
    )
    with pytest.raises(ActivationRefused, match="with different partitions"):
        check_activation([uneven], AS_OF)


def test_inputs_of_a_task_share_their_upstream_cells(world: Any, asset_of: Any) -> None:
    """A task of 72 cells over one table names it once; a month names its days."""
    months = Monthly("2024-01-01")
    made = world(
        [
            asset_of("table", Static("x", "y")),
            asset_of("d", DAYS),
            asset_of("src", DAYS, kind="external"),
            asset_of("m", months, {"d": (DAYS, None), "table": (Static("x", "y"), None), "src": (DAYS, None)}),
        ],
        as_of=AS_OF,
    )
    found = resolve_inputs(made.catalog, AS_OF, [made.ref("m", "2024-01")])
    parts = {part.name: part for part in found.inputs}
    cell = made.ref("m", "2024-01")
    assert [ref.partition for ref in parts["d"].per_cell[cell]] == [f"2024-01-{day:02}" for day in range(1, 32)]
    assert (parts["src"].external, parts["d"].external) == (True, False)
    assert found.versions[made.ids[AssetKey("m")]].fingerprint == "code-1"
    hours = Hourly("2024-01-01", end="2024-01-04")
    wide = world([asset_of("table"), asset_of("h", hours, {"table": (None, None)})])
    cells = [
        wide.ref("h", str(key))
        for key in wide.catalog.space(AssetKey("h"), AS_OF).keys(wide.catalog.space(AssetKey("h"), AS_OF).all())
    ]
    shared = resolve_inputs(wide.catalog, AS_OF, cells).inputs[0].per_cell
    assert len(shared) == 72
    assert len({id(refs) for refs in shared.values()}) == 1


def test_equal_spaces_are_one_object_until_a_window_closes(world: Any, asset_of: Any) -> None:
    made = world([asset_of("a", DAYS), asset_of("b", DAYS)])
    noon, evening, tomorrow = (datetime(2024, 2, day, hour, tzinfo=UTC) for day, hour in ((1, 12), (1, 20), (2, 1)))
    assert made.catalog.space("a", noon) is made.catalog.space("b", evening)
    assert made.catalog.space("a", tomorrow).size == made.catalog.space("a", noon).size + 1


class Definitions:
    """A `DefinitionsReader` that counts what is read."""

    def __init__(self, stored: Mapping[SnapshotId, StoredSnapshot]) -> None:
        self.stored = stored
        self.vector: Vector = ()
        self.read: list[SnapshotId] = []
        self.asked: list[list[RunId]] = []
        self.revision = 0
        self.keys_read: list[int] = []

    @contextmanager
    def open(self) -> Iterator[Definitions]:
        yield self

    def active_vector(self) -> Vector:
        return self.vector

    def run_vectors(self, run_ids: Iterable[RunId]) -> Mapping[RunId, tuple[Vector, int]]:
        asked = list(run_ids)
        self.asked.append(asked)
        return {run_id: (((LocationId(1), SnapshotId(int(run_id))),), 1) for run_id in asked}

    def snapshots(self, ids: Iterable[SnapshotId]) -> list[StoredSnapshot]:
        wanted = list(ids)
        self.read += wanted
        return [self.stored[one] for one in wanted]

    def identities(self) -> KnownIdentities:
        return KnownIdentities({AssetKey("a"): AssetId(1), AssetKey("z"): AssetId(2)})

    def identity_stamp(self) -> int:
        return 0

    def keys_revision(self) -> int:
        return self.revision

    def dynamic_keys(self, schemes: Iterable[str], revision: int) -> Mapping[str, Sequence[str]]:
        self.keys_read.append(revision)
        return {name: tuple("abc"[:revision]) for name in schemes}


def test_catalogs_are_built_once_per_vector(asset_of: Any) -> None:
    stored = {
        SnapshotId(1): StoredSnapshot(LocationId(1), "l", SnapshotId(1), "v1", snapshot("l", asset_of("a"))),
        SnapshotId(2): StoredSnapshot(LocationId(1), "l", SnapshotId(2), "v2", snapshot("l", asset_of("a", code="2"))),
        SnapshotId(3): StoredSnapshot(LocationId(2), "k", SnapshotId(3), "v3", snapshot("k", asset_of("z"))),
    }
    definitions = Definitions(stored)
    cache = CatalogCache(definitions.open)
    definitions.vector = ((LocationId(1), SnapshotId(1)), (LocationId(2), SnapshotId(3)))
    first = cache.active()
    assert cache.active() is first
    definitions.vector = ((LocationId(1), SnapshotId(2)), (LocationId(2), SnapshotId(3)))
    assert cache.active().asset("a").spec.fingerprint == "code-2"
    assert definitions.read == [1, 3, 2]  # the neighbour is not read again
    pinned = cache.of_run(RunId(1))
    assert pinned.asset("a").spec.fingerprint == "code-1"
    assert cache.of_run(RunId(1)) is pinned
    assert pinned.vector == ((1, 1),)
    assert CellRef(pinned.asset("a").id, "") == CellRef(AssetId(1), "")


def test_what_many_runs_are_pinned_to_is_read_together(asset_of: Any) -> None:
    """S-127: 8,000 runs at midnight are not 8,000 statements."""
    stored = {
        SnapshotId(n): StoredSnapshot(LocationId(1), "l", SnapshotId(n), f"v{n}", snapshot("l", asset_of("a")))
        for n in (1, 2)
    }
    definitions = Definitions(stored)
    cache = CatalogCache(definitions.open)
    cache.prepare({RunId(2): 0, RunId(1): 0})
    assert cache.of_run(RunId(2)).vector == ((1, 2),)
    cache.prepare({RunId(1): 7, RunId(2): 0})  # without dynamic schemes no revision is another catalog
    assert definitions.asked == [[1, 2]]


def test_catalogs_see_the_keys_of_one_revision_and_read_them_once(asset_of: Any) -> None:
    customers = to_spec(Dynamic("customers"))
    sliced = asset_of("a").model_copy(update={"partitions": customers})
    stored = {SnapshotId(1): StoredSnapshot(LocationId(1), "l", SnapshotId(1), "v1", snapshot("l", sliced))}
    definitions = Definitions(stored)
    definitions.vector = ((LocationId(1), SnapshotId(1)),)
    cache = CatalogCache(definitions.open)

    def keys(catalog: Catalog) -> list[str]:
        space = catalog.space(AssetKey("a"), AS_OF)
        return list(space.keys(space.all()))

    nobody = cache.active()
    assert keys(nobody) == []
    definitions.revision = 2
    two = cache.active()
    assert (keys(two), keys(nobody)) == (["a", "b"], [])
    assert cache.active() is two
    definitions.revision = 3
    assert keys(cache.active()) == ["a", "b", "c"]
    assert keys(cache.active(2)) == ["a", "b"]  # what a plan was made with
    assert keys(cache.of_run(RunId(1))) == ["a"]  # what a run is pinned to
    assert cache.of_run(RunId(1)) is cache.of_run(RunId(1))
    assert definitions.keys_read == [2, 3, 1]
    assert definitions.read == [1]
    digests = {one.keys_digest(AssetKey("a")) for one in (nobody, two, cache.active())}
    assert len(digests) == 3


def test_a_catalog_without_dynamic_schemes_asks_for_no_keys(asset_of: Any) -> None:
    stored = {SnapshotId(1): StoredSnapshot(LocationId(1), "l", SnapshotId(1), "v1", snapshot("l", asset_of("a")))}
    definitions = Definitions(stored)
    definitions.vector, definitions.revision = ((LocationId(1), SnapshotId(1)),), 5
    cache = CatalogCache(definitions.open)
    assert cache.active() is cache.of_run(RunId(1))
    assert definitions.keys_read == []


def test_one_dynamic_scheme_has_one_cap(asset_of: Any) -> None:
    wide, narrow = (
        asset_of(key).model_copy(update={"partitions": to_spec(Dynamic("customers", cap=cap))})
        for key, cap in (("a", 10), ("b", 5))
    )
    with pytest.raises(ActivationRefused, match=r"'customers' have cap=5 .* in 'b', but cap=10 .* in 'a'"):
        check_activation([snapshot("l", wide), snapshot("k", narrow)], AS_OF)
