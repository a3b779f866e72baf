"""What waiting costs: ten thousand deferred tasks watched by one triggerer, and how soon others have them when it is killed.

The shipped commands over the default configuration; the quick form has fewer waits, that look as often in all, and a shorter
lease. Processor time and memory are those of the triggerer and of the code-location server, whose host process runs the triggers.
The window is longer than a poll with its jitter; the files of every hundredth wait come while it runs, so that a wait that nobody
looks at would be noticed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import harness
import psutil

from partita.core.runtime.deployed import Deployed

SETTLE_S = 5.0
EVERY = 100
"""One in so many waits is met."""

CONFIG = """
[[location]]
name = "waits"
modules = ["waits"]
"""
LEASE = """
[triggerer]
lease_s = %g
"""
MODULE = """
from partita.sdk import Context, Output, Static, asset
from partita.sdk.triggers import FileExists

keys = Static(*(f"p{n:05}" for n in range(%d)))

@asset(partitions=keys, io=None, owner="team:bench", wait_for=FileExists(%r + "/{partition}").within("1d", poll=%r))
def waits(context: Context) -> Output:
    return Output(data_version="1")
"""
OPEN_BY = """
SELECT t.host || '-' || t.pid, count(*) FROM wait w JOIN triggerer t ON t.id = w.triggerer_id
WHERE w.state = 'open' GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Form:
    """How many wait, how often each looks, and the lease of whoever watches them; seconds."""

    waits: int
    poll_s: float
    lease_s: float

    @property
    def window_s(self) -> float:
        """A poll that was stretched by its tenth, and a little."""
        return self.poll_s * 1.1 + SETTLE_S


def main() -> None:
    options = harness.options(__doc__ or "")
    form = Form(1_000, 30.0, 10.0) if options.quick else Form(10_000, 300.0, 30.0)
    bench = harness.Bench("triggers", {"waits": form.waits, "poll_s": form.poll_s, "lease_s": form.lease_s})
    waiting(bench, form)
    bench.print(as_json=options.json)


def waiting(bench: harness.Bench, form: Form) -> None:
    config = CONFIG + (LEASE % form.lease_s if bench.workload["lease_s"] != 30.0 else "")
    with harness.project({"partita.toml": config}) as folder:
        incoming = folder / "in"
        incoming.mkdir()
        (folder / "waits.py").write_text(MODULE % (form.waits, str(incoming), f"{form.poll_s:g}s"))
        commands = (("code-server", "--location", "waits"), ("scheduler",), ("triggerer",))
        with harness.deployed(folder, *commands) as deployment:
            # `wait_for=`, so that no ten thousand attempts come first: a wait of `context.defer` is the same row.
            deployment.run("materialize", "waits", "--partitions", "all", "--yes", "--no-wait")
            first = deployment.processes["triggerer"].pid
            deployment.wait("all are watched", lambda: watched_by(deployment, first) == form.waits)
            share, size = window(deployment, form, incoming)
            left = form.waits - form.waits // EVERY
            assert watched_by(deployment, first) == left, "a wait was lost, or fired for nothing"
            moved = killed(deployment, left)
    what = f"{form.waits:,} deferred waits in one triggerer, each looked at every {form.poll_s:g} s"
    bench.below("waits_10000", f"{what}: it and the process that runs the triggers", share, "% core", 10)
    bench.below("waits_10000_pss", "the same: memory", size, "MB", 400)
    bench.below("waits_10000_moved", "it is killed: until others watch all of them", moved, "s", form.lease_s)


def watchers(deployment: Deployed) -> list[psutil.Process]:
    """The triggerer and the code-location server with its children, of which one runs the triggers."""
    roots = [psutil.Process(deployment.processes[name].pid) for name in ("triggerer", "code-server")]
    postgres = {one.pid for one in harness.processes_of(deployment)["postgres"]}
    found = [one for root in roots for one in (root, *root.children(recursive=True))]
    return [one for one in found if one.pid not in postgres]


def window(deployment: Deployed, form: Form, incoming: Path) -> tuple[float, float]:
    """The share of a core in percent and the memory in MB over a poll of all; what came meanwhile has been noticed."""
    time.sleep(SETTLE_S)  # the process that runs the triggers begins after they are taken, with a look at all of them
    theirs = watchers(deployment)
    before, started = harness.cpu_seconds(theirs), time.monotonic()
    for n in range(0, form.waits, EVERY):
        (incoming / f"p{n:05}").touch()
    time.sleep(form.window_s)
    share = (harness.cpu_seconds(theirs) - before) / (time.monotonic() - started) * 100
    size = harness.pss_bytes(theirs) / 1e6
    fired = deployment.query("SELECT count(*) FROM wait WHERE state = 'fired'")
    assert fired == [(form.waits // EVERY,)], f"{fired[0][0]} waits fired, {form.waits // EVERY} files came"
    return share, size


def killed(deployment: Deployed, waits: int) -> float:
    """Seconds from the end of the triggerer until another one that stood by watches all of its waits."""
    other = deployment.start("triggerer", name="the other").pid
    live = "SELECT count(*) FROM triggerer WHERE state = 'live' AND lease_expires_at > now()"
    deployment.wait("another one stands by", lambda: deployment.query(live) == [(2,)])
    deployment.kill("triggerer")
    began = time.monotonic()
    deployment.wait("it watches all of them", lambda: watched_by(deployment, other) == waits)
    return time.monotonic() - began


def watched_by(deployment: Deployed, pid: int) -> int:
    """How many open waits the triggerer of this process watches."""
    counts = {name.rpartition("-")[2]: count for name, count in deployment.query(OPEN_BY)}
    return int(counts.get(str(pid), 0))


if __name__ == "__main__":
    main()
