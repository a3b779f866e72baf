"""Attempts in process: outcomes, checks before publication, groups, params, resources (S-003, S-058)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from partita.sdk import (
    CheckResult,
    Context,
    Daily,
    DuckDBFile,
    Fail,
    From,
    InputCell,
    Out,
    Output,
    Relation,
    Resource,
    RetryLater,
    Skip,
    Static,
    any_size,
    asset,
    check,
    external,
    materialize,
    multi_asset,
    overlap,
    remote,
    up_to,
)
from partita.sdk.runtime import CellKind, StepStatus
from partita.sdk.testing import MaterializationFailed, definitions

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = Daily("2013-01-01", end="2013-01-04")


@pytest.fixture(autouse=True)
def apart() -> Iterator[None]:
    with definitions():
        yield


def run(assets: Any, **options: Any) -> Any:
    return materialize(assets, as_of=AS_OF, raise_on_error=False, **options)


def kinds(result: Any) -> dict[str, str]:
    return {one.partition or one.asset: one.kind.name for one in result.outcomes}


def test_a_decorated_function_stays_callable() -> None:
    @asset(partitions=DAYS)
    def orders(context: Context, factor: Annotated[int, From("x")]) -> Relation:
        raise AssertionError

    @asset
    def plain() -> list[dict[str, int]]:
        return [{"x": 1}]

    assert plain() == [{"x": 1}]
    assert (orders.__name__, orders.key, plain.key) == ("orders", "orders", "plain")


def test_the_context_tells_partition_zone_attempt_and_forwards_logs_and_metadata() -> None:
    """S-207: small values are kept with what they are about."""

    @asset(partitions=Daily("2013-03-10", end="2013-03-12", tz="America/New_York"))
    def orders(context: Context) -> Relation:
        context.log.info("hours %d", (context.partition.end - context.partition.start).days)
        context.metadata(source="shop")
        assert context.partition.start.isoformat() == "2013-03-10T00:00:00-05:00"
        assert context.partition.end.isoformat() == "2013-03-11T00:00:00-04:00"
        assert (context.attempt, context.assets, len(context.partitions)) == (1, ("orders",), 1)
        return Relation.from_rows([{"x": 1}])

    result = run(orders, partitions="2013-03-10")
    assert result.success, result.failures
    assert result.logs == [("INFO", "hours 1")]
    (cell,) = result.outcomes
    assert {"rows": 1, "source": "shop"}.items() <= cell.metadata.items()


def test_a_batched_task_has_no_single_partition() -> None:
    @asset(partitions=DAYS, batch=any_size())
    def orders(context: Context) -> Iterator[Output[list[dict[str, str]]]]:
        with pytest.raises(Exception, match="has 3 partitions"):
            _ = context.partition
        for one in context.partitions:
            yield Output([{"k": one.key}], partition=one.key, metadata={"seen": one.key})

    result = run(orders, partitions="all")
    assert result.read("orders", "2013-01-02").fetchall() == [("2013-01-02",)]
    assert [one.metadata["seen"] for one in result.outcomes] == ["2013-01-01", "2013-01-02", "2013-01-03"]


def test_batches_cut_the_cells() -> None:
    sizes: list[int] = []

    @asset(partitions=DAYS, batch=up_to(2), io=None)
    def orders(context: Context) -> None:
        sizes.append(len(context.partitions))

    assert run(orders, partitions="all").success
    assert sizes == [2, 1]


def test_skip_of_everything_publishes_nothing_and_succeeds() -> None:
    @asset
    def orders() -> Relation:
        raise Skip("nothing today")

    result = run(orders)
    assert result.success
    assert kinds(result) == {"orders": "SKIPPED"}
    assert result.published == {}


def test_skip_of_one_cell() -> None:
    @asset(partitions=Static("a", "b"), batch=any_size())
    def orders() -> Iterator[Output[list[dict[str, int]]] | Skip]:
        yield Skip("no", partition="a")
        yield Output([{"x": 1}], partition="b")

    assert kinds(run(orders, partitions="all")) == {"a": "SKIPPED", "b": "WRITTEN"}


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (RetryLater("not there", after="5m"), StepStatus.RETRY_LATER, "not there"),
        (Fail("never"), StepStatus.FAILED_FOR_GOOD, "never"),
        (ValueError("oops"), StepStatus.FAILED, "ValueError: oops"),
        (SystemExit(2), StepStatus.FAILED, "SystemExit: 2"),
    ],
)
def test_how_an_attempt_ends(error: BaseException, status: StepStatus, text: str) -> None:
    @asset
    def orders() -> Relation:
        raise error

    ((_, result),) = run(orders).failures
    assert (result.status, result.error) == (status, text)
    assert result.retry_in_s == (300.0 if status is StepStatus.RETRY_LATER else -1.0)


def test_the_traceback_shows_user_code_only() -> None:
    @asset
    def orders() -> Relation:
        return helper()

    def helper() -> Relation:
        raise ValueError("deep")

    with pytest.raises(MaterializationFailed, match="asset 'orders' failed: ValueError: deep") as caught:
        materialize(orders)
    (note,) = caught.value.__notes__
    assert "in helper" in note
    assert "partita/sdk/execute.py" not in note


def test_a_failed_blocking_check_keeps_its_cell_from_publication_and_others_go() -> None:
    @asset(partitions=Static("good", "bad"), batch=any_size(), partition_columns="k")
    def orders() -> Relation:
        return Relation.from_rows([{"k": "good", "n": 1}, {"k": "bad", "n": -1}])

    @check(orders, blocking=True)
    def positive(orders: Relation) -> CheckResult:
        worst = orders.sql("select min(n) from self").scalar()
        return CheckResult(worst > 0, {"worst": worst})

    @check(orders)
    def advisory(context: Context) -> bool:
        return False

    result = run(orders, partitions="all")
    assert kinds(result) == {"good": "WRITTEN", "bad": "FAILED"}, result.failures
    assert [(one.partition, one.passed, dict(one.detail)) for one in result.checks if one.blocking] == [
        ("good", True, {"worst": 1}),
        ("bad", False, {"worst": -1}),
    ]
    ((_, failed),) = result.failures
    assert failed.error == "blocking check 'positive' of 'orders' failed (partition 'bad')"


def test_a_check_that_raises_has_failed() -> None:
    @asset
    def orders() -> Relation:
        return Relation.from_rows([{"n": 1}])

    @check(orders, blocking=True)
    def broken(orders: Relation) -> bool:
        raise KeyError("n")

    result = run(orders)
    assert kinds(result) == {"orders": "FAILED"}
    assert result.checks[0].detail == {"error": "KeyError: 'n'"}


def test_a_group_goes_together() -> None:
    @multi_asset(outs={"a": Out(), "b": Out()}, partitions=Static("x", "y"))
    def both(context: Context) -> dict[str, list[dict[str, int]]]:
        n = -1 if context.partition.key == "y" else 1
        return {"a": [{"n": 1}], "b": [{"n": n}]}

    @check("b", blocking=True)
    def positive(b: Relation) -> bool:
        return b.sql("select min(n) > 0 from self").scalar() is True

    result = run(both, partitions="all")
    found = {(one.asset, one.partition): one.kind for one in result.outcomes}
    assert found == {
        ("a", "x"): CellKind.WRITTEN,
        ("b", "x"): CellKind.WRITTEN,
        ("a", "y"): CellKind.FAILED,
        ("b", "y"): CellKind.FAILED,
    }


def test_of_a_subsettable_group_the_members_that_are_needed_are_made() -> None:
    """Those that the assets of the call read, or that are named; one that a sibling reads where the group is made at all."""
    asked: list[tuple[str, tuple[str, ...]]] = []

    @multi_asset(outs=["a", "b", "c"], partitions=DAYS, subsettable=True)
    def three(context: Context, a: Annotated[Relation | None, From("a", overlap(-1, -1))]) -> dict[str, Any]:
        asked.append((context.partition.key, context.assets))
        return {key: [{"n": 1}] for key in context.assets}

    @asset(partitions=DAYS)
    def report(b: Relation) -> Relation:
        return b

    assert run([three, report], partitions={"report": "2013-01-02"}).success
    assert asked == [("2013-01-02", ("b",))]
    asked.clear()
    result = run(three, partitions={"c": "2013-01-02..2013-01-03"})
    assert asked == [("2013-01-02", ("a", "c")), ("2013-01-03", ("c",))]
    assert sorted(result.versions("c")) == ["2013-01-02", "2013-01-03"]
    asked.clear()
    assert run(three, partitions="2013-01-01").success
    assert asked == [("2013-01-01", ("a", "b", "c"))]


class Params(BaseModel):
    factor: int = 2


def test_params_are_validated_and_a_misfit_is_not_retried() -> None:
    @asset
    def orders(params: Params) -> Relation:
        return Relation.from_rows([{"n": params.factor}])

    assert run(orders).read("orders").scalar() == 2
    assert run(orders, params={"orders": {"factor": 5}}).read("orders").scalar() == 5
    ((_, result),) = run(orders, params={"orders": {"factor": "x"}}).failures
    assert result.status is StepStatus.FAILED_FOR_GOOD
    assert "params do not fit Params: factor" in result.error


class Shop(Resource):
    url: str
    retries: int = 1

    def setup(self) -> None:
        self.log = ["up"]

    def teardown(self) -> None:
        self.log.append("down")


def test_resources_come_from_the_environment_or_are_given_and_are_torn_down(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Shop] = []

    @asset(io=None)
    def orders(shop: Shop) -> None:
        assert shop.log == ["up"]
        seen.append(shop)

    ((_, missing),) = run(orders).failures
    assert "resource Shop is not configured: SHOP_URL is not set" in missing.error
    monkeypatch.setenv("SHOP_URL", "http://shop")
    monkeypatch.setenv("SHOP_RETRIES", "7")
    assert run(orders).success
    assert (seen[0].url, seen[0].retries, seen[0].log) == ("http://shop", 7, ["up", "down"])
    assert "http://shop" not in repr(seen[0])
    assert run(orders, resources=[Shop(url="given")]).success
    assert seen[1].url == "given"


def test_assets_that_write_themselves_say_their_version_or_get_a_unique_one() -> None:
    @asset(io=None, partitions=Static("a", "b"))
    def orders(context: Context) -> Output[None] | None:
        return Output(data_version="v7", metadata={"n": 1}) if context.partition.key == "a" else None

    result = run(orders, partitions="all")
    assert result.versions("orders") == {"a": "v7", "b": "attempt:inprocess-2"}


def test_a_data_version_is_short_because_it_is_never_cut() -> None:
    """Two versions that differ behind the cut would be one."""

    @asset(io=None)
    def orders(context: Context) -> Output[None]:
        return Output(data_version="v" * 1025)

    result = run(orders)
    assert not result.success
    assert "at most 1,024" in str(result.failures)


def test_a_data_version_of_a_derived_cell_cannot_be_claimed() -> None:
    """It says what the cell holds to all that read it (ADR 10)."""

    @asset(io=None)
    def orders(context: Context) -> Output[None]:
        return Output(data_version="derived:0000000000000000:0000000000000000")

    result = run(orders)
    assert not result.success
    assert "put together after a change of partitions" in str(result.failures)


def test_inputs_can_be_facts_optional_given_and_remote() -> None:
    source = external("source", partitions=DAYS)

    @asset(partitions=DAYS)
    def orders(
        cells: Annotated[tuple[InputCell, ...], From(source)],
        before: Annotated[Relation | None, From("orders", overlap(-1, -1))],
        rates: Annotated[Relation, From(remote("money/rates", partitions=None))],
    ) -> Relation:
        known = 0 if before is None else before.sql("select max(n) from self").scalar()
        return rates.sql(f"select {known} + rate as n, '{cells[0].partition}' as day from self")

    result = run([source, orders], partitions="all", inputs={"money/rates": [{"rate": 10}]})
    assert result.success, result.failures
    assert result.read("orders").sql("from self order by n").fetchall() == [
        (10, "2013-01-01"),
        (20, "2013-01-02"),
        (30, "2013-01-03"),
    ]


def test_an_async_function_is_awaited() -> None:
    @asset
    async def orders() -> Relation:
        return Relation.from_rows([{"n": 1}])

    assert run(orders).read("orders").scalar() == 1


def test_metadata_that_is_no_json_or_too_large_fails_before_anything_is_published() -> None:
    """S-209."""

    @asset
    def orders(context: Context) -> Output[Relation]:
        return Output(Relation.from_rows([{"n": 1}]), metadata={"big": "x" * 70_000})

    @asset(io=None)
    def other(context: Context) -> None:
        context.metadata(when=object())

    result = run([orders, other])
    assert any("bytes" in failure.error for _, failure in result.failures)
    assert any("metadata when is not JSON" in failure.error for _, failure in result.failures)
    assert result.outcomes == []


def test_an_attempt_that_is_told_to_stop_tears_down_and_discards(tmp_path: Any) -> None:
    """The runner ends an attempt by an exception that no `except Exception` stops."""
    from partita.assets import Snapshot
    from partita.sdk import engine
    from partita.sdk.runtime import LoadedLocation, StepHandle, StepRequest, TargetCell, run_step
    from partita.sdk.testing import RecordingReporter

    class Stop(BaseException):
        pass

    class Door(Resource):
        def teardown(self) -> None:
            closed.append("closed")

    closed: list[str] = []
    store = DuckDBFile("shop", str(tmp_path / "s.duckdb"))

    @asset(io=store)
    def orders(door: Door) -> Relation:
        return Relation.from_rows([{"n": 1}])

    @check(orders)
    def stopped(orders: Relation) -> bool:
        raise Stop

    with definitions() as collector:
        collector.add_step(orders.step)
        collector.add_check(stopped.definition)
        collector.io["shop"] = (store, orders.step.place)
        from partita.sdk.snapshot import resolve_all

        handles: dict[str, StepHandle] = dict(resolve_all(collector, {}).steps)
    location = LoadedLocation(Snapshot(location="here"), handles)
    request = StepRequest("a1", "orders", (TargetCell("orders", ""),))
    report = RecordingReporter()
    with pytest.raises(Stop):
        run_step(location, request, report)
    assert closed == ["closed"]
    assert report.cells == []
    con = engine.connection()
    con.execute(f"attach {engine.literal(str(tmp_path / 's.duckdb'))} as looked_at (read_only)")
    try:
        tables = con.execute("select table_name from duckdb_tables() where database_name = 'looked_at'").fetchall()
    finally:
        con.execute("detach looked_at")
    assert tables == []
