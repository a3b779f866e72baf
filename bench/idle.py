"""What an idle deployment costs: proportional set size and CPU over a minute, with Postgres.

Two forms: `partita dev` (the control process, its code servers, Postgres), and one process per role beside it.
"""

from __future__ import annotations

import time

import harness

MODULE = """
from partita.sdk import Context, Daily, Output, asset, eager

days = Daily("2024-01-01", end="2025-01-01")

@asset(partitions=days, io=None, owner="team:bench")
def up(context: Context) -> Output: ...

@asset(partitions=days, deps=["up"], io=None, automation=eager(), owner="team:bench")
def down(context: Context) -> Output: ...
"""
CONFIG = """
[[location]]
name = "idle"
modules = ["idle"]
"""
ROLES = (("code-server", "--location", "idle"), ("scheduler",), ("worker",), ("api",))


def main() -> None:
    options = harness.options(__doc__ or "")
    seconds = 15 if options.quick else 60
    bench = harness.Bench("idle", {"seconds": seconds, "locations": 1})
    for form, commands in (("", (("dev",),)), ("roles_", ROLES)):
        with (
            harness.project({"partita.toml": CONFIG, "idle.py": MODULE}) as folder,
            harness.deployed(folder, *commands) as deployment,
        ):
            time.sleep(5)  # what a start still does in the background is not idling
            tree = harness.processes_of(deployment)
            everything = [*tree["partita"], *tree["postgres"]]
            before, started = harness.cpu_seconds(everything), time.monotonic()
            time.sleep(seconds)
            share = (harness.cpu_seconds(everything) - before) / (time.monotonic() - started) * 100
            size = harness.pss_bytes(everything) / 1e6
        if form:
            bench.plain("roles_pss", "the same with one process per role", size, "MB")
            bench.plain("roles_cpu", "the same with one process per role", share, "% core")
        else:
            bench.below("pss", "`partita dev` with one location and Postgres", size, "MB", 400)
            bench.below("cpu", "`partita dev` with one location and Postgres", share, "% core", 2)
    bench.print(as_json=options.json)


if __name__ == "__main__":
    main()
