"""N schedulers, none special (S-029, S-046): one that goes takes nothing with it."""

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
    """S-249: schedulers and workers write their counts beside their sign of life; `/metrics` leaves none out."""
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
