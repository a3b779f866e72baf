"""Random operations on what work runs under, on both stores: pools, workers, leases, tallies, runs."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from tests.integration.store.differential_world import QUEUES, WORKERS, Op, World

from partita.assets.queues import ALL_QUEUES
from partita.core.store.port import Tx
from partita.core.store.values import (
    BackfillId,
    Lane,
    Pool,
    PoolUse,
    RunId,
    RunState,
    RunUpdate,
    Tally,
    TaskId,
    TaskState,
    WaitReason,
)


def pools(w: World) -> Op:
    locations = [f"location:{row['name']}" for row in w.db.location.rows.values()]
    names = w.some(["default", "warehouse", "Größe", "none"])
    pool = Pool(w.one(["warehouse", "Größe"]), w.random.randint(-1, 9) if w.maybe(0.1) else w.random.randint(0, 9))
    caps = {name: w.one([None, 1, 5]) for name in w.some(["all", "asset:a", "run:*", *locations], 3)}
    return w.op(
        [
            lambda tx: (tx.lock_pools_skip(names), tx.held_slots(names)),
            lambda tx: tx.set_pool(pool),
            lambda tx: tx.configure_pools([pool]),
            lambda tx: tx.set_caps(caps),
            lambda tx: (tx.running_caps(), tx.limit_of_new_runs()),
            lambda tx: tx.ensure_pools([Pool("auto", 1), Pool("default", 3)], automatic=True),
        ]
    )


def lanes(w: World) -> Op:
    lane = Lane(w.one(["interactive", "nightly"]), w.random.randint(0 if w.maybe(0.1) else 1, 3), w.one([0.0, 0.25]))
    return w.op([lambda tx: tx.set_lane(lane), lambda tx: tx.configure_lanes([lane]), lambda tx: tx.lanes()])


def backfills(w: World) -> Op:
    """What pauses, changes, ends and asks about backfills."""
    known = sorted(w.db.backfill.rows) or [BackfillId(1)]
    ids, one, seed = w.some(known, 3), w.one(known), w.random.getrandbits(32)
    runs, name, by = (
        w.some(sorted(w.db.run.rows), 3),
        w.one([f"backfill:{one}", "default", "none"]),
        w.one([None, w.text()]),
    )
    state, reason = (
        w.one([TaskState.SCHEDULED, TaskState.QUEUED]),
        w.one([None, WaitReason.PAUSED, WaitReason.POOL_FULL]),
    )

    def write(tx: Tx) -> Any:
        random = Random(seed)
        found = tx.lock_backfills(ids)
        for backfill in found:
            ends = random.choice([RunState.RUNNING, RunState.FAILED])
            tx.write_backfill(
                replace(backfill, state=ends, max_active=random.choice([None, 3]), priority=random.choice([0, 5]))
            )
        return found, tx.lock_backfills(ids), tx.backfill_priorities()

    return w.op(
        [
            write,
            lambda tx: tx.ensure_pools([Pool(f"backfill:{one}", 3)], automatic=True),
            lambda tx: (tx.pause_pool(name, by), tx.lock_pools_skip([name]), tx.lock_backfills([one])),
            lambda tx: (tx.runs_of_backfill(one), tx.unmade_cells(one)),
            lambda tx: tx.lock_tasks_of_runs(runs, state, reason=reason),
            lambda tx: tx.lock_cancelling_runs_skip(2),
        ]
    )


def hold_slots(w: World) -> Op:
    uses = [(task_id, PoolUse(w.one(w.db.pool.rows), w.random.randint(1, 3))) for task_id in w.tasks(3)]
    if w.maybe(0.05):
        uses.append((TaskId(1), PoolUse("no such pool", 1)))
    return lambda tx: tx.hold_slots(uses)


def release_slots(w: World) -> Op:
    ids = w.tasks(6)
    return lambda tx: tx.release_slots(ids)


def workers(w: World) -> Op:
    worker, lease_s, ids = w.one(WORKERS), w.one([-1.5, 0, 1000.25]), w.some(WORKERS, 2)
    queues = w.one([[ALL_QUEUES], w.some(QUEUES, 2)])
    return w.op(
        [
            lambda tx: tx.put_worker(worker, "host", 12, 4, lease_s),
            lambda tx: tx.put_worker(worker, "host", 12, 4, lease_s, queues, version="1.2"),
            lambda tx: tx.last_served(QUEUES),
            lambda tx: tx.renew_lease(worker, lease_s),
            lambda tx: tx.retire_worker(worker),
            lambda tx: tx.lock_lapsed_workers_skip(2),
            lambda tx: tx.mark_workers_gone(ids),
            lambda tx: tx.live_workers(),
            lambda tx: tx.read_pulse(),
            lambda tx: tx.set_pulse(),
            lambda tx: tx.extend_leases(2.5, at_most_s=31.0),
        ]
    )


def tallies(w: World) -> Op:
    runs = sorted(w.db.run.rows) or [RunId(1)]
    rows = [Tally(w.one(runs), w.one([TaskState.SUCCESS, TaskState.FAILED]), 2) for _ in range(w.random.randint(0, 3))]
    limit = w.random.randint(1, 3)
    return w.op([lambda tx: tx.append_tallies(rows), lambda tx: tx.take_tallies(limit)])


def runs(w: World) -> Op:
    ids, seed = w.some(sorted(w.db.run.rows)), w.random.getrandbits(32)

    def write(tx: Tx) -> Any:
        random = Random(seed)
        found = tx.lock_runs(ids)
        updates = []
        for run in found:
            ends = random.random() < 0.3
            state = random.choice(list(RunState)) if ends else RunState.RUNNING
            expected = run.state if random.random() > 0.05 else RunState.CANCELLED
            finished_at = tx.now() if state is not RunState.RUNNING else None
            cancelled_from = TaskId(random.randrange(1, 40)) if random.random() < 0.3 else None
            stopped, late = random.random() < 0.5, random.random() < 0.1
            updates.append(
                RunUpdate(run.id, expected, state, {"success": 2}, stopped, finished_at, late, cancelled_from)
            )
        tx.write_runs(updates)
        for run in found[:2]:
            tx.limit_run(run.id, random.choice([None, 1, 3, 3, 0]))
        return found, tx.read_runs(ids)

    return write
