"""What holds after every transaction of the duties, whoever died where: counters, slots, attempts, owners, tallies, events.

Each law looks at the tables alone and is named as people would say it; what compares two instants is in `moves`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.simulation.brute_force import BAD

from partita.core.store.values import TaskState

Row = dict[str, Any]
Tables = Mapping[str, Sequence[Row]]

STARTS_EARLY = {"one_success", "one_failed", "one_done"}
TERMINAL = {state.value for state in TaskState if state.terminal}
_ENDS_IT = {  # the ends of upstream after which a task of this rule has nothing to wait for
    "all_success": {"bad"},
    "none_failed": {"bad"},
    "none_failed_min_one_success": {"bad"},
    "one_success": {"good"},
    "one_failed": {"bad"},
    "one_done": {"good", "bad"},
    "all_failed": {"good", "skipped"},
    "all_skipped": {"good", "bad"},
    "none_skipped": {"skipped"},
    "all_done": set(),
}


def check_counters(tables: Tables) -> None:
    """`waiting_on` is the number of open upstream; who waits has something to wait for; nothing certain is waited for."""
    tasks = _tasks(tables)
    upstream: dict[int, list[Row]] = defaultdict(list)
    for edge in tables["task_edge"]:
        upstream[edge["downstream_id"]].append(tasks[edge["upstream_id"]])
    for row in tasks.values():
        above = upstream[row["id"]]
        open_above = [up for up in above if up["state"] not in TERMINAL]
        assert row["waiting_on"] >= 0
        if row["state"] == "none":
            assert row["waiting_on"] == len(open_above) > 0
            assert not _ENDS_IT[row["rule"]] & {_kind(up, row) for up in above if up["state"] in TERMINAL}
        elif row["state"] not in TERMINAL:
            assert row["waiting_on"] == 0
            assert not open_above or row["rule"] in STARTS_EARLY


def _kind(up: Row, task: Row) -> str:
    if up["state"] in BAD:
        return "bad"
    same = up["kind"] == "step" and up["step"] == task["step"]
    return "skipped" if up["state"] == "skipped" and not same else "good"


def check_reasons(tables: Tables) -> None:
    """What waits says why; an end has its instant; a worker is named exactly while it is at it."""
    for row in tables["task"]:
        if row["state"] == "none":
            assert row["reason"] == "upstream"
        if row["state"] == "up_for_retry":
            assert row["reason"] in ("retry_at", "version_gone", "no_server")
            assert row["not_before"] is not None
        assert (row["state"] == "running") == (row["worker_id"] is not None)
        assert (row["finished_at"] is not None) == (row["state"] in TERMINAL)


def check_holders(tables: Tables) -> None:
    """Exactly what is queued or running holds slots."""
    holders = {row["task_id"] for row in tables["pool_slot"]}
    assert holders == {row["id"] for row in tables["task"] if row["state"] in ("queued", "running")}


def check_pools(tables: Tables) -> None:
    """No pool holds more than it has. (Not so after one was made smaller: there `moves` compares.)"""
    held = slots_held(tables)
    for pool in tables["pool"]:
        assert held[pool["name"]] <= pool["slots"]


def slots_held(tables: Tables) -> Counter[str]:
    held: Counter[str] = Counter()
    for row in tables["pool_slot"]:
        held[row["pool"]] += row["slots"]
    return held


def check_owners(tables: Tables) -> None:
    """One owner per cell: exactly the open tasks own exactly their cells."""
    tasks = _tasks(tables)
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


def check_attempts(tables: Tables) -> None:
    """At most one live attempt a task, and it is the task's."""
    live = [(row["task_id"], row["id"]) for row in tables["attempt"] if row["finished_at"] is None]
    assert len(live) == len({task_id for task_id, _ in live})
    assert set(live) == {(row["id"], row["attempt_id"]) for row in tables["task"] if row["state"] == "running"}


def check_tallies(tables: Tables) -> None:
    """Folded and not yet folded tallies together count exactly the terminal tasks."""
    counted: Counter[tuple[int, str]] = Counter()
    for run in tables["run"]:
        for state, n in run["tallies"].items():
            counted[run["id"], state] += n
    for row in tables["run_tally"]:
        counted[row["run_id"], row["state"]] += row["n"]
    assert counted == Counter((row["run_id"], row["state"]) for row in tables["task"] if row["state"] in TERMINAL)


LAWS: dict[str, Callable[[Tables], None]] = {
    "counters equal the graph": check_counters,
    "what waits says why": check_reasons,
    "no slot leaks": check_holders,
    "pools and caps hold": check_pools,
    "one owner per cell": check_owners,
    "one live attempt a task": check_attempts,
    "tallies equal tasks": check_tallies,
}


def check_invariants(tables: Tables) -> None:
    """All of them."""
    for law in LAWS.values():
        law(tables)


def _tasks(tables: Tables) -> dict[int, Row]:
    return {row["id"]: row for row in tables["task"]}
