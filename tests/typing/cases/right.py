"""User code that must type-check under mypy --strict."""

from __future__ import annotations

from typing import Annotated, assert_type

from collections.abc import Iterator
from datetime import UTC, datetime

from partita.sdk import (
    AddKeys,
    ObserveContext,
    Request,
    ScheduleContext,
    SensorContext,
    observe,
    schedule,
    sensor,
    CheckResult,
    Context,
    Daily,
    From,
    Hourly,
    Multi,
    Output,
    Relation,
    Resource,
    RetryPolicy,
    Static,
    all_,
    asset,
    check,
    defaults,
    eager,
    external,
    materialize,
    multi_asset,
    overlap,
    per,
    remote,
)
from pydantic import BaseModel


class Warehouse(Resource):
    path: str
    threads: int = 2


class Params(BaseModel):
    factor: int = 2


days = Daily("2013-01-01", end="2014-01-01", tz="America/New_York")
hours = Hourly("2013-01-01", tz="America/New_York")
source = external("source/flights", partitions=days, renamed_from=["input/flights", "flights"])
defaults(owner="team:ops", retries=RetryPolicy(3, delay="30s"))


@asset(
    key="raw/flights",
    renamed_from="flights_raw",
    partitions=days,
    deps=[source, "other/key"],
    pool="warehouse",
    timeout="5m",
)
def flights(context: Context, wh: Warehouse) -> Relation:
    return Relation.from_sql(f"select '{context.partition.start}' as at, '{wh.path}' as path")


@asset(
    partitions=Multi(hour=hours, origin=Static("EWR", "JFK")),
    batch=per(hour="1d", origin=all_),
    partition_columns={"hour": "at", "origin": "origin"},
)
def weather(context: Context) -> list[dict[str, object]]:
    return [{"at": one.start, "origin": one.dimensions["origin"]} for one in context.partitions]


@asset
def plain() -> int:
    return 1


@asset(partitions=days, automation=eager())
def delays(
    flights: Relation,
    before: Annotated[Relation | None, From("delays", overlap(-1, -1))],
    rates: Annotated[Relation, From(remote("money/rates"), all_)],
    params: Params,
) -> Relation:
    return flights.sql("select * from self join rates using (x)", rates=rates)


@multi_asset(outs=["a", "b"])
def both() -> dict[str, Output[int]]:
    return {"a": Output(1), "b": Output(2)}


@check(delays, blocking=True)
def possible(delays: Relation) -> bool:
    return delays.count() > 0


@check("raw/flights")
def detailed(flights: Relation) -> CheckResult:
    return CheckResult(True, {"rows": flights.count()})


assert_type(plain(), int)
assert_type(flights.key.upper(), str)
assert_type(both(), dict[str, Output[int]])
rows = materialize([flights, delays], partitions="2013-01-01", resources=[Warehouse(path="x")]).read(delays)
assert_type(rows, Relation)


@observe(external("feed"), every="5m")
def feed_version(context: ObserveContext) -> str:
    context.cursor = context.now.isoformat()
    return "v1"


@schedule("0 6 * * *", tz="Europe/Berlin")
def morning(context: ScheduleContext, wh: Warehouse) -> list[Request]:
    return [Request(plain, key=context.tick.isoformat())]


@sensor(every="30s", watches=[flights])
def published(context: SensorContext) -> Iterator[Request | AddKeys]:
    yield Request([flights, "tag:x"], [one.partition for one in context.events], params={"n": 1}, tags={"why": "x"})


@sensor(every="30s", ready=flights)
def there(context: SensorContext) -> list[str]:
    return [key for key in context.partitions if key]


assert_type(there(SensorContext(datetime.now(UTC))), list[str])
assert_type(feed_version(ObserveContext(datetime.now(UTC))), str)
