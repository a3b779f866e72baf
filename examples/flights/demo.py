"""The demo: a month of real flights through the deployed path, the figures, a file that comes late; then it serves until Ctrl-C.

    make demo                               # set up, backfill January, print the figures and the URL, serve
    make demo ONCE=1                        # the same, and end; the exit code says whether the figures are right
    FLIGHTS_DATA=DIR make demo ONCE=1       # with the data package's files in DIR

Everything runs as anybody would run it: `partita dev` and `partita backfill create` are processes of their own. The year's
figures are read from the source, those of January through the published pointers; none of them stands in this file.
`expected.json` holds what is right, and is compared after the printing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import events
import source
from rich.console import Console
from rich.table import Table

from partita.core.runtime.deployed import Deployed
from partita.sdk import Relation
from partita.sdk.io.lake import read_relation

FOLDER = Path(__file__).resolve().parent
PORT = int(os.environ.get("PARTITA_API_PORT", "4040"))
FIRST, LAST = "2013-01-01", "2013-01-31"
LABELS = {
    "flights_in_2013": "flights in 2013, in the source",
    "flights_without_departure_time": "of them without a departure time",
    "carriers": "carriers",
    "weather_readings": "weather readings in the source",
    "weather_partitions": "hourly partitions of three airports",
    "hours_on_march_10": "hourly partitions on 10 March",
    "hours_on_november_3": "hourly partitions on 3 November",
    "flights_in_january": "flights in January, published",
    "flights_on_january_1": "flights on 1 January, published",
}


def main() -> int:
    once = os.environ.get("ONCE", "") not in {"", "0"}
    console = Console()
    home = FOLDER / ".partita" / data_identity()
    env = {"PARTITA_HOME": str(home), "FLIGHTS_SOURCE": str(home / "source"), "FLIGHTS_INBOX": str(home / "inbox")}
    console.print("[bold]partita demo[/]  flights that left New York in 2013")
    with console.status("converting the data package to Parquet, once"):
        files = source.prepare(home / "source")
    with events.listening() as hook, Deployed(FOLDER, port=PORT, env=env) as deployment:
        with console.status("starting partita dev: Postgres, three code locations, scheduler, worker, triggerer, API"):
            deployment.start("dev")
            deployment.wait_serving()
        console.print(f"serving at [bold]{deployment.api}[/]")
        backfill(deployment)
        with console.status("consumers in the other location follow"):
            deployment.wait("route_health follows delays", lambda: followed(deployment), timeout_s=120)
        figures = {**of_the_source(files), **of_the_calendar(deployment), **published(deployment)}
        console.print(table(figures))
        last_day = list(cells(deployment, "delays", LAST).values())
        wrong = [*differences(figures), *events.show(deployment, console, hook, home / "inbox", last_day)]
        for line in wrong:
            console.print(f"[red]{line}[/]")
        if not wrong:
            console.print("[green]all of it is right[/]")
        if not once and not wrong:
            console.print(f"open [bold]{deployment.api}[/]; Ctrl-C ends everything")
            serve(deployment)
    return 1 if wrong else 0


def data_identity() -> str:
    """One home per set of data files: what was published from other files must not answer for these."""
    digest = hashlib.blake2b(digest_size=6)
    folder = source.csv_folder()
    for name, _ in source.TABLES.values():
        digest.update(folder.joinpath(name).read_bytes())
    return f"demo-{digest.hexdigest()}"


def backfill(deployment: Deployed) -> None:
    """January of everything in the location `flights`, by the command that people use, with its plan and progress shown."""
    command = ["backfill", "create", "location:flights", "--from", FIRST, "--to", LAST, "--name", "January", "--yes"]
    done = subprocess.run(
        [sys.executable, "-m", "partita.ui.cli", *command], env=deployment.env, cwd=deployment.folder, check=False
    )
    if done.returncode not in {
        0,
        1,
    }:  # 1: there was nothing to make any more, or something failed, as the figures then say
        raise SystemExit(f"the backfill ended with exit code {done.returncode}; the log is {deployment.log}")


def followed(deployment: Deployed) -> bool:
    """Every published day of `delays` has its `route_health`, made by the eager consumer."""
    days = cells(deployment, "delays")
    return len(days) > 0 and set(days) <= set(cells(deployment, "route_health"))


def cells(deployment: Deployed, key: str, partitions: str = "all") -> dict[str, str]:
    """Partition and published location of what an asset holds."""
    answer = json.loads(deployment.run("partitions", key, "--partitions", partitions, "--json"))
    return {cell["partition"]: cell["location"] for cell in answer["items"] if cell["location"]}


def of_the_source(files: Path) -> dict[str, int]:
    flights, weather = (Relation.from_parquet(files / f"{name}.parquet") for name in ("flights", "weather"))
    return {
        "flights_in_2013": flights.count(),
        "flights_without_departure_time": flights.sql("select count(*) from self where dep_time is null").scalar(),
        "carriers": flights.sql("select count(distinct carrier) from self").scalar(),
        "weather_readings": weather.count(),
    }


def of_the_calendar(deployment: Deployed) -> dict[str, int]:
    """How many hours a day has when the clocks change, as the platform resolves the selection."""

    def partitions(text: str) -> int:
        return int(
            json.loads(deployment.run("partitions", "raw/weather", "--partitions", text, "--count", "--json"))["count"]
        )

    return {
        "weather_partitions": partitions("all"),
        "hours_on_march_10": partitions("hour=2013-03-10; origin=JFK"),
        "hours_on_november_3": partitions("hour=2013-11-03; origin=JFK"),
    }


def published(deployment: Deployed) -> dict[str, int]:
    january = cells(deployment, "raw/flights", f"{FIRST}..{LAST}")
    return {
        "flights_in_january": read_relation(list(january.values())).count(),
        "flights_on_january_1": read_relation([january[FIRST]]).count(),
    }


def table(figures: Mapping[str, int]) -> Table:
    rows = Table(show_header=False, box=None, padding=(0, 2))
    rows.add_column(justify="right", style="bold")
    rows.add_column()
    for name, label in LABELS.items():
        rows.add_row(f"{figures[name]:,}", label)
    return rows


def differences(figures: Mapping[str, int]) -> list[str]:
    expected: dict[str, int] = json.loads((FOLDER / "expected.json").read_text())
    return [
        f"{LABELS[name]}: {figures[name]:,} where {right:,} are right"
        for name, right in expected.items()
        if figures[name] != right
    ]


def serve(deployment: Deployed) -> None:
    """Until Ctrl-C, or until `partita dev` ends by itself."""
    with contextlib.suppress(KeyboardInterrupt):
        deployment.processes["dev"].wait()


def interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    # Both end it in order, also where a shell has started it in the background, with SIGINT ignored.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("interrupted; everything that the demo started has ended", file=sys.stderr)
        sys.exit(130)
