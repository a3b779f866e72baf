"""What is made of the raw assets: delays by day, carriers by month, origins by week."""

from __future__ import annotations

from flights_location.calendars import carriers, days, months, origins, weeks
from partita.sdk import CheckResult, Multi, Relation, RetryPolicy, all_, asset, check, defaults, eager, per

defaults(group="marts", owner="team:analytics", retries=RetryPolicy(1, delay="1s"))

EARLIEST_MINUTES, LATEST_MINUTES = -120, 24 * 60


@asset(partitions=days, automation=eager(), kinds=["duckdb", "parquet"])
def delays(flights: Relation, weather: Relation, airlines: Relation) -> Relation:
    """Every flight of a day with its airline's name and the weather at its scheduled hour."""
    return flights.sql(
        """
        select f.time_hour, f.origin, f.dest, f.carrier, a.name as airline, f.flight, f.tailnum,
               f.dep_time is null as cancelled, f.dep_delay, f.arr_delay, f.distance,
               w.temp, w.wind_speed, w.precip, w.visib
        from self f
        left join weather w on w.origin = f.origin and w.time_hour = f.time_hour
        left join airlines a on a.carrier = f.carrier
        """,
        weather=weather,
        airlines=airlines,
    )


@asset(
    partitions=Multi(month=months, carrier=carriers),
    batch=per(month="1mo", carrier=all_),  # one task a month
    partition_columns={"month": "month", "carrier": "carrier"},
)
def carrier_month(delays: Relation, planes: Relation) -> Relation:
    """Flights, cancellations, delays and seats of each carrier and month."""
    return delays.sql(
        """
        select date_trunc('month', timezone('America/New_York', d.time_hour))::date as month, d.carrier,
               any_value(d.airline) as airline, count(*) as flights, count(*) filter (d.cancelled) as cancelled,
               avg(d.dep_delay) as mean_dep_delay, avg(d.arr_delay) as mean_arr_delay, sum(p.seats)::bigint as seats
        from self d left join planes p on p.tailnum = d.tailnum
        group by all
        """,
        planes=planes,
    )


@asset(
    partitions=Multi(week=weeks, origin=origins),
    batch=per(week="1w", origin=all_),
    partition_columns={"week": "week", "origin": "origin"},
)
def origin_week(delays: Relation, airports: Relation) -> Relation:
    """Flights, delays and visibility of each origin and week.

    The mean is rounded: a sum of floats differs in its last digits from run to run, and with it the data version would.
    """
    return delays.sql(
        """
        select date_trunc('week', timezone('America/New_York', d.time_hour))::date as week, d.origin,
               any_value(a.name) as airport, count(*) as flights, count(*) filter (d.cancelled) as cancelled,
               median(d.dep_delay) as median_dep_delay, round(avg(d.visib), 3) as mean_visibility
        from self d left join airports a on a.faa = d.origin
        group by all
        """,
        airports=airports,
    )


@check(delays, blocking=True)
def no_flight_is_lost(delays: Relation, flights: Relation) -> CheckResult:
    """The joins neither lose nor double a flight."""
    made, given = delays.count(), flights.count()
    return CheckResult(made == given, {"delays": made, "flights": given})


@check(delays, blocking=True)
def airlines_are_known(delays: Relation) -> bool:
    """Every carrier has a name."""
    return bool(delays.sql("select count(*) = count(airline) from self").scalar())


@check(delays, blocking=True)
def delays_are_possible(delays: Relation) -> CheckResult:
    """No flight leaves hours before its time or a day after it."""
    worst = delays.sql(
        "select min(least(dep_delay, arr_delay)) as low, max(greatest(dep_delay, arr_delay)) as high from self"
    )
    low, high = worst.fetchall()[0]
    fine = low is None or (low >= EARLIEST_MINUTES and high <= LATEST_MINUTES)
    return CheckResult(fine, {"earliest_minutes": low, "latest_minutes": high})


@check(carrier_month, blocking=True)
def one_row_at_most(carrier_month: Relation) -> bool:
    """A carrier and month has one row, or none when it did not fly."""
    return carrier_month.count() <= 1
