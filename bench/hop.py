"""How long a hop takes on an idle system: from the commit of an upstream's result until the downstream has its slots, and until
its user code runs.

A chain of ten no-op assets is materialized again and again through the deployed path (`partita dev`). Queued is the instant of
the transaction that admitted the downstream, running the one at which its function is entered in its own child process.
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
# the transaction that published it) to the downstream's admission, to its claim, and to the entry into its function.
HOPS = """
    WITH link AS (
        SELECT substring(t.step FROM '[0-9]+$')::int AS i, a.queued_at, a.started_at, a.finished_at,
               (c.metadata ->> 'entered_at')::float8 AS entered_at
        FROM task t JOIN attempt a ON a.id = t.attempt_id JOIN task_cell tc ON tc.task_id = t.id
        JOIN cell c ON c.asset_id = tc.asset_id AND c.partition = tc.partition AND c.published_attempt = a.id
        WHERE t.run_id = (SELECT max(id) FROM run)
    )
    SELECT extract(epoch FROM d.queued_at - u.finished_at) * 1000,
           extract(epoch FROM d.started_at - u.finished_at) * 1000,
           (d.entered_at - extract(epoch FROM u.finished_at)) * 1000
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
        found: list[tuple[float, float, float]] = []
        for number in range(runs + 1):
            deployment.run("materialize", "*", "--mode", "all", "--yes")
            hops = deployment.query(HOPS)
            assert len(hops) == CHAIN - 1, f"{len(hops)} hops were recorded, {CHAIN - 1} were run"
            if number:  # the first run pays for what is done once
                found += [(float(queued), float(claimed), float(entered)) for queued, claimed, entered in hops]
    assert all(0 <= queued <= claimed <= entered for queued, claimed, entered in found), "each hop comes in this order"
    queued, claimed, entered = zip(*found, strict=True)
    bench.below("queued_p50", "upstream commit to downstream queued, median", harness.quantile(queued, 0.5), "ms", 50)
    bench.below(
        "running_p50", "upstream commit to downstream user code, median", harness.quantile(entered, 0.5), "ms", 100
    )
    bench.plain("running_p95", "the same, 95th percentile", harness.quantile(entered, 0.95), "ms")
    bench.plain("claimed_p50", "upstream commit to downstream claim, median", harness.quantile(claimed, 0.5), "ms")
    bench.print(as_json=options.json)


if __name__ == "__main__":
    main()
