"""Seeded stories: a few schedulers, workers and consumers on one store, random launches, and everything that may go wrong.

A seed makes a world and lets it run hop by hop on virtual time: processes take their turns in any order and between each
other's transactions, die at any operation, stop for longer than a lease and go on; wake-ups are lost, late and doubled; the
database goes away, loses what was not durable, and its clock jumps; people launch, cancel and resize pools; code moves to
another version while tasks are pinned to the old one. `watch` holds the laws at every commit. Then the faults end, and
everything has to end by itself: that is liveness. `ending` says how.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any

from tests.simulation.crashing import Crash
from tests.simulation.ending import check_end
from tests.simulation.faults import Network, ProcessStore, Site, unbroken
from tests.simulation.moves import Broken, Watch
from tests.simulation.processes import (
    Around,
    ConsumerProcess,
    Pin,
    Process,
    SchedulerProcess,
    ShortHanded,
    VersionedDefinitions,
    WorkerProcess,
    send,
)
from tests.unit.duties.duty_world import LOCATION, Clock, gate, plan_of, step

from partita.core.decide.rules import RULES
from partita.core.duties.finish import publish_part
from partita.core.duties.launch import launch
from partita.core.duties.runs import cancel_run
from partita.core.duties.values import AttemptResult, LaunchTask, NewBackfill
from partita.core.store.memory import MemoryStore
from partita.core.store.port import Busy, Unavailable
from partita.core.store.values import Pool, RetryPolicy, RunId, SnapshotId

ASSETS = range(1, 13)
POOLS = {"one": 1, "three": 3, "default": 4}
STEPS = 60
_CALM_S = 1500  # in which everything has to end once the faults are over
_LASTING_S = 1e8
_DUTIES_LOG = logging.getLogger("partita.core.runtime.duties")


class Story:
    """One story; `trace` prints what happens."""

    def __init__(self, seed: int, *, trace: bool = False) -> None:
        self.random = Random(seed)
        self.trace = trace
        self.clock = Clock()
        self.seconds = 0.0
        self.memory = MemoryStore(self.clock)
        self.watch = Watch(self.memory, self.clock)
        self.site = Site(self.random, self.memory, self.watch, others=self._somebody)
        self.network = Network(self.site)
        self.definitions = VersionedDefinitions()
        self.late: list[AttemptResult] = []
        self.zombies = self.jumps = self.outages = self.sleeps = 0
        self._versions = ["v1", "v2"]
        self._active = 1
        self._away_until = 0.0
        self._acting = ""
        self._makers: dict[str, Callable[[], Process]] = {}
        self.processes: dict[str, Process] = {}
        self._settle_in()

    # ------------------------------------------------------------------ what there is

    def _settle_in(self) -> None:
        with self.memory.begin() as tx:
            location = tx.put_location("house")
            assert location == LOCATION
            for version in self._versions:
                tx.put_snapshot(location, version, body=b"", effective=b"", kept=())
            for name, slots in POOLS.items():
                tx.set_pool(Pool(name, slots))
        self._serve("v1")
        for asset in ASSETS[1:]:
            above = self.random.sample(range(1, asset), min(asset - 1, self.random.randint(0, 2)))
            self.definitions.inputs[asset] = [(f"in{up}", up) for up in above]
        for n in range(self.random.randint(1, 3)):
            self._enter(f"scheduler{n}", SchedulerProcess)
        for n in range(self.random.randint(1, 3)):
            self._enter(f"worker{n}", partial(WorkerProcess, capacity=self.random.randint(1, 4)))
        self._enter("consumer", ConsumerProcess)
        self._enter("short", ShortHanded)

    def _enter(self, name: str, make: Callable[[Around, str], Process]) -> None:
        self._makers[name] = lambda: make(self, name)
        self.processes[name] = self._makers[name]()

    def _serve(self, *versions: str) -> None:
        with self.memory.begin() as tx:
            tx.remove_code_server("server")
            if versions:
                tx.put_code_server("server", LOCATION, "at", versions, _LASTING_S)

    def served(self) -> list[Pin]:
        with self.memory.begin() as tx:
            versions = {version for server in tx.live_code_servers() for version in server.versions}
        return [(LOCATION, SnapshotId(n)) for n, version in enumerate(self._versions, 1) if version in versions]

    def pin(self) -> Pin:
        return LOCATION, SnapshotId(self._active)

    def say(self, who: str, what: str) -> None:
        if self.trace:
            sys.stdout.write(f"{self.seconds:8.1f}  {who:<12} {what}\n")

    # ------------------------------------------------------------------ time

    def hop(self, seconds: float) -> None:
        """Time passes, wake-ups arrive, and everybody who is awake takes a turn."""
        self.site.calls = 0
        self.clock.forward(seconds)
        self.seconds += seconds
        if self.site.away and self.seconds >= self._away_until:
            self.say("database", "answers again")
            self.site.away = False
        if not self.site.away:
            self.watch.up_s += seconds
        self.network.deliver()
        names = list(self.processes)
        self.random.shuffle(names)
        for name in names:
            self._turn(name)

    def _turn(self, name: str) -> None:
        process = self.processes[name]
        if process.asleep_until > self.seconds:
            return
        outer, self._acting = self._acting, name
        try:
            process.turn()
        except (Busy, Unavailable):
            pass  # it tries again in its next turn
        except Crash:
            self.say(name, "dies, and is started again")
            process.died()
            self.processes[name] = self._makers[name]()
        finally:
            self._acting = outer

    def _somebody(self) -> None:
        """Acts between two transactions of somebody else."""
        self._turn(self.random.choice([name for name in self.processes if name != self._acting]))

    # ------------------------------------------------------------------ what people do

    def launch(self) -> None:
        assets = sorted(self.random.sample(ASSETS, self.random.randint(1, 8)))
        tasks: list[LaunchTask] = []
        for asset in assets:
            upstream = self.random.sample(range(len(tasks)), self.random.randint(0, min(3, len(tasks))))
            if len(upstream) > 1 and self.random.random() < 0.3:
                tasks.append(gate(*upstream))
                upstream = [len(tasks) - 1]
            tasks.append(self._step(asset, upstream))
        cells = [(cell.cell.asset_id, cell.cell.partition) for task in tasks for cell in task.cells]
        backfill = NewBackfill("b", self.random.randint(1, 2), "ada") if self.random.random() < 0.2 else None
        plan = plan_of(*tasks, pins=(self.pin(),), request={"cells": cells}, backfill=backfill)
        self.say("person", f"launches {len(tasks)} tasks")
        self._by_hand(lambda store: launch(store, plan))

    def _step(self, asset: int, upstream: list[int]) -> LaunchTask:
        choose = self.random.choice
        pools = choose(
            [(), (("one", 1),), (("three", 2),), (("three", 3),), (("one", 1), ("three", 1)), (("three", 1),)]
        )
        location, snapshot = self.pin()
        retry = RetryPolicy(self.random.randint(0, 2), delay_s=choose([0.0, 0.0, 4.0]), jitter=choose([0.0, 0.5]))
        return replace(
            step(
                asset, *upstream, partitions=self.random.sample(["a", "b", "c"], self.random.randint(1, 3)), pools=pools
            ),
            location_id=location,
            snapshot_id=snapshot,
            rule=choose(["all_success"] * 8 + list(RULES)),
            retry=retry,
            priority=self.random.randint(0, 2),
            conditional=self.random.random() < 0.3,
        )

    def cancel(self) -> None:
        runs = [row["id"] for row in self.watch.before["run"] if row["state"] == "running"]
        if runs:
            run_id = RunId(self.random.choice(runs))
            self.say("person", f"cancels run {run_id}")
            self._by_hand(lambda store: cancel_run(store, run_id, "ada"))

    def resize(self) -> None:
        name = self.random.choice(list(POOLS))
        slots = self.random.randint(1, POOLS[name] + 1)
        self.say("person", f"pool {name}: {slots} slots")
        self._set_pool(name, slots)

    def _set_pool(self, name: str, slots: int) -> None:
        with self.memory.begin() as tx:
            tx.set_pool(Pool(name, slots))
        self.watch.look()

    def deploy(self) -> None:
        """Another version; the server of the old one may leave, and come back when it must."""
        self._active = self.random.randint(1, 2)
        version = self._versions[self._active - 1]
        served = self.random.choice([self._versions, [version], [version], []])
        self.say("deploy", f"{version} is active, {served} are served")
        self._serve(*served)

    def _by_hand(self, act: Callable[[ProcessStore], Any]) -> None:
        with suppress(Busy, Unavailable, Crash):  # it was done or not; nobody asks again
            unbroken(lambda: act(ProcessStore(self.site)))

    # ------------------------------------------------------------------ what goes wrong

    def sleep(self) -> None:
        """A process is stopped, maybe for longer than its lease, while the database answers."""
        process = self.processes[self.random.choice(list(self.processes))]
        seconds = self.random.choice([2, 10, 45, 70])
        self.say(process.name, f"stands still for {seconds} s")
        self.sleeps += 1
        process.asleep_until = self.seconds + seconds
        for _ in range(seconds + 1 if self.random.random() < 0.7 else 0):
            self.hop(1.0)

    def outage(self) -> None:
        """The database is away, for longer than any lease; what was not durable may be lost with it."""
        if self.site.away:
            return
        seconds = self.random.choice([3, 20, 90])
        self.outages += 1
        self.say("database", f"is away for {seconds} s")
        if self.random.random() < 0.5:
            self.site.crash_database()
        self.site.away, self._away_until = True, self.seconds + seconds
        for _ in range(seconds // 3):
            self.hop(3.0)

    def jump(self) -> None:
        """The database's clock is set; monotonic clocks go on."""
        by = self.random.choice([-40.0, -3.0, 3.0, 60.0, 3600.0])
        self.jumps += 1
        self.say("database", f"its clock jumps by {by} s")
        self.clock.now += timedelta(seconds=by)
        if 0 < by < 5:
            self.watch.up_s += by  # too little to be told from time that passed

    def zombie(self) -> None:
        """A report that was applied, refused or given up long ago arrives. It changes nothing, unless its attempt lives."""
        if not self.late:
            return
        result = self.random.choice(self.late)
        live = {row["attempt_id"] for row in self.watch.before["task"] if row["state"] == "running"}
        store = ProcessStore(replace(self.site, faults=False))
        self.zombies += 1
        if self.site.away:
            return
        if result.attempt_id in live:
            send(self, store, [result])
            return
        before = self.memory.dump()
        send(self, store, [result])
        part = publish_part(store, result)
        if part.refused is None or self.memory.dump() != before:
            raise Broken("a late report changes nothing", f"attempt {result.attempt_id} of task {result.task_id}")

    def retire(self) -> None:
        workers = [process for process in self.processes.values() if isinstance(process, WorkerProcess)]
        if len(workers) > 1:
            worker = self.random.choice(workers)
            worker.stopping = True
            self._enter(f"worker{len(self._makers)}", partial(WorkerProcess, capacity=self.random.randint(1, 4)))

    # ------------------------------------------------------------------ the story

    def act(self) -> None:
        weights: dict[Callable[[], None], float] = {
            lambda: self.hop(self.random.choice([0.2, 1.0, 1.0, 2.0])): 30,
            self.launch: 2,
            self.cancel: 0.6,
            self.resize: 0.8,
            self.deploy: 0.8,
            self.sleep: 0.7,
            self.outage: 0.4,
            self.jump: 0.5,
            self.zombie: 3,
            self.retire: 0.3,
        }
        self.random.choices(list(weights), list(weights.values()))[0]()

    def calm(self) -> None:
        """No more trouble: everything that can end ends."""
        self.say("story", "the faults end")
        self.site.faults = self.site.away = False
        self.processes.pop("short").died()  # what it does now and then, the schedulers have to do by themselves
        self._serve(*self._versions)
        for name, slots in POOLS.items():
            self._set_pool(name, slots)
        for process in self.processes.values():
            process.asleep_until = 0.0
        for _ in range(_CALM_S):
            self.hop(1.0)
            if self._is_over():
                return
        left = [
            f"task {r['id']} {r['state']} ({r['reason']})" for r in self.watch.before["task"] if not r["finished_at"]
        ]
        raise Broken("everything that is ready starts, and every run ends", ", ".join(left) or "an event waits")

    def _is_over(self) -> bool:
        running = any(row["state"] == "running" for row in self.watch.before["run"])
        return not running and not self.watch.before["event_todo"]


def tell(seed: int, steps: int = STEPS, *, trace: bool = False) -> Story:
    """One story from its beginning to its checked end."""
    story = Story(seed, trace=trace)
    quiet, _DUTIES_LOG.disabled = _DUTIES_LOG.disabled, not trace  # an outage is no news here
    try:
        story.launch()
        for _ in range(steps):
            story.act()
        story.calm()
    finally:
        _DUTIES_LOG.disabled = quiet
    check_end(story.memory.dump(), story.watch.history)
    return story
