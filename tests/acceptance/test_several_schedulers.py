"""N schedulers, none special (S-029, S-046): one that goes takes nothing with it. Workers of different queues (S-148)."""

from __future__ import annotations

import re
from contextlib import suppress
from urllib.request import urlopen

from .conftest import Deploy

CONFIG = """
[[location]]
name = "plain"
modules = ["plain_assets"]
"""
ASSETS = """
from partita.sdk import Context, Output, asset, defaults

defaults(owner="team:test")

@asset(io=None)
def one(context: Context) -> Output:
    return Output()
"""


def test_a_scheduler_that_stops_leaves_the_code_servers_to_the_others(deploy: Deploy) -> None:
    """It used to strike the servers that it followed off the list, and queued tasks waited for ever."""
    deployment = deploy({"partita.toml": CONFIG, "plain_assets.py": ASSETS})
    for name in ("first", "second"):
        deployment.start("scheduler", name=name)
    deployment.start("code-server", "--location", "plain", name="server")
    deployment.start("worker")
    deployment.wait_serving()
    deployment.stop("first")
    # The second one may have come so late that it only now gets to know the server.
    deployment.wait("it is served", lambda: deployment.query("SELECT state FROM location") == [("serving",)])
    deployment.run("materialize", "one", "--yes")
    deployment.stop("server")
    deployment.wait(
        "a server that goes itself is struck off",
        lambda: deployment.query("SELECT (SELECT count(*) FROM code_server), state FROM location") == [(0, "down")],
    )


def test_one_place_tells_what_every_process_has_done(deploy: Deploy) -> None:
    """S-123: loop time, processor time and how often a duty was held by another.
    S-249: schedulers and workers write their counts beside their sign of life; `/metrics` leaves none out."""
    deployment = deploy({"partita.toml": CONFIG, "plain_assets.py": ASSETS})
    for name in ("first", "second"):
        deployment.start("scheduler", name=name)
    deployment.start("code-server", "--location", "plain")
    deployment.start("worker")
    deployment.start("api")
    deployment.wait_serving()
    deployment.run("materialize", "one", "--yes")

    def told() -> str:
        with suppress(OSError), urlopen(f"{deployment.api}/metrics", timeout=10) as answer:
            return str(answer.read().decode())
        return ""

    def admitted() -> list[int]:
        """By each scheduler."""
        found = r'^partita_duty_rows_total\{process="scheduler-\S+",duty="admit"\} (\d+)$'
        return sorted(int(n) for n in re.findall(found, told(), re.MULTILINE))

    attempt = re.compile(r'^partita_attempts_total\{process="worker-\S+",outcome="success"\} 1$', re.MULTILINE)
    deployment.wait("the worker's attempt is counted", lambda: attempt.search(told()) is not None)
    deployment.wait("one of the two schedulers has admitted it", lambda: admitted() == [0, 1])
    deployment.wait("nothing runs any more", lambda: 'partita_tasks{state="running",lane="interactive"} 0' in told())


_QUEUES = """
@asset(io=None, queue="gpu")
def model(context: Context) -> Output:
    return Output()
"""


def test_tasks_go_to_the_workers_of_their_queue_and_wait_at_nobodys_cost(deploy: Deploy) -> None:
    """S-148, S-246: its last worker is killed, the reason says so, others go on, and the next one that comes runs it."""
    deployment = deploy({"partita.toml": CONFIG + "[worker]\nlease_s = 4\n", "plain_assets.py": ASSETS + _QUEUES})
    deployment.start("scheduler")
    deployment.start("code-server", "--location", "plain")
    deployment.start("worker", name="plain")
    deployment.start("worker", "--queues", "gpu", name="gpu")
    deployment.wait_serving()
    deployment.run("materialize", "one or model", "--yes")
    ran = "SELECT t.step, w.queues FROM attempt a JOIN task t ON t.id = a.task_id JOIN worker w ON w.id = a.worker_id"
    assert deployment.query(f"{ran} ORDER BY a.id") in (
        [("one", ["default"]), ("model", ["gpu"])],
        [("model", ["gpu"]), ("one", ["default"])],
    )

    deployment.kill("gpu")
    alive = "SELECT queues FROM worker WHERE state = 'live' AND lease_expires_at > now()"
    deployment.wait("its lease lapses", lambda: deployment.query(alive) == [(["default"],)])
    told = deployment.run("materialize", "model", "--mode", "all", "--yes", "--no-wait")
    assert "1 task of model needs a worker of queue gpu, and none is alive" in " ".join(told.split())
    waits = "SELECT state, reason, reason_detail ->> 'queue' FROM task WHERE finished_at IS NULL"
    deployment.wait(
        "it says what it lacks and takes no slot",
        lambda: deployment.query(waits) == [("scheduled", "no_worker", "gpu")],
    )
    assert deployment.query("SELECT count(*) FROM pool_slot") == [(0,)]
    assert "start `partita worker --queues gpu`" in " ".join(deployment.run("why", "model").split())
    deployment.run("materialize", "one", "--mode", "all", "--yes")  # others go on, and this one waits for its own end

    deployment.start("worker", "--queues", "gpu,default", name="again")
    deployment.wait("the next one runs it", lambda: deployment.query(waits) == [])
    assert deployment.query(f"{ran} WHERE t.step = 'model' ORDER BY a.id DESC LIMIT 1") == [
        ("model", ["default", "gpu"])
    ]
