"""How a story has to end: every state is what a naive reading of the rules over the history gives; nothing is left behind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from tests.simulation.brute_force import brute_end, brute_verdict
from tests.simulation.moves_of_alerts import over_and_open
from tests.simulation.seen import History
from tests.simulation.watching import Broken

_LONG_WAIT = timedelta(minutes=10)  # between two tries of a notice whose other side was away for hours
_SEEN_WITHIN_S = 5  # what time alone makes due is looked for every second
Tables = Mapping[str, Sequence[dict[str, Any]]]


def check_end(tables: Tables, history: History, now: datetime) -> None:
    """Raises `Broken`."""
    tasks = {row["id"]: row for row in tables["task"]}
    upstream: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for edge in tables["task_edge"]:
        upstream[edge["downstream_id"]].append(tasks[edge["upstream_id"]])
    for row in tables["task"]:
        _check_task(row, upstream[row["id"]], tables, history)
    for run in tables["run"]:
        states = {row["state"] for row in tasks.values() if row["run_id"] == run["id"]}
        failed = states & {"failed", "upstream_failed", "removed"} or run["timed_out_at"] is not None
        wanted = "failed" if failed else "cancelled" if run["id"] in history.cancelled_runs else "success"
        _holds("every run ends right", run["state"] == wanted, f"run {run['id']} is {run['state']}, not {wanted}")
    for table in ("pool_slot", "open_cell", "run_tally", "event_todo", "alert_signal", "pause"):
        _holds("nothing is left behind", not tables[table], f"{len(tables[table])} rows in {table}")
    while_ago = now - timedelta(seconds=_SEEN_WITHIN_S)
    unjudged = [row for row in tables["deadline"] if row["missed_at"] is None and row["due_at"] < while_ago]
    _holds("nothing is left behind", not unjudged, f"{len(unjudged)} deadlines are due and not judged")
    waiting = [row for row in tables["cell_cause"] if row["waits"]]
    _holds("nothing is left behind", not waiting, f"{len(waiting)} causes wait")


def still_to_do(tables: Tables, now: datetime) -> list[str]:
    """What has to end by itself once nothing goes wrong any more."""
    left = [f"task {row['id']} {row['state']} ({row['reason']})" for row in tables["task"] if not row["finished_at"]]
    left += [f"run {row['id']}" for row in tables["run"] if row["state"] == "running"]
    left += [f"event {row['event_id']} waits" for row in tables["event_todo"]]
    left += [f"signal {row['id']}" for row in tables["alert_signal"]]
    waits = [row for row in tables["notice"] if row["state"] == "pending" and row["due_at"] < now + _LONG_WAIT]
    left += [f"notice {row['id']} is not sent" for row in waits]
    left += [f"request {row['id']}" for row in tables["asked"] if row["state"] == "open" and row["due_at"] <= now]
    return left + over_and_open(tables)


def _check_task(row: dict[str, Any], above: list[dict[str, Any]], tables: Tables, history: History) -> None:
    law = "every task ends as its rule and its attempts say"
    cancelled = row["run_id"] in history.cancelled_runs
    ends = [(up["state"], _own_past(up, row)) for up in above]
    verdict = brute_verdict(row["rule"], ends)
    what = f"task {row['id']} is {row['state']}; rule {row['rule']} over {ends}"
    if row["state"] == "cancelled":
        _holds(law, cancelled, what)
    elif row["state"] == "removed":
        _holds(law, row["id"] in history.removed, what)
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


def _own_past(above: dict[str, Any], row: dict[str, Any]) -> bool:
    """A gate that stands for an owner in another run has that step's name, and is not the past of it."""
    here = above["run_id"] == row["run_id"] and "step" in (above["kind"], row["kind"])
    return here and above["step"] == row["step"]


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
