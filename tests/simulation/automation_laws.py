"""What one commit may do in the stories of automation: those of all stories that fit, and those of feeds, keys, ticks and
retention.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from tests.simulation.automation_house import IDS, PACE, TOLD_OF, Outside
from tests.simulation.invariants import TERMINAL, Row, Tables
from tests.simulation.moves import MOVES, THE_LAWS
from tests.simulation.moves_of_keys import KEYS
from tests.simulation.moves_of_retention import RETENTION, nothing_goes
from tests.simulation.moves_of_ticks import TICKS
from tests.simulation.seen import History, Law, Seen
from tests.simulation.watching import Laws
from tests.unit.duties.duty_world import START

_OF_OTHERS = ("every request has an owner", "no event is lost or doubled", "a cursor moves with what was asked for",
              "a request is launched once", "cells are changed by hand when nobody makes them")  # fmt: skip
_FOLLOWING = ("eager", "resume", "rebuild", "clock")


@dataclass
class AutomationHistory(History):
    """`commits` counts; the others are by their number: when a cell moved last, when a task ended; the ends of tasks that
    callbacks are told of, and publications of what a sensor watches, when they were committed."""

    outside: Outside = field(default_factory=lambda: None)  # type: ignore[assignment]
    commits: int = 0
    latest: datetime | None = None
    heeded: set[tuple[str, datetime]] = field(default_factory=set)
    """Partition of `rates` and the tick at which it was asked for."""
    set_back: bool = False
    """Whether the clock ever was: what had been late then has not been yet."""
    moved: dict[tuple[int, str], int] = field(default_factory=dict)
    ended: dict[int, int] = field(default_factory=dict)
    tried: dict[tuple[int, str], tuple[str, int]] = field(default_factory=dict)
    """Cell -> how the last task that was to make it ended, and when."""
    told_of: dict[int, str] = field(default_factory=dict)
    published: set[tuple[str, str, str]] = field(default_factory=set)
    ticks: set[tuple[str, object]] = field(default_factory=set)
    found: dict[int, tuple[int, list[str]]] = field(default_factory=dict)
    """Task that found keys -> its run, and which were new."""
    held: dict[int, set[int]] = field(default_factory=dict)
    """Task that is held -> the tasks that it collects from."""

    def forget(self, event: Row) -> None:
        """It went with the history of its day."""
        if event["kind"] == "task":
            self.told_of.pop(event["task_id"], None)
        elif event["kind"] == "materialized":
            self.published.discard(("first", event["partition"], event["body"]["data_version"]))


def _remember(before: Tables, after: Tables, seen: Seen) -> None:
    history = seen.history
    assert isinstance(history, AutomationHistory)
    history.commits += 1
    history.set_back = history.set_back or (history.latest is not None and seen.now < history.latest)
    history.latest = seen.now
    if after["cell"] is not before["cell"]:
        were = {(row["asset_id"], row["partition"]): row["data_version"] for row in before["cell"]}
        for row in after["cell"]:
            key = (row["asset_id"], row["partition"])
            if row["data_version"] != were.get(key):
                history.moved[key] = history.commits
    if after["task"] is not before["task"]:
        states = {row["id"]: row["state"] for row in before["task"]}
        for row in after["task"]:
            if row["state"] in TERMINAL and states.get(row["id"]) not in TERMINAL:
                history.ended[row["id"]] = history.commits
                own = [one for one in after["task_cell"] if one["task_id"] == row["id"]]
                ends = (row["state"], history.commits)
                history.tried |= {(one["asset_id"], one["partition"]): ends for one in own}
    if after["event"] is not before["event"]:
        _remember_events(before, after, history)


def _remember_events(before: Tables, after: Tables, history: AutomationHistory) -> None:
    for event in _new(before, after, "event"):
        if event["kind"] == "materialized" and event["asset_id"] == IDS["first"] and not event["body"]["confirmed"]:
            history.published.add(("first", event["partition"], event["body"]["data_version"]))
        ended = event["kind"] == "task" and event["body"]["state"] in ("failed", "success")
        if ended and event["body"]["step"] in TOLD_OF:
            history.told_of[event["task_id"]] = event["body"]["state"]


def _followed(before: Tables, after: Tables, seen: Seen) -> None:
    """What automation launches it has asked for, cell by cell, each state of its inputs once."""
    if after["run"] is before["run"]:
        return
    for run in _new(before, after, "run"):
        if run["cause"]["kind"] not in _FOLLOWING:
            continue
        tasks = {row["id"] for row in after["task"] if row["run_id"] == run["id"] and row["kind"] == "step"}
        cells = {(row["asset_id"], row["partition"]) for row in after["task_cell"] if row["task_id"] in tasks}
        cells |= {(row["asset_id"], row["partition"]) for row in after["cell_cause"] if row["run_id"] == run["id"]}
        asked = {(r["asset_id"], r["partition"]) for r in after["automation_request"] if r["run_id"] == run["id"]}
        assert cells == asked, f"run {run['id']} makes {cells}, and {asked} were asked for"


def _ticked_once(before: Tables, after: Tables, seen: Seen) -> None:
    """At a tick a partition is asked for once, and at none before the first."""
    history = seen.history
    assert isinstance(history, AutomationHistory)
    if seen.by.undoing or after["automation_request"] is before["automation_request"]:
        return
    clocks = {row["id"] for row in _new(before, after, "run") if row["cause"]["kind"] == "clock"}
    tick = seen.now.replace(minute=seen.now.minute // 2 * 2, second=0, microsecond=0)
    for row in after["automation_request"]:
        if row["asset_id"] == IDS["rates"] and row["run_id"] in clocks:
            assert (row["partition"], tick) not in history.heeded, f"{row['partition']} was asked for at {tick} before"
            assert tick > START, f"{row['partition']} is asked for, and there was no tick yet"
            history.heeded.add((row["partition"], tick))


def _gathered(before: Tables, after: Tables, seen: Seen) -> None:
    """What is debounced is asked for when its clock says so, and by nobody who follows at once."""
    if seen.by.undoing or after["run"] is before["run"]:
        return
    at_once = {row["id"] for row in _new(before, after, "run") if row["cause"]["kind"] == "eager"}
    early = [r for r in after["automation_request"] if r["asset_id"] == IDS["calm"] and r["run_id"] in at_once]
    replanned = {row["id"] for row in after["run"] if row["cause"].get("run")}
    assert not [one for one in early if one["run_id"] not in replanned], f"{early} were not gathered"


def _reported(before: Tables, after: Tables, seen: Seen) -> None:
    """A report counts in the commit that records it: once while its key is known, and none without its event."""
    if seen.by.undoing or (after["report"] is before["report"] and after["event"] is before["event"]):
        return
    were = {(row["scope"], row["key"]): row for row in before["report"]}
    now = {(row["scope"], row["key"]): row for row in after["report"]}
    for key, row in were.items():
        if now.get(key) != row:
            assert row["expires_at"] <= seen.now, f"{key} is known until {row['expires_at']}"
    told = Counter(
        (event["partition"], event["body"]["data_version"])
        for event in _new(before, after, "event")
        if event["kind"] == "observed" and event["asset_id"] == IDS["pushed"]
    )
    new = [row["answer"] for key, row in now.items() if were.get(key) != row]
    wanted = Counter((one["partition"], one["data_version"]) for one in new if one["outcome"] == "observed")
    assert told == wanted, f"events of {dict(told)} for reports of {dict(wanted)}"


def _observed(before: Tables, after: Tables, seen: Seen) -> None:
    """What is observed never goes back to what an earlier look saw, and what did not move is no news."""
    if after["event"] is before["event"]:
        return
    were = {(row["asset_id"], row["partition"]): row["data_version"] for row in before["cell"]}
    for event in _new(before, after, "event"):
        if event["kind"] == "observed":
            was, now = were.get((event["asset_id"], event["partition"])), event["body"]["data_version"]
            assert now != was, f"{event['partition']} is at {now} as before"
            if event["asset_id"] == IDS["watched"] and was is not None:
                assert int(was[1:]) < int(now[1:]), f"{event['partition']} was at {was}, and is observed at {now}"


def _by_key(before: Tables, after: Tables, seen: Seen) -> None:
    """A sensor asks once by key, whatever it repeats, and its cursor is never ahead of what it asked for."""
    if after["asked"] is before["asked"] and after["evaluator"] is before["evaluator"]:
        return
    for one in after["evaluator"]:
        if one["name"] == "keyed":
            keys = [row["key"] for row in after["asked"] if row["evaluator_id"] == one["id"]]
            wanted = [f"n{n}" for n in range(1, int(one["cursor"] or 0) + 1)]
            assert sorted(keys) == sorted(wanted), f"{keys} at cursor {one['cursor']}"


def _asked_once(before: Tables, after: Tables, seen: Seen) -> None:
    """What was asked for becomes one run at most, and what is done stays done."""
    if after["asked"] is before["asked"] and after["run"] is before["run"]:
        return
    were = {row["id"]: row for row in before["asked"]}
    for row in after["asked"]:
        was = were.get(row["id"], row)
        assert was["state"] == "open" or was == row, f"request {row['id']} was {was['state']}"
    open_before = {id for id, row in were.items() if row["state"] == "open"}
    launched = [row["run_id"] for row in after["asked"] if row["state"] == "launched" and row["id"] in open_before]
    runs = [row["id"] for row in _new(before, after, "run") if row["cause"]["kind"] in ("sensor", "schedule")]
    assert sorted(launched) == sorted(runs), f"runs {runs} for what was asked for, and {launched} is known"


def _new(before: Tables, after: Tables, table: str) -> list[Row]:
    if after[table] is before[table]:
        return []
    known = {row["id"] for row in before[table]}
    return [row for row in after[table] if row["id"] not in known]


def _paced(before: Tables, after: Tables, seen: Seen) -> None:
    """What time asks for at once is the newest window and no more of the past than the pace; more is a backfill."""
    for run in _new(before, after, "run"):
        if run["backfill_id"] is None and run["cause"]["kind"] == "clock":
            tasks = {row["id"] for row in after["task"] if row["run_id"] == run["id"]}
            own = [one for one in after["task_cell"] if one["task_id"] in tasks and one["asset_id"] == IDS["windows"]]
            assert len(own) <= PACE + 1, f"run {run['id']} makes {len(own)} windows at once"


FEEDS: dict[str, Law] = {
    "the past goes at its pace": _paced,
    "what happened is remembered": _remember,
    "automation asks once for a state": _followed,
    "a tick is heeded once": _ticked_once,
    "what is debounced is gathered": _gathered,
    "a report counts once": _reported,
    "what is observed is news once": _observed,
    "a key is asked for once": _by_key,
    "a request is launched once": _asked_once,
}
AUTOMATION_LAWS = Laws(
    {name: law for name, law in MOVES.items() if name not in _OF_OTHERS},
    {**{name: law for name, law in THE_LAWS.seen.items() if name not in _OF_OTHERS},
     "history goes by retention": nothing_goes, **FEEDS, **KEYS, **TICKS},
    RETENTION,
)  # fmt: skip
