"""Triggerers of a story: each watches what is deferred under its lease, and evaluates what is due.

A model of the shipped one over the same duties. Most of what it watches comes in the end, now and then twice; some triggers
raise. It asks no code server, so no version is gone for it: what is resumed then meets that as all other work does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from tests.simulation.faults import unbroken
from tests.simulation.house import ASSETS, PARTITIONS
from tests.simulation.processes import Around, Process

from partita.core.automation.evaluating import Begun, Broke, Came, begin, conclude
from partita.core.decide.waits import Broken, Fired
from partita.core.duties.channels import Channel
from partita.core.duties.evaluators import evaluate_now, pause
from partita.core.duties.waits import disown_waits, register_triggerer, report_waits, watch
from partita.core.store.memory import MemoryStore
from partita.core.store.port import Busy, Unavailable
from partita.core.store.values_evaluators import EvaluatorId
from partita.core.store.values_waits import TriggererId, WaitKey


class TriggererProcess(Process):
    """A process has a new id in each life."""

    def __init__(self, around: Around, name: str) -> None:
        super().__init__(around, name)
        self._id = TriggererId("")
        self._watched: set[WaitKey] = set()
        self._evaluating: dict[EvaluatorId, tuple[Begun, float]] = {}
        self._next_at = 0.0
        self._doubt = False
        self.hub.subscribe([Channel.WAIT], self._woken)

    def _woken(self) -> None:
        self._next_at = 0.0

    def turn(self) -> None:
        if self.around.seconds < self._next_at:
            return
        self._next_at = self.around.seconds + 1.0
        try:
            self._visit()
            self._evaluate()
        except (Busy, Unavailable):
            self._doubt = True
            self._next_at = 0.0

    def died(self) -> None:
        super().died()
        self.around.late_events += [Fired(key, "late") for key in sorted(self._watched, key=repr)]
        self.around.late_evaluations += [begun for begun, _ in self._evaluating.values()]

    def _visit(self) -> None:
        if not self._id:
            self._enter()
        if self._doubt:
            unbroken(lambda: disown_waits(self.store, self._id, sorted(self._watched, key=repr)))
            self._doubt = False
        pins = unbroken(lambda: self.store.run(lambda tx: tx.waiting_pins(), durable=False))
        wanted = [(pin.location_id, pin.snapshot_id) for pin in pins]
        watched = unbroken(lambda: watch(self.store, self._id, wanted, self.around.random.randint(1, 5)))
        if not watched.live:
            self._lease_lost()
            return
        self._watched -= set(watched.dropped)
        self._watched |= {wait.key for wait in watched.claimed}
        self._tell()

    def _tell(self) -> None:
        random = self.around.random
        self._tell_of_before()
        came = [key for key in sorted(self._watched, key=repr) if random.random() < 0.2]
        if not came:
            return
        raised = {key for key in came if random.random() < (0.5 if self.around.theme == "waits" else 0.15)}
        self.around.say(self.name, f"{[key.task_id for key in came]} came, {len(raised)} of them broke")
        reports = [Broken(key, "boom") if key in raised else Fired(key, self.name) for key in came]
        with self.around.watch.acting(fired=frozenset(came) - raised, broken=frozenset(raised)):
            self.hub.wake(unbroken(lambda: report_waits(self.store, reports)).channels)
        self.around.late_events += [Fired(key, "again") for key in came if key in raised or random.random() < 0.2]
        self._watched -= {key for key in came if random.random() < 0.8}  # else it comes twice

    def _tell_of_before(self) -> None:
        """A check that hung, and comes when its wait was opened anew."""
        older = late_events(self.around, older=True)
        if older and self.around.random.random() < 0.3:
            fired = self.around.random.choice(older)
            with self.around.watch.acting(fired=frozenset({fired.key})):
                unbroken(lambda: report_waits(self.store, [fired]))

    def _evaluate(self) -> None:
        around = self.around
        for evaluator_id, (begun, ends_at) in list(self._evaluating.items()):
            if ends_at <= around.seconds:
                del self._evaluating[evaluator_id]
                end = self._answer(begun)
                around.say(self.name, f"{begun.evaluator.name} ends: {end}")
                self.hub.wake(unbroken(partial(conclude, self.store, around.catalogs, begun, end)).channels)
        running = list(self._evaluating)
        for begun in unbroken(
            lambda: begin(self.store, around.catalogs, self._id, around.served(), 2, running=running)
        ):
            self._evaluating[begun.evaluator.id] = (begun, around.seconds + self._takes_s(begun))

    def _takes_s(self, begun: Begun) -> float:
        return self.around.random.choice([0.0, 1.0, 4.0, 50.0])

    def _answer(self, begun: Begun) -> Came | Broke:
        return self.around.answer(begun)

    def _lease_lost(self) -> None:
        self.around.late_events += [Fired(key, "late") for key in sorted(self._watched, key=repr)]
        self.around.late_evaluations += [begun for begun, _ in self._evaluating.values()]
        self._watched.clear()
        self._evaluating.clear()
        self._enter()

    def _enter(self) -> None:
        # As the shipped one, in each life another.
        new = TriggererId(f"{self.name}.{self.around.random.getrandbits(32):x}")
        unbroken(lambda: register_triggerer(self.store, new, host="h", pid=1))
        self._id = new


def late_events(around: Around, *, older: bool) -> list[Fired]:
    """What triggerers saw of waits that are open (again): of earlier stints, or of any."""
    opened = [row for row in around.watch.before["wait"] if row["state"] == "open"]
    stints = {(row["task_id"], row["place"]): row["stint"] for row in opened}
    known = [one for one in around.late_events if (one.key.task_id, one.key.place) in stints]
    return [one for one in known if not older or one.key.stint < stints[one.key.task_id, one.key.place]]


def answer_of(begun: Begun, random: Random) -> Came | Broke:
    """What user code returns: a sensor asks for some more and says how many it has asked for, a schedule once for its tick."""
    if random.random() < 0.1:
        return Broke("ValueError: boom")
    empty: dict[str, Any] = {"cursor": None, "skip": "", "versions": {}, "requests": [], "keys": []}
    if begun.tick is not None:
        return Came(empty | {"requests": [_request(random, tick=begun.tick.isoformat())]})
    known = int(begun.given["cursor"] or 0)
    more = random.choice([0, 0, 1, 2])
    requests = [_request(random, n=str(n)) for n in range(known + 1, known + more + 1)]
    return Came(empty | {"cursor": str(known + more), "requests": requests})


def _request(random: Random, **tags: str) -> dict[str, Any]:
    return {
        "key": None,
        "selection": f"s{random.choice(ASSETS)}",
        "partitions": random.choice(PARTITIONS),
        "mode": random.choice([["missing", "failed", "stale"], ["all"]]),
        "params": {},
        "tags": tags,
    }


def evaluate_once_more(memory: MemoryStore, until: Callable[[str, Callable[[], list[str]]], None]) -> None:
    """Each is evaluated when a person says so, whoever was at it; then they rest."""
    begun = {row["id"]: row["token"] for row in memory.database.evaluator.sorted_rows()}
    asked = [row["id"] for row in memory.database.evaluator.sorted_rows() if row["kind"] == "sensor"]
    for one in asked:
        evaluate_now(memory, EvaluatorId(one), who="ada")

    def left() -> list[str]:
        rows = {row["id"]: row for row in memory.database.evaluator.sorted_rows()}
        waits = [one for one in asked if rows[one]["token"] == begun[one] or rows[one]["triggerer_id"] is not None]
        return [f"evaluator {one} is not evaluated" for one in waits]

    until("what is due is evaluated", left)
    for one in begun:
        pause(memory, EvaluatorId(one), who="ada")
