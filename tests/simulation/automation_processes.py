"""Who works in the stories of automation beside the usual: schedulers with all that plans, workers whose attempts find keys,
triggerers that call what the house defines, and producers outside that report until they are answered.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, cast

from tests.simulation.automation_house import FILES, IDS, Outside, observation_of
from tests.simulation.crashing import Crash
from tests.simulation.faults import unbroken
from tests.simulation.processes import Around, Process, WorkerProcess
from tests.simulation.schedulers import SchedulerProcess
from tests.simulation.triggerers import TriggererProcess
from tests.simulation.watching import Broken

from partita.core.automation import run_automation, run_clocks, run_fan_outs, run_new_keys, run_rebuilds, run_replans
from partita.core.automation.asked import planned
from partita.core.automation.evaluating import Begun, Broke, Came
from partita.core.automation.jobs import tags_of_job
from partita.core.duties.channels import Channel
from partita.core.duties.intake import TakenIn, forget_reports, take_in
from partita.core.duties.jobs import run_jobs
from partita.core.duties.values import Launch
from partita.core.duties.values_attempts import AddedKeys, AttemptResult, Claimed
from partita.core.freshness import look_at_freshness
from partita.core.planner import to_launch
from partita.core.retention import retain
from partita.core.runtime.coordination import CLOCKS, FLOOR_S, FRESHNESS, Outcome
from partita.core.runtime.duties import Duty, Ran
from partita.core.store.memory import MemoryStore
from partita.core.store.memory.retention import _date
from partita.core.store.port import Busy, Unavailable
from partita.core.store.values import AttemptOutcome
from partita.core.store.values_jobs import Job
from partita.sdk.callbacks import TaskEnded, tell

if TYPE_CHECKING:
    from tests.simulation.automation_story import AutomationStory

KEEP_DAYS = 1
_LONGEST_S = 200.0
"""For so long an evaluation may hang that hangs."""


def _of(around: Around) -> AutomationStory:
    return cast("AutomationStory", around)


class PlanningScheduler(SchedulerProcess):
    """The shipped one's other duties, too."""

    def _more(self, told: Callable[[Outcome], Ran]) -> list[Duty]:
        store, catalogs = self.store, _of(self.around).live
        woken = (Channel.TODO,)
        return [
            Duty("automation", lambda: told(run_automation(store, catalogs)), FLOOR_S, woken),
            Duty("fan_out", lambda: told(run_fan_outs(store, catalogs)), FLOOR_S, (*woken, Channel.SCHEDULED), gap_s=0.2),
            Duty("new_keys", lambda: told(run_new_keys(store, catalogs)), FLOOR_S, woken),
            Duty("clocks", lambda: told(run_clocks(store, catalogs)), FLOOR_S, (CLOCKS,)),
            Duty("jobs", lambda: told(run_jobs(store, self._plan)), FLOOR_S),
            Duty("replan", lambda: told(run_replans(store, catalogs)), FLOOR_S, woken),
            Duty("rebuild", lambda: told(run_rebuilds(store, catalogs)), FLOOR_S, woken),
            Duty("freshness", lambda: told(look_at_freshness(store, catalogs)), FLOOR_S, (FRESHNESS, Channel.EVENT), gap_s=2.0),
            Duty("forget_reports", lambda: forget_reports(store), 60.0),
            Duty("retain", self._retain, 30.0),
        ]  # fmt: skip

    def _plan(self, job: Job) -> tuple[Launch | None, str]:
        catalog = _of(self.around).live.active()
        who = f"job {job.name}"
        made = self.store.run(lambda tx: planned(tx, catalog, job.request, who), durable=False)
        if made.empty:
            return None, "nothing to do"
        cause = {"kind": "job", "by": who, "job": job.name}
        return to_launch(made, catalog, cause=cause, lane=job.lane, tags=tags_of_job(job)), "some"

    def _retain(self) -> Ran:
        with self.around.watch.acting(retaining=True):
            done = retain(self.store, self._export, keep_days=KEEP_DAYS)
        return Ran(done.more, done.deleted)

    def _export(self, day: date) -> Written:
        site = self.around.site
        if site.happens(0.05):
            raise Crash  # while the files are written
        return Written(day, history_of(site.memory, day), _of(self.around).outside)


class Written:
    """The files of a day: what was there of it at one instant."""

    def __init__(self, day: date, ids: dict[str, set[Any]], outside: Outside) -> None:
        self._day = day
        self._ids = ids
        self._outside = outside
        self.rows = {table: len(own) for table, own in ids.items()}

    def publish(self) -> None:
        self._outside.files[self._day] = self._ids

    def discard(self) -> None:
        pass


def history_of(memory: MemoryStore, day: date) -> dict[str, set[Any]]:
    """The rows that belong to a day, by table."""
    db = memory.database
    runs = {row["id"] for row in db.run if row["finished_at"] is not None and _date(row["finished_at"]) == day}
    tasks = {row["id"] for row in db.task if row["run_id"] in runs}
    return {
        "run": runs,
        "task": tasks,
        "attempt": {row["id"] for row in db.attempt if row["task_id"] in tasks},
        "event": {row["id"] for row in db.event if _date(row["at"]) == day},
        "automation_request": {db.automation_request.key_of(row) for row in db.automation_request if _date(row["at"]) == day},
    }  # fmt: skip


class FindingWorker(WorkerProcess):
    """Attempts of `inbox` find files, now and then more than there may be."""

    def _result(self, claimed: Claimed) -> AttemptResult:
        sent = self.around.watch.history.sent
        if claimed.attempt_id not in sent:
            result = (
                super()._result(claimed)._replace(automation_assets=_of(self.around).live.active().automation_assets)
            )
            if claimed.task.step == "inbox" and result.outcome is AttemptOutcome.SUCCESS:
                found = self.around.random.sample([f"f{n}" for n in range(1, 7)], self.around.random.randint(0, 3))
                added = AddedKeys(FILES, tuple(found), (IDS["thumb"],), mapped=True)
                result = result._replace(added=(added,) if found else ())
            sent[claimed.attempt_id] = result
        return sent[claimed.attempt_id]


class CallingTriggerer(TriggererProcess):
    """An evaluation sees what is true when it begins; the slow one hangs."""

    def _takes_s(self, begun: Begun) -> float:
        around = _of(self.around)
        around.outside.looked[begun.evaluator.id, begun.evaluator.token] = dict(around.outside.watched)
        if begun.evaluator.name == "slow":
            return _LONGEST_S
        return super()._takes_s(begun) if around.site.faults else around.random.choice([0.0, 1.0])


def answer_of(around: AutomationStory, begun: Begun) -> Came | Broke:
    """What the functions of the house return."""
    random, outside, faults = around.random, around.outside, around.site.faults
    given = begun.given
    if faults and random.random() < 0.1 and begun.evaluator.failures < 3:
        return Broke("ValueError: boom")
    empty: dict[str, Any] = {"cursor": None, "skip": "", "versions": {}, "requests": [], "keys": [], "broke": ""}
    match begun.evaluator.name:
        case "look":
            seen = outside.looked[begun.evaluator.id, begun.evaluator.token]
            return Came(empty | {"versions": {key: f"w{seen[key]}" for key in given["partitions"]}})
        case "keyed":
            known = int(given["cursor"] or 0)
            more = random.choice([0, 0, 1, 2]) if faults else 0
            numbers = range(max(1, known - 2), known + more + 1)  # it is not sure what it has asked for
            return Came(empty | {"cursor": str(known + more), "requests": [_request(n) for n in numbers]})
        case "news":
            outside.news |= {(one["asset"], one["partition"], one["data_version"]) for one in given["events"]}
            return Came(empty)
        case "callback":
            cursor, broke = tell(lambda end: _called(around, end), {**given, "tasks": list(given.get("tasks", ()))})
            return Came(json.loads(json.dumps(empty | {"cursor": cursor, "broke": broke})))
    return Came(empty)


def _request(n: int) -> dict[str, Any]:
    return {
        "key": f"n{n}",
        "selection": "nightly",
        "partitions": "abc"[n % 3],
        "mode": ["all"] if n % 2 else ["missing", "failed", "stale"],
        "params": {},
        "tags": {},
    }


def _called(around: AutomationStory, end: TaskEnded) -> None:
    row = around.memory.database.task.get(end.task_id)
    if row is not None and row["state"] != end.state:
        raise Broken(
            "a callback comes after the commit", f"task {end.task_id} is {row['state']}, and {end.key} is told"
        )
    around.outside.ends[end.task_id].add(end.key)
    if around.site.happens(0.2):
        raise ConnectionError("nobody listens")


class Producer(Process):
    """Reports what its outbox has, some of it twice, until all is answered; a repeat is answered as the first was."""

    def turn(self) -> None:
        around = _of(self.around)
        outside, random = around.outside, around.random
        if around.site.faults and random.random() < 0.15:
            outside.new_report()
        waiting = [one for one in outside.outbox if one.key not in outside.answers]
        known = [one for one in outside.outbox if one.key in outside.answers]
        some = random.sample(waiting, min(len(waiting), random.randint(1, 3)))
        if known and around.site.faults and random.random() < 0.3:
            some.append(random.choice(known))
        if some and random.random() < 0.1:
            some.append(random.choice(some))
        if some and (waiting or random.random() < 0.2):
            with suppress(Busy, Unavailable):  # it sends them again
                self._send(around, some)

    def _send(self, around: AutomationStory, some: list[Any]) -> None:
        catalog = around.live.active()
        at = around.clock.now

        def send() -> TakenIn:
            observe = observation_of(catalog)
            return take_in(self.store, some, observe, by=self.name, followed=catalog.automation_assets)

        taken = unbroken(send)
        self.hub.wake(taken.channels)
        for report, answer in zip(some, taken.answers, strict=True):
            assert report.key is not None
            before = around.outside.answers.get(report.key)
            if before is not None and before[1] != answer and at < before[0] + report.keep - timedelta(seconds=120):
                raise Broken("a repeat is answered as the first was", f"{report.key}: {answer}, before {before[1]}")
            if before is None or before[1] != answer:
                around.outside.answers[report.key] = (at, answer)
