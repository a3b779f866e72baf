"""The snapshot: round trips, canonical bytes, hash; digests; keys; errors (S-001, S-027)."""

from __future__ import annotations

import pickle
import random
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from partita import assets
from partita.assets import (
    All,
    AssetSpec,
    BusinessDays,
    CheckSpec,
    CycleError,
    Daily,
    DefinitionError,
    DimensionPair,
    Dimensions,
    Dynamic,
    Hourly,
    Identity,
    Last,
    Mapping,
    ModuleSpec,
    Multi,
    PartitaError,
    PartitionsDef,
    Rolling,
    Snapshot,
    SourceRef,
    Specific,
    Static,
    StaticTable,
    StepSpec,
    TimeOverlap,
    TimeWindows,
    UnknownAsset,
    asset_key,
    canonical_json,
    cell_hash,
    digest_of_inputs,
    from_spec,
    hash64,
    input_factor,
    join_key,
    mapping_from_spec,
    mapping_to_spec,
    snapshot_hash,
    split_key,
    suggest,
    to_spec,
)

DEFINITIONS: list[PartitionsDef] = [
    Hourly("2013-01-01", end="2014-01-01", tz="America/New_York"),
    TimeWindows("*/15 * * * *", "2013-01-01T00:00:30", horizon=-2),
    Static("EWR", "JFK", 'ü,|"'),
    Dynamic("customers"),
    Dynamic("sessions", cap=10, ttl=timedelta(days=3)),
    Daily("2026-01-01", exclude=["2026-W10", date(2026, 12, 25)], calendar=BusinessDays(holidays=["2026-05-01"])),
    Multi(hour=Hourly("2013-01-01"), origin=Static("EWR"), customer=Dynamic("customers")),
]
MAPPINGS: list[Mapping] = [
    Identity(),
    TimeOverlap(-7, -1),
    TimeOverlap(-1, -1, "upstream", "clip"),
    Rolling(7, "days", "clip"),
    Rolling(3, "months", current=False),
    All(),
    Last(),
    Specific(("a", "b")),
    StaticTable((("emea", ("uk", "de")), ("amer", ()))),
    Dimensions((DimensionPair("hour", "day", TimeOverlap()), DimensionPair("origin", None, Specific(("EWR",))))),
]


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_a_definition_survives_the_wire(definition: PartitionsDef) -> None:
    """Value to model to bytes and back."""
    spec = AssetSpec(key=asset_key("x"), partitions=to_spec(definition))
    read = AssetSpec.model_validate_json(canonical_json(spec))
    assert read == spec
    assert from_spec(read.partitions) == definition


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_a_mapping_survives_the_wire(mapping: Mapping) -> None:
    """Value to model to bytes and back."""
    spec = mapping_to_spec(mapping)
    assert mapping_from_spec(type(spec).model_validate_json(canonical_json(spec))) == mapping
    assert from_spec(to_spec(mapping)) == mapping


def _snapshot(order: random.Random) -> Snapshot:
    parts: list[list[Any]] = [
        [AssetSpec(key=asset_key(f"a/{i}"), tags=dict(order.sample([("x", "1"), ("y", "2")], 2))) for i in range(5)],
        [StepSpec(id=f"s{i}", assets=(asset_key(f"a/{i}"),), function="m:f") for i in range(5)],
        [CheckSpec(name=f"c{i}", asset=asset_key("a/1")) for i in range(3)],
        [ModuleSpec(name=f"m{i}", import_s=order.random()) for i in range(3)],
    ]
    for part in parts:
        order.shuffle(part)
    fields = dict(zip(("assets", "steps", "checks", "modules"), map(tuple, parts), strict=True))
    return Snapshot.model_validate({"location": "flights", **fields})


@given(st.randoms(use_true_random=False), st.randoms(use_true_random=False))
def test_equal_definitions_give_equal_bytes(one: random.Random, other: random.Random) -> None:
    """Whatever the order of registration and the time that imports took."""
    left, right = _snapshot(one), _snapshot(other)
    assert canonical_json(left) == canonical_json(right)
    assert snapshot_hash(left) == snapshot_hash(right)
    assert b"import_s" not in canonical_json(left)


def test_any_difference_changes_the_hash() -> None:
    """Fields with a default count too."""
    spec = AssetSpec(key=asset_key("x"))
    base = snapshot_hash(Snapshot(location="l", assets=(spec,)))
    changes = ({"priority": 1}, {"description": "d"}, {"observed": True}, {"isolation": "spawn"}, {"subsettable": True})
    hashes = {snapshot_hash(Snapshot(location="l", assets=(spec.model_copy(update=one),))) for one in changes}
    assert len(hashes | {base}) == len(changes) + 1


def test_the_canonical_form_is_pinned() -> None:
    """A change of format is a change of every stored hash; it must be meant."""
    snapshot = Snapshot(location="l", steps=(StepSpec(id="s", assets=(asset_key("e"),), function="m:f"),))
    assert canonical_json(snapshot) == (
        b'{"assets":[],"checks":[],"evaluators":[],"format":1,"location":"l","modules":[],'
        b'"steps":[{"assets":["e"],"code":{},"function":"m:f","id":"s"}]}'
    )
    assert snapshot_hash(snapshot) == "b688a95bf7d23172746651071fa88753f5b07ac69a48f42f2a33d55a76e3fd1e"


def test_models_are_strict_and_frozen() -> None:
    """Unknown fields, illegal keys and absolute paths are refused; nothing is changed later."""
    for wrong in (
        {"key": "x", "colour": "red"},
        {"key": "x//y"},
        {"key": "x", "partitions": {"kind": "time", "cron": "@daily"}},
        {"key": "x", "partitions": {"kind": "lunar"}},
        {"key": "x", "batch": {"type": "up_to", "n": 0}},
    ):
        with pytest.raises(ValidationError):
            AssetSpec.model_validate(wrong)
    with pytest.raises(ValidationError, match="relative to the root"):
        SourceRef(module="m", file="/root/m.py", line=1)
    with pytest.raises(ValidationError):
        AssetSpec(key=asset_key("x")).key = asset_key("y")  # type: ignore[misc]


@given(st.lists(st.text(), min_size=2, max_size=4))
def test_multi_keys_round_trip(parts: list[str]) -> None:
    """Any text in any dimension; one spelling only."""
    key = join_key(parts)
    assert split_key(key) == tuple(parts)
    assert split_key(f" {key}") is None


def test_what_is_no_multi_key() -> None:
    """Plain text, other JSON, and numbers."""
    for text in ("EWR", "{}", "[1,2]", '["a", "b"]', "", "[", '"a"'):
        assert split_key(text) is None


@pytest.mark.parametrize("text", ["", "/", "a/", "/a", "a//b", "a b", "ä", "a/b c"])
def test_illegal_asset_keys_are_refused(text: str) -> None:
    """By name, with the nearest legal one."""
    with pytest.raises(DefinitionError, match="not legal"):
        asset_key(text)
    assert asset_key("raw/orders.v2-x_y") == "raw/orders.v2-x_y"


cells = st.lists(st.tuples(st.text(), st.text()), max_size=6)


@given(cells, cells, st.randoms(use_true_random=False))
def test_the_digest_is_linear_and_forgets_order(
    left: list[tuple[str, str]], right: list[tuple[str, str]], order: random.Random
) -> None:
    """Sums of parts, so ranges come from prefix sums; and an input that reverts gives the old digest back."""

    def total(pairs: list[tuple[str, str]]) -> int:
        return sum(cell_hash(key, version) for key, version in pairs)

    shuffled = order.sample(left + right, len(left + right))
    whole = digest_of_inputs([(7, "flights", total(shuffled))])
    parts = digest_of_inputs([(7, "flights", total(left)), (7, "flights", total(right))])
    assert whole == parts
    assert 0 <= whole < 2**64
    reduced = digest_of_inputs([(7, "flights", total(shuffled) % 2**64)])
    assert reduced == whole


@given(
    st.lists(st.text() | st.integers() | st.binary(), max_size=4),
    st.lists(st.text() | st.integers() | st.binary(), max_size=4),
)
def test_hashes_differ_when_parts_do(left: list[str | int | bytes], right: list[str | int | bytes]) -> None:
    """Length-prefixed and typed: ("a", "b") is not ("ab",), and 1 is not "1"."""
    same = [(type(part), part) for part in left] == [(type(part), part) for part in right]
    assert (hash64(*left) == hash64(*right)) == same


def test_hashes_are_pinned() -> None:
    """They are stored: the same on every machine, for ever."""
    assert hash64("cell", "2013-01-01", "v1") == cell_hash("2013-01-01", "v1") == 15371049736624768868
    assert input_factor(1, "flights") % 2 == 1
    assert input_factor(1, "flights") != input_factor(2, "flights") != input_factor(1, "weather")


def test_errors_cross_processes_and_teach() -> None:
    """Pickled and back with all they say."""
    for error in (
        PartitaError("what", rule="rule", fix="fix"),
        UnknownAsset("what"),
        CycleError("what", rule="rule", path=("a", "a")),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert (str(copy), vars(copy)) == (str(error), vars(error))
    assert str(PartitaError("what", rule="rule", fix="fix")) == "what; rule; fix"
    assert suggest("ordres", ["orders", "users"]) == "did you mean 'orders'?"
    assert suggest("zzz", ["orders"]) == ""


PUBLIC = """
    UNPARTITIONED All AllSpec AnyBatchSpec AssetGraph AssetKey AssetSpec AutomationSpec BatchSpec CheckSpec
    CriticalPath CycleError Daily DefinitionError DimensionPair DimensionPairSpec DimensionSpec Dimensions
    DimensionsSpec Dynamic DynamicPartitions DynamicSpec EagerSpec FreshnessSpec Hourly Identity IdentitySpec InputSpec Last
    LastSpec ManualSpec Mapped Mapping MappingSpec ModuleSpec Monthly Multi MultiPartitions MultiSpec OnCodeChange
    PartitaError PartitionKey PartitionSet PartitionSpace PartitionsDef PartitionsSpec PerBatchSpec PoolUse
    ProductSpace RetrySpec SelectionError SingleBatchSpec SinglePartitions Snapshot SourceRef Specific
    SpecificSpec Static StaticPartitions StaticSpec StaticTable StaticTableSpec StepSpec TimeOverlap
    TimeOverlapSpec TimePartitions TimeSpace TimeSpec TimeWindows TriggerRule BoxSet BusinessDays CalendarSpec
    DynamicKey DynamicKeys Rolling RollingSpec needed_runs self_levels self_mapping UnknownAsset UnknownPartition UpToBatchSpec
    Weekly Window asset_key boxes_of canonical_json cell_hash check_cron check_fit check_mapping count_fires default_mapping
    dependency_hash derived_version digest_of_inputs downstream_of from_spec hash64 input_factor join_key mapping_from_spec
    mapping_to_spec
    next_fires partition_key previous_fires product_set reaches_back reserved_pool select_assets snapshot_hash space_of
    split_key suggest to_spec upstream_by_cell upstream_of
    CellSpec ClosedSpec ConditionSpec DepSpec DepsSpec EAGER JoinSpec LatestSpec NewlySpec NodeSpec NotSpec READY SinceSpec
    TickSpec
    condition_of text_of EvaluatorKind EvaluatorSpec RunEnd
"""


def test_the_public_surface_is_pinned() -> None:
    """What the other floors may use; adding or removing a name is a decision."""
    assert sorted(assets.__all__) == sorted(PUBLIC.split())
    assert [name for name in assets.__all__ if not hasattr(assets, name)] == []


def test_a_daily_start_may_be_a_date() -> None:
    """Naive datetimes and dates are wall time in tz."""
    import datetime as dt

    assert Daily(dt.date(2013, 1, 1)) == Daily("2013-01-01") == Daily(dt.datetime(2013, 1, 1))  # noqa: DTZ001
