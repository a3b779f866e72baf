"""How a story has to end: every state is what a naive reading of the rules over the history gives; nothing is left behind."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.simulation.brute_force import brute_end, brute_verdict
from tests.simulation.moves import Broken, History

Tables = dict[str, list[dict[str, Any]]]


def check_end(tables: Tables, history: History) -> None:
    """Raises `Broken`."""
    tasks = {row["id"]: row for row in tables["task"]}
    upstream: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for edge in tables["task_edge"]:
        upstream[edge["downstream_id"]].append(tasks[edge["upstream_id"]])
    for row in tables["task"]:
        _check_task(row, upstream[row["id"]], tables, history)
    for run in tables["run"]:
        states = {row["state"] for row in tasks.values() if row["run_id"] == run["id"]}
        failed = states & {"failed", "upstream_failed"}
        wanted = "failed" if failed else "cancelled" if run["id"] in history.cancelled_runs else "success"
        _holds("every run ends right", run["state"] == wanted, f"run {run['id']} is {run['state']}, not {wanted}")
    for table in ("pool_slot", "open_cell", "run_tally", "event_todo"):
        _holds("nothing is left behind", not tables[table], f"{len(tables[table])} rows in {table}")
    waiting = [row for row in tables["cell_cause"] if row["waits"]]
    _holds("nothing is left behind", not waiting, f"{len(waiting)} causes wait")


def _check_task(row: dict[str, Any], above: list[dict[str, Any]], tables: Tables, history: History) -> None:
    law = "every task ends as its rule and its attempts say"
    cancelled = row["run_id"] in history.cancelled_runs
    ends = [(up["state"], up["kind"] == "step" and up["step"] == row["step"]) for up in above]
    verdict = brute_verdict(row["rule"], ends)
    what = f"task {row['id']} is {row['state']}; rule {row['rule']} over {ends}"
    if row["state"] == "cancelled":
        _holds(law, cancelled, what)
    elif verdict != "run":
        _holds(law, row["state"] == verdict and row["attempt_number"] == 0, what)
    elif row["kind"] == "gate":
        _holds(law, row["state"] == "success", what)
    else:
        cells = [own for own in tables["task_cell"] if own["task_id"] == row["id"]]
        attempts = history.ends[row["id"]]
        wanted = brute_end(row, cells, attempts, cancelled)
        _holds(law, row["state"] in wanted, f"task {row['id']} is {row['state']}, not {wanted}: {attempts}")
        _published(row, cells, tables)


def _published(row: dict[str, Any], cells: list[dict[str, Any]], tables: Tables) -> None:
    told = {
        (event["asset_id"], event["partition"])
        for event in tables["event"]
        if event["task_id"] == row["id"] and event["kind"] == "materialized"
    }
    untold = {(own["asset_id"], own["partition"]) for own in cells if own["state"] == "published"} - told
    _holds("every publication is told", not untold, f"task {row['id']}: {untold}")


def _holds(law: str, holds: bool, detail: str) -> None:
    if not holds:
        raise Broken(law, detail)
