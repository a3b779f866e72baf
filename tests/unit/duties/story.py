"""Seeded stories of the duties: random launches and outcomes, workers that die and come back, crashes between any two steps.

A seed makes a world: launches that overlap, workers that report, fail, skip, die, come back as zombies, and processes that
die inside a transaction or between two. After every step the invariants hold; at the end every run has ended, every state
equals what a brute-force reading of the rules over the history gives, and each cell was published once per task.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

from tests.unit.duties.brute_force import brute_end, brute_verdict
from tests.unit.duties.crashing import Crash, CrashingStore
from tests.unit.duties.duty_world import PIN, World, gate, no_log, plan_of, report, step
from tests.unit.duties.invariants import TERMINAL, check_invariants

from partita.core.decide.rules import RULES
from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.explain import explain
from partita.core.duties.finish import finish, publish_part
from partita.core.duties.launch import launch
from partita.core.duties.leases import pulse, register, renew, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import cancel_run, fold_tallies
from partita.core.duties.values import AttemptResult, CellOutcome, Claimed, LaunchTask
from partita.core.store.port import Store
from partita.core.store.values import AttemptOutcome, Pool, RunId, WorkerId

WORKERS = [WorkerId("w1"), WorkerId("w2")]
MAX_RETRIES = 2
_OUTCOMES = {
    AttemptOutcome.SUCCESS: 12,
    AttemptOutcome.FAILED: 4,
    AttemptOutcome.SKIPPED: 2,
    AttemptOutcome.TIMED_OUT: 1,
    AttemptOutcome.FAILED_FOR_GOOD: 1,
    AttemptOutcome.RETRY_LATER: 1,
    AttemptOutcome.LOST: 1,
    AttemptOutcome.VERSION_GONE: 1,
    AttemptOutcome.CANCELLED: 1,
}


@dataclass
class History:
    """What was applied to each task, in order, as the tests saw it from outside."""

    ends: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))  # outcomes of applied reports, losses
    cancelled_runs: dict[int, int] = field(default_factory=dict)  # run -> how many attempts it had by then
    terminal: dict[int, dict[str, Any]] = field(default_factory=dict)
    run_ends: dict[int, str] = field(default_factory=dict)


class Story:
    """One seeded story."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.world = World()
        self.history = History()
        self.live: dict[str, list[Claimed]] = {worker: [] for worker in WORKERS}
        self.zombies: list[AttemptResult] = []
        self.crashes = 0
        for worker in WORKERS:
            register(self.world.store, worker, host="h", pid=1, capacity=3)
        with self.world.memory.begin() as tx:
            tx.set_pool(Pool("one", 1))
            tx.set_pool(Pool("three", 3))
            tx.set_pool(Pool("default", 4))
        self.inputs()

    # -- what there is
    def inputs(self) -> None:
        for asset in range(2, 13):
            above = self.random.sample(range(1, asset), min(asset - 1, self.random.randint(0, 2)))
            self.world.definitions.inputs[asset] = [(f"in{up}", up) for up in above]

    def launch(self) -> None:
        assets = sorted(self.random.sample(range(1, 13), self.random.randint(1, 8)))
        tasks: list[LaunchTask] = []
        for asset in assets:
            upstream = self.random.sample(range(len(tasks)), self.random.randint(0, min(3, len(tasks))))
            if len(upstream) > 1 and self.random.random() < 0.3:
                tasks.append(gate(*upstream))
                upstream = [len(tasks) - 1]
            tasks.append(self.step(asset, upstream))
        self.duty(lambda store: launch(store, plan_of(*tasks)))

    def step(self, asset: int, upstream: list[int]) -> LaunchTask:
        choose = self.random.choice
        pools = choose([(), (("one", 1),), (("three", 2),), (("one", 1), ("three", 1)), (("three", 1),)])
        rule = choose(["all_success"] * 8 + list(RULES))
        partitions = self.random.sample(["a", "b", "c"], self.random.randint(1, 3))
        return step(
            asset,
            *upstream,
            partitions=partitions,
            pools=pools,
            rule=rule,
            retries=self.random.randint(0, MAX_RETRIES),
            priority=self.random.randint(0, 2),
            conditional=self.random.random() < 0.3,
        )

    # -- processes that may die
    def duty(self, act: Callable[[Store], Any]) -> Any:
        """Runs a duty; now and then its process dies in it, after some transactions and operations."""
        if self.random.random() < 0.25:
            self.crashes += 1
            doomed = CrashingStore(self.world.memory, self.random.choice([0, 0, 1]), self.random.randint(0, 12))
            try:
                return act(doomed)
            except Crash:
                return None
            finally:
                self.observe()
        result = act(self.world.store)
        self.observe()
        return result

    # -- what happens
    def act(self) -> None:
        weights = {
            self.admit: 6,
            self.claim: 8,
            self.report: 10,
            self.part: 1,
            self.wake: 3,
            self.sweep: 2,
            self.pass_time: 3,
            self.die: 1,
            self.zombie: 2,
            self.cancel: 0.3,
            self.fold: 2,
            self.renew: 2,
            self.launch: 0.7,
            self.outage: 0.3,
            self.explain: 1,
        }
        do = self.random.choices(list(weights), list(weights.values()))[0]
        do()

    def admit(self) -> None:
        self.duty(lambda store: admit(store, self.random.randint(1, 4)))

    def explain(self) -> None:
        self.duty(explain)

    def claim(self, limit: int | None = None) -> None:
        worker = self.random.choice(WORKERS)
        room = self.random.randint(1, 3) if limit is None else limit
        resolve = self.world.definitions.resolve
        claims = self.duty(lambda store: claim(store, worker, [PIN], room, resolve, no_log))
        if claims is None:
            self.forget_unknown(worker)
        elif not claims.live:
            self.live[worker] = []
            register(self.world.store, worker, host="h", pid=1, capacity=3)
            self.note_losses()
        else:
            self.live[worker] += claims.claimed

    def forget_unknown(self, worker: WorkerId) -> None:
        """The worker died in its claim: whatever it had runs on under nobody."""
        self.live[worker] = []
        self.duty(lambda store: register(store, worker, host="h", pid=1, capacity=3))
        self.note_losses()

    def report(self) -> None:
        worker = self.random.choice(WORKERS)
        count = self.random.randint(1, 3)
        claimed, self.live[worker] = self.live[worker][:count], self.live[worker][count:]
        results = [self.result(c) for c in claimed]
        before = self.running()
        finished = self.duty(lambda store: finish(store, results))
        self.zombies += self.random.sample(results, min(1, len(results)))
        now_running = self.running()
        for result in results:
            key = (result.task_id, result.attempt_id)
            if key in before and key not in now_running:
                self.history.ends[result.task_id].append(result.outcome.value)
        if finished is None:
            # Nobody acknowledged: what was not applied is reported again.
            self.live[worker] += [c for c in claimed if (c.task.id, c.attempt_id) in now_running]

    def result(self, claimed: Claimed) -> AttemptResult:
        asked = self.world.task(claimed.task.id)["cancel_requested"]
        if asked and self.random.random() < 0.7:
            return report(claimed, AttemptOutcome.CANCELLED)
        outcome = self.random.choices(list(_OUTCOMES), list(_OUTCOMES.values()))[0]
        version = self.random.choice([None, "same"])
        result = report(claimed, outcome, version=version, error="told to", retry_in_s=3.0)
        if outcome is AttemptOutcome.FAILED and self.random.random() < 0.5:
            some = claimed.cells[: self.random.randint(0, len(claimed.cells) - 1)]
            written = report(claimed, version=version, kinds={own.cell: CellOutcome.WRITTEN for own in some})
            result = replace(result, cells=written.cells)
        return result

    def part(self) -> None:
        for claimed in self.live[self.random.choice(WORKERS)][:1]:
            some = claimed.cells[: self.random.randint(1, len(claimed.cells))]
            result = report(claimed, kinds={own.cell: CellOutcome.WRITTEN for own in some})
            self.duty(partial(publish_part, result=result))

    def zombie(self) -> None:
        """A report of an attempt that was applied or given up long ago changes nothing."""
        if self.zombies:
            result = self.random.choice(self.zombies)
            if (result.task_id, result.attempt_id) not in self.running():
                before = self.world.memory.dump()
                assert finish(self.world.store, [result]).applied == ()
                assert publish_part(self.world.store, result).refused is not None
                assert self.world.memory.dump() == before

    def wake(self) -> None:
        self.duty(wake_retries)

    def fold(self) -> None:
        self.duty(lambda store: fold_tallies(store, self.random.randint(1, 5)))

    def renew(self) -> None:
        for worker in WORKERS:
            if renew(self.world.store, worker).live is False:
                self.live[worker] = []

    def sweep(self) -> None:
        self.duty(sweep)
        self.note_losses()

    def pass_time(self) -> None:
        for _ in range(self.random.randint(1, 6)):
            self.world.clock.forward(1)
            pulse(self.world.store)

    def die(self) -> None:
        """A worker is gone: its lease lapses while the database answers, then it comes back empty."""
        worker = self.random.choice(WORKERS)
        for _ in range(31):
            self.world.clock.forward(1)
            pulse(self.world.store)
            renew(self.world.store, WORKERS[1 - WORKERS.index(worker)])
        self.zombies += [report(claimed) for claimed in self.live[worker]]
        self.live[worker] = []
        self.duty(sweep)
        self.note_losses()
        self.duty(lambda store: register(store, worker, host="h", pid=2, capacity=3))
        self.note_losses()

    def outage(self) -> None:
        """The database is away for minutes: nobody is lost by it."""
        running = self.running()
        self.renew()
        lapsed = {row["id"] for row in self.world.rows("worker") if row["lease_expires_at"] <= self.world.clock.now}
        self.world.clock.forward(300)
        assert not sweep(self.world.store).judged
        if not lapsed:
            assert sweep(self.world.store).workers == ()
            assert self.running() == running

    def cancel(self) -> None:
        runs = [row["id"] for row in self.world.rows("run") if row["state"] == "running"]
        if runs:
            run_id = RunId(self.random.choice(runs))
            self.duty(lambda store: cancel_run(store, run_id, "ada"))
            if next(row for row in self.world.rows("run") if row["id"] == run_id)["cancel_requested_at"]:
                self.history.cancelled_runs.setdefault(run_id, self.attempts_of(run_id))

    def drain(self) -> None:
        """No more trouble: everything that can end ends."""
        for _ in range(400):
            if all(row["state"] != "running" for row in self.world.rows("run")):
                return
            for duty in (sweep, wake_retries, admit, fold_tallies):
                duty(self.world.store)
                self.note_losses()
            self.claim(limit=10)
            self.report()
            self.world.clock.forward(3)
            pulse(self.world.store)
            self.renew()
        raise AssertionError(
            f"runs did not end: {[row for row in self.world.rows('task') if row['state'] not in TERMINAL]}"
        )

    # -- looking from outside
    def running(self) -> set[tuple[int, int]]:
        return {(row["id"], row["attempt_id"]) for row in self.world.rows("task") if row["state"] == "running"}

    def attempts_of(self, run_id: int) -> int:
        return sum(row["run_id"] == run_id for row in self.world.rows("attempt"))

    def note_losses(self) -> None:
        """Attempts that a sweep or a registration took: their rows say lost, and no report of ours was applied."""
        for row in self.world.rows("attempt"):
            seen = self.history.ends[row["task_id"]]
            if row["outcome"] == "lost" and len(seen) < row["number"]:
                seen.append("lost")

    def observe(self) -> None:
        tables = self.world.memory.dump()
        check_invariants(tables)
        for row in tables["task"]:
            if row["state"] in TERMINAL:
                assert self.history.terminal.setdefault(row["id"], row) == row, "a terminal row changed"
        for row in tables["run"]:
            if row["state"] != "running":
                assert self.history.run_ends.setdefault(row["id"], row["state"]) == row["state"]


def check_end(story: Story) -> None:
    tables = story.world.memory.dump()
    tasks = {row["id"]: row for row in tables["task"]}
    upstream: dict[int, list[int]] = defaultdict(list)
    for edge in tables["task_edge"]:
        upstream[edge["downstream_id"]].append(edge["upstream_id"])
    for row in tables["task"]:
        check_task(story, row, [tasks[up] for up in upstream[row["id"]]], tables)
    for run in tables["run"]:
        states = {row["state"] for row in tasks.values() if row["run_id"] == run["id"]}
        failed = states & {"failed", "upstream_failed"}
        cancelled = run["id"] in story.history.cancelled_runs
        assert run["state"] == ("failed" if failed else "cancelled" if cancelled else "success")
    for run_id, attempts in story.history.cancelled_runs.items():
        assert story.attempts_of(run_id) == attempts, "something started after its run was cancelled"
    once = Counter(
        (e["task_id"], e["asset_id"], e["partition"]) for e in tables["event"] if e["kind"] == "materialized"
    )
    assert all(n == 1 for n in once.values()), "a cell was published twice by one cause"
    assert not tables["pool_slot"]
    assert not tables["open_cell"]
    assert not [row for row in tables["cell_cause"] if row["waits"]]


def check_task(
    story: Story, row: dict[str, Any], above: list[dict[str, Any]], tables: dict[str, list[dict[str, Any]]]
) -> None:
    cancelled = row["run_id"] in story.history.cancelled_runs
    verdict = brute_verdict(
        row["rule"], [(up["state"], up["kind"] == "step" and up["step"] == row["step"]) for up in above]
    )
    if row["state"] == "cancelled":
        assert cancelled
    elif verdict != "run":
        assert row["state"] == verdict
        assert row["attempt_number"] == 0
    elif row["kind"] == "gate":
        assert row["state"] == "success"
    else:
        cells = [own for own in tables["task_cell"] if own["task_id"] == row["id"]]
        ends = story.history.ends[row["id"]]
        assert row["state"] in brute_end(row, cells, ends, cancelled), (row, ends)
        published = {
            (e["asset_id"], e["partition"])
            for e in tables["event"]
            if e["task_id"] == row["id"] and e["partition"] is not None and e["kind"] == "materialized"
        }
        assert {(o["asset_id"], o["partition"]) for o in cells if o["state"] == "published"} <= published


def tell(seed: int, steps: int) -> Story:
    """One story from its beginning to its checked end."""
    story = Story(seed)
    story.launch()
    for _ in range(steps):
        story.act()
    story.drain()
    check_end(story)
    return story
