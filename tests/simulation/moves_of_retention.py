"""What may go of history: what is old, over, referred to by nothing, and in the files of its day."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, cast

from tests.simulation.invariants import Row, Tables
from tests.simulation.seen import Law, Seen

if TYPE_CHECKING:
    from tests.simulation.automation_laws import AutomationHistory

_KEY: dict[str, Callable[[Row], Any]] = {
    "run": lambda row: row["id"],
    "task": lambda row: row["id"],
    "attempt": lambda row: row["id"],
    "event": lambda row: row["id"],
    "automation_request": lambda row: (row["asset_id"], row["partition"], row["state_digest"]),
}
_WITH_TASKS = {"task_edge", "task_cell", "cell_cause", "wait", "deadline"}
_WITH_OTHERS = {"run_tally", "archive_day", "dynamic_key"}
_JUMP_BACK = timedelta(minutes=2)
_KEEP = timedelta(days=1)


def _gone(before: Tables, after: Tables, table: str) -> set[Any]:
    if after[table] is before[table]:
        return set()
    key = _KEY[table]
    return {key(row) for row in before[table]} - {key(row) for row in after[table]}


def nothing_goes(before: Tables, after: Tables, seen: Seen) -> None:
    """Nobody but retention deletes history. (What was not durable is another matter.) But a request is withdrawn with the tasks
    that were to make what it asked for, when these are removed."""
    if seen.by.undoing:
        return
    for table in _KEY:
        gone = _gone(before, after, table)
        if gone and table == "automation_request":
            gone -= _withdrawn(before, after)
        assert not gone, f"{table} {sorted(gone)[:3]}"


def _withdrawn(before: Tables, after: Tables) -> set[Any]:
    were = {row["id"]: row["state"] for row in before["task"]}
    removed = {
        row["id"]: row["run_id"]
        for row in after["task"]
        if row["state"] in ("removed", "upstream_failed") and row["state"] != were.get(row["id"])
    }
    cells = {
        (removed[r["task_id"]], r["asset_id"], r["partition"]) for r in after["task_cell"] if r["task_id"] in removed
    }
    own = (row for row in before["automation_request"] if (row["run_id"], row["asset_id"], row["partition"]) in cells)
    return {_KEY["automation_request"](row) for row in own}


def _in_files(before: Tables, after: Tables, seen: Seen) -> None:
    """Rows go that are in the files of a day which says so, when it is old enough; nothing but history moves."""
    moved = {table for table in after if after[table] is not before[table]}
    alien = moved - set(_KEY) - _WITH_TASKS - _WITH_OTHERS
    assert not alien, f"retention moves {alien}"
    history = cast("AutomationHistory", seen.history)
    files = history.outside.files
    gone = {table: _gone(before, after, table) for table in _KEY}
    if not any(gone.values()):
        return
    (day,) = [row["day"] for row in before["archive_day"] if row["state"] == "deleting"]
    end = datetime.combine(day, time(), tzinfo=UTC) + timedelta(days=1)
    assert end + _KEEP <= seen.now + _JUMP_BACK, f"{day} is not a day old"
    for event in before["event"] if gone["event"] else ():
        if event["id"] in gone["event"] and end + 2 * _KEEP <= seen.now + _JUMP_BACK:
            history.forget(event)  # whoever was not told of it in all that time is not told
    for table, keys in gone.items():
        left = keys - files.get(day, {}).get(table, set())
        assert not left, f"{table} {sorted(left)[:3]} of {day} are in no file"


def _referred(before: Tables, after: Tables, seen: Seen) -> None:
    """What stays refers to nothing that went; what is open keeps all that it has."""
    runs = {row["id"] for row in after["run"]}
    tasks = {row["id"] for row in after["task"]}
    events = {row["id"] for row in after["event"]}
    for table, column, there in (
        ("task", "run_id", runs), ("attempt", "task_id", tasks), ("task_cell", "task_id", tasks),
        ("task_edge", "upstream_id", tasks), ("task_edge", "downstream_id", tasks), ("cell_cause", "task_id", tasks),
        ("open_cell", "task_id", tasks), ("wait", "task_id", tasks),
        ("fan_out", "task_id", tasks), ("fan_out", "run_id", runs), ("event_todo", "event_id", events),
        ("run_tally", "run_id", runs), ("pool_slot", "task_id", tasks),
    ):  # fmt: skip
        left = {row[column] for row in after[table]} - there
        assert not left, f"{table} refers to {column} {sorted(left)[:3]}, which went"
    open_tasks = {row["task_id"] for row in after["open_cell"]}
    asking = {row["run_id"] for row in after["cell_cause"] if row["task_id"] in open_tasks} - runs
    assert not asking, f"runs {asking} ask for what is being made, and went"
    unfinished = {row["id"] for row in after["backfill"] if row["finished_at"] is None}
    for run in before["run"]:
        if run["id"] not in runs or _fewer(before["task"], after["task"], run["id"]):
            assert run["state"] != "running", f"run {run['id']} is open"
            assert run["backfill_id"] not in unfinished, f"backfill {run['backfill_id']} is not finished"


def _fewer(before: Iterable[Row], after: Iterable[Row], run_id: int) -> bool:
    had = len([row for row in before if row["run_id"] == run_id])
    return had > len([row for row in after if row["run_id"] == run_id])


RETENTION: dict[str, Law] = {
    "what goes is in the files of its day": _in_files,
    "nothing goes that is referred to": _referred,
}
