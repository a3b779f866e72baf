"""The triggers that ship, over real processes and against real servers: a Postgres that goes away meanwhile, a site that answers
with errors first, an object store, a job elsewhere. What they bring is handed to the step; deadlines count over retries (S-020,
S-050, S-167, S-173).
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from moto.server import ThreadedMotoServer
from tests.acceptance.conftest import Deploy
from tests.integration.sdk.site import Site, says

from partita.core.embedded import EmbeddedPostgres
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
import json
from datetime import timedelta
from pathlib import Path
from partita.sdk import Context, Output, Resource, RetryPolicy, Static, Trigger, asset
from partita.sdk.triggers import After, FileExists, Http, JobDone, SqlRow

FOLDER = Path({folder!r})


def keep(name: str, context: Context, payload: object) -> Output:
    (FOLDER / name).write_text(json.dumps([payload, context.attempt]))
    return Output(data_version="1")


class Warehouse(Resource):
    dsn: str


@asset(io=None, partitions=Static("eur"),
       wait_for=Http("{site}/rates/{{partition}}", where={{"final": True}}).within("1h", poll="0.1s"))
def rates(context: Context) -> Output:
    return keep("rates", context, context.events[0].payload)


@asset(io=None)
async def loaded(context: Context) -> Output:
    row = await context.defer(SqlRow("SELECT rows FROM loads WHERE done", "assets:Warehouse"), deadline="1h", poll="0.1s")
    return keep("loaded", context, row)


@asset(io=None, wait_for=[
    FileExists("s3://landing/*.csv?endpoint_override={store}&scheme=http&region=us-east-1").within("1h", poll="0.1s"),
    After("0.1s").within("1h"),
])
def landed(context: Context) -> Output:
    return keep("landed", context, [event.payload for event in context.events][0])


def finished(job: str) -> dict[str, str] | None:
    state = (FOLDER / job).read_text()
    if state == "failed":
        raise RuntimeError(f"{{job}} failed")
    return {{"path": f"/out/{{job}}"}} if state == "done" else None


@asset(io=None, retries=RetryPolicy(1, delay="0.1s"))
def report(context: Context) -> Output:
    job = f"job-{{context.attempt}}"
    (FOLDER / job).write_text("running")
    if context.deferred:
        job = context.deferred[0].trigger.args["job"]
    return keep("report", context, context.defer(JobDone("assets:finished", {{"job": job}}), deadline="1h", poll="0.1s"))


class Flaky(Trigger):
    async def check(self) -> bool:
        raise ConnectionError("no such luck")


@asset(io=None, wait_for=Flaky().within("15s"), retries=RetryPolicy(1000, delay="0.2s"))
def hopeless() -> Output:
    return Output()


@asset(io=None, wait_for=FileExists(str(FOLDER / "never")).within("1h", poll="0.1s"))
def abandoned(context: Context) -> Output:
    return keep("abandoned", context, context.events[0].payload)
"""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def warehouse(shared_scratch: Path) -> Iterator[EmbeddedPostgres]:
    """A Postgres that is none of partita's."""
    server = EmbeddedPostgres(shared_scratch / "warehouse")
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def shop(deploy_shared: Deploy, shared_scratch: Path, site: Site, store: str, warehouse: EmbeddedPostgres) -> Deployed:
    """For all tests: each waits for steps of its own. The last one looks at what is launched here, whose time is up by then:
    long enough for it to fail more than once on a machine that is slow."""
    folder = shared_scratch / "out"
    folder.mkdir()
    credentials = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
    deployment = deploy_shared(
        {"partita.toml": TOML, "assets.py": ASSETS.format(folder=str(folder), site=site.url, store=store)},
        env={"WAREHOUSE_DSN": warehouse.url, **credentials},
    )
    deployment.start("dev", "--no-reload")
    deployment.wait_serving()
    launch(deployment, "hopeless")
    return deployment


def launch(shop: Deployed, step: str, *arguments: str) -> None:
    shop.run("materialize", step, *arguments, "--yes", "--no-wait")


def state(shop: Deployed, step: str) -> str | None:
    found = shop.query("SELECT state FROM task WHERE step = %s ORDER BY id DESC LIMIT 1", step)
    return str(found[0][0]) if found else None


def kept(shop: Deployed, shared_scratch: Path, step: str) -> Any:
    """What the step was handed, and in which attempt, once it has run."""
    shop.wait(f"{step} has ended", lambda: state(shop, step) in ("success", "failed"))
    assert shop.query("SELECT DISTINCT error FROM task WHERE step = %s AND state = 'failed'", step) == []
    return json.loads((shared_scratch / "out" / step).read_text())


def test_a_url_that_answers_with_errors_first(shop: Deployed, shared_scratch: Path, site: Site) -> None:
    final = {"final": True, "eur": 1.08}
    site.answers["/rates/eur"] = [says(503, {"final": True})]
    launch(shop, "rates", "--partitions", "all")
    shop.wait("it is asked", lambda: len(site.asked) > 2)
    site.answers["/rates/eur"] = [says(200, {"final": False})]
    asked = len(site.asked)
    shop.wait("it is asked again", lambda: len(site.asked) > asked + 1)
    assert state(shop, "rates") == "deferred"
    site.answers["/rates/eur"] = [says(200, final)]
    assert kept(shop, shared_scratch, "rates") == [final, 1]


def test_a_row_in_a_database_that_goes_away_meanwhile(
    shop: Deployed, shared_scratch: Path, warehouse: EmbeddedPostgres
) -> None:
    with psycopg.connect(warehouse.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE loads (rows bigint, done boolean)")
        connection.execute("INSERT INTO loads VALUES (7, false)")
    launch(shop, "loaded")
    watched = (
        "SELECT count(*) FROM wait w JOIN task t ON t.id = w.task_id WHERE t.step = 'loaded' AND w.triggerer_id <> ''"
    )
    shop.wait("it is watched", lambda: shop.query(watched) == [(1,)])
    warehouse.stop()
    warehouse.start()
    assert state(shop, "loaded") == "deferred"
    with psycopg.connect(warehouse.url, autocommit=True) as connection:
        connection.execute("UPDATE loads SET done = true")
    assert kept(shop, shared_scratch, "loaded") == [[7], 1]


def test_an_object_of_a_store_and_a_while_both_must_come(shop: Deployed, shared_scratch: Path, store: str) -> None:
    launch(shop, "landed")
    passed = "SELECT count(*) FROM wait WHERE label = '0.1s to pass' AND state = 'fired'"
    shop.wait("the while has passed", lambda: shop.query(passed) == [(1,)])
    assert state(shop, "landed") == "deferred"
    for path, body in (("landing", None), ("landing/orders.csv", b"1")):
        urllib.request.urlopen(urllib.request.Request(f"http://{store}/{path}", data=body, method="PUT")).close()
    assert kept(shop, shared_scratch, "landed") == [["s3://landing/orders.csv"], 1]


def test_a_job_elsewhere_that_fails_is_begun_again_by_the_retry(shop: Deployed, shared_scratch: Path) -> None:
    out = shared_scratch / "out"
    launch(shop, "report")
    shop.wait("the first job runs", lambda: state(shop, "report") == "deferred")
    (out / "job-1").write_text("failed")
    shop.wait("the second job runs", lambda: (out / "job-2").exists() and state(shop, "report") == "deferred")
    (out / "job-2").write_text("done")
    assert kept(shop, shared_scratch, "report") == [{"path": "/out/job-2"}, 2]


def test_the_deadline_of_one_that_always_breaks_counts_over_its_retries(shop: Deployed) -> None:
    """S-173: a thousand retries are left, and the time is up."""
    shop.wait("it has failed", lambda: state(shop, "hopeless") == "failed")
    ((error, failures, stints),) = shop.query(
        "SELECT t.error, t.user_failures, w.stint FROM task t JOIN wait w ON w.task_id = t.id WHERE t.step = 'hopeless'"
    )
    assert "it waited 15 s since" in error
    assert "its deadline has passed" in error
    assert 1 <= failures < 1000
    assert stints == failures + 1


def test_a_run_that_is_cancelled_and_asked_for_again_waits_anew(shop: Deployed, shared_scratch: Path) -> None:
    of_step = "JOIN task t ON t.id = w.task_id WHERE t.step = 'abandoned' ORDER BY t.id"
    waits = f"SELECT w.state, w.triggerer_id IS NULL FROM wait w {of_step}"
    launch(shop, "abandoned")
    shop.wait("it is watched", lambda: shop.query(waits) == [("open", False)])
    [(run_id, task)] = shop.query("SELECT run_id, id FROM task WHERE step = 'abandoned'")
    shop.run("runs", "cancel", str(run_id), "--yes")
    shop.run("tasks", "rerun", str(task), "--yes", "--no-wait")
    shop.wait("only the new one is watched", lambda: shop.query(waits) == [("ended", True), ("open", False)])
    (shared_scratch / "out" / "never").touch()
    assert kept(shop, shared_scratch, "abandoned") == [[str(shared_scratch / "out" / "never")], 1]
    assert shop.query("SELECT count(*) FROM attempt a JOIN task t ON t.id = a.task_id WHERE t.step = 'abandoned'") == [
        (1,)
    ]
