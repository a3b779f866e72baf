"""How long a hop takes: from the commit of an upstream's result to the start of the downstream's user code, on an idle system.

A chain of ten no-op assets is materialized again and again through the deployed path (`partita dev`); the start is the instant at
which the downstream's function is entered in its own child process.
"""

from __future__ import annotations

import harness

CHAIN = 10
MODULE = (
    f"CHAIN = {CHAIN}"
     """
import time
from partita.sdk import Context, Output, asset

def link(i: int) -> None:
    deps = [f"link_{i - 1}"] if i else []

    @asset(key=f"link_{i}", deps=deps, io=None, owner="team:bench")
    def step(context: Context) -> Output:
        return Output(metadata={"entered_at": time.time()})

for i in range(CHAIN):
    link(i)
"""
)
CONFIG = """
[[location]]
name = "chain"
modules = ["chain"]
"""


def main() -> None:
    options = harness.options(__doc__ or "")
    runs = 5 if options.quick else 30
    bench = harness.Bench("hop", {"assets": CHAIN, "runs": runs})
    with (
        harness.project({"partita.toml": CONFIG, "chain.py": MODULE}) as folder,
        harness.deployed(folder, ("dev",)) as deployment,
    ):
        for _ in range(runs + 1):
            deployment.run("materialize", "*", "--mode", "all", "--yes")
        # The metadata of a cell is that of its last publication, so entries are read run by run from the events.
        rows = deployment.query(
            """
            WITH ended AS (
                SELECT a.run_id, t.step, a.started_at, a.finished_at, e.body
                FROM attempt a JOIN task t ON t.id = a.task_id
                JOIN event e ON e.task_id = a.task_id AND e.kind = 'materialized'
                WHERE a.outcome = 'success'
            )
            SELECT d.step, extract(epoch FROM d.started_at - u.finished_at) * 1000,
                   ((d.body -> 'metadata' ->> 'entered_at')::float8 - extract(epoch FROM u.finished_at)) * 1000
            FROM ended d JOIN ended u ON u.run_id = d.run_id
             AND substring(u.step FROM '[0-9]+$')::int = substring(d.step FROM '[0-9]+$')::int - 1
            WHERE d.run_id > (SELECT min(id) FROM run)
            """
        )
        assert len(rows) == runs * (CHAIN - 1), f"{len(rows)} hops were recorded, {runs * (CHAIN - 1)} were run"
    claimed = [float(row[1]) for row in rows]
    entered = [float(row[2]) for row in rows]
    bench.below(
        "running_p50", "upstream commit to downstream user code, median", harness.quantile(entered, 0.5), "ms", 100
    )
    bench.plain("running_p95", "the same, 95th percentile", harness.quantile(entered, 0.95), "ms")
    bench.plain("claimed_p50", "upstream commit to downstream claim, median", harness.quantile(claimed, 0.5), "ms")
    bench.print(as_json=options.json)


if __name__ == "__main__":
    main()
