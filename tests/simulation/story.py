"""Seeded stories: a few schedulers, workers, triggerers and consumers on one store, people, and everything that may go wrong.

A seed makes a world and lets it run hop by hop on virtual time: processes take their turns in any order and between each
other's transactions, die at any operation, stop for longer than a lease and go on; wake-ups are lost, late and doubled; the
database goes away, loses what was not durable, and its clock jumps (`troubles`); people do what people do, and code moves to
another version while tasks are pinned to the old one (`deeds`). `watch` holds the laws at every commit. Then the faults end,
and everything has to end by itself: that is liveness. `ending` says how.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from tests.simulation.crashing import Crash
from tests.simulation.deeds import CAPS, LANES, POOLS, Deeds
from tests.simulation.ending import check_end, still_to_do
from tests.simulation.faults import Network, Site
from tests.simulation.house import ASSETS, CATALOGS, GPU, VERSIONS, settle_in
from tests.simulation.moves import THE_LAWS
from tests.simulation.people import PersonProcess
from tests.simulation.processes import (
    Around,
    ConsumerProcess,
    Pin,
    Process,
    VersionedDefinitions,
    WorkerProcess,
)
from tests.simulation.schedulers import SchedulerProcess, ShortHanded
from tests.simulation.seen import History
from tests.simulation.triggerers import TriggererProcess, answer_of, evaluate_once_more
from tests.simulation.troubles import Troubles
from tests.simulation.watching import Broken, Watch
from tests.unit.duties.duty_world import LOCATION, Clock, Definitions

from partita.assets.queues import ALL_QUEUES
from partita.core.automation.evaluating import Begun, Broke, Came
from partita.core.automation.values import ActiveCatalog
from partita.core.decide.waits import Fired
from partita.core.duties.values_attempts import AttemptResult
from partita.core.store.memory import MemoryStore
from partita.core.store.port import Busy, Unavailable
from partita.core.store.values import Lane, Pool, SnapshotId

STEPS = 60
THEMES = ("everything", "everything", "waits", "hands", "crowd", "clocks", "standstills", "versions")
"""What there is more of in a story than usual: what is rare would need many seeds else."""


WITH_QUEUES = "queues"
"""The theme of some stories in which workers serve different queues."""
_CALM_S = 900  # in which everything has to end once the faults are over
_LASTING_S = 1e8
_LOGS = [
    logging.getLogger(f"partita.{name}") for name in ("core.runtime.duties", "core.alerts.delivery", "sdk.callbacks")
]


class Story:
    """One story; `trace` prints what happens. Without a `theme` its seed says which."""

    themes: Sequence[str] = THEMES
    laws = THE_LAWS
    catalogs: ActiveCatalog = CATALOGS

    def __init__(self, seed: int, *, theme: str | None = None, trace: bool = False) -> None:
        self.random = Random(seed)
        self.theme = theme or self.random.choice(self.themes)
        self.trace = trace
        self.clock = Clock()
        self.seconds = 0.0
        self.memory = MemoryStore(self.clock)
        self._furnish()
        self.watch = Watch(self.memory, self.clock, self.laws, self._history())
        self.site = Site(self.random, self.memory, self.watch, others=self._somebody)
        if self.theme == "crowd":
            self.site.interleaved = 0.4
        self.network = Network(self.site)
        self.definitions: Definitions = VersionedDefinitions()
        self.late: list[AttemptResult] = []
        self.late_events: list[Fired] = []
        self.late_evaluations: list[Begun] = []
        self.deeds = Deeds(self)
        self.troubles = Troubles(self)
        self._active = VERSIONS[0]
        self._away_until = 0.0
        self._acting = ""
        self._makers: dict[str, Callable[[], Process]] = {}
        self.processes: dict[str, Process] = {}
        self._settle_in()

    # ------------------------------------------------------------------ what there is

    def _furnish(self) -> None:
        """The definitions."""
        settle_in(self.memory)

    def _history(self) -> History:
        return History()

    def answer(self, begun: Begun) -> Came | Broke:
        return answer_of(begun, self.random)

    def _settle_in(self) -> None:
        with self.memory.begin() as tx:
            for name, slots in POOLS.items():
                tx.set_pool(Pool(name, slots))
            tx.set_caps({name: self.random.choice(limits) for name, limits in CAPS.items()})
        self.serve(VERSIONS[0])
        for asset in ASSETS[1:]:
            above = self.random.sample(range(1, asset), min(asset - 1, self.random.randint(0, 2)))
            self.definitions.inputs[asset] = [(f"in{up}", up) for up in above]
        schedulers = {"crowd": 3, "clocks": 1}.get(self.theme) or self.random.randint(1, 3)
        for n in range(schedulers):
            self._enter(f"scheduler{n}", SchedulerProcess)
        for n in range(self.random.randint(1, 3)):
            self._enter(f"worker{n}", self.a_worker(first=n == 0))
        self._enter("consumer", ConsumerProcess)
        for n in range(self.random.randint(1, 2)):
            self._enter(f"triggerer{n}", TriggererProcess)
        self._enter("short", ShortHanded)
        for n in range(4 if self.theme == "waits" else 1):
            self._enter(f"person{n}", PersonProcess)

    def _enter(self, name: str, make: Callable[[Around, str], Process]) -> None:
        self._makers[name] = lambda: make(self, name)
        self.processes[name] = self._makers[name]()

    def a_worker(self, *, first: bool = False) -> Callable[[Around, str], Process]:
        """The first one serves the default queue."""
        make = partial(WorkerProcess, capacity=self.random.randint(1, 4))
        if self.theme != WITH_QUEUES:
            return make
        served = [("default",), ("default",), ("default", GPU), *([] if first else [(GPU,)])]
        return partial(make, queues=self.random.choice(served))

    def add_worker(self, make: Callable[[Around, str], Process]) -> None:
        self._enter(f"worker{len(self._makers)}", make)

    def activate(self, version: str) -> None:
        self._active = version

    def serve(self, *versions: str) -> None:
        with self.memory.begin() as tx:
            tx.remove_code_server("server")
            if versions:
                tx.put_code_server("server", LOCATION, "at", versions, _LASTING_S)

    def served(self) -> list[Pin]:
        with self.memory.begin() as tx:
            served = {version for server in tx.live_code_servers() for version in server.versions}
        return [(LOCATION, SnapshotId(n)) for n, version in enumerate(VERSIONS, 1) if version in served]

    def pin(self) -> Pin:
        return LOCATION, SnapshotId(VERSIONS.index(self._active) + 1)

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

    def take_away(self, seconds: float) -> None:
        """The database, for so long."""
        self.site.away, self._away_until = True, self.seconds + seconds

    def linger(self, process: Process, seconds: int) -> None:
        """This process is at something for so long, outside any transaction, and the others go on."""
        if self.site.between or not self.site.faults:
            return  # somebody waits for it between two transactions
        process.asleep_until = float("inf")
        for _ in range(seconds):
            self.hop(1.0)
        process.asleep_until = 0.0

    def _turn(self, name: str) -> None:
        process = self.processes[name]
        if process.asleep_until > self.seconds:
            return
        outer, self._acting = self._acting, name
        try:
            with self.watch.acting():
                process.turn()
        except (Busy, Unavailable):
            pass  # it tries again in its next turn
        except Crash:
            self.kill(name)
        finally:
            self._acting = outer

    def kill(self, name: str) -> None:
        self.say(name, "dies, and is started again")
        self.processes[name].died()
        self.processes[name] = self._makers[name]()

    def _somebody(self) -> None:
        """Acts between two transactions of somebody else."""
        self._turn(self.random.choice([name for name in self.processes if name != self._acting]))

    # ------------------------------------------------------------------ the story

    def act(self) -> None:
        deeds, troubles = self.deeds, self.troubles
        waits, hands, crowd, clocks, still, versions = (self.theme == name for name in THEMES[2:])
        weights: dict[Callable[[], None], float] = {
            lambda: self.hop(self.random.choice([0.2, 1.0, 1.0, 2.0])): 30,
            deeds.launch: 5 if crowd else 2,
            deeds.cancel: 0.6,
            deeds.limit: 0.8,
            deeds.tend: 1.5,
            deeds.resize: 2 if crowd else 0.8,
            deeds.cap: 1 if crowd else 0.4,
            deeds.share: 3 if crowd else 0.8,
            deeds.deploy: 4 if versions else 0.6,
            deeds.pause: 5 if hands else 1,
            deeds.handle: 8 if hands else 1,
            deeds.hush: 0.6,
            troubles.sleep: 4 if still else 0.7,
            troubles.outage: 0.8 if clocks else 0.4,
            troubles.jump: 4 if clocks else 0.5,
            troubles.zombie: 10 if waits else 4,
            troubles.kill: 1 if waits or clocks or still else 0.3,
            troubles.retire: 0.3,
        }
        self.random.choices(list(weights), list(weights.values()))[0]()

    def calm(self) -> None:
        """No more trouble: everything that can end ends."""
        self.say("story", "the faults end")
        self.site.faults = self.site.away = False
        self.processes.pop("short").died()  # what it does now and then, the schedulers have to do by themselves
        self.serve(*VERSIONS)
        self.deeds.resume_backfills()
        self.deeds.resume_all()
        for name, slots in POOLS.items():
            self.deeds.set_pool(name, slots)
        self.deeds.set_caps({"all": None, "location:house": None})
        for name in LANES:
            self.deeds.set_lane(Lane(name, 1))  # no part is kept from a task that wants a whole pool
        for process in self.processes.values():
            process.asleep_until = 0.0
        if self.theme == WITH_QUEUES:
            self._until("what no worker takes gives its slots back", self.watch.kept_from_others)
            self.add_worker(partial(WorkerProcess, capacity=2, queues=(ALL_QUEUES,)))
        evaluate_once_more(self.memory, self._until)
        self.watch.look()
        self._until(
            "everything that is ready starts, and every run ends",
            lambda: still_to_do(self.watch.before, self.clock.now),
        )
        check_end(self.memory.dump(), self.watch.history, self.clock.now)

    def _until(self, law: str, left: Callable[[], list[str]]) -> None:
        """Time passes until nothing is left."""
        for _ in range(_CALM_S):
            self.hop(1.0)
            if not left():
                return
        raise Broken(law, ", ".join(left()))


def tell(seed: int, steps: int = STEPS, *, theme: str | None = None, trace: bool = False) -> Story:
    """One story from its beginning to its checked end."""
    story = Story(seed, theme=theme or (WITH_QUEUES if seed % 9 == 8 else None), trace=trace)
    told(story, steps)
    return story


def told(story: Story, steps: int) -> None:
    """What happens in a story."""
    quiet = [log.disabled for log in _LOGS]
    for log in _LOGS:
        log.disabled = not story.trace  # an outage is no news here
    try:
        story.deeds.launch()
        for _ in range(steps):
            story.act()
        story.calm()
    finally:
        for log, was in zip(_LOGS, quiet, strict=True):
            log.disabled = was
