"""Scenarios of the execution cases, played through the real duties over the in-memory store with virtual time.

A part is a step of an asset of its own, in a run of its own; parts with `up` are the periods of one asset in one run. A tick is
what a scheduler does in one round: wake retries, sweep, admit.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tests.simulation.crashing import Crash, CrashingStore
from tests.unit.duties.duty_world import START, World, no_log, report, step

from partita.core.decide.waits import Broken, Fired
from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.deadlines import judge_deadlines
from partita.core.duties.finish import finish
from partita.core.duties.leases import pulse, register, renew, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import cancel_run, fold_tallies
from partita.core.duties.values import LaunchTask
from partita.core.duties.values_attempts import AttemptResult, Claimed, Deferral
from partita.core.duties.waits import expire_waits, register_triggerer, report_waits, sweep_triggerers, watch
from partita.core.store.values import AttemptOutcome, Pool, RetryPolicy, RunId, TaskId, WorkerId
from partita.core.store.values_waits import TriggererId, WaitKey

Case = dict[str, Any]
_LONG_S = 10_000_000.0
_POOL = "p"
_SPELLED = {"cancelled": "canceled", "none": "missing"}
_OUTCOMES = {
    "success": AttemptOutcome.SUCCESS,
    "failed": AttemptOutcome.FAILED,
    "skipped": AttemptOutcome.SKIPPED,
}


class Scenario:
    """One case."""

    def __init__(self, given: Case, events: list[Case]) -> None:
        self.config = given["config"]
        self.parts = {part["id"]: part for part in given["parts"]}
        self.names = list(self.parts)
        self.events = events
        self.world = World()
        self.at = 0
        self.database = True
        self.lease_s = float(self.config.get("heartbeat_timeout_s", _LONG_S))
        self.watch_s = float(self.config.get("trigger_heartbeat_timeout_s", _LONG_S))
        self.attempts: dict[tuple[str, int], Claimed] = {}
        self.latest: dict[str, int] = {}
        self.runs: dict[str, RunId] = {}
        self.rejected: list[Case] = []
        self.transitions: list[list[Any]] = []
        self.crashed: set[str] = set()
        self.started_after_cancel = 0
        self.cancelled = False
        self.waits: dict[str, str] = {}
        self.keys: dict[str, WaitKey] = {}
        with self.world.memory.begin() as tx:
            tx.set_pool(Pool(_POOL, self.config.get("pool_slots", 1_000)))

    def play(self) -> Case:
        self.make_what_there_is()
        for event in self.events:
            self.forward(event["t"])
            before = self.states()
            _PLAY[event["event"]](self, event)
            if event["event"] == "scheduler_tick":
                after = self.states()
                self.transitions += [[event["t"], name, before[name], after[name]] for name in self.names]
        fold_tallies(self.world.store)
        return self.answer()

    def make_what_there_is(self) -> None:
        """Parts that are there at the beginning, and the runs of those that depend on each other."""
        for name in self.names:
            if "data_version" in self.parts[name]:
                self.start(name, "made", 1)
                self.tell(name, 1, "success", self.parts[name]["data_version"])
                del self.runs[name]
        if any(part.get("up") for part in self.parts.values()):
            made = self.world.launch(*(self.task(name, chained=True) for name in self.names))
            self.runs |= dict.fromkeys(self.names, made.run_id)

    def forward(self, to: int) -> None:
        while self.at < to:
            self.at += 1
            self.world.clock.now = START + timedelta(seconds=self.at)
            if self.database:
                pulse(self.world.store)

    # -- events
    def launch(self, name: str) -> None:
        if name not in self.runs:
            self.runs[name] = self.world.launch(self.task(name)).run_id

    def task(self, name: str, *, chained: bool = False) -> LaunchTask:
        index = self.names.index(name)
        retry = RetryPolicy(self.config.get("retries", 0), delay_s=self.config.get("retry_delay_s", 0.0))
        up = [self.names.index(other) for other in self.parts[name].get("up", [])] if chained else []
        asset, partitions = (1, [name]) if chained else (index + 1, [""])
        return step(
            asset,
            *up,
            partitions=partitions,
            pools=[(_POOL, 1)],
            retry=retry,
            priority=self.parts[name].get("priority", 0),
            timeout_s=self.config.get("timeout_s"),
            deadline_s=self.config.get("deadline_s"),
        )

    def queue(self, name: str) -> None:
        self.launch(name)
        admit(self.world.store)

    def start(self, name: str, worker: str, number: int) -> None:
        self.queue(name)
        worker_id = WorkerId(worker)
        if not renew(self.world.store, worker_id, lease_s=self.lease_s).live:
            register(self.world.store, worker_id, host="h", pid=1, capacity=100, lease_s=self.lease_s)
        claims = self.claims(worker_id)
        for claimed in claims:
            assert claimed.number == number, f"attempt {claimed.number} started, the case says {number}"
            self.attempts[self.name_of(claimed), number] = claimed
            self.latest[self.name_of(claimed)] = claimed.number
        self.started_after_cancel += len(claims) if self.cancelled else 0

    def claims(self, worker_id: WorkerId) -> tuple[Claimed, ...]:
        pin = [(self.world.memory.rows("task")[0]["location_id"], self.world.memory.rows("task")[0]["snapshot_id"])]
        resolve = self.world.definitions.resolve
        return claim(self.world.store, worker_id, pin, 100, resolve, no_log, lease_s=self.lease_s).claimed

    def name_of(self, claimed: Claimed) -> str:
        partition = claimed.cells[0].cell.partition
        return partition or self.names[claimed.cells[0].cell.asset_id - 1]

    def tell(self, name: str, number: int, result: str, version: str | None) -> None:
        told = self.result(name, number, result, version)
        if finish(self.world.store, [told]).refused:
            self.rejected.append({"t": self.at, "attempt": number})

    def result(self, name: str, number: int, result: str, version: str | None) -> AttemptResult:
        return report(self.attempts[name, number], _OUTCOMES[result], version=version)

    def started(self, event: Case) -> None:
        self.start(event["part"], event["worker"], event["attempt"])

    def reported(self, event: Case) -> None:
        name, number = event["part"], event["attempt"]
        if (name, number) not in self.attempts:
            self.start(name, "w", number)
        self.tell(name, number, event["result"], event.get("data_version"))
        admit(self.world.store)

    def heartbeat(self, event: Case) -> None:
        row = next(row for row in self.world.rows("attempt") if row["finished_at"] is None)
        renew(self.world.store, row["worker_id"], lease_s=self.lease_s)

    def tick(self, event: Case) -> None:
        store = self.world.store
        wake_retries(store)
        expire_waits(store)
        sweep(store)
        judge_deadlines(store)
        admit(store, self.config.get("batch", 500))

    def crash(self, event: Case) -> None:
        """The scheduler dies; where it was admitting, its transaction dies with it."""
        if event.get("before") == "commit_queued":
            try:
                admit(CrashingStore(self.world.memory, transactions=1, operations=50))
            except Crash:
                self.crashed.add(event["scheduler"])

    def database_error(self, event: Case) -> None:
        """The reports were lost in the middle, with all that they released: they are sent again."""
        results = [self.result(name, 1, "success", None) for name in self.names]
        try:
            finish(CrashingStore(self.world.memory, transactions=0, operations=11), results)
        except Crash:
            finish(self.world.store, results)

    def all_reported(self, event: Case) -> None:
        if not any(later["event"] == "database_error" for later in self.events):
            for name in self.names:
                self.tell(name, 1, event["result"], None)

    def all_started(self, event: Case) -> None:
        for name in self.names:
            self.start(name, "w1", 1)

    def all_ready(self, event: Case) -> None:
        for name in self.names:
            self.launch(name)

    def cancel(self, event: Case) -> None:
        for run_id in sorted({self.runs[event["part"]]} if "part" in event else set(self.runs.values())):
            cancel_run(self.world.store, run_id, "ada")
        self.cancelled = "part" not in event

    def acknowledge(self, event: Case) -> None:
        claimed = self.attempts[event["part"], self.latest[event["part"]]]
        finish(self.world.store, [report(claimed, AttemptOutcome.CANCELLED)])

    # -- waits
    def defer(self, event: Case) -> None:
        """The part runs, and its attempt ends with what it waits for."""
        name = event["part"]
        if name not in self.live():
            wake_retries(self.world.store)
            self.queue(name)
            self.start(name, "w", self.latest.get(name, 0) + 1)
        claimed = self.attempts[name, self.latest[name]]
        asked = Deferral(0, "case:Wait", {}, event["wait"], float(self.config.get("wait_timeout_s", _LONG_S)))
        finish(self.world.store, [report(claimed, AttemptOutcome.DEFERRED, deferral=asked)])
        self.waits[name] = event["wait"]
        row = next(row for row in self.world.rows("wait") if row["task_id"] == claimed.task.id)
        self.keys[name] = WaitKey(TaskId(row["task_id"]), row["place"], row["stint"])

    def live(self) -> set[str]:
        return {name for name, state in self.states().items() if state == "running"}

    def fire(self, event: Case) -> None:
        report_waits(self.world.store, [Fired(self.keys[event["part"]], True)])

    def break_wait(self, event: Case) -> None:
        report_waits(self.world.store, [Broken(self.keys[event["part"]], "the check failed")])

    def claim_waits(self, event: Case) -> None:
        by = TriggererId(event["by"])
        pin = [(row["location_id"], row["snapshot_id"]) for row in self.world.rows("wait")]
        if not watch(self.world.store, by, pin, 100, lease_s=self.watch_s).live:
            register_triggerer(self.world.store, by, host="h", pid=1, lease_s=self.watch_s)
            watch(self.world.store, by, pin, 100, lease_s=self.watch_s)

    def triggerer_tick(self, event: Case) -> None:
        before = self.owners()
        sweep_triggerers(self.world.store)
        self.claim_waits(event)
        after = self.owners()
        self.transitions += [[event["t"], wait, before[wait], after[wait]] for wait in self.waits.values()]

    def owners(self) -> dict[str, str]:
        by_task = {key.task_id: self.waits[name] for name, key in self.keys.items()}
        return {
            by_task[row["task_id"]]: "free" if row["triggerer_id"] is None else f"claimed:{row['triggerer_id']}"
            for row in self.world.rows("wait")
        }

    # -- what is asked
    def states(self) -> dict[str, str]:
        """The state of the newest task of each part, in the spelling of the cases."""
        found = {name: part["state"] for name, part in self.parts.items()}
        cells = {row["task_id"]: row for row in self.world.rows("task_cell")}
        for row in self.world.rows("task"):
            cell = cells[row["id"]]
            name = cell["partition"] or self.names[cell["asset_id"] - 1]
            found[name] = _SPELLED.get(row["state"], row["state"])
        return found

    def answer(self) -> Case:
        attempts = self.world.rows("attempt")
        published = self.world.events("materialized")
        versions = [row["data_version"] for row in self.world.rows("cell") if row["data_version"] is not None]
        ended = {row["state"] for row in self.world.rows("run") if row["id"] in self.runs.values()}
        used = sum(row["slots"] for row in self.world.rows("pool_slot"))
        holders = sum(state in ("queued", "running") for state in self.states().values())
        assert used == holders, "used slots = number of queued and running parts"
        return {
            "transitions": self.transitions,
            "final": self.states(),
            "rejected": self.rejected,
            "materializations": len(published),
            "attempts_used": len(attempts),
            "next_attempt": len(attempts) + 1,
            # An attempt that was deferred goes on as the same one: it is dispatched once.
            "dispatches": sum(state == "queued" for state in self.states().values())
            + sum(row["outcome"] != "deferred" for row in attempts),
            "data_version": versions[-1] if versions else None,
            "backfill": "canceled" if ended == {"cancelled"} else sorted(ended),
            "started_after_cancel": self.started_after_cancel,
            "alerts": len(self.world.events("deadline_missed")),
            "failure_callbacks": sum(row["outcome"] == "lost" for row in attempts),
        }


def _part(act: Callable[[Scenario, str], None]) -> Callable[[Scenario, Case], None]:
    return lambda scenario, event: act(scenario, event["part"])


def _nothing(scenario: Scenario, event: Case) -> None:
    """Seen by nobody: a worker that dies says nothing, a scheduler that starts adopts nothing, and a run is pinned to the
    definitions that it was launched with."""


def _run(scenario: Scenario, event: Case) -> None:
    for name in event["parts"]:
        scenario.launch(name)


def _database(there: bool) -> Callable[[Scenario, Case], None]:
    def switch(scenario: Scenario, event: Case) -> None:
        scenario.database = there

    return switch


def _clear(scenario: Scenario, name: str) -> None:
    scenario.runs.pop(name, None)
    scenario.launch(name)


_PLAY: dict[str, Callable[[Scenario, Case], None]] = {
    "started": Scenario.started,
    "reported": Scenario.reported,
    "heartbeat": Scenario.heartbeat,
    "scheduler_tick": Scenario.tick,
    "scheduler_crash": Scenario.crash,
    "scheduler_start": _nothing,
    "worker_lost": _nothing,
    "definitions_loaded": _nothing,
    "run_created": _run,
    "database_down": _database(False),
    "database_up": _database(True),
    "database_error": Scenario.database_error,
    "ready": _part(Scenario.launch),
    "queued": _part(Scenario.queue),
    "dispatched": _part(Scenario.queue),
    "clear": _part(_clear),
    "all_ready": Scenario.all_ready,
    "all_started": Scenario.all_started,
    "all_reported": Scenario.all_reported,
    "cancel_backfill": Scenario.cancel,
    "cancel_part": Scenario.cancel,
    "worker_ack": Scenario.acknowledge,
    "deferred": Scenario.defer,
    "wait_fired": Scenario.fire,
    "wait_error": Scenario.break_wait,
    "wait_claimed": Scenario.claim_waits,
    "triggerer_lost": _nothing,
    "triggerer_tick": Scenario.triggerer_tick,
    "slot_free": _nothing,
}
