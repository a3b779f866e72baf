"""A thousand no-op one-partition tasks through the deployed path: scheduler, worker, gRPC, a forked child each, publication.

Reports tasks a second from the launch to the last publication, the CPU seconds of all partita processes (Postgres apart) per
task, and the peak of the proportional set size while it runs. Then a hundred thousand cells are launched and cancelled
(`bulk.py`).
"""

from __future__ import annotations

import threading

import bulk
import harness

from partita.core.runtime.deployed import Deployed

MODULE = """
from partita.sdk import Context, Output, Static, asset

keys = Static(*(f"p{i:04}" for i in range(%d)))

@asset(partitions=keys, io=None, owner="team:bench")
def noop(context: Context) -> Output:
    return Output(data_version="1")
"""
CONFIG = """
[[location]]
name = "noop"
modules = ["noop"]
"""


def main() -> None:
    options = harness.options(__doc__ or "")
    tasks = 200 if options.quick else 1000
    bench = harness.Bench("backfill", {"tasks": tasks})
    files = {"partita.toml": CONFIG, "noop.py": MODULE % tasks}
    with harness.project(files) as folder, harness.deployed(folder, ("dev",)) as deployment:
        tree = harness.processes_of(deployment)
        before = harness.cpu_seconds(tree["partita"])
        peak = _Peak(deployment)
        peak.start()
        deployment.run("backfill", "create", "*", "--yes")
        peak.stop()
        used = harness.cpu_seconds(tree["partita"]) - before
        [(published, versions)] = deployment.query(
            "SELECT count(*), count(DISTINCT partition) FROM cell WHERE data_version = '1' AND last_outcome = 'published'"
        )
        assert (published, versions) == (tasks, tasks), f"{published} of {tasks} cells are published"
        [(attempts, seconds)] = deployment.query(
            "SELECT count(*), extract(epoch FROM max(a.finished_at) - min(r.created_at))"
            " FROM attempt a JOIN run r ON r.id = a.run_id"
        )
        assert attempts == tasks, f"{attempts} attempts for {tasks} tasks"
    bench.at_least("forked", "tasks a second from launch to last publication", tasks / float(seconds), "tasks/s", 80)
    bench.below(
        "cpu", "CPU of all partita processes per task, user code and Postgres apart", used / tasks * 1000, "ms", 15
    )
    bench.plain("pss", "peak proportional set size with Postgres", peak.bytes / 1e6, "MB")
    bulk.measure(bench, cells=10_000 if options.quick else 100_000)
    bench.print(as_json=options.json)


class _Peak(threading.Thread):
    """Samples the proportional set size of the whole deployment four times a second."""

    def __init__(self, deployment: Deployed) -> None:
        super().__init__(daemon=True)
        self.bytes = 0
        self._deployment = deployment
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.wait(0.25):
            tree = harness.processes_of(self._deployment)
            self.bytes = max(self.bytes, harness.pss_bytes([*tree["partita"], *tree["postgres"]]))

    def stop(self) -> None:
        self._done.set()
        self.join()


if __name__ == "__main__":
    main()
