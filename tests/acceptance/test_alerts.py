"""Three schedulers as processes, one killed while partitions fail: every cause is told once (S-202, DESIGN laws 2 and 3)."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from .conftest import Deploy

PARTITIONS = [f"p{n}" for n in range(10)]  # a message lists ten by name
CONFIG = """
[[location]]
name = "plain"
modules = ["plain_assets"]

[pools]
narrow = 1

[[alert]]
name = "all"
on = ["retries_exhausted"]
wait = "200ms"
every = 0
recovery = true

[owners."team:test"]
to = ["$HOOK"]
"""
ASSETS = f"""
from pathlib import Path

from partita.sdk import Context, Output, Static, asset, defaults

defaults(owner="team:test")

@asset(partitions=Static(*{PARTITIONS}), pool="narrow", io=None, code_version="1")
def one(context: Context) -> Output:
    if not Path("mended").exists():
        raise ValueError("no such table")
    return Output()
"""


class Hook:
    """What was posted, and how many posts are open."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.idle = threading.Lock()
        self.port = 0

    def named(self, kind: str) -> Counter[str]:
        """How often each partition was told of, in messages of one kind."""
        texts = [one["message"] for one in self.bodies if one["type"] == kind]
        return Counter(found for text in texts for found in re.findall(r"one (p\d) failed", text))


@pytest.fixture
def hook() -> Iterator[Hook]:
    found = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            with found.idle:
                found.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_with_a_scheduler_killed_no_cause_is_lost_and_none_told_twice(deploy: Deploy, hook: Hook) -> None:
    address = f"json://127.0.0.1:{hook.port}/s3cret"
    deployment = deploy({"partita.toml": CONFIG, "plain_assets.py": ASSETS}, env={"HOOK": address})
    for name in ("first", "second", "third"):
        deployment.start("scheduler", name=name)
    deployment.start("code-server", "--location", "plain", name="server")
    deployment.start("worker")
    deployment.wait_serving()
    deployment.run("materialize", "one", "--yes", "--detach")
    deployment.wait("some are told", lambda: len(hook.named("failure")) >= 2)
    with (
        hook.idle
    ):  # a kill between a post and its commit may send that message again: that is what at-least-once allows
        deployment.kill("first")

    deployment.wait("all are told", lambda: len(hook.named("failure")) == len(PARTITIONS))
    pending = "SELECT count(*) FROM notice WHERE state = 'pending'"
    deployment.wait("nothing waits to be sent", lambda: deployment.query(pending) == [(0,)])
    told = "SELECT count(*), count(DISTINCT cause) FROM alert"
    assert deployment.query(told) == [(len(PARTITIONS), len(PARTITIONS))]
    signals = "SELECT count(*) FROM alert_signal"
    deployment.wait("no signal is left", lambda: deployment.query(signals) == [(0,)])
    twice = {name for name, n in hook.named("failure").items() if n > 1}
    sent_again = deployment.query("SELECT count(*) FROM notice WHERE tries > 1")[0][0]
    assert not twice or sent_again == 1, twice

    (deployment.folder / "mended").touch()
    deployment.run("materialize", "one", "--mode", "failed", "--yes")
    deployment.wait("all are over", lambda: len(hook.named("success")) == len(PARTITIONS))
    assert deployment.query("SELECT count(*) FROM alert WHERE ended_at IS NULL") == [(0,)]
    listed = deployment.run("alerts", "list", "--state", "ended")
    assert "no such table" in str(listed)
    for log in deployment.folder.rglob("*.log"):
        assert "s3cret" not in log.read_text(errors="replace"), log
