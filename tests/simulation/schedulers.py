"""Schedulers of a story: the shipped duty loops with the shipped duties on virtual time, and one that takes little at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.simulation.faults import unbroken
from tests.simulation.house import ROUTING
from tests.simulation.processes import Around, Process
from tests.simulation.watching import VERSION_GRACE_S

from partita.core.alerts import Matchers, deliver, raise_alerts, watch_alerts
from partita.core.automation import run_asked
from partita.core.duties.admit import admit
from partita.core.duties.channels import Channel
from partita.core.duties.explain import explain
from partita.core.duties.leases import sweep
from partita.core.duties.retries import wake_retries
from partita.core.duties.runs import continue_cancels, fold_tallies
from partita.core.runtime.coordination import ASKED, FLOOR_S, NOTICES, SIGNALS, Coordination, Outcome
from partita.core.runtime.duties import Duty, DutyLoop, Ran
from partita.core.store.values_alerts import NoticeKind


class SchedulerProcess(Process):
    """The loops of the shipped one: coordination, and beside it what plans requests, raises alerts and sends notices."""

    def __init__(self, around: Around, name: str) -> None:
        super().__init__(around, name)
        coordination = Coordination(self.store, self.hub, version_grace_s=VERSION_GRACE_S)
        matchers = Matchers(ROUTING, around.catalogs)
        told = coordination.told
        others = [
            Duty("asked", lambda: told(run_asked(self.store, around.catalogs)), FLOOR_S, (Channel.TODO, ASKED)),
            Duty("raise_alerts", lambda: told(raise_alerts(self.store, matchers)), FLOOR_S, (SIGNALS,)),
            Duty("watch_alerts", lambda: told(watch_alerts(self.store, matchers)), 15.0),
            Duty("notices", self._deliver, FLOOR_S, (NOTICES,)),
        ]
        self._told = told
        self._loops = [self._loop(coordination.duties()), self._loop([*others, *self._more(told)])]

    def turn(self) -> None:
        for loop in self._loops:
            loop.turn()

    def _more(self, told: Callable[[Outcome], Ran]) -> list[Duty]:
        """What plans beside it, in stories that have it."""
        return []

    def _loop(self, duties: list[Duty]) -> DutyLoop:
        for duty in duties:
            duty.run = partial(self._run, duty.name, duty.run)
        return DutyLoop(self.name, duties, self.hub, clock=lambda: self.around.seconds)

    def _run(self, duty: str, run: Callable[[], Ran | bool]) -> Ran | bool:
        self.around.say(self.name, duty)
        with self.around.watch.acting():
            return unbroken(run)

    def _deliver(self) -> Ran:
        # One at a time, so that the thread in which it is sent is the only one that acts.
        return self._told(deliver(self.store, ROUTING, send=self._send, limit=1))

    def _send(self, url: str, title: str, body: str, kind: NoticeKind, /) -> str | None:
        claim = self.around.watch.by.delivering
        assert claim is not None
        self.around.say(self.name, f"sends notice {claim[0]}, try {claim[1]}: {title}")
        if self.around.random.random() < 0.05:
            self.around.linger(self, 45)  # beyond its lease
        if self.around.site.happens(0.2):
            return "the other side is away"
        self.around.watch.history.told.add(claim)
        return None


class ShortHanded(Process):
    """Somebody who takes little at a time: the limits of the duties matter, and others find what it leaves."""

    def turn(self) -> None:
        few = self.around.random.randint(1, 3)
        duties: dict[str, Callable[[], tuple[Channel, ...]]] = {
            "admit": lambda: admit(self.store, few).channels,
            "sweep": lambda: sweep(self.store, 1).channels,
            "wake_retries": lambda: wake_retries(self.store, few).channels,
            "fold_tallies": lambda: fold_tallies(self.store, few).channels,
            "continue_cancels": lambda: continue_cancels(self.store, 1, few).channels,
            "explain": lambda: explain(self.store, few).channels,
        }
        name = self.around.random.choice(list(duties))
        self.around.say(self.name, f"{name} {few}")
        self.hub.wake(unbroken(duties[name]))
