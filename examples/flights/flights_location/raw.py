"""What is taken from the warehouse as it is: flights by day, weather by hour and origin, and three lists."""

from __future__ import annotations

from flights_location.calendars import days, hours, origins
from flights_location.warehouse import Warehouse
from partita.sdk import Context, Multi, Relation, RetryPolicy, all_, asset, check, defaults, external, per

defaults(group="raw", owner="team:ops", retries=RetryPolicy(3, delay="1s", backoff="exponential"), pool="warehouse")

source_flights = external(
    "source/flights", partitions=days, description="Departures from New York, as the airlines report them"
)
source_weather = external("source/weather", partitions=days, description="Hourly readings of three airports")
source_lists = external("source/lists", description="Airlines, planes and airports")


@asset(key="raw/flights", partitions=days, deps=[source_flights], kinds=["duckdb", "parquet"])
def flights(context: Context, warehouse: Warehouse) -> Relation:
    """All departures of one local day, by scheduled hour."""
    rows = warehouse.between("flights", context.partition.start, context.partition.end)
    context.log.info("%d departures on %s", rows.count(), context.partition.key)
    return rows


@asset(
    key="raw/weather",
    partitions=Multi(hour=hours, origin=origins),
    batch=per(hour="1d", origin=all_),  # one task a local day makes 72 partitions (69 and 75 when the clocks change)
    partition_columns={"hour": "time_hour", "origin": "origin"},
    deps=[source_weather],
    kinds=["duckdb", "parquet"],
)
def weather(context: Context, warehouse: Warehouse) -> Relation:
    """One reading an hour and airport. An hour without a reading is a partition without rows."""
    return warehouse.between("weather", context.window.start, context.window.end)


@asset(key="raw/airlines", deps=[source_lists])
def airlines(warehouse: Warehouse) -> Relation:
    """Names of carriers."""
    return warehouse.table("airlines")


@asset(key="raw/planes", deps=[source_lists])
def planes(warehouse: Warehouse) -> Relation:
    """Planes by tail number, with their seats."""
    return warehouse.table("planes")


@asset(key="raw/airports", deps=[source_lists])
def airports(warehouse: Warehouse) -> Relation:
    """Airports by FAA code, with their names and places."""
    return warehouse.table("airports")


@check(flights, blocking=True)
def there_are_flights(flights: Relation) -> bool:
    """No day of 2013 went by without a departure."""
    return flights.count() > 0


@check(flights, blocking=True)
def flights_have_keys(flights: Relation) -> bool:
    """Carrier, flight, origin and hour are known of every flight."""
    return not flights.sql(
        "select 1 from self where carrier is null or flight is null or origin is null or time_hour is null"
    ).fetchall()


@check(weather, blocking=True)
def one_reading_at_most(weather: Relation) -> bool:
    """An hour has one reading, or none: the data has 26,115 readings for 26,280 hours."""
    return weather.count() <= 1


@check(airlines, blocking=True)
def carriers_are_unique(airlines: Relation) -> bool:
    """Every carrier has one name."""
    return bool(airlines.sql("select count(*) = count(distinct carrier) and count(name) = count(*) from self").scalar())
