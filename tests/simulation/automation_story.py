"""Stories of automation: the machinery of `story` over definitions that follow each other.

External data move and are reported or observed, consumers follow, runs fan out over what they find, a job ticks, a policy of
freshness is broken and kept, callbacks are told, people pause and catch up, other code becomes active, days pass and history
goes. In the end nothing is owed to anybody (`automation_ending`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from tests.simulation.automation_deeds import AutomationDeeds
from tests.simulation.automation_ending import owed
from tests.simulation.automation_house import LiveCatalogs, LiveDefinitions, Outside, settle_in
from tests.simulation.automation_laws import AUTOMATION_LAWS, AutomationHistory
from tests.simulation.automation_processes import (
    CallingTriggerer,
    FindingWorker,
    PlanningScheduler,
    Producer,
    answer_of,
)
from tests.simulation.deeds import LANES
from tests.simulation.house import VERSIONS
from tests.simulation.people import PersonProcess
from tests.simulation.seen import History
from tests.simulation.story import Story, told
from tests.simulation.watching import Broken

from partita.core.automation.evaluating import Begun, Broke, Came
from partita.core.duties.evaluators import evaluate_now
from partita.core.store.values import Lane, Pool
from partita.core.store.values_evaluators import EvaluatorId

AUTOMATION_THEMES = ("feeds", "files", "ticks", "history", "pauses", "deployments")
AUTOMATION_STEPS = 50
_SLOTS = 4


class AutomationStory(Story):
    """`outside` is what is true where partita is not."""

    themes = AUTOMATION_THEMES
    laws = AUTOMATION_LAWS
    deeds: AutomationDeeds

    def _furnish(self) -> None:
        settle_in(self.memory)
        self.live = LiveCatalogs(self.memory)
        self.catalogs = self.live
        self.outside = Outside(self.random)

    def _history(self) -> History:
        return AutomationHistory(outside=self.outside)

    def _settle_in(self) -> None:
        self._calm_since = float("inf")
        self.waiting_since: dict[str, float] = {}
        self.definitions = LiveDefinitions(self.live)
        self.deeds = AutomationDeeds(self)
        if self.random.random() < 0.5:
            self.site.interleaved = 0.3
        with self.memory.begin() as tx:
            tx.set_pool(Pool("default", _SLOTS))
        self.serve(*VERSIONS)
        for n in range(self.random.choice([1, 2, 2, 3])):
            self._enter(f"scheduler{n}", PlanningScheduler)
        for n in range(self.random.randint(1, 2)):
            self._enter(f"worker{n}", partial(FindingWorker, capacity=self.random.randint(2, 4)))
        for n in range(self.random.randint(1, 2)):
            self._enter(f"triggerer{n}", CallingTriggerer)
        for n in range(2):
            self._enter(f"producer{n}", Producer)
        self._enter("person", PersonProcess)

    def answer(self, begun: Begun) -> Came | Broke:
        return answer_of(self, begun)

    def act(self) -> None:
        deeds, troubles = self.deeds, self.troubles
        feeds, files, ticks, history, pauses, deployments = (self.theme == name for name in AUTOMATION_THEMES)
        weights: dict[Callable[[], None], float] = {
            lambda: self.hop(self.random.choice([0.2, 1.0, 1.0, 2.0])): 30,
            lambda: self.hop(self.random.choice([1.0, 10.0])): 6 if ticks else 1,
            deeds.launch: 5 if files or history else 1,
            deeds.cancel: 0.5,
            deeds.tend: 0.7,
            deeds.move: 5 if feeds or pauses else 1,
            deeds.pause: 6 if pauses else 0.7,
            deeds.tend_job: 3 if ticks else 0.5,
            deeds.deploy: 4 if deployments else 0.3,
            deeds.remove_key: 0.7 if files else 0.1,
            deeds.age: 2.5 if history else 0,
            deeds.hush: 0.3,
            troubles.sleep: 0.7,
            troubles.outage: 0.4,
            troubles.jump: 0.8 if ticks else 0.2,
            troubles.zombie: 4,
            troubles.kill: 1,
        }
        self.random.choices(list(weights), list(weights.values()))[0]()

    def _somebody(self) -> None:
        """Now and then it is the database's clock that is set meanwhile."""
        if self.theme == "ticks" and self.random.random() < 0.02:
            self.troubles._set_clock(-3.0)
        super()._somebody()

    @property
    def calm_s(self) -> float:
        """For how long nothing has gone wrong."""
        return self.seconds - self._calm_since

    def calm(self) -> None:
        """No more trouble: everything that is owed is done."""
        self.say("story", "the faults end")
        self._calm_since = self.seconds
        self.site.faults = self.site.away = False
        self.serve(*VERSIONS)
        self.deeds.resume_all()
        self.deeds.resume_backfills()
        self.deeds.resume_job()
        self.deeds.set_pool("default", _SLOTS)
        for name in LANES:
            self.deeds.set_lane(Lane(name, 1))
        for process in self.processes.values():
            process.asleep_until = 0.0
        self._until("a tick that has come is heeded", lambda: owed(self, "ticks"))
        self.deeds.end_job()
        for row in self.memory.database.evaluator.sorted_rows():
            if row["name"] != "slow":
                evaluate_now(self.memory, EvaluatorId(row["id"]), who="ada")
        self._until_nothing_is_owed()

    def _until_nothing_is_owed(self) -> None:
        """Raises for what was owed for longest: ticks go on, and something is under way at most times."""
        for_s: Counter[str] = Counter()
        last: dict[str, list[str]] = {}
        for _ in range(_CALM_S):
            self.hop(1.0)
            owing = {law: left for what, law in _OWED.items() if (left := owed(self, what))}
            if not owing and self.calm_s > _AT_LEAST_S.get(self.theme, 0.0):
                return
            for_s.update(owing.keys())
            last |= owing
        law, _ = for_s.most_common(1)[0]
        raise Broken(law, ", ".join(last[law]))


_CALM_S = 900
_AT_LEAST_S = {"feeds": 60.0}  # so long that it would be seen who waits for the slow one
_OWED = {
    "runs": "everything that is ready starts, and every run ends",
    "reports": "a producer is answered",
    "observations": "what is observed is known",
    "callbacks": "a callback is told of every end",
    "news": "a sensor is told of every publication",
    "consumers": "consumers follow",
    "windows": "each window that closed is made",
    "versions": "what follows its code is made with the code that is active",
    "rates": "a tick that has come is heeded",
    "collected": "what collects is made of all that was found",
    "freshness": "an alert of lateness is over when the data are there",
    "rows": "nothing is left behind",
}


def tell_of_automation(
    seed: int, steps: int = AUTOMATION_STEPS, *, theme: str | None = None, trace: bool = False
) -> AutomationStory:
    """One story from its beginning to its checked end."""
    story = AutomationStory(seed, theme=theme, trace=trace)
    told(story, steps)
    return story
