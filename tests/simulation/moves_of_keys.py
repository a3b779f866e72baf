"""What runs that find keys may do: they go on over them, once, under the cap, and what collects waits for what was found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from tests.simulation.automation_house import FILES, IDS
from tests.simulation.invariants import TERMINAL, Tables
from tests.simulation.seen import Law, Seen

if TYPE_CHECKING:
    from tests.simulation.automation_laws import AutomationHistory

_PARSED = IDS["parsed"]


def _owed(before: Tables, after: Tables, seen: Seen) -> None:
    """New keys are owed to the run from the commit that adds them; one that owes or is owed to does not end."""
    history = cast("AutomationHistory", seen.history)
    owed = {row["task_id"]: row for row in after["fan_out"]}
    if after["dynamic_key"] is not before["dynamic_key"]:
        known = {_life(row) for row in before["dynamic_key"]}
        new = [row["key"] for row in after["dynamic_key"] if _life(row) not in known]
        states = {row["id"]: row["state"] for row in before["task"]}
        ended = [
            row
            for row in after["task"]
            if row["step"] == "inbox" and row["state"] == "success" and states[row["id"]] == "running"
        ]
        if new:
            (task,) = ended
            assert task["id"] in owed, f"task {task['id']} found {new}, and its run owes nothing"
            history.found[task["id"]] = (task["run_id"], new)
    running = {row["id"] for row in after["run"] if row["state"] == "running"}
    for row in owed.values():
        assert row["gate_id"] is not None or row["run_id"] in running, (
            f"run {row['run_id']} has ended, and task {row['task_id']} has not told it of keys"
        )


def _life(row: Any) -> tuple[str, int]:
    return row["key"], row["revision"]


def _cap(before: Tables, after: Tables, seen: Seen) -> None:
    there = [row["key"] for row in after["dynamic_key"] if row["ended"] is None]
    assert len(there) <= FILES.cap, f"{len(there)} keys, and the cap is {FILES.cap}"
    assert len(there) == len(set(there)), f"{there}"


def _goes_on(before: Tables, after: Tables, seen: Seen) -> None:
    """A run that ends has made, or seen made, what its tasks found."""
    history = cast("AutomationHistory", seen.history)
    if after["run"] is before["run"] or not history.found:
        return
    states = {row["id"]: row["state"] for row in before["run"]}
    there = {row["key"] for row in after["dynamic_key"] if row["ended"] is None}
    made = {row["partition"] for row in after["cell"] if row["asset_id"] == _PARSED and row["data_version"] is not None}
    for run in after["run"]:
        ends = run["state"] in ("success", "failed") and states.get(run["id"]) == "running"
        if (
            not ends
            or run["cancel_requested_at"]
            or run["timed_out_at"]
            or not run["request"]["selection"].endswith("+")
        ):
            continue
        tasks = {row["id"] for row in after["task"] if row["run_id"] == run["id"]}
        own = {r["partition"] for r in after["task_cell"] if r["asset_id"] == _PARSED and r["task_id"] in tasks}
        own |= {r["partition"] for r in after["cell_cause"] if r["asset_id"] == _PARSED and r["run_id"] == run["id"]}
        above = {row["upstream_id"] for row in after["task_edge"] if row["downstream_id"] in tasks}  # owners elsewhere
        own |= {r["partition"] for r in after["task_cell"] if r["asset_id"] == _PARSED and r["task_id"] in above}
        for of, keys in history.found.values():
            left = set(keys) & there - made - own if of == run["id"] else set()
            assert not left, f"run {run['id']} ends without {left}, which it found"


def _collects(before: Tables, after: Tables, seen: Seen) -> None:
    """What waits in a run and collects what the run goes on over starts when that is made. (What had started or ended is planned
    again.)"""
    history = cast("AutomationHistory", seen.history)
    tasks = {row["id"]: row for row in after["task"]}
    if after["task"] is not before["task"]:
        runs, known = {row["id"] for row in before["run"]}, {row["id"] for row in before["task"]}
        new = [
            row for row in after["task"] if row["id"] not in known and row["step"] == "parsed" and row["run_id"] in runs
        ]
        waits = [
            row for row in after["task"] if row["id"] in known and row["step"] == "summary" and row["state"] == "none"
        ]
        for task in waits if new else ():
            found = {row["id"] for row in new if row["run_id"] == task["run_id"] and row["kind"] == "step"}
            history.held[task["id"]] = history.held.get(task["id"], set()) | found
    if after["attempt"] is not before["attempt"]:
        had = {row["id"] for row in before["attempt"]}
        for task_id in {row["task_id"] for row in after["attempt"] if row["id"] not in had}:
            left = [one for one in history.held.get(task_id, ()) if tasks[one]["state"] not in TERMINAL]
            assert not left, f"task {task_id} starts, and tasks {left} of what it collects are not over"


def _grown(before: Tables, after: Tables, seen: Seen) -> None:
    """A run counts its tasks."""
    if after["task"] is before["task"]:
        return
    there = Counter(row["run_id"] for row in after["task"])
    for run in after["run"]:
        if run["state"] == "running":
            assert run["task_count"] == there[run["id"]], (
                f"run {run['id']}: {run['task_count']}, not {there[run['id']]}"
            )


KEYS: dict[str, Law] = {
    "what finds keys owes them to its run": _owed,
    "a scheme has no more keys than its cap": _cap,
    "a run goes on over what it found": _goes_on,
    "what collects waits for what was found": _collects,
    "a run counts its tasks": _grown,
}
