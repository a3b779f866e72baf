# ruff: noqa: E501 - the sketch is quoted as it stands
"""The DSL as DESIGN section 4 shows it, word for word but for on_close(), run on real DuckDB (S-001, S-002)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from partita.sdk.testing import load, materialize_location

SKETCH = '''
from partita.sdk import (Context, Daily, From, Hourly, Multi, Relation, RetryPolicy, Static, all_, asset, check, defaults, eager, external,
                         per, rolling)
from typing import Annotated
from pydantic import BaseModel
from partita.sdk import Resource


class TrendParams(BaseModel):
    scale: float = 2.0


class Warehouse(Resource):
    rows_per_hour: int = 2

    def departures(self, start, end) -> Relation:
        return Relation.from_sql(f"""select t as time_hour, 'EWR' as origin, 'AA' as carrier, 5 as delay
            from range(timestamptz '{start}', timestamptz '{end}', interval 1 hour) r(t), range({self.rows_per_hour})""")

    def readings(self, start, end) -> Relation:
        return Relation.from_sql(f"""select t as time_hour, o as origin, 20.5 as temp
            from range(timestamptz '{start}', timestamptz '{end}', interval 1 hour) r(t),
            (values ('EWR'), ('JFK'), ('LGA')) as origins(o)""")


days = Daily("2013-01-01", end="2014-01-01", tz="America/New_York")         # end is exclusive
hours = Hourly("2013-01-01", end="2014-01-01", tz="America/New_York")
origins = Static("EWR", "JFK", "LGA")
flights_csv = external("source/flights", partitions=days)
defaults(group="flights", owner="team:ops", retries=RetryPolicy(3, delay="30s"))   # of this module; 3 retries = at most 4 attempts

@asset(key="raw/flights", partitions=days, deps=[flights_csv], pool="warehouse")
def flights(context: Context, wh: Warehouse) -> Relation:                    # a Resource, by its type
    """All departures of one local day."""
    return wh.departures(context.partition.start, context.partition.end)

@asset(partitions=Multi(hour=hours, origin=origins), batch=per(hour="1d", origin=all_),    # one task a day
       partition_columns={"hour": "time_hour", "origin": "origin"})
def weather(context: Context, wh: Warehouse) -> Relation:
    return wh.readings(context.window.start, context.window.end)

@asset
def airlines() -> Relation:
    return Relation.from_rows([{"carrier": "AA", "name": "American"}])

@asset(partitions=days, automation=eager())                                  # daily <- hourly x origin by overlap
def delays(flights: Relation, weather: Relation, airlines: Relation) -> Relation:
    return flights.sql("""select f.time_hour, origin, name, delay, temp from self f
        join weather using (time_hour, origin) join airlines using (carrier)""", weather=weather, airlines=airlines)

@asset(partitions=days)
def trend(delays: Annotated[Relation, From(delays, rolling(days=7, edge="clip"))], params: TrendParams) -> Relation:
    return delays.sql(f"select avg(delay) * {params.scale} as level from self")

@check(delays, blocking=True)
def delays_are_possible(delays: Relation) -> bool:
    return delays.sql("select count(*) from self where delay < -1440").scalar() == 0
'''

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)


def test_the_sketch_loads_runs_and_reads_back(tmp_path: Path) -> None:
    tmp_path.joinpath("sketch.py").write_text(SKETCH)
    location = load(tmp_path, "sketch")
    assets = {one.key: one for one in location.snapshot.assets}
    assert set(assets) == {"source/flights", "raw/flights", "weather", "airlines", "delays", "trend"}
    flights = assets["raw/flights"]  # type: ignore[index]
    assert (flights.group, flights.owner, flights.retries.max_retries, flights.retries.delay_s) == (
        "flights",
        "team:ops",
        3,
        30,
    )
    assert flights.description == "All departures of one local day."
    assert [(one.name, one.kind) for one in flights.inputs] == [("dep:source/flights", "order")]
    delays = assets["delays"]  # type: ignore[index]
    assert {one.name: one.upstream for one in delays.inputs} == {
        "flights": "raw/flights",
        "weather": "weather",
        "airlines": "airlines",
    }
    assert delays.automation.type == "eager"

    result = materialize_location(location, list(location.steps), partitions="2013-11-03", as_of=AS_OF)
    assert result.read("delays").count() == 6 * 48 + 50  # two departures an hour, and 25 hours: the clocks went back
    assert result.read("trend").scalar() == 10.0
    assert len(result.versions("weather")) == 6 * 72 + 75
    assert len(result.versions("delays")) == 7  # the day itself and the six before it
    assert len(result.versions("trend")) == 1
    assert [(one.check, one.passed) for one in result.checks] == [("delays_are_possible", True)] * 7
    span = result.read("raw/flights").sql("select max(time_hour) - min(time_hour) from self").scalar()
    assert span == timedelta(days=6, hours=24)
