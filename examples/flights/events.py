"""The event-driven part of the demo: a file that comes late, who waits for it, who follows, and who hears of it.

    1. `desk/board` is asked for; its file is not there: it waits, and holds no slot
    2. the promise about it is broken: an alert goes to a webhook, once
    3. the file comes: the board is made, the briefing follows, and the webhook hears that it is over

All of it is asserted; `show` returns what was not as it should be.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from partita.core.runtime.deployed import Deployed, DeployedError
from partita.sdk import Relation
from partita.sdk.io.lake import read_relation

BOARD, BRIEFING = "desk/board", "desk/briefing"
SHORT, USUAL = "10s", "1d"
PORT = 4041  # of the webhook, as partita.toml says
WITHIN_S = 90.0


@dataclass
class Hook:
    """A webhook of our own: the messages that came, and when."""

    messages: list[tuple[float, dict[str, Any]]] = field(default_factory=list)

    def first(self, beginning: str) -> tuple[float, str] | None:
        found = ((at, str(one["title"])) for at, one in self.messages)
        return next((one for one in found if one[1].startswith(beginning)), None)


@contextmanager
def listening() -> Iterator[Hook]:
    """A webhook on this machine."""
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            hook.messages.append((time.time(), json.loads(body)))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Nothing on the screen."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    except OSError as busy:
        raise SystemExit(f"port {PORT}, where the alerts of the example go, is taken: {busy}") from None
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Story:
    """What was seen, in order, and what of it is wrong."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def saw(self, what: str, text: str, *, right: bool = True) -> None:
        self.lines.append((what, text))
        if not right:
            self.wrong.append(f"{what}: {text}")


def show(deployment: Deployed, console: Console, hook: Hook, inbox: Path, days: list[str]) -> list[str]:
    """Plays it and prints it. `days` are published locations of `delays`: what the desk will say is made from them."""
    story = Story()
    inbox.mkdir(parents=True, exist_ok=True)
    (inbox / "board.csv").unlink(missing_ok=True)
    hook.messages.clear()
    began = datetime.now(UTC).isoformat()
    promise(deployment, inbox, SHORT)
    asked = json.loads(deployment.run("materialize", BOARD, "--mode", "all", "--yes", "--detach", "--json"))
    run = int(asked["run"]["id"] if "run" in asked else asked["id"])
    with console.status(f"{BOARD} waits for its file, and its promise is broken"):
        deployment.wait("it waits for its file", lambda: state_of(deployment, run) == "deferred", timeout_s=WITHIN_S)
        slots = deployment.query(
            "SELECT count(*) FROM pool_slot s JOIN task t ON t.id = s.task_id WHERE t.run_id = %s", run
        )
        story.saw("waits for its file", f"{slots[0][0]} slots held", right=slots == [(0,)])
        deployment.wait("the alert is sent", lambda: hook.first("[warning]") is not None, timeout_s=WITHIN_S)
    late_at, title = hook.first("[warning]") or (0.0, "")
    story.saw("the webhook hears", title, right=f"{BOARD} is late" in title)
    expected = write_file(inbox / "board.csv", days)
    written = time.time()
    with console.status("the file is there"):
        deployment.wait("the briefing follows", lambda: briefing_of(deployment) == expected, timeout_s=WITHIN_S)
        took_s = time.time() - written
        story.saw("the file came, the board was made, the briefing followed", f"within {took_s:.1f} s")
        promise(deployment, inbox, USUAL)
        deployment.wait("the alert is over", lambda: hook.first("[over]") is not None, timeout_s=WITHIN_S)
    story.saw("the briefing says", ", ".join(f"{value:,} {name}" for name, value in expected.items()))
    over_at, title = hook.first("[over]") or (0.0, "")
    story.saw("the webhook hears", title, right=f"{BOARD} is late" in title and over_at > late_at)
    several = {str(one["title"]) for _, one in hook.messages}
    story.saw("messages in all", str(len(several)), right=len(several) == 2)
    page = json.loads(deployment.run("freshness", BOARD, "--json"))
    miss = next(one for one in reversed(page["misses"]) if one["from_at"] >= began)
    story.saw("what consumed the time", miss["text"], right="outside" in miss["spent"] and miss["until_at"] is not None)
    state = page["policies"][0]["state"]
    story.saw("the promise is kept again", page["policies"][0]["policy"], right=state == "fresh")
    console.print(table(story))
    return story.wrong


def promise(deployment: Deployed, inbox: Path, lag: str) -> None:
    """Another promise about the board: another version of the location."""
    (inbox / "promise.txt").write_text(lag)
    # A server of an earlier demo is known until its lease is over, and cannot load anything.
    deployment.wait("the desk loads again", lambda: reloaded(deployment), timeout_s=WITHIN_S)
    policy = {SHORT: "at most 10 s", USUAL: "at most 24 h"}[lag]
    deployment.wait(
        f"the desk promises {lag}",
        lambda: json.loads(deployment.run("freshness", BOARD, "--json"))["policies"][0]["policy"].startswith(policy),
        timeout_s=WITHIN_S,
    )


def reloaded(deployment: Deployed) -> bool:
    try:
        deployment.run("locations", "reload", "desk", "--yes", ok=(0, 1))
    except DeployedError:
        return False
    return True


def state_of(deployment: Deployed, run: int) -> str:
    return str(deployment.query("SELECT state FROM task WHERE run_id = %s", run)[0][0])


def write_file(file: Path, days: list[str]) -> dict[str, int]:
    """What the desk sends, whole at once; returns what the briefing has to say of it."""
    rows = read_relation(days).sql(
        "select origin, count(*) as flights, count(*) filter (cancelled) as cancelled from self group by 1"
    )
    found = sorted(rows.fetchall())
    lines = ["origin,flights,cancelled", *(f"{origin},{flights},{cancelled}" for origin, flights, cancelled in found)]
    draft = file.with_suffix(".part")
    draft.write_text("\n".join(lines) + "\n")
    draft.rename(file)
    return {
        "flights": sum(int(one[1]) for one in found),
        "cancelled": sum(int(one[2]) for one in found),
        "airports": len(found),
    }


def briefing_of(deployment: Deployed) -> dict[str, int] | None:
    answer = json.loads(deployment.run("partitions", BRIEFING, "--json"))
    located = [cell["location"] for cell in answer["items"] if cell["location"]]
    if not located:
        return None
    made: Relation = read_relation(located)
    flights, cancelled, airports = made.sql("select flights, cancelled, airports from self").fetchall()[0]
    return {"flights": flights, "cancelled": cancelled, "airports": airports}


def table(story: Story) -> Table:
    rows = Table(show_header=False, box=None, padding=(0, 2))
    rows.add_column(style="bold")
    rows.add_column()
    for what, text in story.lines:
        rows.add_row(what, escape(text))  # "[over] ..." is not mark-up
    return rows
