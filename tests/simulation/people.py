"""Somebody who is asked: looks at the open questions, and answers some of them later, when they may be others.

What was answered meanwhile, cancelled or asked anew is refused as a whole; in the end everything is answered.
"""

from __future__ import annotations

from contextlib import suppress

from tests.simulation.faults import unbroken
from tests.simulation.processes import Around, Process

from partita.core.decide.answers import Answer, AnswerRefused
from partita.core.duties.answers import answer_tasks
from partita.core.store.port import Busy, Unavailable
from partita.core.store.values import TaskId
from partita.core.store.values_waits import WaitKey


class PersonProcess(Process):
    def __init__(self, around: Around, name: str) -> None:
        super().__init__(around, name)
        self._shown: dict[TaskId, set[WaitKey]] = {}

    def turn(self) -> None:
        random = self.around.random
        if not self._shown or random.random() < 0.02:
            self._look()
        if self._shown and random.random() < 0.1:
            with suppress(Busy, Unavailable):
                self._answer(random.choice(sorted(self._shown)))

    def _look(self) -> None:
        self._shown = {}
        for row in self.around.watch.before["wait"]:
            if row["state"] == "open" and row["asks"]:
                key = WaitKey(row["task_id"], row["place"], row["stint"])
                self._shown.setdefault(row["task_id"], set()).add(key)

    def _answer(self, task_id: TaskId) -> None:
        given = Answer(task_id, self.around.random.random() < 0.8, self.name, "seen", self._shown.pop(task_id))
        answered = frozenset(given.shown) if given.approve else frozenset()
        self.around.say(self.name, f"{'approves' if given.approve else 'rejects'} task {task_id}")

        def ask() -> None:
            with suppress(AnswerRefused):
                self.hub.wake(answer_tasks(self.store, [given]).channels)

        with self.around.watch.acting(answered=answered):
            unbroken(ask)
