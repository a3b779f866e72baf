"""How fast the model and the planner think, at three sizes with the growth exponent.

In one process without a database, apart from the plans of a cold process and the publications: those have a Postgres of their
own. A figure is the best of several calls (with --quick of one), warm unless it says cold; the answers are checked before they
are printed. A growth of 0 means that size costs nothing, 1 that it costs in proportion.
"""

from __future__ import annotations

from importlib.util import find_spec

import harness
from planner_rows.cold import plan_cold
from planner_rows.model import map_dims, map_time, windows
from planner_rows.publish import publish_pages
from planner_rows.snapshot import snapshot
from planner_rows.think import one_change, plan_missing, plan_stale

ROWS = (windows, map_time, map_dims, plan_missing, plan_stale, one_change, snapshot)
ON_POSTGRES = (plan_cold, publish_pages)


def main() -> None:
    options = harness.options(__doc__ or "")
    bench = harness.Bench("planner", {"processes": 1, "repeats": 1 if options.quick else 25, "peer": peer()})
    for row in ROWS:
        row(bench)
    for measured in ON_POSTGRES:
        measured(bench, quick=options.quick)
    bench.print(as_json=options.json)


def peer() -> str:
    """Whether there is something to compare with in this environment."""
    return "dagster is installed: not compared here" if find_spec("dagster") else "dagster is not installed"


if __name__ == "__main__":
    main()
