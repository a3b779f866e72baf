"""An asset that reads itself, an enumerated mapping and the month before, run in process (S-081, S-162)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from partita.sdk.testing import load, materialize_location

MODULE = """
from typing import Annotated

from partita.sdk import Context, Daily, From, Monthly, Multi, Relation, Static, any_size, asset, enumerated, overlap, rolling

days = Daily("2026-01-01", end="2026-02-04")
months = Monthly("2026-01", end="2026-03")
countries = Static("de", "fr", "pl")

@asset(partitions=days)
def amounts(context: Context) -> Relation:
    return Relation.from_rows([{"day": context.partition.key, "amount": 1}])

@asset(partitions=days, batch=any_size())
def balance(
    amounts: Relation, before: Annotated[Relation | None, From("balance", rolling(2))], context: Context
) -> Relation:
    earlier = 0 if before is None else before.sql("select coalesce(sum(total), 0) from self").scalar()
    return Relation.from_rows([{"day": context.partition.key, "total": amounts.count() + int(earlier)}])

@asset(partitions=months)
def targets(context: Context) -> Relation:
    return Relation.from_rows([{"month": context.partition.key}])

@asset(partitions=days)
def against(targets: Annotated[Relation, From("targets", overlap(-1, -1, unit="upstream", edge="clip"))]) -> Relation:
    return targets

@asset(partitions=countries)
def sales(context: Context) -> Relation:
    return Relation.from_rows([{"country": context.partition.key}])

REGIONS = {"west": ["de", "fr"], "east": ["pl"]}

@asset(partitions=Static("west", "east"))
def regions(sales: Annotated[Relation, From("sales", enumerated(lambda key: REGIONS[key]))]) -> Relation:
    return sales
"""
AS_OF = datetime(2026, 3, 1, tzinfo=UTC)


def test_earlier_partitions_first_whatever_the_batch(tmp_path: Path) -> None:
    """Each day reads the one before it, the first one nothing."""
    tmp_path.joinpath("own.py").write_text(MODULE)
    location = load(tmp_path, "own")
    result = materialize_location(
        location, ["amounts", "balance"], partitions="2026-01-01..2026-01-05", as_of=AS_OF, lake=tmp_path / "lake"
    )
    rows = result.read("balance").sql("select total from self order by day").fetchall()
    assert rows == [(n,) for n in range(1, 6)]


def test_the_month_before_and_a_table_by_a_function(tmp_path: Path) -> None:
    """S-211: other partitions are read through declared dependencies."""
    tmp_path.joinpath("own.py").write_text(MODULE)
    location = load(tmp_path, "own")
    result = materialize_location(
        location, ["targets", "against"], partitions="2026-02-03", as_of=AS_OF, lake=tmp_path / "lake"
    )
    assert result.read("against").fetchall() == [("2026-01",)]
    assert len(result.versions("targets")) == 1
    result = materialize_location(
        location, ["sales", "regions"], partitions="west", as_of=AS_OF, lake=tmp_path / "other"
    )
    assert sorted(result.read("regions").fetchall()) == [("de",), ("fr",)]
    (spec,) = [one for one in location.snapshot.assets if one.key == "regions"]
    assert spec.inputs[0].mapping.table == (("west", ("de", "fr")), ("east", ("pl",)))  # type: ignore[union-attr]
