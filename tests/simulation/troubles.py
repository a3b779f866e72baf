"""What goes wrong in a story beside crashes: standstills, outages, clocks that jump, reports that come late."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.simulation.faults import ProcessStore, unbroken
from tests.simulation.processes import WorkerProcess, send
from tests.simulation.triggerers import late_events
from tests.simulation.watching import Broken

from partita.core.automation.evaluating import conclude
from partita.core.duties.finish import publish_part
from partita.core.duties.waits import report_waits

if TYPE_CHECKING:
    from tests.simulation.story import Story


class Troubles:
    """The troubles of one story, and how often each came."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._random = story.random
        self.zombies = self.jumps = self.outages = self.sleeps = 0

    def sleep(self) -> None:
        """A process is stopped, maybe for longer than its lease, while the database answers."""
        story = self._story
        process = story.processes[self._random.choice(list(story.processes))]
        seconds = self._random.choice([2, 10, 45, 70])
        story.say(process.name, f"stands still for {seconds} s")
        self.sleeps += 1
        process.asleep_until = story.seconds + seconds
        for _ in range(seconds + 1 if self._random.random() < 0.7 else 0):
            story.hop(1.0)

    def outage(self) -> None:
        """The database is away, for longer than any lease; what was not durable may be lost with it."""
        story = self._story
        if story.site.away:
            return
        seconds = self._random.choice([3, 20, 90])
        self.outages += 1
        story.say("database", f"is away for {seconds} s")
        if self._random.random() < 0.5:
            story.site.crash_database()
        story.take_away(seconds)
        for _ in range(seconds // 3):
            story.hop(3.0)

    def kill(self) -> None:
        """Who holds work under a lease dies between two turns; another beginning takes its place."""
        ours = [name for name in self._story.processes if name.startswith(("worker", "triggerer"))]
        self._story.kill(self._random.choice(ours))

    def jump(self) -> None:
        """The database's clock is set; monotonic clocks go on. Now and then somebody dies in just that second."""
        self._set_clock(self._random.choice([-40.0, -3.0, 3.0, 60.0, 3600.0, 3600.0]))
        if self._random.random() < 0.6:
            self._story.hop(1.0)
            self.kill()

    def _set_clock(self, by: float) -> None:
        self.jumps += 1
        self._story.say("database", f"its clock jumps by {by} s")
        self._story.clock.now += timedelta(seconds=by)
        if 0 < by < 5:
            self._story.watch.up_s += by  # too little to be told from time that passed

    def zombie(self) -> None:
        """What was reported, refused or given up long ago arrives. It changes nothing, unless it speaks for what lives."""
        if self._story.site.away:
            return
        which = [self._late_report, self._late_report, self._late_events, self._late_evaluation]
        self._random.choice(which)()

    def _late_report(self) -> None:
        story = self._story
        if not story.late:
            return
        result = self._random.choice(story.late)
        live = {row["attempt_id"] for row in story.watch.before["task"] if row["state"] == "running"}
        store = ProcessStore(replace(story.site, faults=False))
        self.zombies += 1
        if result.attempt_id in live:
            send(story, store, [result])
            return
        before = story.memory.dump()
        send(story, store, [result])
        part = publish_part(store, result)
        if part.refused is None or story.memory.dump() != before:
            raise Broken("a late report changes nothing", f"attempt {result.attempt_id} of task {result.task_id}")

    def _late_events(self) -> None:
        """What a triggerer saw, mostly in a stint that is over, of waits that are open (again)."""
        story = self._story
        known = late_events(story, older=True) or late_events(story, older=False)
        if known:
            fired = self._random.choice(known)
            self.zombies += 1
            store = ProcessStore(replace(story.site, faults=False))
            with story.watch.acting(fired=frozenset({fired.key})):
                unbroken(lambda: report_waits(store, [fired]))

    def _late_evaluation(self) -> None:
        story = self._story
        if story.late_evaluations:
            begun = story.late_evaluations.pop()
            self.zombies += 1
            store = ProcessStore(replace(story.site, faults=False))
            unbroken(lambda: conclude(store, story.catalogs, begun, story.answer(begun)))

    def retire(self) -> None:
        workers = [process for process in self._story.processes.values() if isinstance(process, WorkerProcess)]
        if len(workers) > 1:
            worker = self._random.choice(workers)
            worker.stopping = True
            self._story.add_worker(self._story.a_worker())
