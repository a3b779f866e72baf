"""Observers, schedules and sensors over real processes: consumers follow, a hanging one delays nobody, a killed evaluator loses
nothing and doubles nothing (S-099, S-172, S-174).
"""

from __future__ import annotations

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
[triggerer]
lease_s = 3
"""

ASSETS = """
import os
import time
from collections.abc import Iterator
from pathlib import Path
from partita.sdk import (
    AddKeys, Dynamic, ObserveContext, Relation, Request, ScheduleContext, SensorContext, Static, asset, eager, external, observe,
    schedule, sensor, TaskEnded,
)

FOLDER = Path({folder!r})
feed = external("feed", partitions=Static("a", "b"))
files = Dynamic("files")


@observe(feed, every="0.3s")
def sizes(context: ObserveContext) -> dict[str, str]:
    return {{key: str((FOLDER / key).stat().st_size) for key in context.partitions if (FOLDER / key).exists()}}


@asset(partitions=Static("a", "b"), deps=[feed], automation=eager())
def loaded() -> Relation:
    return Relation.from_rows([{{"n": 1}}])


@asset(partitions=files)
def imported() -> Relation:
    return Relation.from_rows([{{"n": 1}}])


@sensor(every="0.3s")
def numbers(context: SensorContext) -> Iterator[AddKeys | Request]:
    last = int(context.cursor or 0)
    for name in sorted(FOLDER.glob("file-*"))[last:]:
        print("found", name.name)
        yield AddKeys(files, [name.name])
        yield Request(imported, [name.name], key=name.name, tags={{"file": name.name}})
        last += 1
    context.cursor = str(last)


@sensor(every="0.3s", timeout="3s")
def hangs(context: SensorContext) -> None:
    if (FOLDER / "hang").exists():
        (FOLDER / f"hung-{{os.getpid()}}").touch()
        time.sleep(3600)


@sensor(every="0.3s")
def breaks(context: SensorContext) -> None:
    raise ValueError("no such luck")


def note(ended: TaskEnded) -> None:
    print("noting", ended.key)
    with (FOLDER / "noted").open("a") as lines:
        lines.write(f"{{ended.state}} {{', '.join(ended.assets)}} {{ended.key}} {{ended.error}}\\n")


def too_much(ended: TaskEnded) -> None:
    raise ConnectionError("the pager is down")


@asset(io=None, on_failure=note, on_success=too_much)
def fragile() -> None:
    if not (FOLDER / "glue").exists():
        raise ValueError("it broke")


@asset(on_success=note)
def report() -> Relation:
    return Relation.from_rows([{{"n": 1}}])


@schedule("0 6 * * *", tz="Europe/Berlin", catch_up="latest")
def morning(context: ScheduleContext) -> Request:
    return Request(report, mode="all", tags={{"tick": context.tick.isoformat()}})
"""


@pytest.fixture
def shop(deploy: Deploy, scratch: Path) -> Deployed:
    folder = scratch / "in"
    folder.mkdir()
    deployment = deploy({"partita.toml": TOML, "assets.py": ASSETS.format(folder=str(folder))})
    deployment.start("scheduler")
    deployment.start("code-server", "--location", "shop")
    deployment.start("worker")
    deployment.start("triggerer", name="one")
    deployment.wait_serving()
    return deployment


def tokens(shop: Deployed, name: str) -> int:
    return int(shop.query("SELECT token FROM evaluator WHERE name = %s", name)[0][0])


def made(shop: Deployed, key: str) -> list[str]:
    statement = "SELECT c.partition FROM cell c JOIN asset a ON a.id = c.asset_id WHERE a.key = %s AND c.data_version IS NOT NULL"
    return sorted(row[0] for row in shop.query(statement, key))


def put(file: Path, text: str) -> None:
    """Whole from its first moment: whoever looks in between would find an empty one."""
    being_written = file.with_suffix(".part")
    being_written.write_text(text)
    being_written.rename(file)


def test_what_functions_find_is_made_once_whoever_hangs_or_is_killed(shop: Deployed, scratch: Path) -> None:
    folder = scratch / "in"
    put(folder / "a", "x")
    shop.wait("the consumer of what was observed is made", lambda: made(shop, "loaded") == ["a"])
    put(folder / "a", "xy")
    shop.wait(
        "and again when its version moved",
        lambda: shop.query("SELECT count(*) FROM task WHERE step = 'loaded'") == [(2,)],
    )

    (folder / "hang").touch()
    shop.wait("one of them hangs", lambda: bool(list(folder.glob("hung-*"))))
    before = tokens(shop, "numbers")
    (folder / "file-1").touch()
    shop.wait("the others go on", lambda: made(shop, "imported") == ["file-1"] and tokens(shop, "numbers") > before + 2)

    # The process that evaluates is killed in the middle of the evaluation that hangs.
    shop.kill("one")
    (folder / "file-2").touch()
    shop.start("triggerer", name="two")
    (folder / "file-3").touch()
    shop.wait("another one goes on where it was", lambda: made(shop, "imported") == ["file-1", "file-2", "file-3"])
    shop.wait(
        "the one that hangs was taken over, and is ended at its limit",
        lambda: (
            len(list(folder.glob("hung-*"))) >= 2
            and shop.query("SELECT failures FROM evaluator WHERE name = 'hangs'")[0][0] >= 1
        ),
    )
    asked = shop.query("SELECT key, state FROM asked WHERE key IS NOT NULL ORDER BY id")
    assert asked == [(f"file-{n}", "launched") for n in (1, 2, 3)]
    assert shop.query("SELECT count(*) FROM task WHERE step = 'imported'") == [(3,)]
    ((cursor, log),) = shop.query(
        "SELECT e.cursor, (SELECT log FROM evaluation v WHERE v.evaluator_id = e.id ORDER BY token DESC LIMIT 1)"
        " FROM evaluator e WHERE name = 'numbers'"
    )
    assert cursor == "3"
    assert "found file-3" in log
    ((timed_out,),) = shop.query(
        "SELECT DISTINCT v.error FROM evaluation v JOIN evaluator e ON e.id = v.evaluator_id WHERE e.name = 'hangs'"
    )
    assert "longer than its timeout of 3 s" in timed_out
    ((error, failures),) = shop.query("SELECT error, failures FROM evaluator WHERE name = 'breaks'")
    assert error == "ValueError: no such luck"
    assert failures >= 1

    # Callbacks are told after the commit; that one of them fails is seen, and changes nothing of the task.
    shop.run("materialize", "fragile", "--yes", ok=(0, 1))
    ((task,),) = shop.query("SELECT id FROM task WHERE step = 'fragile'")
    noted = folder / "noted"
    shop.wait("the failure is noted", lambda: noted.exists() and noted.read_text().endswith("\n"))
    assert noted.read_text() == f"failed fragile task-{task}-failed ValueError: it broke\n"
    (folder / "glue").touch()
    shop.run("materialize", "fragile", "--yes")
    shop.wait(
        "the callback failed",
        lambda: shop.query("SELECT count(*) FROM evaluator WHERE error LIKE %s", "%the pager is down") == [(1,)],
    )
    assert shop.query("SELECT state FROM task WHERE step = 'fragile' ORDER BY id") == [("failed",), ("success",)]

    # A tick that came while nobody was there: the last of them, once.
    shop.query(
        "UPDATE evaluator SET tick_at = tick_at - interval '3 days', due_at = now() WHERE name = 'morning' RETURNING id"
    )
    shop.wait("its run is made", lambda: made(shop, "report") == [""])
    assert shop.query("SELECT value FROM run_tag WHERE name = 'tick'") != []
    assert shop.query("SELECT count(*) FROM asked WHERE key IS NULL") == [(1,)]
    assert shop.query("SELECT tick_at > now() FROM evaluator WHERE name = 'morning'") == [(True,)]
    shop.wait("its end is noted", lambda: "success report" in noted.read_text())
    assert len(noted.read_text().splitlines()) == 2
