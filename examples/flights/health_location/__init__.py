"""The code location `health`: another team's consumer of `delays`, in a server of its own.

It cannot import the location `flights`; it names the asset that it reads, and its partitions, by `remote(...)`.
"""

from __future__ import annotations

from typing import Annotated

from partita.sdk import CheckResult, Daily, From, Relation, RetryPolicy, asset, check, defaults, eager, remote

defaults(group="health", owner="team:network", retries=RetryPolicy(1, delay="1s"))

days = Daily("2013-01-01", end="2014-01-01", tz="America/New_York")
DELAYS = remote("delays", location="flights", partitions=days)


@asset(partitions=days, automation=eager(), kinds=["duckdb", "parquet"])
def route_health(delays: Annotated[Relation, From(DELAYS)]) -> Relation:
    """How each route did on a day: flights, cancellations, the share that left within 15 minutes of its time."""
    return delays.sql(
        """
        select origin, dest, count(*) as flights, count(*) filter (cancelled) as cancelled,
               count(*) filter (dep_delay <= 15) / count(*) as on_time, avg(arr_delay) as mean_arr_delay
        from self group by all
        """
    )


@check(route_health, blocking=True)
def routes_add_up(route_health: Relation, delays: Relation) -> CheckResult:
    """Every flight of the day is in exactly one route."""
    counted, given = route_health.sql("select coalesce(sum(flights), 0)::bigint from self").scalar(), delays.count()
    return CheckResult(counted == given, {"routes": counted, "flights": given})
