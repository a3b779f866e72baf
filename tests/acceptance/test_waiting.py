"""Steps that wait, over real processes: the event comes, the deadline passes, a triggerer is killed or stands, a trigger hangs
(S-020, S-050, S-166 .. S-173).
"""

from __future__ import annotations

import signal
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
capacity = 1
[triggerer]
lease_s = 3
"""

ASSETS = """
import time
from partita.sdk import Context, Relation, RetryPolicy, Static, Trigger, asset
from partita.sdk.triggers import Approval, AssetMaterialized, FileExists

FOLDER = {folder!r}


@asset(
    partitions=Static("a", "b", "beside", "cancelled"),
    wait_for=FileExists(FOLDER + "/{{partition}}.csv").within("1h", poll="0.2s"),
)
def loaded(context: Context) -> Relation:
    return Relation.from_rows([{{"file": context.events[0].payload[0]}}])


@asset
async def asked(context: Context) -> Relation:
    got = await context.defer(FileExists(FOLDER + "/answer"), deadline="1h", poll="0.2s")
    answer = await context.defer(Approval("Use it?"), deadline="1h")
    return Relation.from_rows([{{"file": got[0], "attempt": context.attempt, "by": answer["who"]}}])


@asset(wait_for=FileExists(FOLDER + "/never").within("2s", poll="0.2s"), retries=RetryPolicy(3))
def late() -> Relation:
    return Relation.from_rows([{{"n": 1}}])


@asset
def told(context: Context) -> Relation:
    event = context.defer(AssetMaterialized("producer"), deadline="1h")
    return Relation.from_rows([{{"version": event["data_version"]}}])


@asset
def producer() -> Relation:
    return Relation.from_rows([{{"n": 1}}])


@asset
def beside() -> Relation:
    return Relation.from_rows([{{"n": 1}}])


class Blocks(Trigger):
    async def check(self) -> None:
        time.sleep(3600)


@asset(wait_for=Blocks().within("1h"))
def stuck() -> Relation:
    return Relation.from_rows([{{"n": 1}}])


@asset(partitions=Static(*(f"k{{n}}" for n in range(3000))),
       wait_for=FileExists(FOLDER + "/go").within("1h", poll="5m"))
def many() -> Relation:
    return Relation.from_rows([{{"n": 1}}])
"""


@pytest.fixture(scope="module")
def shop(deploy_shared: Deploy, shared_scratch: Path) -> Deployed:
    """For all tests: each waits for steps, partitions and files of its own."""
    folder = shared_scratch / "in"
    folder.mkdir()
    deployment = deploy_shared({"partita.toml": TOML, "assets.py": ASSETS.format(folder=str(folder))})
    deployment.start("scheduler")
    deployment.start("code-server", "--location", "shop")
    deployment.start("worker")
    deployment.start("triggerer", name="one")
    deployment.wait_serving()
    return deployment


def launch(shop: Deployed, *arguments: str) -> int:
    shop.run("materialize", *arguments, "--yes", "--no-wait")
    [(run_id,)] = shop.query("SELECT max(id) FROM run")
    return int(run_id)


def states(shop: Deployed, run_id: int, step: str) -> list[str]:
    return [
        row[0] for row in shop.query("SELECT state FROM task WHERE run_id = %s AND step = %s ORDER BY id", run_id, step)
    ]


def watched(shop: Deployed, run_id: int, *, but_by: str = "") -> int:
    """How many waits of a run are open and watched, by others than the named triggerer."""
    [(count,)] = shop.query(
        "SELECT count(*) FROM wait w JOIN task t ON t.id = w.task_id"
        " WHERE t.run_id = %s AND w.state = 'open' AND w.triggerer_id <> %s",
        run_id,
        but_by,
    )
    return int(count)


def watcher(shop: Deployed, run_id: int) -> str:
    [(found,)] = shop.query(
        "SELECT DISTINCT w.triggerer_id FROM wait w JOIN task t ON t.id = w.task_id WHERE t.run_id = %s", run_id
    )
    return str(found)


def test_a_file_that_comes_late_starts_what_waited_for_it(shop: Deployed, shared_scratch: Path) -> None:
    run_id = launch(shop, "loaded", "--partitions", "a, b")
    shop.wait("both wait and are watched", lambda: watched(shop, run_id) == 2)
    assert states(shop, run_id, "loaded") == ["deferred", "deferred"]
    assert shop.query("SELECT count(*) FROM pool_slot") == [(0,)], "a wait holds no slot (law 7)"
    why = shop.run("why", "loaded", "b")
    assert f"file {shared_scratch}/in/b.csv" in why
    (shared_scratch / "in" / "a.csv").touch()
    shop.wait("the one that came is made", lambda: sorted(states(shop, run_id, "loaded")) == ["deferred", "success"])
    assert shop.query("SELECT count(*) FROM attempt WHERE run_id = %s", run_id) == [(1,)]


def test_a_deferred_attempt_goes_on_with_the_event(shop: Deployed, shared_scratch: Path) -> None:
    run_id = launch(shop, "asked")
    shop.wait("it is deferred", lambda: states(shop, run_id, "asked") == ["deferred"])
    # The only slot is free: another task runs meanwhile.
    shop.run("materialize", "beside", "--yes")
    (shared_scratch / "in" / "answer").touch()
    shop.wait("a person is asked", lambda: states(shop, run_id, "asked") == ["awaiting_input"])
    [(task,)] = shop.query("SELECT id FROM task WHERE run_id = %s AND step = 'asked'", run_id)
    assert "a person to approve: Use it?" in " ".join(shop.run("why", "asked").split())
    shop.run("approve", str(task), "--note", "looked at it", "--yes")
    shop.wait("it went on", lambda: states(shop, run_id, "asked") == ["success"])
    assert shop.query("SELECT number, outcome FROM attempt WHERE run_id = %s ORDER BY id", run_id) == [
        (1, "deferred"),
        (1, "deferred"),
        (1, "success"),
    ]


def test_a_wait_for_an_asset_is_met_by_its_publication(shop: Deployed) -> None:
    run_id = launch(shop, "told")
    shop.wait("it is deferred", lambda: states(shop, run_id, "told") == ["deferred"])
    shop.run("materialize", "producer", "--yes")
    shop.wait("it went on", lambda: states(shop, run_id, "told") == ["success"])


def test_what_does_not_come_fails_once_with_its_name(shop: Deployed) -> None:
    shop.run("materialize", "late", "--yes", ok=(1,))
    ((state, error, attempts),) = shop.query("SELECT state, error, attempt_number FROM task WHERE step = 'late'")
    assert state == "failed"
    assert "for file" in error
    assert "never" in error
    assert "deadline has passed" in error
    assert attempts == 0, "no attempt and no retry: waiting longer is not what was asked for"


def test_a_trigger_that_blocks_fails_alone(shop: Deployed, shared_scratch: Path) -> None:
    blocks = launch(shop, "stuck")
    beside = launch(shop, "loaded", "--partitions", "beside")
    shop.wait("the one that blocks has failed", lambda: states(shop, blocks, "stuck") == ["failed"])
    ((error,),) = shop.query("SELECT error FROM task WHERE step = 'stuck'")
    assert "blocked the event loop" in error
    (shared_scratch / "in" / "beside.csv").touch()
    shop.wait("the other one is not harmed", lambda: states(shop, beside, "loaded") == ["success"])


def test_a_cancelled_wait_is_watched_no_more(shop: Deployed) -> None:
    run_id = launch(shop, "loaded", "--partitions", "cancelled")
    shop.wait("it is watched", lambda: watched(shop, run_id) == 1)
    shop.run("runs", "cancel", str(run_id), "--yes")
    of_run = "FROM wait w JOIN task t ON t.id = w.task_id WHERE t.run_id = %s"
    shop.wait(
        "nobody watches it",
        lambda: shop.query(f"SELECT count(*) {of_run} AND w.triggerer_id IS NOT NULL", run_id) == [(0,)],
    )
    assert shop.query(f"SELECT w.state {of_run}", run_id) == [("ended",)]


def test_three_thousand_waits_move_within_the_lease(shop: Deployed) -> None:
    """S-172, twice: their triggerer is killed, the next one stands still. How fast is told by the database's clock alone: the
    lease had run out, and nothing else was waited for."""
    run_id = launch(shop, "many", "--partitions", "all")
    shop.wait("all are watched", lambda: watched(shop, run_id) == 3000)

    def taken_over_by(name: str) -> None:
        before = watcher(shop, run_id)
        shop.start("triggerer", name=name)
        shop.wait("another one has all of them", lambda: watched(shop, run_id, but_by=before) == 3000)
        assert shop.query("SELECT state FROM triggerer WHERE id = %s", before) == [("gone",)]

    shop.kill("one")
    taken_over_by("two")
    shop.processes["two"].send_signal(signal.SIGSTOP)
    taken_over_by("three")
    sleeper = shop.processes["two"]
    live = "SELECT count(*) FROM triggerer WHERE pid = %s AND state = 'live'"
    assert shop.query(live, sleeper.pid) == [(0,)]
    sleeper.send_signal(signal.SIGCONT)
    shop.wait("it came back under another name", lambda: shop.query(live, sleeper.pid) == [(1,)])
    shop.wait("all are watched still", lambda: watched(shop, run_id) == 3000)
