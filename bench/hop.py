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
# Of the last run, whose publications the cells still hold: milliseconds from the end of the upstream's attempt (the instant of
# the transaction that published it) to the downstream's claim, and to the entry into its function.
HOPS = """
    WITH link AS (
        SELECT substring(t.step FROM '[0-9]+$')::int AS i, a.started_at, a.finished_at,
               (c.metadata ->> 'entered_at')::float8 AS entered_at
        FROM task t JOIN attempt a ON a.id = t.attempt_id JOIN task_cell tc ON tc.task_id = t.id
        JOIN cell c ON c.asset_id = tc.asset_id AND c.partition = tc.partition AND c.published_attempt = a.id
        WHERE t.run_id = (SELECT max(id) FROM run)
    )
    SELECT extract(epoch FROM d.started_at - u.finished_at) * 1000, (d.entered_at - extract(epoch FROM u.finished_at)) * 1000
    FROM link d JOIN link u ON u.i = d.i - 1
"""
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
        claimed: list[float] = []
        entered: list[float] = []
        for number in range(runs + 1):
            deployment.run("materialize", "*", "--mode", "all", "--yes")
            hops = deployment.query(HOPS)
            assert len(hops) == CHAIN - 1, f"{len(hops)} hops were recorded, {CHAIN - 1} were run"
            if number:  # the first run pays for what is done once
                claimed += [float(hop[0]) for hop in hops]
                entered += [float(hop[1]) for hop in hops]
    bench.below(
        "running_p50", "upstream commit to downstream user code, median", harness.quantile(entered, 0.5), "ms", 100
    )
    bench.plain("running_p95", "the same, 95th percentile", harness.quantile(entered, 0.95), "ms")
    bench.plain("claimed_p50", "upstream commit to downstream claim, median", harness.quantile(claimed, 0.5), "ms")
    bench.print(as_json=options.json)


if __name__ == "__main__":
    main()
