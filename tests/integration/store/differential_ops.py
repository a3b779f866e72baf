"""Random operations of the store port, chosen by what the tables hold: mostly sensible, sometimes wrong on purpose.

Each function looks at the memory store's tables and gives the operation to perform on both stores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from partita.core.store.memory.tables import Database
from partita.core.store.port import Tx
from partita.core.store.values import (
    AttemptEnd,
    AttemptId,
    AttemptOutcome,
    AutomationRequest,
    BackfillId,
    CellAttempt,
    CellCause,
    CellRef,
    CellState,
    CheckRow,
    Fence,
    LocationId,
    NewAttempt,
    NewEvent,
    NewRun,
    NewTask,
    NewTaskCell,
    Pool,
    PoolUse,
    Publication,
    RetryPolicy,
    RunId,
    RunState,
    RunUpdate,
    SnapshotId,
    Tally,
    TaskCellUpdate,
    TaskId,
    TaskState,
    TaskUpdate,
    TodoEvent,
    WaitReason,
    WorkerId,
)
from partita.core.store.values_accept import AcceptanceId, CellBasis, Rebase
from partita.core.store.values_definitions import CellPage, LocationState, PlanId

Op = Callable[[Tx], Any]

KEYS = ("raw/orders", "raw/flights", "clean/ö", "Zeta", "a b|c,d")
PARTITIONS = ("", "2026-03-01", "2026-03-02", "EWR|'\"\\", "Å/ß", "a", "B", "_", "日本")
WORKERS = tuple(WorkerId(f"w{n}") for n in range(4))
POOL_SETS = (
    (),
    (PoolUse("default", 1),),
    (PoolUse("warehouse", 2), PoolUse("default", 1)),
    (PoolUse("Größe", 3),),
)
AS_OF = datetime(2026, 3, 2, 5, 0, 0, 123456, tzinfo=UTC)
U64 = (1 << 64) - 1


class World:
    """Picks from what exists. `db` is the memory store's, within the open transaction."""

    def __init__(self, random: Random, db: Database) -> None:
        self.random = random
        self.db = db

    def some(self, items: Any, most: int = 4) -> list[Any]:
        items = list(items)
        return self.random.sample(items, min(len(items), self.random.randint(0, most)))

    def one(self, items: Any) -> Any:
        return self.random.choice(list(items))

    def op(self, ops: list[Op]) -> Op:
        return self.random.choice(ops)

    def maybe(self, p: float = 0.5) -> bool:
        return self.random.random() < p

    def assets(self) -> list[int]:
        return sorted(self.db.asset.rows) or [1]

    def cell(self) -> CellRef:
        return CellRef(self.one(self.assets()), self.one(PARTITIONS))

    def cells(self, most: int = 4) -> list[CellRef]:
        return sorted({self.cell() for _ in range(self.random.randint(0, most))})

    def known_cells(self, most: int = 4) -> list[CellRef]:
        return [CellRef(*key) for key in self.some(sorted(self.db.cell.rows), most)]

    def tasks(self, most: int = 4) -> list[TaskId]:
        return self.some(sorted(self.db.task.rows), most)

    def open_tasks(self, most: int = 4) -> list[TaskId]:
        return self.some((row["id"] for row in self.db.task if not TaskState(row["state"]).terminal), most)

    def pins(self) -> list[tuple[LocationId, SnapshotId]]:
        return sorted((row["location_id"], row["id"]) for row in self.db.snapshot)

    def digest(self) -> int:
        return self.random.choice([0, 1, U64, 1 << 63, self.random.getrandbits(64)])

    def text(self) -> str:
        return self.random.choice(
            ["", "plain", "a\x00b", "lone \ud800 surrogate", "日本 'quoted' \\ % :name", "x" * 300]
        )


# ---------------------------------------------------------------- launch
def insert_run(w: World) -> Op:
    backfills = sorted(w.db.backfill.rows)
    pins = dict(w.pins())
    run = NewRun(
        backfill_id=w.one(backfills) if backfills and w.maybe() else None,
        lane="interactive",
        priority=w.random.randint(-1, 1),
        cause={"kind": "person", "by": w.text()},
        request={"selection": "*", "n": [1, 2.5, None, True]},
        plan_hash="h",
        as_of=AS_OF,
        params={"x": float("nan") if w.maybe(0.2) else 1},
        task_count=3,
        pins=tuple(pins.items()),
    )
    return lambda tx: tx.insert_run(run)


def insert_backfill(w: World) -> Op:
    cap, name = w.one([None, 1, 5]), w.text()
    return lambda tx: tx.insert_backfill(name, {"from": "a"}, cap, "me")


def _new_task(w: World, task_id: TaskId, first: bool) -> NewTask:
    pin = w.one([*w.pins(), (None, None)])
    return NewTask(
        id=task_id,
        kind="gate" if pin[0] is None else "step",
        step=w.one(KEYS),
        location_id=pin[0],
        snapshot_id=pin[1],
        state=TaskState.SCHEDULED if first else TaskState.NONE,
        waiting_on=0 if first else 1,
        pools=w.one(POOL_SETS),
        lane="interactive",
        priority=w.random.randint(-1, 2),
        wave=0,
        retry=RetryPolicy(w.random.randint(0, 3), 1.5, "exponential", w.one([None, 60.0]), 0.1),
        timeout_s=w.one([None, 30.0]),
        cell_count=1,
        conditional=w.maybe(),
        rule=w.one(["all_success", "all_done"]),
    )


def launch_tasks(w: World) -> Op:
    """Tasks with edges and cells, as a launch makes them (several operations: their results are compared together)."""
    runs = sorted(w.db.run.rows)
    if not runs:
        return insert_run(w)
    run_id, n, seed = w.one(runs), w.random.randint(1, 5), w.random.getrandbits(32)
    window = (AS_OF, AS_OF + timedelta(days=1))
    shapes = [_new_task(w, TaskId(0), place == 0) for place in range(n)]
    cells = [w.cells() for _ in range(n)]

    def launch(tx: Tx) -> Any:
        random = Random(seed)
        ids = tx.reserve_task_ids(n)
        tx.insert_tasks(run_id, [replace(shape, id=task_id) for shape, task_id in zip(shapes, ids, strict=True)])
        edges = [(ids[at], ids[random.randrange(at + 1, n)]) for at in range(n - 1)]
        tx.insert_edges(edges + edges[:1])
        owned: dict[CellRef, TaskId] = {}
        for task_id, own in zip(ids, cells, strict=True):
            for cell in own:
                owned.setdefault(cell, task_id)
        taken = tx.open_cells(owned.items())
        new = [
            NewTaskCell(task_id, cell, "missing", window if random.random() < 0.5 else None)
            for cell, task_id in owned.items()
            if cell not in taken
        ]
        tx.insert_task_cells(new)
        tx.insert_causes([CellCause(cell, owner, run_id, random.random() < 0.5) for cell, owner in taken.items()])
        return ids, taken

    return launch


def bad_edge(w: World) -> Op:
    return lambda tx: tx.insert_edges([(TaskId(7), TaskId(7))])


def open_twice(w: World) -> Op:
    cell = w.cell()
    return lambda tx: tx.open_cells([(cell, TaskId(1)), (cell, TaskId(2))])


def open_owners(w: World) -> Op:
    cells = w.known_cells(8)
    return lambda tx: tx.open_owners(cells)


def take_waiting_causes(w: World) -> Op:
    tasks = w.tasks(3)
    return lambda tx: tx.take_waiting_causes(tasks)


# ---------------------------------------------------------------- tasks
def lock_tasks(w: World) -> Op:
    ids = [*w.tasks(), TaskId(10**9)]
    return lambda tx: tx.lock_tasks(ids)


def lock_dependents(w: World) -> Op:
    ids, closure = w.tasks(3), w.maybe()
    return lambda tx: (tx.lock_dependents(ids, closure=closure), tx.edges_from(ids))


def selections(w: World) -> Op:
    pool_set, limit, pins = w.one(POOL_SETS), w.random.randint(1, 4), w.some(w.pins(), 3)
    runs = sorted(w.db.run.rows) or [RunId(1)]
    run_id, workers, worker = w.one(runs), w.some(WORKERS), w.one(WORKERS)
    return w.op(
        [
            lambda tx: tx.lock_scheduled_skip(pool_set, limit),
            lambda tx: tx.lock_queued_skip(pins, limit),
            lambda tx: tx.lock_due_retries_skip(limit),
            lambda tx: tx.lock_tasks_of_workers(workers),
            lambda tx: tx.lock_open_tasks_of_run(run_id),
            lambda tx: tx.scheduled_pool_sets(),
            lambda tx: tx.cancelled_tasks_of_worker(worker),
            lambda tx: tx.queued_pins(),
        ]
    )


def _update(w: World, tx: Tx, task_id: TaskId) -> TaskUpdate:
    (task,) = tx.lock_tasks([task_id])
    now = tx.now()
    state = w.one([*TaskState, *[TaskState.QUEUED, TaskState.RUNNING, TaskState.UP_FOR_RETRY] * 3])
    update = TaskUpdate.of(
        task,
        state,
        fence=Fence(w.one([task.fence, task.fence + 1])),
        waiting_on=max(0, task.waiting_on - w.random.randint(0, 1)),
        bad_upstream=task.bad_upstream + 1,
        not_before=now + timedelta(seconds=w.one([-5, 500])) if state is TaskState.UP_FOR_RETRY else None,
        worker_id=w.one(WORKERS) if state is TaskState.RUNNING else None,
        cancel_requested=w.maybe(0.3),
        queued_at=now if state is TaskState.QUEUED else task.queued_at,
        reason=w.one([None, *WaitReason]),
        reason_detail=w.one([None, {"pool": w.text()}]),
        error=w.one([None, w.text()]),
        started_at=w.one([None, now]),
        finished_at=now if state.terminal else None,
        outcome=w.one([None, "published"]),
    )
    if w.maybe(0.04):
        update = replace(update, expect_fence=Fence(update.expect_fence + 7))
    if w.maybe(0.02):
        update = replace(update, waiting_on=-1)
    return update


def write_tasks(w: World) -> Op:
    ids, seed = w.open_tasks(5), w.random.getrandbits(32)

    def write(tx: Tx) -> None:
        random = World(Random(seed), w.db)
        tx.write_tasks([_update(random, tx, task_id) for task_id in ids])

    return write


def write_terminal(w: World) -> Op:
    ids = [row["id"] for row in w.db.task if TaskState(row["state"]).terminal][:1]

    def write(tx: Tx) -> None:
        tx.write_tasks([TaskUpdate.of(task, TaskState.SCHEDULED) for task in tx.lock_tasks(ids)])

    return write


def write_task_cells(w: World) -> Op:
    keys = w.some(sorted(w.db.task_cell.rows))
    updates = [
        TaskCellUpdate(key[0], CellRef(key[1], key[2]), w.one(CellState), w.one([None, "v"]), w.one([None, w.text()]))
        for key in keys
    ]
    if w.maybe(0.03):
        updates.append(TaskCellUpdate(TaskId(10**9), CellRef(w.one(w.assets()), "none"), CellState.FAILED))
    return lambda tx: tx.write_task_cells(updates)


def task_cells(w: World) -> Op:
    ids = w.tasks()
    return lambda tx: tx.task_cells(ids)


def close_cells(w: World) -> Op:
    ids = w.tasks(3)
    return lambda tx: tx.close_cells(ids)


# ---------------------------------------------------------------- pools
def pools(w: World) -> Op:
    names = w.some(["default", "warehouse", "Größe", "none"])
    pool = Pool(w.one(["warehouse", "Größe"]), w.random.randint(-1, 9) if w.maybe(0.1) else w.random.randint(0, 9))
    return w.op(
        [
            lambda tx: (tx.lock_pools_skip(names), tx.held_slots(names)),
            lambda tx: tx.set_pool(pool),
            lambda tx: tx.ensure_pools([Pool("auto", 1), Pool("default", 3)], automatic=True),
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


def backfill_counts(w: World) -> Op:
    ids = [*w.some(sorted(w.db.backfill.rows)), BackfillId(10**9)]
    runs = w.some(sorted(w.db.run.rows))
    return lambda tx: (tx.active_of_backfills(ids), tx.backfill_caps(runs))


# ---------------------------------------------------------------- cells and attempts
def raise_fences(w: World) -> Op:
    cells = [*w.known_cells(), CellRef(w.one(w.assets()), "not there")]

    def claim(tx: Tx) -> Fence:
        fence = tx.next_fence()
        tx.raise_fences(cells, [fence] * len(cells))
        return fence

    return claim


def read_cells(w: World) -> Op:
    cells = w.cells(6)
    return w.op([lambda tx: tx.read_cells(cells), lambda tx: tx.lock_cells(cells)])


def publish_cells(w: World) -> Op:
    cells = w.known_cells()

    def one(cell: CellRef) -> Publication:
        row = w.db.cell.rows[(cell.asset_id, cell.partition)]
        confirms = row["data_version"] is not None and w.maybe(0.3)
        return Publication(
            cell=cell,
            fence=Fence(row["fence"] + (1 if w.maybe(0.03) else 0)),
            confirms=confirms or w.maybe(0.02),
            data_version=row["data_version"] if confirms else w.one(["v1", "v2"]),
            fingerprint=w.one(["f1", "f2", "ä"]),
            dependency_hash=w.one(["d1", "d2"]),
            consumed_digest=w.digest(),
            location=w.one([None, "s3://x/y"]),
            metadata={"rows": w.random.randint(0, 9), "note": w.text(), "mean": float("inf")},
            attempt_id=AttemptId(w.random.randint(1, 9)),
            run_id=RunId(1),
        )

    publications = [one(cell) for cell in cells]
    return lambda tx: tx.publish_cells(publications)


def note_attempts(w: World) -> Op:
    notes = [
        CellAttempt(
            cell,
            Fence(w.db.cell.rows[(cell.asset_id, cell.partition)]["fence"] + w.one([0, 0, 1])),
            w.one(["failed", "lost"]),
            AttemptId(3),
            w.one([None, w.text()]),
        )
        for cell in w.known_cells()
    ]
    return lambda tx: tx.note_attempts(notes)


def start_attempts(w: World) -> Op:
    tasks = w.tasks(3)
    log, inputs = w.one([None, "logs/1"]), ({"name": "orders", "cells": ["a"]},)

    def start(tx: Tx) -> Any:
        ids = tx.reserve_attempt_ids(len(tasks))
        tx.start_attempts(
            [
                NewAttempt(attempt_id, task_id, RunId(1), 1, WORKERS[0], SnapshotId(1), Fence(1), None, inputs, log)
                for attempt_id, task_id in zip(ids, tasks, strict=True)
            ]
        )
        return ids

    return start


def end_attempts(w: World) -> Op:
    ends = [
        AttemptEnd(attempt_id, w.one(AttemptOutcome), w.text(), w.one([None, w.text()]), w.one([None, {"cpu_s": 0.25}]))
        for attempt_id in w.some(sorted(w.db.attempt.rows))
    ]
    process = AttemptId(w.one(sorted(w.db.attempt.rows) or [1]))
    return w.op([lambda tx: tx.end_attempts(ends), lambda tx: tx.note_attempt_process(process, 77)])


def insert_checks(w: World) -> Op:
    checks = [CheckRow(AttemptId(1), cell, w.one(["c1", "c2"]), w.maybe(), True, {"n": 1}) for cell in w.cells()]
    return lambda tx: tx.insert_checks(checks)


# ---------------------------------------------------------------- workers, runs
def workers(w: World) -> Op:
    worker, lease_s, ids = w.one(WORKERS), w.one([-1.5, 0, 1000.25]), w.some(WORKERS, 2)
    return w.op(
        [
            lambda tx: tx.put_worker(worker, "host", 12, 4, lease_s),
            lambda tx: tx.renew_lease(worker, lease_s),
            lambda tx: tx.retire_worker(worker),
            lambda tx: tx.lock_lapsed_workers_skip(2),
            lambda tx: tx.mark_workers_gone(ids),
            lambda tx: tx.live_workers(),
            lambda tx: tx.read_pulse(),
            lambda tx: tx.set_pulse(),
            lambda tx: tx.extend_leases(2.5),
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
            updates.append(RunUpdate(run.id, expected, state, {"success": 2}, random.random() < 0.5, finished_at))
        tx.write_runs(updates)
        return found, tx.read_runs(ids)

    return write


# ---------------------------------------------------------------- events
def append_events(w: World) -> Op:
    events = []
    for _ in range(w.random.randint(0, 4)):
        cell = w.cell()
        consumers = w.one([(), ("automation",), ("automation", "replan")])
        events.append(
            NewEvent("materialized", cell.asset_id, cell.partition, RunId(1), None, {"t": w.text()}, consumers)
        )
    if w.maybe(0.3):
        events.append(NewEvent("run", run_id=RunId(1), for_consumers=("x",) if w.maybe(0.1) else ()))
    return lambda tx: tx.append_events(events)


def todo(w: World) -> Op:
    consumer, limit, keep = w.one(["automation", "replan"]), w.random.randint(1, 5), w.maybe()
    back = [TodoEvent(10**6, w.cell(), None)]

    def take(tx: Tx) -> Any:
        taken = tx.take_todo_skip(consumer, limit)
        if keep:
            tx.put_back_todo(consumer, [*taken[:2], *back])
        return taken

    return take


def automation(w: World) -> Op:
    requests = [AutomationRequest(cell, w.one([1, U64]), None, {"kind": "eager"}) for cell in w.cells()]
    return lambda tx: tx.insert_automation_requests(requests)


def housekeeping(w: World) -> Op:
    return w.op(
        [
            lambda tx: tx.note_duty("admit", "s1", 1.5),
            lambda tx: tx.audit("me", "cancel", {"run": 1}),
            lambda tx: tx.put_component("s1", "scheduler", "scheduler 1", 12),
            lambda tx: tx.remove_component("s1"),
            lambda tx: tx.intern(["f1", "zz", "ä", "Z"]),
        ]
    )


# ---------------------------------------------------------------- definitions
def definitions(w: World) -> Op:
    name, hash, key = w.one(["flights", "Ops"]), w.one(["h1", "h2"]), w.some(KEYS)
    state, limit, error = w.one(LocationState), w.one([0.5, -1]), w.one([None, w.text()])
    location_id = LocationId(w.one(sorted(w.db.location.rows) or [1]))
    snapshot_id = SnapshotId(w.one(sorted(w.db.snapshot.rows) or [1]))

    def snapshot(tx: Tx) -> Any:
        location = tx.put_location(name)
        return tx.put_snapshot(location, hash, body=b"\x00body", effective=b"eff", kept=[{"key": "a"}])

    def define(tx: Tx) -> Any:
        location = tx.put_location(name)
        snapshot_id, _ = tx.put_snapshot(location, hash, body=b"b", effective=b"e", kept=[])
        tx.activate_snapshot(location, snapshot_id)
        return tx.define_assets(location, snapshot_id, key), tx.retire_assets(location, set(key))

    return w.op(
        [
            snapshot,
            define,
            lambda tx: tx.intern_assets(key),
            lambda tx: tx.activate_snapshot(location_id, snapshot_id),
            lambda tx: tx.set_location_state(location_id, state, error=error, modules=[{"m": 1}]),
            lambda tx: tx.lock_locations(),
            lambda tx: tx.read_snapshots([snapshot_id]),
            lambda tx: tx.rename_assets({"Zeta": "Zeta2", "Zeta2": "Zeta"}),
            lambda tx: tx.put_code_server("cs1", tx.put_location(name), "unix:x", [hash], limit),
            lambda tx: tx.renew_code_server("cs1", limit),
            lambda tx: tx.remove_code_server("cs1"),
            lambda tx: tx.live_code_servers(),
        ]
    )


def plans(w: World) -> Op:
    keep_s, plan_id = w.one([-1, 60]), PlanId(w.one(sorted(w.db.plan.rows) or [1]))
    asset_id, limit = w.one(w.assets()), w.random.randint(1, 4)
    pages = [CellPage(asset_id, key, 3, b"\x01\x00", w.digest()) for key in sorted(set(w.some(PARTITIONS)))]
    removed = w.some(PARTITIONS, 2)

    def fold(tx: Tx) -> Any:
        found = tx.lock_pages(asset_id)
        tx.replace_pages(asset_id, removed, pages)
        return found

    return w.op(
        [
            lambda tx: tx.save_plan("h", request={"a": 1}, as_of=AS_OF, body=b"\x00\xff", keep_s=keep_s),
            lambda tx: tx.load_plan(plan_id),
            lambda tx: tx.expire_plans(),
            lambda tx: tx.take_cell_changes(limit),
            fold,
        ]
    )


def _basis(w: World) -> CellBasis:
    return CellBasis(w.one([None, "f1", "f2", "ä"]), w.one([None, "d1", "d2"]), w.one([None, w.digest()]))


def acceptances(w: World) -> Op:
    def text(fingerprint_id: int | None) -> str | None:
        return None if fingerprint_id is None else w.db.fingerprint.rows[fingerprint_id]["text"]

    def one(cell: CellRef) -> Rebase:
        row = w.db.cell.rows[(cell.asset_id, cell.partition)]
        held = CellBasis(text(row["fingerprint_id"]), text(row["dependency_hash_id"]), row["consumed_digest"])
        return Rebase(cell, Fence(row["fence"] + w.one([0, 0, 0, 1])), _basis(w) if w.maybe(0.2) else held, _basis(w))

    rebases = [one(cell) for cell in w.known_cells()]
    known = AcceptanceId(w.one(sorted(w.db.acceptance.rows) or [1]))
    who, reason = w.text(), w.text() or "because"

    def accept(tx: Tx) -> Any:
        tx.lock_cells([one.cell for one in rebases])
        written = tx.rebase_cells(rebases)
        return written, tx.insert_acceptance(who, reason, {"n": 1}, [one for one in rebases if one.cell in written])

    def undo(tx: Tx) -> Any:
        recorded = tx.accepted_cells(known)
        back = [Rebase(one.cell, one.fence, one.basis, one.expect) for one in recorded]
        found = recorded, tx.lock_acceptance(known), tx.rebase_cells(back)
        tx.end_acceptance(known, who)
        return found, tx.lock_acceptance(known)

    return w.op([accept, accept, undo, lambda tx: tx.rebase_cells(rebases)])


def unreasonable_acceptance(w: World) -> Op:
    return lambda tx: tx.insert_acceptance("me", "", {}, [])


# Weights: what changes tasks and cells comes most.
OPS: dict[Callable[[World], Op], int] = {
    insert_run: 2,
    insert_backfill: 1,
    launch_tasks: 5,
    bad_edge: 0,
    open_twice: 0,
    open_owners: 2,
    take_waiting_causes: 2,
    lock_tasks: 2,
    lock_dependents: 4,
    selections: 12,
    write_tasks: 14,
    write_terminal: 1,
    write_task_cells: 3,
    task_cells: 2,
    close_cells: 4,
    pools: 6,
    hold_slots: 5,
    release_slots: 4,
    backfill_counts: 3,
    raise_fences: 4,
    read_cells: 4,
    publish_cells: 8,
    note_attempts: 4,
    start_attempts: 4,
    end_attempts: 4,
    insert_checks: 2,
    workers: 10,
    tallies: 4,
    runs: 4,
    append_events: 6,
    todo: 5,
    automation: 3,
    housekeeping: 4,
    definitions: 9,
    plans: 7,
    acceptances: 5,
    unreasonable_acceptance: 0,
}
REFUSED = (bad_edge, open_twice, unreasonable_acceptance)  # these never succeed: now and then only
