"""Laws of the duties: random graphs, random outcomes, random interleavings, crashes between any two steps.

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

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from tests.unit.duties.crashing import Crash, CrashingStore
from tests.unit.duties.duty_world import PIN, World, cell, gate, no_log, plan_of, report, step

from partita.core.decide import finish as finish_decider
from partita.core.decide import retry as retry_decider
from partita.core.decide import settle as settle_decider
from partita.core.duties import consequences
from partita.core.duties import runs as runs_duty
from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.explain import explain
from partita.core.duties.finish import finish, publish_part
from partita.core.duties.launch import launch
from partita.core.duties.leases import pulse, register, renew, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import cancel_run, fold_tallies
from partita.core.duties.values import AttemptResult, CellOutcome, Claimed, LaunchTask
from partita.core.store.memory.store import MemoryTx
from partita.core.store.port import Store
from partita.core.store.values import AttemptOutcome, Pool, RunId, Task, TaskState, WorkerId

TERMINAL = {state.value for state in TaskState if state.terminal}
BAD = {"failed", "upstream_failed", "cancelled", "removed"}
WORKERS = [WorkerId("w1"), WorkerId("w2")]
MAX_RETRIES = 2
LOSSES = 5
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
        rule = choose(["all_success"] * 5 + ["all_done", "none_failed", "none_skipped"])
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
            assert row["waiting_on"] == len(open_above) == 0
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


# ------------------------------------------------------------------------------------------------- brute force
def brute_verdict(rule: str, states: list[tuple[str, bool]]) -> str:
    """The rule over the final states of all upstream (state, is it the same step), read off S-108 and the design."""
    bad = any(state in BAD for state, _ in states)
    skipped = any(state == "skipped" and not same for state, same in states)
    if rule == "all_done":
        return "run"
    if rule == "none_failed":
        return "upstream_failed" if bad else "run"
    if rule == "none_skipped":
        return "skipped" if skipped else "run"
    if bad:
        return "upstream_failed"
    return "skipped" if skipped else "run"


def brute_end(row: dict[str, Any], cells: list[dict[str, Any]], ends: list[str], cancelled: bool) -> set[str]:
    """The states that a task which was allowed to run may end in, by the history of its attempts."""
    if cells and all(own["state"] in ("published", "unchanged", "skipped") for own in cells):
        made = any(own["state"] != "skipped" for own in cells)
        return {"success"} if made else {"skipped"}
    retries = row["retry"]["max_retries"]
    failures = sum(end in ("failed", "timed_out", "retry_later", "success", "skipped") for end in ends)
    losses = sum(end in ("lost", "cancelled") for end in ends)
    for_good = "failed_for_good" in ends or failures > retries or losses > LOSSES
    if cancelled:
        return {"cancelled", "failed"} if for_good else {"cancelled"}
    return {"failed"} if for_good else {"success"}


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


@given(seed=st.integers(0, 2**32), steps=st.integers(10, 60))
@settings(max_examples=40)
def test_whatever_happens_every_run_ends_right(seed: int, steps: int) -> None:
    """Laws 2 and 3, S-108, S-112, S-119, S-135 over random stories."""
    story = tell(seed, steps)
    note(f"{story.crashes} crashes, {len(story.world.rows('task'))} tasks")


@pytest.mark.prove
@pytest.mark.parametrize("hundred", range(30))
def test_many_stories_end_right(hundred: int) -> None:
    """The long form: three thousand seeds; run one again with `tell(seed, 120)`."""
    for seed in range(100 * hundred, 100 * (hundred + 1)):
        try:
            tell(seed, 120)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


def _no_fence_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finish_decider, "refusal", lambda task, result: None if task else "unknown")


def _lost_decrement(monkeypatch: pytest.MonkeyPatch) -> None:
    right = settle_decider.settle

    def forgets_one(ended: Any, edges: Any, dependents: Any, **options: Any) -> Any:
        return right(ended, list(edges)[1:], dependents, **options)

    monkeypatch.setattr(consequences, "settle", forgets_one)


def _late_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure that is not followed below the direct dependents."""
    right = settle_decider.settle

    def not_beyond(*args: Any, **options: Any) -> Any:
        return replace(right(*args, **options), beyond=frozenset())

    monkeypatch.setattr(consequences, "settle", not_beyond)


def _slots_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTx, "release_slots", lambda self, ids: None)


def _owner_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTx, "close_cells", lambda self, ids: None)


def _slots_counted_before_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryTx, "held_slots", lambda self, names: dict.fromkeys(names, 0))


def _published_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry that carries the cells which were published already."""
    monkeypatch.setattr(MemoryTx, "write_task_cells", lambda self, updates: None)


def _one_retry_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    right = retry_decider.after_failure

    def generous(task: Task, now: Any, **options: Any) -> Any:
        kinder = replace(task, retry=replace(task.retry, max_retries=task.retry.max_retries + 1))
        return right(kinder, now, **options)

    monkeypatch.setattr(retry_decider, "after_failure", generous)


def _a_skip_is_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settle_decider, "_counts_as_skip", lambda end, task: False)


def _revived_by_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may start again after its run was cancelled."""
    monkeypatch.setattr(runs_duty, "cancel", lambda task, now: None)


MUTANTS = [
    _no_fence_check,
    _lost_decrement,
    _late_failure,
    _slots_kept,
    _owner_kept,
    _slots_counted_before_the_lock,
    _published_again,
    _one_retry_too_many,
    _a_skip_is_a_success,
    _revived_by_retry,
]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_duty_is_noticed(
    mutant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stories would notice (DESIGN section 8)."""
    mutant(monkeypatch)
    for seed in range(100):
        try:
            tell(seed, 60)
        except Exception:
            return
    pytest.fail("no story noticed")


@given(seed=st.integers(0, 2**32))
@settings(max_examples=6)
def test_a_crash_at_any_operation_of_a_report_leaves_nothing_half_done(seed: int) -> None:
    """The report is one transaction: it is applied as a whole or can be sent again as if it never was."""
    random = Random(seed)
    world = World()
    world.launch(step(1, partitions=["a", "b"]), gate(0), step(2, 1), step(3, 0))
    result = report(world.start()["s1"], random.choice([AttemptOutcome.SUCCESS, AttemptOutcome.FAILED]))
    for operations in range(40):
        before = world.memory.dump()
        try:
            finish(CrashingStore(world.memory, 0, operations), [result])
        except Crash:
            assert world.memory.dump() == before
            check_invariants(before)
    assert world.finish(result).applied == (result.task_id,)
    check_invariants(world.memory.dump())


def test_the_stories_meet_what_they_are_about() -> None:
    """The generator reaches every terminal state, joins, gates, crashes, refusals and losses: else the law says little."""
    states: Counter[str] = Counter()
    outcomes: Counter[str] = Counter()
    causes = gates = crashes = 0
    for seed in range(25):
        story = tell(seed, 50)
        causes += len(story.world.rows("cell_cause"))
        states.update(row["state"] for row in story.world.rows("task"))
        outcomes.update(row["outcome"] for row in story.world.rows("attempt"))
        gates += sum(row["kind"] == "gate" and row["state"] == "success" for row in story.world.rows("task"))
        crashes += story.crashes
    assert {"success", "failed", "upstream_failed", "skipped", "cancelled"} <= set(states)
    assert {outcome.value for outcome in AttemptOutcome} <= set(outcomes)
    assert min(causes, gates, crashes, cell(1).asset_id) > 0
