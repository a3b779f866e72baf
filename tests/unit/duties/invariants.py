"""What holds after every transaction of the duties, whoever died where: counters, slots, owners, tallies."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from partita.core.store.values import TaskState

STARTS_EARLY = {"one_success", "one_failed", "one_done"}
TERMINAL = {state.value for state in TaskState if state.terminal}


def check_invariants(tables: dict[str, list[dict[str, Any]]]) -> None:
    """What holds after every transaction, whoever died where."""
    tasks = {row["id"]: row for row in tables["task"]}
    upstream: dict[int, list[int]] = defaultdict(list)
    for edge in tables["task_edge"]:
        upstream[edge["downstream_id"]].append(edge["upstream_id"])
    for row in tasks.values():
        open_above = [up for up in upstream[row["id"]] if tasks[up]["state"] not in TERMINAL]
        assert row["waiting_on"] >= 0
        if row["state"] == "none":
            assert row["waiting_on"] == len(open_above) > 0
            assert row["reason"] == "upstream"
        elif row["state"] not in TERMINAL:
            assert row["waiting_on"] == 0
            assert not open_above or row["rule"] in STARTS_EARLY
        if row["state"] == "up_for_retry":
            assert row["reason"] in ("retry_at", "version_gone", "no_server")
            assert row["not_before"] is not None
        assert (row["state"] == "running") == (row["worker_id"] is not None)
        assert (row["finished_at"] is not None) == (row["state"] in TERMINAL)
    check_slots(tables, tasks)
    check_owners(tables, tasks)
    open_attempts = {(row["task_id"], row["id"]) for row in tables["attempt"] if row["finished_at"] is None}
    assert open_attempts == {(r["id"], r["attempt_id"]) for r in tasks.values() if r["state"] == "running"}
    check_tallies(tables)


def check_slots(tables: dict[str, list[dict[str, Any]]], tasks: dict[int, dict[str, Any]]) -> None:
    """Every slot has a named holder that is queued or running, and no pool holds more than it has."""
    holders = {row["task_id"] for row in tables["pool_slot"]}
    assert holders == {row["id"] for row in tasks.values() if row["state"] in ("queued", "running")}
    held: Counter[str] = Counter()
    for row in tables["pool_slot"]:
        held[row["pool"]] += row["slots"]
    for pool in tables["pool"]:
        assert held[pool["name"]] <= pool["slots"]


def check_owners(tables: dict[str, list[dict[str, Any]]], tasks: dict[int, dict[str, Any]]) -> None:
    """One owner per cell: exactly the open tasks own exactly their cells."""
    owned = {(row["asset_id"], row["partition"]): row["task_id"] for row in tables["open_cell"]}
    wanted = {
        (row["asset_id"], row["partition"]): row["task_id"]
        for row in tables["task_cell"]
        if tasks[row["task_id"]]["state"] not in TERMINAL
    }
    assert owned == wanted
    for row in tables["task_cell"]:
        if tasks[row["task_id"]]["state"] in TERMINAL:
            assert row["state"] != "pending"


def check_tallies(tables: dict[str, list[dict[str, Any]]]) -> None:
    """Folded and not yet folded tallies together count exactly the terminal tasks."""
    counted: Counter[tuple[int, str]] = Counter()
    for run in tables["run"]:
        for state, n in run["tallies"].items():
            counted[run["id"], state] += n
    for row in tables["run_tally"]:
        counted[row["run_id"], row["state"]] += row["n"]
    assert counted == Counter((row["run_id"], row["state"]) for row in tables["task"] if row["state"] in TERMINAL)
