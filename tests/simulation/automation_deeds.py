"""What people and the world do in the stories of automation: launch what fans out, pause consumers and catch up, tend the job,
take keys away, activate other code, let days pass.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from tests.simulation.automation_house import EAGER, FILES, IDS, JOB, bring_up
from tests.simulation.deeds import Deeds
from tests.simulation.faults import ProcessStore
from tests.simulation.house import VERSIONS
from tests.simulation.processes import unbroken_again
from tests.simulation.watching import Broken

from partita.assets import PartitaError
from partita.core.automation.asked import planned
from partita.core.automation.catch_up import catch_up
from partita.core.decide.jobs import JobRefused
from partita.core.duties import pause
from partita.core.duties.dynamic import remove_keys
from partita.core.duties.jobs import add_job, pause_job, resume_job
from partita.core.duties.launch import LaunchAgain, launch_in
from partita.core.duties.values import NewBackfill
from partita.core.planner import to_launch
from partita.core.store.port import Tx
from partita.core.store.values import AssetId, BackfillId
from partita.core.store.values_actions import EVERYTHING

if TYPE_CHECKING:
    from tests.simulation.automation_story import AutomationStory

_SELECTIONS = ("inbox+", "inbox+", "inbox+", "inbox", "parsed+", "summary", "first+", "nightly", "rates")
_A_DAY_S = 86_400.0


class AutomationDeeds(Deeds):
    def __init__(self, story: AutomationStory) -> None:
        super().__init__(story)
        self.removals = self.days = self.catch_ups = self.deployments = 0

    @property
    def _own(self) -> AutomationStory:
        return cast("AutomationStory", self._story)

    def launch(self) -> None:
        random, live = self._random, self._own.live
        selection = random.choice(_SELECTIONS)
        request = {"selection": selection, "mode": random.choice([["all"], ["missing", "failed", "stale"]])}
        backfill = NewBackfill("b", random.choice([None, 1, 2]), "ada") if random.random() < 0.3 else None
        lane = "backfill" if backfill else "interactive"
        cause = {"kind": "person", "by": "ada"}

        def work(tx: Tx) -> None:
            catalog = live.active()
            plan = planned(tx, catalog, request, "ada")
            if not plan.empty:
                launch_in(tx, to_launch(plan, catalog, cause=cause, backfill=backfill, lane=lane))

        def ask(store: ProcessStore) -> None:
            with suppress(LaunchAgain):  # somebody was quicker: she does without
                unbroken_again(lambda: store.run(work))

        self._ask(f"launches {selection}, {request['mode'][0]}", ask)

    def _retry(self, store: ProcessStore, backfill_id: BackfillId) -> None:
        """Nobody here does; the other stories tell of it."""

    def pause(self) -> None:
        """Consumers are paused; resumed, they catch up as somebody says."""
        random, live = self._random, self._own.live
        held = sorted(row["asset_id"] for row in self._story.watch.before["pause"])
        if not held or random.random() < 0.4:
            self.pauses += 1
            some = [IDS[name] for name in random.sample(sorted(EAGER), 2)]
            ids = random.choice([some, some, [EVERYTHING]])
            self._ask(f"pauses {ids}", lambda store: pause.pause(store, ids, who="ada", reason="broken", said={}))
            return
        chosen = [AssetId(one) for one in random.sample(held, random.randint(1, len(held)))]
        policy: Any = random.choice(["none", "latest", "all", "all"])
        pace = random.choice([None, 2])

        def resume(store: ProcessStore) -> None:
            if policy != "all" or pace is not None:
                catch_up(store, live, chosen, policy, pace=pace, who="ada")
            pause.resume(store, chosen, who="ada", reason="done", said={})

        self.catch_ups += 1
        self._ask(f"resumes {chosen} and catches up: {policy}, {pace}", resume)

    def tend_job(self) -> None:
        """Somebody pauses the job, resumes it with or without what it missed, or writes it anew."""
        random = self._random
        latest = random.random() < 0.5
        acts: dict[str, Any] = {
            "pauses": lambda store: pause_job(store, JOB.name, who="ada"),
            "resumes": lambda store: resume_job(store, JOB.name, who="ada", latest=latest),
            "rewrites": lambda store: add_job(store, JOB, replacing=True),
        }
        what = random.choices(list(acts), [2, 4, 1])[0]

        def ask(store: ProcessStore) -> None:
            with suppress(JobRefused):  # it is paused already, or is not
                acts[what](store)

        self._ask(f"{what} the job", ask)

    def resume_job(self) -> None:
        with suppress(JobRefused):
            resume_job(self._story.memory, JOB.name, who="ada", latest=True)
        self._story.watch.look()

    def end_job(self) -> None:
        pause_job(self._story.memory, JOB.name, who="ada")
        self._story.watch.look()

    def remove_key(self) -> None:
        there = [row["key"] for row in self._story.watch.before["dynamic_key"] if row["ended"] is None]
        if there:
            key = self._random.choice(there)
            self.removals += 1

            def ask(store: ProcessStore) -> None:
                with suppress(PartitaError):  # somebody was quicker
                    remove_keys(store, FILES, [key], who="ada")

            self._ask(f"takes key {key} away", ask)

    def move(self) -> None:
        self._own.outside.move()

    def deploy(self) -> None:
        """Another version, or the same once more; the server of the old one may leave, and come back when it must."""
        version = self._random.choice(VERSIONS)
        served = self._random.choice([VERSIONS, VERSIONS, (version,)])
        self.deployments += 1

        def work(tx: Tx) -> None:
            if problem := bring_up(tx, version):
                raise Broken("what is sound becomes active", problem)

        self._ask(f"activates {version}, and {served} are served", lambda store: store.run(work))
        self._story.serve(*served)

    def age(self) -> None:
        """A day passes."""
        self.days += 1
        self._story.troubles._set_clock(_A_DAY_S)
        self._story.hop(1.0)
