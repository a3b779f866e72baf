"""`Watch` sees every commit of every process of a story, and holds the laws at each.

It knows what the tests did from outside (which reports were sent, which workers were silent) and nothing of how the duties work.
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

from tests.simulation.house import QUEUES
from tests.simulation.invariants import LAWS, TERMINAL, Row, Tables
from tests.simulation.moves_of_alerts import claimed_notice
from tests.simulation.moves_of_waits import ends_of_waits
from tests.simulation.seen import By, History, Law, Seen

from partita.assets.queues import ALL_QUEUES
from partita.core.duties.values import LEASE_S
from partita.core.store.memory import MemoryStore

TABLES = (
    "task", "task_edge", "task_cell", "open_cell", "cell", "cell_cause", "backfill", "run", "run_tally", "lane", "pool",
    "pool_slot", "worker", "attempt", "event", "event_todo", "audit", "deadline", "code_server", "snapshot", "version_gone",
    "wait", "pause", "kept_cell", "alert_signal", "alert", "notice", "notice_item", "evaluator", "evaluation", "asked",
    "fan_out", "dynamic_key", "job", "report", "automation_request", "freshness", "late_span", "archive_day",
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
        laws: Laws,
        history: History,
    ) -> None:
        self._memory = memory
        self._laws = laws
        self._tables = memory.database.tables()
        self._clock = clock
        self.history = history
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
