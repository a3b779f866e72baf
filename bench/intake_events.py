"""The rows `intake*` of the automation bench: producers outside partita report while schedulers follow, and one is killed.

Every tenth batch is sent twice, as by a producer that got no answer. What the database holds afterwards is compared with what
was sent: each event once, one request per consumer's cell and state.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import harness

from partita.core.runtime.deployed import Deployed

RATE = 1_000  # events a second
BATCH = 100
KEYS = 100
CONFIG = """
[[location]]
name = "fed"
modules = ["fed"]
"""
FED = """
from partita.sdk import Context, Output, Static, asset, defaults, eager, external

defaults(owner="team:bench")
keys = Static(*(f"p{n:03}" for n in range(%d)))

for n in range(%d):
    source = external(f"source_{n:04}", partitions=keys, observe="push")

    @asset(key=f"follows_{n:04}", partitions=keys, deps=[source], io=None, automation=eager())
    def follows(context: Context) -> Output: ...
"""
COMMANDS = (("code-server", "--location", "fed"), ("api",), ("scheduler",))  # the first one keeps Postgres
COUNTS = """
SELECT (SELECT count(*) FROM report), (SELECT count(*) FROM event WHERE kind = 'observed'),
       (SELECT count(DISTINCT (asset_id, partition)) FROM event WHERE kind = 'observed'),
       (SELECT count(*) FROM automation_request), (SELECT count(DISTINCT (asset_id, partition)) FROM automation_request),
       (SELECT count(DISTINCT (asset_id, partition)) FROM task_cell), (SELECT count(*) FROM task_cell)
"""
ASKED = "SELECT count(*) FROM automation_request"


def intake(bench: harness.Bench, seconds: int) -> None:
    """A thousand events a second for so long; a scheduler killed at half time."""
    sources = seconds * RATE // KEYS
    events = sources * KEYS
    files = {"partita.toml": CONFIG, "fed.py": FED % (KEYS, sources)}
    with harness.project(files) as folder, harness.deployed(folder, *COMMANDS) as deployment:
        deployment.start("scheduler", name="the other")
        deployment.wait("the API answers", lambda: ready(deployment))
        send(deployment, batches(sources)[0])  # what a first request loads is not the intake's
        deployment.wait("automation follows", lambda: asked(deployment) == BATCH)
        lateness, took = produce(deployment, batches(sources)[1:], kill=lambda: deployment.kill("scheduler"))
        ended = time.monotonic()
        deployment.wait("all are asked for", lambda: asked(deployment) == events, timeout_s=600)
        behind = time.monotonic() - ended
        [counts] = deployment.query(COUNTS)
    assert set(counts) == {events}, f"{events} events were sent; there are {counts}"
    what = "through the intake, in batches of 100, a tenth of them twice; a scheduler killed halfway; none lost, none doubled"
    bench.at_least("intake", f"events a second {what}", (events - BATCH) / took, "events/s", 0.99 * RATE)
    bench.plain(
        "intake_answer_p99", "a batch's answer after it was due, p99", harness.quantile(lateness, 0.99) * 1000, "ms"
    )
    bench.plain("intake_behind", "from the last answer until every consumer is asked for", behind, "s")


def produce(
    deployment: Deployed, work: list[list[dict[str, Any]]], *, kill: Callable[[], object]
) -> tuple[list[float], float]:
    """Sends each batch when it is due; how late each was answered, and how long all of it took."""
    started = time.monotonic()
    every = BATCH / RATE

    def one(at: int) -> float:
        due = started + at * every
        time.sleep(max(due - time.monotonic(), 0))
        send(deployment, work[at])
        answered = time.monotonic()
        if at % 10 == 0:
            send(deployment, work[at])
        return answered - due

    with ThreadPoolExecutor(4) as producers:
        answers = [producers.submit(one, at) for at in range(len(work))]
        answers[len(work) // 2].result()
        kill()
        lateness = [answer.result() for answer in answers]
    return lateness, max(time.monotonic() - started, len(work) * every)


def batches(sources: int) -> list[list[dict[str, Any]]]:
    """Source after source, partition after partition: no consumer is asked for many partitions at once."""
    found = list(_events(sources))
    return [found[start : start + BATCH] for start in range(0, len(found), BATCH)]


def _events(sources: int) -> Iterator[dict[str, Any]]:
    for key in range(KEYS):
        for source in range(sources):
            said = {"asset": f"source_{source:04}", "partition": f"p{key:03}", "data_version": f"v{source}.{key}"}
            yield {**said, "key": f"{source}/{key}", "metadata": {"rows": key}}


def send(deployment: Deployed, events: list[dict[str, Any]]) -> None:
    request = urllib.request.Request(
        f"{deployment.api}/api/events",
        data=json.dumps({"scope": "bench", "events": events}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        taken = json.load(reply)["events"]
    assert [one["outcome"] for one in taken] == ["observed"] * len(events), taken[:3]


def ready(deployment: Deployed) -> bool:
    with urllib.request.urlopen(f"{deployment.api}/healthz", timeout=5) as reply:
        return bool(json.load(reply)["ok"])


def asked(deployment: Deployed) -> int:
    [(n,)] = deployment.query(ASKED)
    return int(n)
