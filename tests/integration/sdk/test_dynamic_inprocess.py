"""Assets of dynamic partitions made in process: the keys are given, as a deployment would give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from partita.assets import AssetKey, PartitionsDef, UnknownPartition
from partita.sdk.runtime_values import InputCell
from partita.sdk.testing import load, materialize_location

MODULE = """
from typing import Annotated

from partita.sdk import Context, Dynamic, From, Multi, Relation, Static, all_, asset

customers = Dynamic("customers")

@asset(partitions=customers)
def orders(context: Context) -> Relation:
    return Relation.from_rows([{"customer": context.partition.key}])

@asset(partitions=Multi(customer=customers, kind=Static("x", "y")))
def grid(context: Context) -> Relation:
    return Relation.from_rows([dict(context.partition.dimensions)])

@asset
def report(orders: Annotated[Relation, From("orders", all_)]) -> Relation:
    return orders.sql("select count(*) as n from self")
"""


def test_the_keys_are_given_by_name(tmp_path: Path) -> None:
    (tmp_path / "dynamic_inprocess.py").write_text(MODULE)
    location = load(tmp_path, "dynamic_inprocess")
    keys = {"customers": ["globex", "acme, inc"]}
    made = materialize_location(location, ["orders", "report"], lake=tmp_path / "lake", dynamic=keys)
    assert made.success
    assert made.read("report").scalar() == 2
    grid = materialize_location(
        location, ["grid"], partitions='customer="acme, inc"', lake=tmp_path / "grid", dynamic=keys
    )
    assert sorted(row["kind"] for row in grid.read("grid").dicts()) == ["x", "y"]
    with pytest.raises(UnknownPartition, match="'globx' does not exist; did you mean 'globex'"):
        materialize_location(location, ["orders"], partitions="globx", lake=tmp_path / "none", dynamic=keys)


class Deployed:
    """A deployment that is only asked for keys."""

    def scheme(self, key: AssetKey) -> PartitionsDef | None:
        raise AssertionError(f"{key} is of this location")

    def cells(self, key: AssetKey, partitions: Sequence[str]) -> Mapping[str, InputCell]:
        return {}

    def keys(self, scheme: str) -> Sequence[str]:
        return ("globex",) if scheme == "customers" else ()


def test_a_deployment_is_asked_for_the_keys_that_are_not_given(tmp_path: Path) -> None:
    (tmp_path / "dynamic_asked.py").write_text(MODULE)
    location = load(tmp_path, "dynamic_asked")
    made = materialize_location(location, ["orders"], partitions="globex", lake=tmp_path / "lake", published=Deployed())
    assert made.read("orders").dicts() == [{"customer": "globex"}]
