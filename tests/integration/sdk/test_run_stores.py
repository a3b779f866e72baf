"""What attempts in process store, by which manager, and under which version (S-038, S-079)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from partita.sdk import (
    Context,
    Daily,
    DuckDBFile,
    InputCell,
    Relation,
    Static,
    any_size,
    asset,
    check,
    materialize,
)
from partita.sdk.testing import definitions

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = Daily("2013-01-01", end="2013-01-04")


@pytest.fixture(autouse=True)
def apart() -> Iterator[None]:
    with definitions():
        yield


def run(assets: Any, **options: Any) -> Any:
    return materialize(assets, as_of=AS_OF, raise_on_error=False, **options)


def test_a_duckdb_file_replaces_partitions_and_keeps_failed_ones(tmp_path: Any) -> None:
    """S-197: a rerun overwrites just its own partitions."""
    shop = DuckDBFile("shop", str(tmp_path / "shop.duckdb"))
    values = {"a": 1, "b": 2}

    @asset(io=shop, partitions=Static("a", "b"), partition_columns="k", batch=any_size())
    def orders() -> Relation:
        return Relation.from_rows([{"k": key, "n": n} for key, n in values.items()])

    @check(orders, blocking=True)
    def positive(orders: Relation) -> bool:
        return bool(orders.sql("select min(n) > 0 from self").scalar())

    assert dict(orders.step.options.pools) == {"duckdb:shop": 1}
    first = run(orders, partitions="all")
    assert first.success, first.failures
    values.update(a=5, b=-5)
    second = run(orders, partitions="all")
    assert {one.partition: one.kind.name for one in second.outcomes} == {"a": "WRITTEN", "b": "FAILED"}
    assert sorted(first.read("orders").fetchall()) == [("a", 5), ("b", 2)]


def test_an_attempt_with_an_old_fence_cannot_overwrite(tmp_path: Any) -> None:
    from partita.assets import AssetKey
    from partita.sdk.io.base import WriteContext
    from partita.sdk.runtime import TargetCell

    store = DuckDBFile("shop", str(tmp_path / "shop.duckdb"))

    def attempt(fence: int, n: int) -> WriteContext:
        ctx = WriteContext(AssetKey("orders"), f"attempt-{fence}", fence, (TargetCell("orders", "a"),))
        store.commit(ctx, store.write(ctx, [{"n": n}]))
        return ctx

    attempt(2, 20)
    with pytest.raises(Exception, match="holds fence 1, the store has seen 2"):
        attempt(1, 10)
    attempt(3, 30)


def test_a_manager_of_ones_own_stores_and_reads() -> None:
    """S-210: the value goes to the store, the record keeps where it is."""
    from partita.sdk.io.base import IOManager, ReadContext, WriteContext, Written

    class Memory(IOManager):
        name = "memory"

        def __init__(self) -> None:
            self.kept: dict[str, object] = {}

        def write(self, ctx: WriteContext, value: Any) -> list[Written]:
            self.kept[ctx.attempt_id] = value
            return [Written(one.partition, f"memory:{ctx.attempt_id}", str(value), 1) for one in ctx.cells]

        def read(self, ctx: ReadContext) -> Any:
            return [self.kept[one.location.removeprefix("memory:")] for one in ctx.cells]

    memory = Memory()

    @asset(io=memory)
    def number() -> int:
        return 41

    @asset(io=memory)
    def more(number: list[int]) -> int:
        return number[0] + 1

    result = run([number, more])
    assert result.success, result.failures
    assert result.versions("more") == {"": "42"}


def test_cells_of_two_stores_are_read_together(tmp_path: Any) -> None:
    """The asset moved from the lake to a DuckDB file; old partitions stay where they are."""
    from partita.assets import AssetKey
    from partita.sdk import Lake
    from partita.sdk.inputs import read_input
    from partita.sdk.io.base import WriteContext
    from partita.sdk.runtime import InputBinding, TargetCell

    cells = []
    for manager, partition in ((Lake(root=tmp_path), "a"), (DuckDBFile("shop", str(tmp_path / "s.duckdb")), "b")):
        ctx = WriteContext(AssetKey("orders"), "a1", 1, (TargetCell("orders", partition),))
        (written,) = manager.commit(ctx, manager.write(ctx, [{"k": partition}]))
        cells.append(InputCell(partition, written.data_version, written.location))
    binding = InputBinding("orders", "orders", "lake", cells=tuple(cells))
    assert sorted(read_input(binding, list[dict[str, Any]], {}, "x"), key=str) == [{"k": "a"}, {"k": "b"}]


def test_the_version_does_not_depend_on_the_store(tmp_path: Any) -> None:
    rows: list[dict[str, object]] = [{"n": 1, "t": "x"}, {"n": 2, "t": None}]

    @asset(io=DuckDBFile("shop", str(tmp_path / "s.duckdb")))
    def filed() -> list[dict[str, object]]:
        return rows

    @asset
    def laked() -> list[dict[str, object]]:
        return rows

    result = run([filed, laked])
    assert result.versions("filed") == result.versions("laked")


def test_running_again_gives_the_same_versions() -> None:
    @asset(partitions=DAYS)
    def orders(context: Context) -> Relation:
        return Relation.from_rows([{"day": context.partition.start, "n": n} for n in range(3)])

    assert run(orders, partitions="all").versions(orders) == run(orders, partitions="all").versions(orders)
