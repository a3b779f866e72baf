"""What one transaction may change: laws that compare the tables before and after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tests.simulation.fairness import FAIRNESS
from tests.simulation.invariants import TERMINAL, Tables, slots_held
from tests.simulation.moves_by_hand import BY_HAND
from tests.simulation.moves_of_alerts import ALERTS
from tests.simulation.moves_of_waits import WAITS
from tests.simulation.watching import Laws

from partita.core.store.encode import pool_set_of
from partita.core.store.values import UNLIMITED_SLOTS


def _terminal_rows(before: Tables, after: Tables) -> None:
    now = {row["id"]: row for row in after["task"]}
    for row in before["task"]:
        if row["state"] in TERMINAL:
            assert now[row["id"]] == row, f"task {row['id']} was {row['state']}"
    runs = {row["id"]: row for row in after["run"]}
    for row in before["run"]:
        if row["state"] != "running":
            assert runs[row["id"]]["state"] == row["state"], f"run {row['id']} was {row['state']}"
    attempts = {row["id"]: row for row in after["attempt"]}
    for row in before["attempt"]:
        if row["finished_at"] is not None:
            assert attempts[row["id"]] == row, f"attempt {row['id']} had ended"


def _publications(before: Tables, after: Tables) -> None:
    """A cell moves by the live attempt of the task that owns it, under that attempt's fence, or by hand, under a new one."""
    tasks = {row["id"]: row for row in before["task"]}
    attempts = {row["id"]: row for row in before["attempt"]}
    owners = {(row["asset_id"], row["partition"]): row["task_id"] for row in before["open_cell"]}
    were = {(row["asset_id"], row["partition"]): row for row in before["cell"]}
    for row in after["cell"]:
        key = (row["asset_id"], row["partition"])
        was = were.get(key)
        if was is None or all(row[name] == was[name] for name in ("published_attempt", "published_at", "data_version")):
            continue
        if row["fence"] > was["fence"]:
            continue  # `moves_by_hand` asks who did it
        if row["published_attempt"] is None and row["data_version"] == was["data_version"]:
            continue  # it was observed again as it was
        attempt = attempts[row["published_attempt"]]
        task = tasks[attempt["task_id"]]
        assert attempt["finished_at"] is None, f"{key} by attempt {attempt['id']}, which was {attempt['outcome']}"
        assert task["state"] == "running", f"{key} by task {task['id']}, which was {task['state']}"
        assert (task["attempt_id"], task["fence"]) == (attempt["id"], attempt["fence"]), f"{key}"
        assert was["fence"] == attempt["fence"], f"{key} at fence {was['fence']} by one of {attempt['fence']}"
        assert owners[key] == task["id"], f"{key} of task {owners[key]} by task {task['id']}"


def _published_once(before: Tables, after: Tables) -> None:
    if len(after["event"]) != len(before["event"]):
        once = Counter(
            (row["task_id"], row["asset_id"], row["partition"])
            for row in after["event"]
            if row["kind"] == "materialized" and row["task_id"] is not None
        )
        twice = [key for key, n in once.items() if n > 1]
        assert not twice, f"{twice}"


def _fences(before: Tables, after: Tables) -> None:
    """They only rise; while an attempt runs, its cells are at its fence."""
    now = {(row["asset_id"], row["partition"]): row["fence"] for row in after["cell"]}
    for row in before["cell"]:
        assert now[row["asset_id"], row["partition"]] >= row["fence"]
    running = {row["id"]: row["fence"] for row in after["task"] if row["state"] == "running"}
    for row in after["task_cell"]:
        if row["task_id"] in running and row["state"] == "pending":
            assert now[row["asset_id"], row["partition"]] == running[row["task_id"]], f"task {row['task_id']}"


def _pools(before: Tables, after: Tables) -> None:
    """Nothing is admitted beyond a pool. One that was made smaller is left by those that were in it."""
    active = {row["id"] for row in before["task"] if row["state"] in ("queued", "running")}
    held, was = slots_held(after), slots_held({"pool_slot": [r for r in after["pool_slot"] if r["task_id"] in active]})
    for pool in after["pool"]:
        name = pool["name"]
        assert held[name] <= max(pool["slots"], was[name]), f"{name}: {held[name]} of {pool['slots']}"


def _capped(before: Tables, after: Tables) -> None:
    """What is launched while there is a limit of everything, or of its location, takes a slot of it."""
    known = {row["id"] for row in before["task"]}
    limits = {row["name"] for row in before["pool"] if row["slots"] < UNLIMITED_SLOTS} & {"all", "location:house"}
    for row in after["task"] if limits else ():
        if row["id"] not in known and row["kind"] == "step":
            missing = limits - {use.name for use in pool_set_of(row["pool_set"])}
            assert not missing, f"task {row['id']} is not counted by {missing}"


def _limited(before: Tables, after: Tables) -> None:
    """Of a run with a limit no more becomes active than that, whenever it got it; what is open counts for it."""
    active, were = _active(after), _active(before)
    was = {row["id"]: row for row in before["run"]}
    for run in after["run"]:
        limit, one = run["max_active"], run["id"]
        if limit is not None and run["state"] == "running":
            assert active[one] <= max(limit, were[one]), f"run {one}: {active[one]} active tasks of {limit}"
            slots = [row["slots"] for row in after["pool"] if row["name"] == f"run:{one}"]
            assert slots == [limit], f"run {one} of {limit} has slots {slots}"
            open_steps = [row for row in after["task"] if row["run_id"] == one and row["state"] not in TERMINAL]
            for row in open_steps if limit != was.get(one, {}).get("max_active") else ():
                counts = row["kind"] != "step" or any(use.name == f"run:{one}" for use in pool_set_of(row["pool_set"]))
                assert counts, f"task {row['id']} is not counted by the limit of run {one}"


def _active(tables: Tables) -> Counter[int]:
    return Counter(row["run_id"] for row in tables["task"] if row["state"] in ("queued", "running"))


def _paused(before: Tables, after: Tables) -> None:
    """Nothing is admitted into a paused pool, and pausing one takes back what had not started (law 7)."""
    shut = {row["name"] for row in after["pool"] if row["paused_by"] is not None}
    was = {row["id"]: row["state"] for row in before["task"]}
    for row in after["task"] if shut else ():
        names = {use.name for use in pool_set_of(row["pool_set"])}
        assert row["state"] != "queued" or shut.isdisjoint(names), f"task {row['id']}, which was {was.get(row['id'])}"


def _backfills(before: Tables, after: Tables) -> None:
    """A backfill runs exactly while one of its runs does."""
    running = {row["backfill_id"] for row in after["run"] if row["state"] == "running"}
    for row in after["backfill"]:
        assert (row["state"] == "running") == (row["id"] in running), f"backfill {row['id']} is {row['state']}"
        assert (row["finished_at"] is None) == (row["state"] == "running"), f"backfill {row['id']}"


def _requests(before: Tables, after: Tables) -> None:
    """Every cell that a run asks for is its own, or somebody's who is recorded as making it for this run too."""
    known = {row["id"] for row in before["run"]}
    for run in after["run"]:
        if run["id"] in known:
            continue
        own = {row["id"] for row in after["task"] if row["run_id"] == run["id"]}
        found = {(row["asset_id"], row["partition"]) for row in after["task_cell"] if row["task_id"] in own}
        found |= {(row["asset_id"], row["partition"]) for row in after["cell_cause"] if row["run_id"] == run["id"]}
        assert _asked_for(run["request"]) == found, f"run {run['id']}"


def _asked_for(request: Mapping[str, Any]) -> set[tuple[int, str]]:
    """The cells of a launch of the stories, or the one cell of a sensor's request."""
    if "cells" in request:
        return {tuple(cell) for cell in request["cells"]}
    return {(int(request["selection"].removeprefix("s")), request["partitions"])}


def _events(before: Tables, after: Tables) -> None:
    """Every event for a consumer waits for it, or was taken by it, once."""
    wanted = {row["id"] for row in after["event"] if is_for_consumer(row)}
    waiting = {row["event_id"] for row in after["event_todo"]}
    taken = Counter(row["detail"]["event"] for row in after["audit"] if row["action"] == "consumed")
    twice = [event for event, n in taken.items() if n > 1]
    assert not twice, f"events {twice} were taken twice"
    assert not waiting & taken.keys(), f"events {waiting & taken.keys()} were taken and still wait"
    assert waiting | taken.keys() == wanted, f"events {wanted - waiting - taken.keys()} are lost"


def _deadlines(before: Tables, after: Tables) -> None:
    """A miss is told once, and only of a cell that was not made in time; no deadline goes without its judgement."""
    told = Counter(
        (row["asset_id"], row["partition"], row["task_id"])
        for row in after["event"]
        if row["kind"] == "deadline_missed"
    )
    now = {(row["asset_id"], row["partition"], row["task_id"]): row for row in after["deadline"]}
    assert told == Counter(key for key, row in now.items() if row["missed_at"] is not None)
    cells = {(row["asset_id"], row["partition"]): row for row in after["cell"]}
    own = {(row["asset_id"], row["partition"], row["task_id"]): row for row in after["task_cell"]}
    for row in before["deadline"]:
        key = (row["asset_id"], row["partition"], row["task_id"])
        made = cells[key[:2]]["published_at"]
        there = made is not None and row["set_at"] <= made <= row["due_at"]
        if key not in now:
            timed_out = any(run["id"] == row["run_id"] and run["timed_out_at"] is not None for run in before["run"])
            assert there or not timed_out or own[key]["state"] not in ("cancelled", "removed"), (
                f"{key} was not taken back"
            )
            assert there or own[key]["state"] not in ("pending", "failed", "upstream_failed"), f"{key} was not made"
        elif now[key]["missed_at"] is not None and row["missed_at"] is None:
            assert not there, f"{key} was made in time"


def is_for_consumer(row: Mapping[str, Any]) -> bool:
    return row["kind"] == "plan" or (row["kind"] == "materialized" and not row["body"]["confirmed"])


MOVES: dict[str, Callable[[Tables, Tables], None]] = {
    "terminal rows never change": _terminal_rows,
    "only the live attempt publishes": _publications,
    "a cell is published once": _published_once,
    "fences hold": _fences,
    "pools and caps hold": _pools,
    "every task counts for the caps": _capped,
    "the limit of a run holds": _limited,
    "a paused pool admits nothing": _paused,
    "a backfill ends with its runs": _backfills,
    **FAIRNESS,
    "every request has an owner": _requests,
    "no event is lost or doubled": _events,
    "a deadline is judged once, and truly": _deadlines,
}
THE_LAWS = Laws(MOVES, {**WAITS, **BY_HAND, **ALERTS})
