"""What one transaction may change: laws that compare the tables before and after it.

`Watch` sees every commit of every process. It knows what the tests did from outside (which reports were sent, which
workers were silent) and nothing of how the duties work.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from tests.simulation.fairness import FAIRNESS
from tests.simulation.house import QUEUES
from tests.simulation.invariants import LAWS, TERMINAL, Row, Tables, slots_held
from tests.simulation.moves_by_hand import BY_HAND
from tests.simulation.moves_of_alerts import ALERTS, claimed_notice
from tests.simulation.moves_of_waits import WAITS, ends_of_waits
from tests.simulation.seen import By, History, Law, Seen

from partita.assets.queues import ALL_QUEUES
from partita.core.duties.values import LEASE_S
from partita.core.store.encode import pool_set_of
from partita.core.store.memory import MemoryStore
from partita.core.store.values import UNLIMITED_SLOTS

TABLES = (
    "task", "task_edge", "task_cell", "open_cell", "cell", "cell_cause", "backfill", "run", "run_tally", "lane", "pool",
    "pool_slot", "worker", "attempt", "event", "event_todo", "audit", "deadline", "code_server", "snapshot", "version_gone",
    "wait", "pause", "kept_cell", "alert_signal", "alert", "notice", "notice_item", "evaluator", "evaluation", "asked",
    "fan_out", "dynamic_key", "job", "report", "automation_request", "freshness", "late_span", "archive_day",
    "location",
)  # fmt: skip
RENEW_S = LEASE_S / 5
VERSION_GRACE_S = 10.0
_QUIET = {"worker"}  # leases alone are no news for the laws
_FAILURES = {"failed", "timed_out", "retry_later", "success", "skipped", "failed_for_good", "broken_wait"}
_LOSSES = {"lost", "cancelled"}


class Broken(BaseException):
    """A law does not hold. No loop that goes on after errors may catch it."""

    def __init__(self, law: str, detail: str) -> None:
        super().__init__(f"{law}: {detail}")
        self.law = law
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Laws:
    """Of moves, of moves as seen by whom and when, and of what a commit deletes (`seen.By.retaining`), which is all that it
    does."""

    moves: Mapping[str, Callable[[Tables, Tables], None]]
    seen: Mapping[str, Law]
    deletions: Mapping[str, Law] = field(default_factory=dict)


class Watch:
    """The laws over the commits of one story."""

    def __init__(
        self,
        memory: MemoryStore,
        clock: Callable[[], datetime],
        laws: Laws | None = None,
        history: History | None = None,
    ) -> None:
        self._memory = memory
        self._laws = laws or THE_LAWS
        self._tables = memory.database.tables()
        self._clock = clock
        self.history = history or History()
        self.up_s = 0.0  # how long the database has answered
        self.steps = 0
        self._without: dict[str, datetime] = {}  # queues that no live worker serves while others live, and since when
        self._live: tuple[list[Any], datetime] = ([], clock())  # live workers with capacity and queues, and since when
        self.aside = 0  # tasks that gave their slots back because nobody could run them
        self._last: dict[str, dict[Any, Row]] = {}
        self.before: Tables = {name: [] for name in TABLES}
        self.by = By()
        self.look()

    @contextmanager
    def acting(self, **what: Any) -> Iterator[None]:
        """What is committed meanwhile is this process's, or person's."""
        outer, self.by = self.by, By(**what)
        try:
            yield
        finally:
            self.by = outer

    def renewed(self, worker: str) -> None:
        """A lease that is taken after the clock was set back, and before a pulse has seen it, may be short by as much: the
        next gap is measured from a pulse that lies ahead."""
        ahead_s = (self._memory.database.db_pulse.rows[1]["last_ok"] - self._clock()).total_seconds()
        self.history.heard[worker] = self.up_s - max(ahead_s, 0.0)

    def forget_renewals(self) -> None:
        """The database lost what was not durable: the last renewal of each worker may be among it."""
        for worker in self.history.heard:
            self.history.heard[worker] -= RENEW_S

    def look(self) -> None:
        """Checks every law after a commit."""
        tables = self._tables
        rows = {name: tables[name].rows for name in TABLES}
        moved = {name for name in TABLES if rows[name] != self._last.get(name)}
        if not moved:
            return
        self.steps += 1
        self._last |= {name: dict(rows[name]) for name in moved}
        after = dict(self.before) | {name: tables[name].sorted_rows() for name in moved}
        before, self.before = self.before, after
        self._check("a live lease is not judged", lambda: self._leases(before, after))
        self._check("what no worker takes is not admitted", lambda: self._unserved(before, after))
        self._check("no more is admitted than workers have places for", lambda: self._crowded(before, after))
        if moved <= _QUIET:
            return
        seen = Seen(self._clock(), self.by, self.history)
        if self.by.retaining:
            for name, deletes in self._laws.deletions.items():
                self._check(name, lambda deletes=deletes: deletes(before, after, seen))  # type: ignore[misc]
            return
        self._remember(before, after)
        for name, moves in self._laws.moves.items():
            self._check(name, lambda moves=moves: moves(before, after))  # type: ignore[misc]
        for name, seen_moves in self._laws.seen.items():
            self._check(name, lambda moves=seen_moves: moves(before, after, seen))  # type: ignore[misc]
        for name, law in LAWS.items():
            if name != "pools and caps hold":  # pools change their size here
                self._check(name, lambda law=law: law(after))  # type: ignore[misc]
        self._check("nobody gives up a version that may come back", lambda: self._removed(before, after))
        self._check("no run is timed out early", lambda: self._timed_out(before, after))
        self._check("losses consume no retries", lambda: self._counts(after))
        self._check("no retry comes early", lambda: self._retries(before, after))
        self._check("nothing starts once cancelled", lambda: self._cancelled(after))

    def _check(self, law: str, holds: Callable[[], None]) -> None:
        try:
            holds()
        except AssertionError as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            raise Broken(law, str(error).partition("\n")[0] or where.line or "") from error

    def _remember(self, before: Tables, after: Tables) -> None:
        were = {row["id"]: row for row in before["attempt"]}
        for row in after["attempt"]:
            was = were.get(row["id"])
            if row["finished_at"] is not None and (was is None or was["finished_at"] is None):
                reported = self.history.sent[row["id"]].outcome.value if row["id"] in self.by.reporting else "lost"
                self.history.ends[row["task_id"]].append(reported)
        for task_id, end in ends_of_waits(before, after) if not self.by.undoing else ():
            self.history.ends[task_id].append(end)
        self.by.delivering = claimed_notice(before, after) or self.by.delivering
        for run in after["run"]:
            if run["cancel_requested_at"] is not None and run["cancelled_from"] is None:  # all of it has been reached
                attempts = sum(row["run_id"] == run["id"] for row in after["attempt"])
                self.history.cancelled_runs.setdefault(run["id"], attempts)

    def _leases(self, before: Tables, after: Tables) -> None:
        """Only a worker that could have renewed and did not is gone."""
        were = {row["id"]: row for row in before["worker"]}
        for row in after["worker"]:
            was = were.get(row["id"])
            if was is None or row["state"] != "gone" or was["state"] == "gone" or row["id"] in self.history.retired:
                continue
            silent_s = self.up_s - self.history.heard[row["id"]]
            assert silent_s >= LEASE_S - 1e-6, f"{row['id']} is gone after {silent_s:.0f} s of silence"

    def _unserved(self, before: Tables, after: Tables) -> None:
        """A queue that none of the live workers has served since an earlier instant: whoever admits knows of it."""
        now = self._clock()
        without = {queue for queue in QUEUES if all(_has_no_worker(one, queue, now) for one in (before, after))}
        self._without = {queue: min(self._without.get(queue, now), now) for queue in without}
        were = {row["id"]: row["state"] for row in before["task"]}
        for row in after["task"] if any(since < now for since in self._without.values()) else ():
            if row["state"] == "queued" and were.get(row["id"]) == "scheduled":
                since = self._without.get(row["queue"], now)
                assert since == now, f"task {row['id']} of {row['queue']}, which has no worker since {since}"

    def _crowded(self, before: Tables, after: Tables) -> None:
        """While others live that cannot take them: free places of the workers of the queue, and one for each eight of all."""
        now = self._clock()
        if _live(after, now) != self._live[0]:
            self._live = (_live(after, now), now)
        were = {row["id"]: row["state"] for row in before["task"]}
        came = [row for row in after["task"] if row["state"] == "queued" and were.get(row["id"]) == "scheduled"]
        for queue in {row["queue"] for row in came} if self._live[1] < now else ():
            own = {worker: capacity for worker, capacity, queues in self._live[0] if {queue, ALL_QUEUES} & set(queues)}
            if not 0 < len(own) < len(self._live[0]):
                continue
            running = Counter(row["worker_id"] for row in after["task"] if row["state"] == "running")
            free = sum(max(0, capacity - running[worker]) for worker, capacity in own.items())
            queued = sum(row["state"] == "queued" and row["queue"] == queue for row in after["task"])
            most = free + ceil(sum(own.values()) / 8)
            assert queued <= most, f"{queued} tasks of {queue} are queued, and its workers have {free} places"

    def kept_from_others(self) -> list[str]:
        """Tasks that are queued and that none of the live workers takes."""
        now = self._clock()
        without = {queue for queue in QUEUES if _has_no_worker(self.before, queue, now)}
        queued = [row for row in self.before["task"] if row["state"] == "queued" and row["queue"] in without]
        return [f"task {row['id']} of {row['queue']} is queued" for row in queued]

    def _counts(self, after: Tables) -> None:
        for row in after["task"]:
            if row["state"] not in TERMINAL:
                ends = Counter(self.history.ends[row["id"]])
                assert row["user_failures"] == sum(ends[end] for end in _FAILURES), f"task {row['id']}: {dict(ends)}"
                assert row["infra_losses"] == sum(ends[end] for end in _LOSSES), f"task {row['id']}: {dict(ends)}"

    def _removed(self, before: Tables, after: Tables) -> None:
        """Only of a version that has had no server for the grace, while the location had others; and it is planned again."""
        were = {row["id"]: row["state"] for row in before["task"]}
        gone = [row for row in after["task"] if row["state"] == "removed" and were.get(row["id"]) != "removed"]
        for row in gone:
            version = next(one["hash"] for one in after["snapshot"] if one["id"] == row["snapshot_id"])
            live = [one for one in after["code_server"] if one["lease_expires_at"] > self._clock()]
            assert live, f"task {row['id']}: its location is down"
            assert all(version not in one["versions"] for one in live), f"task {row['id']}: {version} is served"
            (since,) = [one["since"] for one in before["version_gone"] if one["snapshot_id"] == row["snapshot_id"]]
            assert self._clock() - since >= timedelta(seconds=VERSION_GRACE_S), f"task {row['id']}"
            asked = {(one["asset_id"], one["partition"]) for one in after["event"] if _asks_again(one, row["id"])}
            left = {
                (one["asset_id"], one["partition"])
                for one in after["task_cell"]
                if one["task_id"] == row["id"] and one["state"] == "removed"
            }
            assert left <= asked, f"task {row['id']}: {left - asked} are not planned again"
            self.history.removed.add(row["id"])

    def _timed_out(self, before: Tables, after: Tables) -> None:
        were = {row["id"]: row["timed_out_at"] for row in before["run"]}
        for row in after["run"]:
            if row["timed_out_at"] is not None and were[row["id"]] is None:
                assert row["times_out_at"] is not None, f"run {row['id']}"
                assert row["times_out_at"] <= self._clock(), f"run {row['id']}"

    def _retries(self, before: Tables, after: Tables) -> None:
        now = {row["id"]: row["state"] for row in after["task"]}
        for row in before["task"]:
            self.aside += (row["state"], now[row["id"]]) == ("queued", "up_for_retry")
            if row["state"] == "up_for_retry" and now[row["id"]] == "scheduled":
                assert row["not_before"] <= self._clock(), f"task {row['id']}"

    def _cancelled(self, after: Tables) -> None:
        if self.history.cancelled_runs:
            started = Counter(row["run_id"] for row in after["attempt"])
            for run_id, attempts in self.history.cancelled_runs.items():
                assert started[run_id] <= attempts, f"run {run_id}"


def _live(tables: Tables, now: datetime) -> list[tuple[str, int, list[str]]]:
    rows = (row for row in tables["worker"] if row["state"] == "live" and row["lease_expires_at"] > now)
    return [(row["id"], row["capacity"], list(row["queues"])) for row in rows]


def _has_no_worker(tables: Tables, queue: str, now: datetime) -> bool:
    """Others are alive, and none of them serves it."""
    live = [set(row["queues"]) for row in tables["worker"] if row["state"] == "live" and row["lease_expires_at"] > now]
    return bool(live) and not any({queue, ALL_QUEUES} & queues for queues in live)


def _asks_again(event: Row, task_id: int) -> bool:
    return event["kind"] == "plan" and event["task_id"] == task_id and "version_gone" in event["body"]


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
