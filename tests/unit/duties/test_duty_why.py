"""Every reason there is: a crowded house says of each task that does not run what keeps it, with evidence; take away just
that, and the verdict is another (issue 4, Why; S-151).

Houses are seeded: tasks over pools, queues, caps, lanes, upstreams and their own past, retries, waits, questions, pauses,
servers and workers that lack. One reason is the request's and not a task's, `in_progress`: `integration/api/test_waits.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.unit.duties.duty_world import WORKER, World, report, step

from partita.assets.queues import ALL_QUEUES, DEFAULT_QUEUE
from partita.assets.wait_specs import APPROVAL_TRIGGER
from partita.core.decide.answers import Answer
from partita.core.decide.waits import Fired
from partita.core.duties import backfills
from partita.core.duties.admit import admit
from partita.core.duties.answers import answer_tasks
from partita.core.duties.explain import explain
from partita.core.duties.leases import register, retire, sweep
from partita.core.duties.pause import pause, resume
from partita.core.duties.retries import wake_retries
from partita.core.duties.run_limits import limit_run
from partita.core.duties.runs import cancel_tasks
from partita.core.duties.values import LaunchTask, LaunchWait, NewBackfill
from partita.core.duties.waits import report_waits
from partita.core.store.values import (
    AssetId,
    AttemptOutcome,
    BackfillId,
    Lane,
    Pool,
    RetryPolicy,
    RunId,
    TaskId,
    WaitReason,
    WorkerId,
)
from partita.core.store.values_actions import EVERYTHING
from partita.core.store.values_waits import WaitKey

SEEDS = range(60)
PLENTY = 1_000
OUTSIDE = LaunchWait("m:T", {}, "a file", 1e6)
QUESTION = LaunchWait(APPROVAL_TRIGGER, {"question": "go?"}, "a person to approve", 1e6)
CAPS = ("all", "location:house", "asset:s1")
WAITING = ("none", "scheduled", "queued", "up_for_retry", "deferred", "awaiting_input")

EVIDENCE: Mapping[WaitReason, set[str]] = {
    WaitReason.UPSTREAM: {"waiting_on"},
    WaitReason.BLOCKED_BY_PAST: {"waiting_on", "past"},
    WaitReason.POOL_FULL: {"pool", "slots", "held", "wants"},
    WaitReason.LANE: {"pool", "lane", "slots", "held", "wants"},
    WaitReason.RETRY_AT: {"at", "error"},
    WaitReason.NO_WORKER: {"queue", "since", "others"},
    WaitReason.WORKERS_BUSY: {"queue", "workers", "capacity"},
    WaitReason.NO_SERVER: {"location"},
    WaitReason.VERSION_GONE: {"location", "version"},
    WaitReason.BACKFILL_CAP: {"backfill", "max_active"},
    WaitReason.RUN_CAP: {"run", "max_active"},
    WaitReason.ASSET_CAP: {"asset", "max_active"},
    WaitReason.LOCATION_CAP: {"location", "max_running"},
    WaitReason.RUNNING_CAP: {"max_running"},
    WaitReason.PAUSED: {"by", "at"},
    WaitReason.WAITING_FOR: set(),  # what for, since when and until when stands with the waits
    WaitReason.APPROVAL: set(),
}


# ------------------------------------------------------------------ a crowded house


def house(seed: int) -> World:
    random, world = Random(seed), World()
    with world.memory.begin() as tx:
        location = tx.put_location("house")
        snapshot, _ = tx.put_snapshot(location, "v1", body=b"", effective=b"", kept=())
        tx.define_assets(location, snapshot, ["s1"])
        versions = random.choice([("v1",), ("v1",), ("v1",), ("v2",), ()])
        if versions:
            tx.put_code_server("server", location, "at", versions, 1e6)
        for name in ("one", "two"):
            tx.set_pool(Pool(name, random.randint(1, 3)))
        tx.set_lane(Lane("interactive", 2, random.choice([0.0, 0.5])))
        tx.set_caps({name: random.choice([PLENTY, PLENTY, 1, 2]) for name in CAPS})
    if seed % 3 == 0:
        register(world.store, WorkerId("gpu"), host="h", pid=3, capacity=1, queues=["gpu"])
    _launch(world, random)
    _work(world, random)
    _launch(world, random)
    if random.random() < 0.4:
        asset = random.choice([AssetId(1), AssetId(2), EVERYTHING])
        pause(world.store, [asset], who="ada", reason="wrong", said={})
    if random.random() < 0.4 and world.rows("backfill"):
        backfills.pause(world.store, BackfillId(1), who="ada")
    look(world)
    return world


def _launch(world: World, random: Random) -> None:
    tasks: list[LaunchTask] = []
    for n in range(random.randint(2, 6)):
        upstream = random.sample(range(n), random.choice([0, 0, min(2, n)]))
        pools = random.sample([("one", 1), ("two", random.choice([1, 3]))], random.randint(0, 2))
        asset = random.choice([1, 1, 2, 3])
        partitions = [f"{len(world.rows('task'))}.{n}"]
        made = step(asset, *upstream, partitions=partitions, pools=pools, caps=("asset:s1",) if asset == 1 else ())
        waits = random.choice([()] * 5 + [(OUTSIDE,), (QUESTION,)])
        queue = random.choice([DEFAULT_QUEUE] * 3 + ["gpu"])
        tasks.append(replace(made, waits=waits, retry=RetryPolicy(2, delay_s=60.0), queue=queue))
    backfill = NewBackfill("b", random.choice([None, 1]), "ada") if random.random() < 0.4 else None
    limit = random.choice([None, None, 1]) if backfill is None else None
    world.launch(*tasks, lane=random.choice(["interactive", "backfill"]), backfill=backfill, max_active=limit)


def _work(world: World, random: Random) -> None:
    """Some run on, some fail and are tried again later; maybe nobody is left to work."""
    started = world.start(limit=random.randint(0, 2))
    for claimed in started.values():
        if random.random() < 0.5:
            world.finish(report(claimed, AttemptOutcome.FAILED, error="boom"))
    if not started and random.random() < 0.5:
        retire(world.store, WORKER)
        sweep(world.store)


def look(world: World) -> None:
    """Everybody who decides has looked: retries, admission, and who explains after a moment."""
    wake_retries(world.store)
    while admit(world.store).more:
        pass
    world.clock.forward(3)
    with world.memory.begin() as tx:
        tx.set_pulse()
    explain(world.store)


# ------------------------------------------------------------------ taking away what binds


def _ended_upstream(world: World, row: dict[str, Any]) -> None:
    above = [edge["upstream_id"] for edge in world.rows("task_edge") if edge["downstream_id"] == row["id"]]
    running = {one["id"]: one for one in world.rows("task") if one["state"] == "running"}
    cancel_tasks(world.store, [TaskId(one) for one in above if one not in running], who="ada")
    for one in above:
        if one in running:
            world.clock.forward(31)
            with world.memory.begin() as tx:
                tx.set_pulse()
            sweep(world.store)
            cancel_tasks(world.store, [TaskId(one)], who="ada")


def _waited(world: World, row: dict[str, Any]) -> None:
    world.clock.now = row["not_before"]


def _worker(world: World, row: dict[str, Any]) -> None:
    register(world.store, WorkerId("another"), host="h", pid=2, capacity=PLENTY, queues=[ALL_QUEUES])


def _claimed(world: World, row: dict[str, Any]) -> None:
    _worker(world, row)
    world.claims(PLENTY, WorkerId("another"), [row["queue"]])


def _served(world: World, row: dict[str, Any]) -> None:
    with world.memory.begin() as tx:
        tx.put_code_server("another", row["location_id"], "at", ("v1",), 1e6)


def _larger_pool(world: World, row: dict[str, Any]) -> None:
    with world.memory.begin() as tx:
        tx.set_pool(Pool(row["reason_detail"]["pool"], PLENTY))


def _lifted(name: str) -> Callable[[World, dict[str, Any]], None]:
    def cure(world: World, row: dict[str, Any]) -> None:
        with world.memory.begin() as tx:
            tx.set_caps({name: None})

    return cure


def _backfill_without_cap(world: World, row: dict[str, Any]) -> None:
    backfills.change(world.store, BackfillId(row["reason_detail"]["backfill"]), max_active=None, priority=0, who="ada")


def _run_without_cap(world: World, row: dict[str, Any]) -> None:
    limit_run(world.store, RunId(row["reason_detail"]["run"]), max_active=None, who="ada")


def _resumed(world: World, row: dict[str, Any]) -> None:
    detail = row["reason_detail"]
    if "backfill" in detail:
        backfills.resume(world.store, BackfillId(detail["backfill"]), who="ada")
    else:
        resume(world.store, [AssetId(detail["asset"])], who="ada", reason="", said={})


def _keys(world: World, row: dict[str, Any]) -> list[WaitKey]:
    waits = [one for one in world.rows("wait") if one["task_id"] == row["id"] and one["state"] == "open"]
    return [WaitKey(one["task_id"], one["place"], one["stint"]) for one in waits]


def _came(world: World, row: dict[str, Any]) -> None:
    report_waits(world.store, [Fired(key, "it") for key in _keys(world, row)])


def _approved(world: World, row: dict[str, Any]) -> None:
    answer_tasks(world.store, [Answer(row["id"], True, "ada", "", _keys(world, row))])


CURES: Mapping[WaitReason, Callable[[World, dict[str, Any]], None]] = {
    WaitReason.UPSTREAM: _ended_upstream,
    WaitReason.BLOCKED_BY_PAST: _ended_upstream,
    WaitReason.POOL_FULL: _larger_pool,
    WaitReason.LANE: _larger_pool,
    WaitReason.RETRY_AT: _waited,
    WaitReason.NO_WORKER: _worker,
    WaitReason.WORKERS_BUSY: _claimed,
    WaitReason.NO_SERVER: _served,
    WaitReason.VERSION_GONE: _served,
    WaitReason.BACKFILL_CAP: _backfill_without_cap,
    WaitReason.RUN_CAP: _run_without_cap,
    WaitReason.ASSET_CAP: _lifted("asset:s1"),
    WaitReason.LOCATION_CAP: _lifted("location:house"),
    WaitReason.RUNNING_CAP: _lifted("all"),
    WaitReason.PAUSED: _resumed,
    WaitReason.WAITING_FOR: _came,
    WaitReason.APPROVAL: _approved,
}


def verdict(row: dict[str, Any]) -> tuple[Any, ...]:
    """What a person is told: the state, the reason, and what it is about by name."""
    detail = row["reason_detail"] or {}
    names = ("pool", "lane", "backfill", "run", "asset", "version", "location", "behind_task", "waiting_on", "at")
    return row["state"], row["reason"], *(detail.get(name) for name in names)


def reasons(world: World) -> dict[int, WaitReason]:
    return {row["id"]: WaitReason(row["reason"]) for row in world.rows("task") if row["state"] in WAITING}


# ------------------------------------------------------------------ the property


@pytest.mark.parametrize("seed", SEEDS)
def test_each_task_has_one_reason_and_without_it_the_verdict_is_another(seed: int) -> None:
    world = house(seed)
    for row in world.rows("task"):
        if row["state"] not in WAITING:
            assert row["reason"] is None
            continue
        reason = WaitReason(row["reason"])
        assert EVIDENCE[reason] <= set(row["reason_detail"] or {}), reason
        assert bool(_keys(world, row)) == (reason in (WaitReason.WAITING_FOR, WaitReason.APPROVAL))
        cured = house(seed)
        CURES[reason](cured, row)
        look(cured)
        after = cured.task(row["id"])
        assert verdict(after) != verdict(row), f"{reason} {row['reason_detail']} does not bind task {row['id']}"


def test_looking_again_changes_no_verdict() -> None:
    for seed in SEEDS[:20]:
        world = house(seed)
        before = {row["id"]: verdict(row) for row in world.rows("task")}
        look(world)
        assert {row["id"]: verdict(row) for row in world.rows("task")} == before


def test_the_houses_have_every_reason() -> None:
    met = {reason for seed in SEEDS for reason in reasons(house(seed)).values()}
    assert met == set(CURES)
    assert set(CURES) | {WaitReason.IN_PROGRESS} == set(WaitReason)
