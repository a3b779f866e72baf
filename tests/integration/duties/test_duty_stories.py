"""Stories with real concurrency: threads that launch, admit, claim, report, sweep, fold and cancel on one Postgres.

No order of theirs is fixed, so a seed does not repeat one; the laws hold for whatever happened.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random
from threading import Event

import pytest
from tests.integration.duties.conftest import PostgresWorld
from tests.integration.store.pauses import in_thread
from tests.simulation.brute_force import brute_verdict
from tests.simulation.invariants import TERMINAL, check_invariants
from tests.unit.duties.duty_world import PIN, gate, no_log, plan_of, report, step

from partita.core.duties.admit import admit
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish, publish_part
from partita.core.duties.launch import launch
from partita.core.duties.leases import pulse, register, renew, sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import cancel_run, fold_tallies
from partita.core.duties.values import LaunchTask
from partita.core.duties.values_attempts import CellOutcome, Claimed
from partita.core.store.values import AttemptOutcome, Pool, RetryPolicy, RunId, WorkerId

LAUNCHES = 12  # of each launcher


class Hands:
    """One thread's share of the work; each has its own random."""

    def __init__(self, world: PostgresWorld, seed: int, stop: Event) -> None:
        self.world = world
        self.random = Random(seed)
        self.stop = stop
        self.worker = WorkerId(f"w{seed}")

    def launcher(self) -> None:
        for _ in range(LAUNCHES):
            made = launch(self.world.store, plan_of(*self.tasks()))
            if self.random.random() < 0.15:
                cancel_run(self.world.store, RunId(made.run_id), "ada")

    def tasks(self) -> list[LaunchTask]:
        tasks: list[LaunchTask] = []
        for asset in sorted(self.random.sample(range(1, 13), self.random.randint(2, 8))):
            upstream = self.random.sample(range(len(tasks)), self.random.randint(0, min(3, len(tasks))))
            if len(upstream) > 1 and self.random.random() < 0.4:
                tasks.append(gate(*upstream))
                upstream = [len(tasks) - 1]
            partitions = self.random.sample(["a", "b", "c"], self.random.randint(1, 3))
            pools = self.random.choice([(), (("one", 1),), (("three", 2),), (("one", 1), ("three", 1))])
            rule = self.random.choice(["all_success"] * 4 + ["all_done", "none_failed"])
            retry = RetryPolicy(self.random.randint(0, 2))
            tasks.append(step(asset, *upstream, partitions=partitions, pools=pools, rule=rule, retry=retry))
        return tasks

    def scheduler(self) -> None:
        while not self.stop.is_set():
            admitted = admit(self.world.store, self.random.randint(1, 20))
            wake_retries(self.world.store)
            pulse(self.world.store)
            sweep(self.world.store)
            fold_tallies(self.world.store, self.random.randint(1, 20))
            if not admitted.queued:
                self.stop.wait(0.005)

    def works(self) -> None:
        register(self.world.store, self.worker, host="h", pid=1, capacity=5)
        while not self.stop.is_set():
            claims = claim(self.world.store, self.worker, [PIN], 5, self.world.definitions.resolve, no_log)
            renew(self.world.store, self.worker)
            if not claims.claimed:
                self.stop.wait(0.005)
            if claims.claimed and self.random.random() < 0.05:
                # It dies with what it runs, and comes back under its name.
                register(self.world.store, self.worker, host="h", pid=1, capacity=5)
                assert not finish(self.world.store, [report(c) for c in claims.claimed]).applied
                continue
            self.report(list(claims.claimed))

    def report(self, claimed: list[Claimed]) -> None:
        for one in claimed:
            if self.random.random() < 0.2:
                publish_part(self.world.store, report(one, kinds={one.cells[0].cell: CellOutcome.WRITTEN}))
        results = [report(one, self.outcome(), retry_in_s=0.0) for one in claimed]
        if results:
            finish(self.world.store, results)

    def outcome(self) -> AttemptOutcome:
        good = [AttemptOutcome.SUCCESS] * 8
        return self.random.choice(
            [*good, AttemptOutcome.FAILED, AttemptOutcome.SKIPPED, AttemptOutcome.RETRY_LATER, AttemptOutcome.LOST]
        )


SEEDS = [1, 2, *(pytest.param(seed, marks=pytest.mark.prove) for seed in range(3, 40))]


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_threads_do_every_run_ends_right(world: PostgresWorld, seed: int) -> None:
    """Laws 2 and 3, S-117 to S-119: no deadlock is left to the caller, nothing is lost, nothing is doubled."""
    with world.postgres.begin() as tx:
        tx.set_pool(Pool("one", 1))
        tx.set_pool(Pool("three", 3))
    stop = Event()
    hands = [Hands(world, 10 * seed + n, stop) for n in range(7)]
    launching = [in_thread(hand.launcher) for hand in hands[:3]]
    running = [in_thread(hand.scheduler) for hand in hands[3:5]] + [in_thread(hand.works) for hand in hands[5:]]
    for future in launching:
        future.result(120)
    until_ended(world, stop)
    for future in running:
        future.result(120)
    check_end(world)


def until_ended(world: PostgresWorld, stop: Event) -> None:
    for _ in range(4_800):
        world.skip_waits()
        if all(row["state"] != "running" for row in world.rows("run")):
            break
        stop.wait(0.05)
    stop.set()
    open_tasks = [row for row in world.rows("task") if row["state"] not in TERMINAL]
    assert not open_tasks, [(r["id"], r["state"], r["reason"], r["reason_detail"]) for r in open_tasks]


def check_end(world: PostgresWorld) -> None:
    tables = world.tables()
    check_invariants(tables)
    tasks = {row["id"]: row for row in tables["task"]}
    upstream: dict[int, list[int]] = defaultdict(list)
    for edge in tables["task_edge"]:
        upstream[edge["downstream_id"]].append(edge["upstream_id"])
    for row in tasks.values():
        above = [tasks[up] for up in upstream[row["id"]]]
        verdict = brute_verdict(
            row["rule"], [(up["state"], up["kind"] == "step" and up["step"] == row["step"]) for up in above]
        )
        if row["state"] != "cancelled" and verdict != "run":
            assert row["state"] == verdict
    once = Counter(
        (e["task_id"], e["asset_id"], e["partition"]) for e in tables["event"] if e["kind"] == "materialized"
    )
    assert set(once.values()) == {1}
    assert not tables["pool_slot"]
    assert not tables["open_cell"]
    assert not tables["run_tally"]
    assert not [row for row in tables["cell_cause"] if row["waits"]]
    fences = Counter((row["task_id"], row["fence"]) for row in tables["attempt"])
    assert set(fences.values()) == {1}
