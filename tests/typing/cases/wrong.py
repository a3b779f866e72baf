"""User code that must not type-check: every statement marked `wrong: CODE` is reported with that code, and nothing else is."""

from __future__ import annotations

from partita.sdk import (
    Context,
    Daily,
    From,
    Multi,
    Output,
    Relation,
    Resource,
    RetryLater,
    RetryPolicy,
    Static,
    asset,
    check,
    eager,
    external,
    materialize,
    multi_asset,
    per,
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
asset(partitions="daily")  # wrong: call-overload
asset(key=3)  # wrong: call-overload
asset(automation=eager)  # wrong: call-overload
asset(isolation="thread")  # wrong: call-overload
asset(unknown=1)  # wrong: call-overload
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
