"""N schedulers, none special (S-029, S-046): one that goes takes nothing with it."""

from __future__ import annotations

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
    assert deployment.query("SELECT state FROM location") == [("serving",)]
    deployment.run("materialize", "one", "--yes")
    deployment.stop("server")
    deployment.wait(
        "a server that goes itself is struck off",
        lambda: deployment.query("SELECT (SELECT count(*) FROM code_server), state FROM location") == [(0, "down")],
    )
