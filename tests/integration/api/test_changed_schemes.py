"""Partition schemes that change under published cells, on Postgres: what stays, what is set aside, what comes back."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from partita.assets import Daily, Hourly, Multi, Static


def scheme(world: Any, partitions: Any) -> None:
    world.activate([world.spec("orders", partitions)], checks=())


def counts(world: Any) -> dict[str, int]:
    [found] = world.new_services().assets.find(select="orders").assets
    told: dict[str, int] = {state: n for state, n in found.counts.items() if state != "missing"}
    return told


def former(world: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(world.url) as connection:
        return connection.execute(
            "SELECT s.spec ->> 'tz', f.partition, f.data_version FROM former_cell f JOIN scheme s ON s.id = f.scheme_id"
            " ORDER BY f.id"
        ).fetchall()


@pytest.fixture
def made(world: Any) -> Any:
    scheme(world, Daily("2013-01-01", end="2013-01-11"))
    world.launch("orders", partitions="2013-01-01..2013-01-04")
    world.work()
    assert counts(world) == {"fresh": 4}
    return world


def test_utc_to_new_york_keeps_the_keys_and_none_of_the_cells(made: Any) -> None:
    scheme(made, Daily("2013-01-01", end="2013-01-11", tz="America/New_York"))
    assert counts(made) == {}
    assert [row[:2] for row in former(made)] == [("UTC", f"2013-01-0{day}") for day in range(1, 5)]
    told = made.services.identities.former("orders")
    assert [(one.partition, one.scheme["tz"], one.window_start.hour) for one in told][:1] == [("2013-01-04", "UTC", 0)]
    made.launch("orders", partitions="2013-01-01")
    made.work()
    assert counts(made) == {"fresh": 1}
    scheme(made, Daily("2013-01-01", end="2013-01-11"))
    assert counts(made) == {"fresh": 4}, "the windows of before have their cells again"
    assert [row[:2] for row in former(made)] == [("America/New_York", "2013-01-01")]


def test_a_start_that_moves_both_ways_loses_nothing(made: Any) -> None:
    scheme(made, Daily("2013-01-03", end="2013-01-11"))
    assert counts(made) == {"fresh": 2}
    scheme(made, Daily("2012-12-01", end="2013-01-11"))
    assert counts(made) == {"fresh": 4}
    assert former(made) == []


@pytest.mark.parametrize(
    "partitions",
    [
        Hourly("2013-01-01", end="2013-01-11"),
        Multi(day=Daily("2013-01-01", end="2013-01-11"), region=Static("eu", "us")),
    ],
)
def test_another_cadence_or_dimension_starts_anew_with_all_of_before_kept(made: Any, partitions: Any) -> None:
    scheme(made, partitions)
    assert counts(made) == {}
    assert len(former(made)) == 4


def test_work_on_windows_that_are_none_any_more_is_cancelled_and_cannot_publish(made: Any) -> None:
    made.launch("orders", partitions="2013-01-05")
    [claimed] = made.claim()
    scheme(made, Daily("2013-01-01", end="2013-01-11", tz="America/New_York"))
    made.finish([made.written(claimed)])
    assert counts(made) == {}
    with psycopg.connect(made.url) as connection:
        states = connection.execute("SELECT state FROM task ORDER BY id DESC LIMIT 1").fetchall()
        assert connection.execute("SELECT count(*) FROM cell WHERE data_version IS NOT NULL").fetchone() == (0,)
    assert states == [("cancelled",)]
    made.launch("orders", partitions="2013-01-05")
    made.work()
    assert counts(made) == {"fresh": 1}


def test_what_failed_before_does_not_bring_its_old_window_along(made: Any) -> None:
    """A row of `cell` that was never published has a window, too: it must be the one that is made."""
    made.launch("orders", partitions="2013-01-07")
    made.work(result=made.failed)
    scheme(made, Daily("2013-01-01", end="2013-01-11", tz="America/New_York"))
    made.launch("orders", partitions="2013-01-07")
    made.work()
    assert counts(made) == {"fresh": 1}
    scheme(made, Daily("2013-01-01", end="2013-01-11"))
    assert counts(made) == {"fresh": 4}, "the day of New York is none of UTC"
