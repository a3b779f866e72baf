"""What holds after every transaction of the duties, whoever died where: counters, slots, attempts, owners, tallies, events.

Each law looks at the tables alone and is named as people would say it; what compares two instants is in `moves`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.simulation.brute_force import BAD

from partita.assets.queues import ALL_QUEUES
from partita.core.decide.pause import is_pause
from partita.core.store.encode import pool_set_of
from partita.core.store.values import PoolUse, TaskState, waits_for

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
    owed = {row["task_id"]: row for row in tables["fan_out"]}
    for row in tasks.values():
        above = upstream[row["id"]]
        open_above = [up for up in above if up["state"] not in TERMINAL or _owes(owed.get(up["id"]), row)]
        assert row["waiting_on"] >= 0
        if row["state"] == "none":
            assert row["waiting_on"] == len(open_above) > 0
            past = sum(up["kind"] == row["kind"] == "step" and up["step"] == row["step"] for up in open_above)
            reason, detail = waits_for(len(open_above), past)
            assert (row["reason"], row["reason_detail"]) == (reason.value, detail)
            told = [up for up in above if up not in open_above]
            assert not _ENDS_IT[row["rule"]] & {_kind(up, row) for up in told}
        elif row["state"] not in TERMINAL:
            assert row["waiting_on"] == 0
            assert not open_above or row["rule"] in STARTS_EARLY


def _owes(fan_out: Row | None, task: Row) -> bool:
    """Of a task that found keys, those below hear later, and those that collect hear when what was found is made."""
    return fan_out is not None and (fan_out["gate_id"] is None or task["id"] in fan_out["held"])


def _kind(up: Row, task: Row) -> str:
    if up["state"] in BAD:
        return "bad"
    same = up["kind"] == "step" and up["step"] == task["step"]
    return "skipped" if up["state"] == "skipped" and not same else "good"


# Stuck in scheduled means limits, stuck in queued means workers (S-151). None: nothing keeps it, or nobody has looked yet.
_LIMITS = (
    None,
    "pool_full",
    "lane",
    "paused",
    "backfill_cap",
    "run_cap",
    "asset_cap",
    "location_cap",
    "running_cap",
    "no_worker",
)
_REASONS_OF = {
    "none": ("upstream", "blocked_by_past"),
    "scheduled": (
        *_LIMITS,
        "no_worker",
        "workers_busy",
    ),  # none of its queue has a place while others live: not admitted
    "queued": (None, "no_server", "version_gone", "no_worker", "workers_busy"),
    "up_for_retry": ("retry_at", "version_gone", "no_server"),
    "deferred": ("waiting_for",),
    "awaiting_input": ("approval",),
}


def check_reasons(tables: Tables) -> None:
    """What waits says why; an end has its instant; a worker is named exactly while it is at it."""
    for row in tables["task"]:
        assert row["reason"] in _REASONS_OF.get(row["state"], (None,)), f"{row['state']}: {row['reason']}"
        if row["state"] == "up_for_retry":
            assert row["reason"] in ("retry_at", "version_gone", "no_server")
            assert row["not_before"] is not None
        assert (row["state"] == "running") == (row["worker_id"] is not None)
        assert (row["finished_at"] is not None) == (row["state"] in TERMINAL)


def check_holders(tables: Tables) -> None:
    """Exactly what is queued or running holds slots: of each of its pools as many as it wants."""
    held = {(row["task_id"], row["pool"], row["slots"]) for row in tables["pool_slot"]}
    active = [row for row in tables["task"] if row["state"] in ("queued", "running")]
    assert held == {(row["id"], use.name, use.slots) for row in active for use in _wanted(row)}


def _wanted(row: Row) -> list[PoolUse]:
    """A task that runs on while its asset is paused holds no slot of the pause."""
    return [use for use in pool_set_of(row["pool_set"]) if not is_pause(use.name)]


def check_waits(tables: Tables) -> None:
    """A deferred task waits for something, one that is awaiting input asks a person, and nobody else does (law 7: such a task
    is among no holders)."""
    opened = {row["task_id"] for row in tables["wait"] if row["state"] == "open"}
    assert opened == {row["id"] for row in tables["task"] if row["state"] in ("deferred", "awaiting_input")}
    asked = {row["task_id"] for row in tables["wait"] if row["state"] == "open" and row["asks"]}
    unanswered = {row["task_id"] for row in tables["wait"] if row["asks"] and row["state"] != "fired"}
    begun = {row["id"] for row in tables["task"] if row["state"] in ("scheduled", "queued", "running", "success")}
    assert not unanswered & begun, "what asks a person does not start before the answer"
    assert asked == {row["id"] for row in tables["task"] if row["state"] == "awaiting_input"}


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


def check_queues(tables: Tables) -> None:
    """A worker runs tasks of its queues only (S-148)."""
    served = {row["id"]: set(row["queues"]) for row in tables["worker"]}
    for row in tables["task"]:
        if row["state"] == "running" and row["worker_id"] in served:
            assert {row["queue"], ALL_QUEUES} & served[row["worker_id"]], f"task {row['id']} of {row['queue']}"


def check_tallies(tables: Tables) -> None:
    """Folded and not yet folded tallies together count exactly the terminal tasks; one that found keys counts when its run has
    heard of it, and of a run that retention is at there are fewer tasks."""
    counted: Counter[tuple[int, str]] = Counter()
    for run in tables["run"]:
        for state, n in run["tallies"].items():
            counted[run["id"], state] += n
    for row in tables["run_tally"]:
        counted[row["run_id"], row["state"]] += row["n"]
    untold = {row["task_id"] for row in tables["fan_out"] if row["gate_id"] is None}
    ended = [row for row in tables["task"] if row["state"] in TERMINAL and row["id"] not in untold]
    going = _going(tables)
    told = Counter((row["run_id"], row["state"]) for row in ended if row["run_id"] not in going)
    assert Counter({key: n for key, n in counted.items() if key[0] not in going}) == told


def _going(tables: Tables) -> set[int]:
    there = Counter(row["run_id"] for row in tables["task"])
    return {row["id"] for row in tables["run"] if row["state"] != "running" and there[row["id"]] < row["task_count"]}


LAWS: dict[str, Callable[[Tables], None]] = {
    "counters equal the graph": check_counters,
    "what waits says why": check_reasons,
    "no slot leaks": check_holders,
    "only waiting tasks wait": check_waits,
    "pools and caps hold": check_pools,
    "one owner per cell": check_owners,
    "one live attempt a task": check_attempts,
    "a worker runs tasks of its queues": check_queues,
    "tallies equal tasks": check_tallies,
}


def check_invariants(tables: Tables) -> None:
    """All of them."""
    for law in LAWS.values():
        law(tables)


def _tasks(tables: Tables) -> dict[int, Row]:
    return {row["id"]: row for row in tables["task"]}
