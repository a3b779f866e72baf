"""What people do in a story: launch, cancel, tend backfills, resize pools, weigh lanes, deploy, pause, change cells by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.simulation.crashing import Crash
from tests.simulation.faults import ProcessStore, unbroken
from tests.simulation.house import ASSETS, GPU, ON_GPU, PARTITIONS, VERSIONS
from tests.unit.duties.duty_world import cell, gate, plan_of, step

from partita.assets.wait_specs import APPROVAL_TRIGGER
from partita.core.alerts.people import acknowledge, snooze
from partita.core.decide.backfills import BackfillRefused
from partita.core.decide.by_hand import ByHandRefused, MarkAs, MarkTarget
from partita.core.decide.caps import backfill_pool
from partita.core.decide.rules import RULES
from partita.core.decide.runs import RunRefused
from partita.core.duties import backfills, by_hand, pause
from partita.core.duties.launch import LaunchRefused, launch
from partita.core.duties.run_limits import limit_run
from partita.core.duties.runs import cancel_run
from partita.core.duties.values import LaunchTask, LaunchWait, NewBackfill
from partita.core.store.port import Busy, Unavailable
from partita.core.store.values import AssetId, BackfillId, CellRef, Lane, Pool, RetryPolicy, RunId
from partita.core.store.values_actions import EVERYTHING, AuditId
from partita.core.store.values_alerts import AlertId

if TYPE_CHECKING:
    from tests.simulation.story import Story

POOLS = {"one": 1, "three": 3, "default": 4}
CAPS: dict[str, list[int | None]] = {
    "all": [None, 4, 8],
    "location:house": [None, 3, 6],
    "asset:s1": [1, 2],
    "asset:s2": [1],
}
LANES = ("interactive", "scheduled", "backfill")
PEOPLE = ("ada", "bob")
FOR_EVER_S = 1e9
OUTSIDE = LaunchWait("m:T", {"of": "first"}, "it", FOR_EVER_S)
HASTY = LaunchWait("m:T", {"of": "first"}, "it, soon", 12.0)
QUESTION = LaunchWait(APPROVAL_TRIGGER, {"question": "go?"}, "a person to approve: go?", FOR_EVER_S)
FOLLOWED = frozenset(AssetId(n) for n in ASSETS)
_POOL_SETS: Sequence[Sequence[tuple[str, int]]] = (
    (), (("one", 1),), (("three", 2),), (("three", 3),), (("one", 1), ("three", 1)), (("three", 1),),
)  # fmt: skip


class Deeds:
    """The people of one story. Whoever hears that the database is away does not ask again."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._random = story.random
        self.by_hand = self.pauses = 0

    def _ask(self, what: str, act: Callable[[ProcessStore], Any]) -> None:
        self._story.say("person", what)

        def ask() -> None:
            # Refused: the backfill or the run is finished, one that is being cancelled owns some of the cells, a task is at them.
            with suppress(BackfillRefused, RunRefused, LaunchRefused, ByHandRefused):
                act(ProcessStore(self._story.site))

        with suppress(Busy, Unavailable, Crash):  # it was done or not
            unbroken(ask)

    # ------------------------------------------------------------------ runs

    def launch(self) -> None:
        random, crowd = self._random, self._story.theme == "crowd"
        assets = sorted(random.sample(ASSETS, random.randint(1, 8)))
        tasks: list[LaunchTask] = []
        for asset in assets:
            upstream = random.sample(range(len(tasks)), random.randint(0, min(3, len(tasks))))
            if len(upstream) > 1 and random.random() < 0.3:
                tasks.append(gate(*upstream))
                upstream = [len(tasks) - 1]
            tasks.append(self._step(asset, upstream))
        cells = [(own.cell.asset_id, own.cell.partition) for task in tasks for own in task.cells]
        backfill = None
        if random.random() < 0.3:
            cap, priority = random.choice([None, 1, 2]), random.choice([0, 0, 3])
            backfill = NewBackfill("b", cap, "ada", priority=priority)
        plan = plan_of(
            *tasks,
            pins=(self._story.pin(),),
            request={"cells": cells},
            backfill=backfill,
            lane="backfill" if backfill else random.choice(LANES[:1] if crowd and random.random() < 0.5 else LANES),
            cause={"kind": "person", "by": random.choice(PEOPLE)},
            timeout_s=random.choice([None, None, None, 15.0, 90.0]),
            max_active=None if backfill else random.choice([None, None, None, 1, 2]),
        )
        self._ask(f"launches {len(tasks)} tasks", lambda store: launch(store, plan))

    def _step(self, asset: int, upstream: list[int]) -> LaunchTask:
        choose = self._random.choice
        location, snapshot = self._story.pin()
        partitions = self._random.sample(PARTITIONS, self._random.randint(1, len(PARTITIONS)))
        return replace(
            step(
                asset,
                *upstream,
                partitions=partitions,
                caps=(f"asset:s{asset}",) if f"asset:s{asset}" in CAPS else (),
                pools=choose(_POOL_SETS[1:] if self._story.theme == "crowd" else _POOL_SETS),
            ),
            location_id=location,
            snapshot_id=snapshot,
            rule=choose(["all_success"] * 8 + list(RULES)),
            retry=RetryPolicy(choose([0, 1, 2, 3]), delay_s=choose([0.0, 0.0, 4.0]), jitter=choose([0.0, 0.5])),
            deadline_s=choose([None, None, 5.0, 30.0, 120.0]),
            priority=self._random.randint(0, 2),
            critical_path=self._random.randint(1, 2),
            waits=self._waits(),
            conditional=self._random.random() < 0.3,
            queue=GPU if asset in ON_GPU and self._story.theme == "queues" else "default",
        )

    def _waits(self) -> tuple[LaunchWait, ...]:
        """For something outside, a person, a cell that somebody may make in time."""
        known = [(row["asset_id"], row["partition"]) for row in self._story.watch.before["cell"] if row["published_at"]]
        anywhere = (self._random.choice(ASSETS), self._random.choice(PARTITIONS))
        there = cell(*self._random.choice([*known, anywhere]))
        made = LaunchWait("cell", {}, "a cell", 40.0, cell=there, newer=self._random.random() < 0.5)
        both = (OUTSIDE, QUESTION)
        some = [(OUTSIDE,), (HASTY,), (QUESTION,), both, both, both, (made,), (made,), (made, OUTSIDE)]
        return self._random.choice([*[()] * (5 if self._story.theme == "waits" else 25), *some])

    def cancel(self) -> None:
        runs = [row["id"] for row in self._story.watch.before["run"] if row["state"] == "running"]
        if runs:
            run_id = RunId(self._random.choice(runs))
            limit = self._random.choice([1, 2, 1000])
            self._ask(
                f"cancels run {run_id}, {limit} tasks at a time",
                lambda store: cancel_run(store, run_id, "ada", limit=limit),
            )

    def limit(self) -> None:
        """Somebody limits a run that goes on, or gives it another limit."""
        runs = [row["id"] for row in self._story.watch.before["run"] if row["state"] == "running"]
        if runs:
            run_id, limit = RunId(self._random.choice(runs)), self._random.choice([None, 1, 1, 2, 3])
            self._ask(
                f"limits run {run_id} to {limit}",
                lambda store: limit_run(store, run_id, max_active=limit, who="ada"),
            )

    # ------------------------------------------------------------------ backfills

    def tend(self) -> None:
        """Somebody pauses, resumes, changes, retries or cancels a backfill, running or not."""
        known = [BackfillId(row["id"]) for row in self._story.watch.before["backfill"]]
        if not known:
            return
        one, random = self._random.choice(known), self._random
        limit, priority, few = random.choice([None, 1, 3]), random.randint(-2, 2), random.choice([1, 2, 1000])
        acts: dict[str, Callable[[ProcessStore], Any]] = {
            "pauses": lambda store: backfills.pause(store, one, who="ada"),
            "resumes": lambda store: backfills.resume(store, one, who="ada"),
            "changes": lambda store: backfills.change(store, one, max_active=limit, priority=priority, who="ada"),
            "retries": lambda store: self._retry(store, one),
            "cancels": lambda store: backfills.cancel_backfill(store, one, who="ada", limit=few),
        }
        what = random.choices(list(acts), [4, 3, 3, 3, 1])[0]
        self._ask(f"{what} backfill {one}", acts[what])

    def _retry(self, store: ProcessStore, backfill_id: BackfillId) -> None:
        """A run of what the backfill has not made, as a plan of these cells gives it."""
        unmade = store.run(lambda tx: tx.unmade_cells(backfill_id))
        location, snapshot = self._story.pin()
        tasks = [
            step(ref.asset_id, partitions=[ref.partition], location_id=location, snapshot_id=snapshot)
            for ref, _ in unmade
        ]
        if tasks:
            cells = [(ref.asset_id, ref.partition) for ref, _ in unmade]
            pins = (self._story.pin(),)
            launch(store, plan_of(*tasks, pins=pins, request={"cells": cells}, retry_of=backfill_id))

    # ------------------------------------------------------------------ limits and versions

    def resize(self) -> None:
        name = self._random.choice(list(POOLS))
        slots = self._random.randint(1, POOLS[name] + 1)
        self._story.say("person", f"pool {name}: {slots} slots")
        self.set_pool(name, slots)

    def set_pool(self, name: str, slots: int) -> None:
        with self._story.memory.begin() as tx:
            tx.set_pool(Pool(name, slots))
        self._story.watch.look()

    def cap(self) -> None:
        """Somebody writes another limit of everything, of the location or of an asset."""
        name = self._random.choice(list(CAPS))
        slots = self._random.choice(CAPS[name])
        self._story.say("person", f"cap {name}: {slots}")
        self.set_caps({name: slots})

    def set_caps(self, caps: Mapping[str, int | None]) -> None:
        with self._story.memory.begin() as tx:
            tx.set_caps(caps)
        self._story.watch.look()

    def share(self) -> None:
        """Somebody gives a lane another weight, or keeps a part of every pool for it."""
        reserved = self._random.choice([0.0, 0.0, 0.26, 0.34])
        lane = Lane(self._random.choice(LANES), self._random.randint(1, 4), reserved)
        self._story.say("person", f"lane {lane.name}: weight {lane.weight}, reserved {lane.reserved}")
        self.set_lane(lane)

    def set_lane(self, lane: Lane) -> None:
        with self._story.memory.begin() as tx:
            tx.set_lane(lane)
        self._story.watch.look()

    def deploy(self) -> None:
        """Another version; the server of the old one may leave, and come back when it must."""
        version = self._random.choice(VERSIONS)
        served = self._random.choice([VERSIONS, (version,), (version,), ()])
        self._story.say("deploy", f"{version} is active, {served} are served")
        self._story.activate(version)
        self._story.serve(*served)

    # ------------------------------------------------------------------ pauses

    def pause(self) -> None:
        """Somebody pauses assets or everything, or resumes some of what is paused."""
        held = sorted(row["asset_id"] for row in self._story.watch.before["pause"])
        if held and self._random.random() < 0.6:
            some = self._random.sample(held, self._random.randint(1, len(held)))
            self._ask(f"resumes {some}", lambda store: pause.resume(store, some, who="ada", reason="done", said={}))
            return
        self.pauses += 1
        some = [AssetId(one) for one in self._random.sample(ASSETS, 3)]
        ids = self._random.choice([some, some, [EVERYTHING]])
        self._ask(f"pauses {ids}", lambda store: pause.pause(store, ids, who="ada", reason="broken", said={}))

    def resume_backfills(self) -> None:
        with self._story.memory.begin() as tx:
            for row in self._story.watch.before["backfill"]:
                tx.pause_pool(backfill_pool(row["id"]), None)

    def hush(self) -> None:
        """Somebody knows of an alert, or wants to hear of it later."""
        known = [row["id"] for row in self._story.watch.before["alert"] if row["ended_at"] is None]
        if not known:
            return
        one = AlertId(self._random.choice(known))
        if self._random.random() < 0.5:
            self._ask(f"knows of alert {one}", lambda store: acknowledge(store, [one], who="ada"))
        else:
            self._ask(f"snoozes alert {one}", lambda store: snooze(store, [one], for_s=20.0, who="ada"))

    def resume_all(self) -> None:
        held = [AssetId(row["asset_id"]) for row in self._story.watch.before["pause"]]
        self._ask(f"resumes {held}", lambda store: pause.resume(store, held, who="ada", reason="done", said={}))

    # ------------------------------------------------------------------ cells by hand

    def handle(self) -> None:
        """Somebody marks or wipes cells, or takes back what was done so."""
        self.by_hand += 1
        random = self._random
        owned = {(row["asset_id"], row["partition"]) for row in self._story.watch.before["open_cell"]}
        there = [(row["asset_id"], row["partition"]) for row in self._story.watch.before["cell"]]
        known = [cell(*one) for one in there if one not in owned or random.random() < 0.1]
        entries = [row["id"] for row in self._story.watch.before["audit"] if row["action"] in ("mark", "wipe")]
        if entries and random.random() < 0.4:
            entry = AuditId(random.choice(entries))
            self._ask(
                f"takes {entry} back", lambda store: by_hand.take_back(store, entry, who="ada", followed=FOLLOWED)
            )
        elif known:
            cells = random.sample(known, random.randint(1, min(3, len(known))))
            what = random.choice([self._wipe, self._mark, self._mark_failed])
            self._ask(f"{what.__name__}s {cells}", lambda store: what(store, cells))

    def _wipe(self, store: ProcessStore, cells: Sequence[CellRef]) -> None:
        by_hand.wipe(store, cells, who="ada", reason="wrong", said={})

    def _mark(self, store: ProcessStore, cells: Sequence[CellRef]) -> None:
        targets = [MarkTarget(one, None, f"code{one.asset_id}", "deps", 1) for one in cells]
        mark = MarkAs("ada", "made elsewhere")
        by_hand.mark_materialized(store, targets, mark, said={}, followed=FOLLOWED)

    def _mark_failed(self, store: ProcessStore, cells: Sequence[CellRef]) -> None:
        by_hand.mark_failed(store, dict.fromkeys(cells), who="ada", reason="wrong", said={})
