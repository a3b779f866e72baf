"""User code that must not type-check: every statement marked `wrong: CODE` is reported with that code, and nothing else is."""

from __future__ import annotations

from partita.sdk import (
    BusinessDays,
    Context,
    Daily,
    From,
    Multi,
    ObserveContext,
    Output,
    Relation,
    Request,
    Resource,
    RetryLater,
    RetryPolicy,
    ScheduleContext,
    SensorContext,
    Skip,
    Static,
    asset,
    check,
    eager,
    enumerated,
    external,
    last,
    materialize,
    multi_asset,
    observe,
    overlap,
    per,
    remote,
    rolling,
    schedule,
    sensor,
    specific,
    table,
    up_to,
)


class Warehouse(Resource):
    path: str


days = Daily("2013-01-01")


@asset(partitions=days)
def flights(context: Context, wh: Warehouse) -> Relation:
    return Relation.from_sql("select 1")


flights()  # wrong: call-arg
flights(1, 2)  # wrong: arg-type
answer: int = flights(Context, None)  # wrong: assignment
flights.partition  # wrong: attr-defined
Warehouse()  # wrong: call-arg
Warehouse(path=3)  # wrong: arg-type
Warehouse("x")  # wrong: call-arg
Daily(2013)  # wrong: arg-type
Daily("2013-01-01", timezone="UTC")  # wrong: call-arg
Multi(day="daily")  # wrong: arg-type
Static(1, 2)  # wrong: arg-type
RetryPolicy("3")  # wrong: arg-type
RetryPolicy(3, backoff="linear")  # wrong: arg-type
per(hour=24)  # wrong: arg-type
up_to("10")  # wrong: arg-type
From(3)  # wrong: arg-type
From(flights, "all")  # wrong: arg-type
RetryLater("x", 5)  # wrong: call-arg
Daily("2013-01-01", horizon="1")  # wrong: arg-type
Daily("2013-01-01", calendar=["2013-12-25"])  # wrong: arg-type
Daily("2013-01-01", exclude=[3])  # wrong: list-item
BusinessDays(holidays=[25])  # wrong: list-item
overlap("-1")  # wrong: arg-type
overlap(-1, 0, unit="upstrem")  # wrong: arg-type
overlap(-1, 0, edge="clipped")  # wrong: arg-type
rolling("7")  # wrong: arg-type
rolling(quarters=1)  # wrong: call-arg
specific(1)  # wrong: arg-type
table({"east": 1})  # wrong: dict-item
enumerated("east")  # wrong: arg-type
enumerated(lambda key: 3)  # wrong: arg-type, return-value
remote(flights)  # wrong: arg-type
last("newest")  # wrong: call-arg
Skip(3)  # wrong: arg-type
materialize(flights, as_of="2013-01-01")  # wrong: arg-type
materialize(flights, resources=[3])  # wrong: list-item
asset(batch=3)  # wrong: call-overload
asset(deps=flights)  # wrong: call-overload
asset(deps=[3])  # wrong: list-item
asset(tags=["raw"])  # wrong: call-overload
asset(kinds=3)  # wrong: call-overload
asset(owner=3)  # wrong: call-overload
asset(priority="high")  # wrong: call-overload
asset(code_version=3)  # wrong: call-overload
asset(io=3)  # wrong: call-overload
asset(retries=3)  # wrong: call-overload
multi_asset(outs={"a": "lake"})  # wrong: dict-item
external("a", partitions="daily")  # wrong: arg-type
check(flights, blocking="yes")  # wrong: arg-type
asset(partitions="daily")  # wrong: call-overload
asset(key=3)  # wrong: call-overload
asset(automation=eager)  # wrong: call-overload
asset(isolation="thread")  # wrong: call-overload
asset(unknown=1)  # wrong: call-overload
asset(renamed_from=7)  # wrong: call-overload
multi_asset()  # wrong: call-arg
external()  # wrong: call-arg
materialize("flights")  # wrong: arg-type
materialize(flights, partitions=1)  # wrong: arg-type
Output(1).value.upper()  # wrong: union-attr
flights.sql("x")  # wrong: attr-defined


@check(flights)  # wrong: arg-type
def returns_text(flights: Relation) -> str:
    return "fine"


@check(3)  # wrong: arg-type
def of_a_number() -> bool:
    return True


def shape(context: Context) -> str:
    return context.partition.begin  # wrong: attr-defined


def joined(one: Relation) -> int:
    return one.sql("select 1", other=3)  # wrong: arg-type, return-value


@observe("feed", every="5m")  # wrong: arg-type
def of_a_text(context: ObserveContext) -> str:
    return "v1"


@schedule("0 6 * * *")  # wrong: call-arg
def zoneless(context: ScheduleContext) -> Request:
    return Request("a")


@schedule("0 6 * * *", tz="UTC")  # wrong: type-var
def returns_a_number(context: ScheduleContext) -> int:
    return context.tick.hour


@sensor(every="30s")  # wrong: type-var
def returns_number(context: SensorContext) -> float:
    return context.now.timestamp()


def cursor_is_text(context: SensorContext) -> None:
    context.cursor = 7  # wrong: assignment


def no_window(context: ScheduleContext) -> int:
    return context.tick.start  # wrong: attr-defined
