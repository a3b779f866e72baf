"""The kinds of sensors over real processes, beside one that is slow: readiness in batches, several assets, ends of runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.conftest import Deploy

from partita.core.runtime.deployed import Deployed

TOML = """
[[location]]
name = "shop"
root = "."
modules = ["assets"]
[worker]
capacity = 2
"""

ASSETS = """
import json
import time
from collections.abc import Iterator
from pathlib import Path
from partita.sdk import Context, Output, Request, SensorContext, Static, asset, sensor

FOLDER = Path({folder!r})


@asset(partitions=Static(*(f"p{{n:02}}" for n in range(20))), io=None)
def pages() -> Output:
    return Output(data_version="1")


@sensor(every="0.3s", ready=pages)
def there(context: SensorContext) -> list[str]:
    with (FOLDER / "calls").open("a") as calls:
        calls.write(json.dumps(context.partitions) + "\\n")
    return [key for key in context.partitions if (FOLDER / f"{{key}}.done").exists()]


@asset(io=None)
def orders(context: Context) -> Output:
    return Output(data_version=str(context.run_id))


@asset(io=None)
def refunds(context: Context) -> Output:
    return Output(data_version=str(context.run_id))


@asset(io=None)
def report() -> Output:
    return Output(data_version="1")


@sensor(every="0.3s", watches=[orders, refunds])
def both_moved(context: SensorContext) -> Iterator[Request]:
    moved = {{*json.loads(context.cursor or "[]"), *(one.asset for one in context.events)}}
    if moved == {{"orders", "refunds"}}:
        yield Request(report, mode="all", tags={{"why": "both moved"}})
        moved = set()
    context.cursor = json.dumps(sorted(moved))


@asset(io=None)
def broken() -> Output:
    raise ValueError("it broke")


@asset(io=None)
def cleaned(context: Context) -> Output:
    return Output(data_version=str(context.run_id))


@sensor(every="0.3s", runs=["failed"])
def clean_up(context: SensorContext) -> list[Request]:
    return [Request(cleaned, mode="all", key=str(one.run_id)) for one in context.runs]


@sensor(every="0.3s", timeout="1h")
def slow(context: SensorContext) -> None:
    (FOLDER / "slow").touch()
    while not (FOLDER / "wake").exists():
        time.sleep(0.1)
    context.cursor = "awake"
"""


@pytest.fixture
def folder(scratch: Path) -> Path:
    made = scratch / "in"
    made.mkdir()
    return made


def tasks(shop: Deployed, step: str) -> list[tuple[str, ...]]:
    return shop.query("SELECT state FROM task WHERE step = %s ORDER BY id", step)


def test_each_kind_asks_while_a_slow_one_is_under_way(deploy: Deploy, folder: Path) -> None:
    for key in ("p03", "p07"):
        (folder / f"{key}.done").touch()
    shop = deploy({"partita.toml": TOML, "assets.py": ASSETS.format(folder=str(folder))})
    shop.start("dev", "--no-reload")
    shop.wait_serving()
    shop.wait("the slow one is under way", (folder / "slow").exists)

    # Readiness: all that nobody has made are asked about at once, and those that are ready are one run.
    shop.wait("what was ready is made", lambda: tasks(shop, "pages") == [("success",)] * 2)
    assert shop.query("SELECT count(DISTINCT run_id) FROM task WHERE step = 'pages'") == [(1,)]
    calls = [json.loads(line) for line in (folder / "calls").read_text().splitlines()]
    assert calls[0] == [f"p{n:02}" for n in range(20)]
    (folder / "p11.done").touch()
    shop.wait("what became ready is made", lambda: tasks(shop, "pages") == [("success",)] * 3)
    left = [f"p{n:02}" for n in range(20) if n not in (3, 7, 11)]
    shop.wait("it is asked about the others alone", lambda: json.loads(last_line(folder / "calls")) == left)

    # Several assets: one alone is not enough, and each publication counts once.
    shop.run("materialize", "orders", "--yes")
    cursor = "SELECT cursor FROM evaluator WHERE name = 'both_moved'"
    shop.wait("it has heard of one", lambda: shop.query(cursor) == [('["orders"]',)])
    assert tasks(shop, "report") == []
    shop.run("materialize", "refunds", "--yes")
    shop.wait("both moved", lambda: tasks(shop, "report") == [("success",)])
    assert shop.query(cursor) == [("[]",)]

    # Ends of runs: once for each that failed.
    for times in (1, 2):
        shop.run("materialize", "broken", "--yes", ok=(1,))
        shop.wait("it is cleaned up", lambda times=times: tasks(shop, "cleaned") == [("success",)] * times)  # type: ignore[misc]

    assert shop.query("SELECT cursor, failures FROM evaluator WHERE name = 'slow'") == [(None, 0)], (
        "it is under way still"
    )
    (folder / "wake").touch()
    shop.wait("it ends well", lambda: shop.query("SELECT cursor FROM evaluator WHERE name = 'slow'") == [("awake",)])
    assert len(tasks(shop, "report")) == 1
    assert len(tasks(shop, "cleaned")) == 2


def last_line(file: Path) -> str:
    return file.read_text().splitlines()[-1]
