"""The processes of a story: workers and consumers of events. Each keeps only what a process keeps in memory.

A worker is a model of the shipped one over the same duties (that one speaks to code servers on an event loop): one lease,
attempts, reports until they are acknowledged, doubt after an answer that was lost. `turn` does what is due now; each call to the
store may be its last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Protocol

from tests.simulation.faults import Hub, Network, ProcessStore, Site, unbroken
from tests.simulation.house import QUEUES
from tests.simulation.watching import RENEW_S, Watch
from tests.unit.duties.duty_world import Definitions, no_log, plan_of, report, step

from partita.assets.queues import ALL_QUEUES, DEFAULT_QUEUE
from partita.assets.wait_specs import APPROVAL_TRIGGER
from partita.core.automation.evaluating import Begun, Broke, Came
from partita.core.automation.values import ActiveCatalog
from partita.core.decide.waits import Fired
from partita.core.duties.channels import Channel
from partita.core.duties.claim import claim
from partita.core.duties.finish import finish, publish_part
from partita.core.duties.launch import LaunchAgain, launch_in
from partita.core.duties.leases import disown, register, renew, retire
from partita.core.duties.values import AUTOMATION, REPLAN
from partita.core.duties.values_attempts import (
    AttemptResult,
    CellOutcome,
    Claimed,
    CodeVersion,
    Deferral,
    ResolvedInputs,
)
from partita.core.store.port import Busy, Tx, Unavailable
from partita.core.store.values import (
    AssetId,
    AttemptId,
    AttemptOutcome,
    LocationId,
    RunId,
    SnapshotId,
    Task,
    TaskCell,
    TodoEvent,
    WorkerId,
)

Pin = tuple[LocationId, SnapshotId]
_OUTCOMES = {
    AttemptOutcome.SUCCESS: 12,
    AttemptOutcome.FAILED: 4,
    AttemptOutcome.SKIPPED: 2,
    AttemptOutcome.TIMED_OUT: 1,
    AttemptOutcome.FAILED_FOR_GOOD: 1,
    AttemptOutcome.RETRY_LATER: 1,
    AttemptOutcome.LOST: 1,
    AttemptOutcome.VERSION_GONE: 1,
    AttemptOutcome.CANCELLED: 1,
    AttemptOutcome.DEFERRED: 2,
}


class VersionedDefinitions(Definitions):
    """Each snapshot is other code."""

    def resolve(self, task: Task, as_of: datetime, cells: Sequence[TaskCell], /) -> ResolvedInputs:
        resolved = super().resolve(task, as_of, cells)
        versions = {
            AssetId(asset): CodeVersion(f"{version.fingerprint}@{task.snapshot_id}", version.dependency_hash)
            for asset, version in resolved.versions.items()
        }
        return resolved._replace(versions=versions)


class Around(Protocol):
    """What processes see of the story."""

    site: Site
    network: Network
    watch: Watch
    random: Random
    theme: str
    definitions: Definitions
    catalogs: ActiveCatalog
    seconds: float  # never goes back
    late: list[AttemptResult]  # reports that somebody still holds
    late_events: list[Fired]  # what triggerers of before saw
    late_evaluations: list[Begun]

    def answer(self, begun: Begun) -> Came | Broke:
        """What user code returns of an evaluation."""

    def served(self) -> list[Pin]: ...

    def pin(self) -> Pin: ...

    def say(self, who: str, what: str) -> None: ...

    def linger(self, process: Process, seconds: int) -> None: ...


class Process:
    """`asleep_until`: it is stopped, and will go on as if nothing had happened."""

    def __init__(self, around: Around, name: str) -> None:
        self.around = around
        self.name = name
        self.asleep_until = 0.0
        self.store = ProcessStore(around.site)
        self.hub = Hub(around.network)

    def turn(self) -> None: ...

    def died(self) -> None:
        self.hub.close()


@dataclass(slots=True)
class _Attempt:
    claimed: Claimed
    ends_at: float


class WorkerProcess(Process):
    """A process has a new id in each life (now and then an old one: people may name workers)."""

    def __init__(self, around: Around, name: str, capacity: int, queues: Sequence[str] = (DEFAULT_QUEUE,)) -> None:
        super().__init__(around, name)
        self.capacity = capacity
        self.queues = queues
        self.stopping = False
        self._lives = 0
        self.id = WorkerId("")
        self._attempts: dict[AttemptId, _Attempt] = {}
        self._unreported: dict[AttemptId, AttemptResult] = {}
        self._doubt = False
        self._renews_at = 0.0
        self._claims_at = 0.0
        self.hub.subscribe([Channel.QUEUED], self._woken)
        self.hub.subscribe([Channel.CANCEL], self._asked)

    def _woken(self) -> None:
        self._claims_at = 0.0

    def _asked(self) -> None:
        self._renews_at = 0.0

    def turn(self) -> None:
        if not self.id:
            self._enter()
        todo = [self._renew, self._report, self._publish_parts, self._claim]
        self.around.random.shuffle(todo)
        for act in todo:
            try:
                act()
            except (Busy, Unavailable):
                self._doubt = self._doubt or act == self._claim
        if self.stopping and not self._attempts and not self._unreported:
            self.around.watch.history.retired.add(self.id)
            unbroken(lambda: retire(self.store, self.id))

    def died(self) -> None:
        super().died()
        self.around.late += [self._result(attempt.claimed) for attempt in self._attempts.values()]

    def _enter(self) -> None:
        self._lives += 1
        new = WorkerId(f"{self.name}.{self._lives}")
        self.around.say(self.name, f"registers as {new}")
        self.around.watch.history.heard.setdefault(new, self.around.watch.up_s)  # also when it never hears that it was
        swept = unbroken(lambda: register(self.store, new, host="h", pid=1, capacity=self.capacity, queues=self.queues))
        self.id = new
        self._heard()
        self.hub.wake(swept.channels)

    def _heard(self) -> None:
        self.around.watch.renewed(self.id)
        self._renews_at = self.around.seconds + RENEW_S

    def _renew(self) -> None:
        if self.around.seconds < self._renews_at:
            return
        renewed = unbroken(lambda: renew(self.store, self.id))
        if not renewed.live:
            self._lease_lost()
            return
        self._heard()
        for _, attempt_id in renewed.cancelled:
            if attempt_id in self._attempts and self.around.random.random() < 0.8:
                attempt = self._attempts.pop(attempt_id)
                sent = self.around.watch.history.sent
                sent.setdefault(attempt_id, report(attempt.claimed, AttemptOutcome.CANCELLED))
                self._unreported[attempt_id] = sent[attempt_id]

    def _lease_lost(self) -> None:
        self.around.say(self.name, f"{self.id} lost its lease with {len(self._attempts)} attempts")
        self.around.late += [self._result(attempt.claimed) for attempt in self._attempts.values()]
        self.around.late += self._unreported.values()
        self._attempts.clear()
        self._unreported.clear()
        self._enter()

    def _claim(self) -> None:
        if self.stopping or self.around.seconds < self._claims_at:
            return
        self._claims_at = self.around.seconds + 1.0
        if self._doubt:
            known = frozenset((*self._attempts, *self._unreported))
            unbroken(lambda: disown(self.store, self.id, known))
            self._doubt = False
        free = self.capacity - len(self._attempts)
        if free <= 0:
            return
        resolve = self.around.definitions.resolve
        ours = QUEUES if ALL_QUEUES in self.queues else self.queues
        claims = unbroken(lambda: claim(self.store, self.id, self.around.served(), free, resolve, no_log, queues=ours))
        self.hub.wake(claims.channels)
        if not claims.live:
            self._lease_lost()
            return
        self._heard()
        for claimed in claims.claimed:
            self.around.say(self.name, f"starts {claimed.task.step} (task {claimed.task.id}) at fence {claimed.fence}")
            takes_s = self.around.random.choice([0.0, 0.0, 1.0, 2.0, 5.0, 25.0])
            self._attempts[claimed.attempt_id] = _Attempt(claimed, self.around.seconds + takes_s)
        if claims.more:
            self._claims_at = 0.0

    def _report(self) -> None:
        for attempt_id, attempt in list(self._attempts.items()):
            if attempt.ends_at <= self.around.seconds:
                del self._attempts[attempt_id]
                self._unreported[attempt_id] = self._result(attempt.claimed)
        results = list(self._unreported.values())
        if not results:
            return
        self.around.say(self.name, f"reports {[f'{r.task_id} {r.outcome}' for r in results]}")
        finished = send(self.around, self.store, results)
        self.hub.wake(finished)
        self._unreported.clear()
        if self.around.random.random() < 0.3:
            self.around.late.append(self.around.random.choice(results))  # the network has it twice

    def _publish_parts(self) -> None:
        for attempt in list(self._attempts.values()):
            if attempt.ends_at > self.around.seconds and self.around.random.random() < 0.2:
                cells = attempt.claimed.cells[: self.around.random.randint(1, len(attempt.claimed.cells))]
                part = report(attempt.claimed, kinds={own.cell: CellOutcome.WRITTEN for own in cells})
                part = part._replace(automation_assets=frozenset(own.cell.asset_id for own in cells))
                self.hub.wake(unbroken(lambda part=part: publish_part(self.store, part)).channels)  # type: ignore[misc]

    def _result(self, claimed: Claimed) -> AttemptResult:
        """What the attempt reports: decided once, whoever sends it however often."""
        sent = self.around.watch.history.sent
        if claimed.attempt_id not in sent:
            sent[claimed.attempt_id] = random_result(self.around.random, claimed, calm=not self.around.site.faults)
        return sent[claimed.attempt_id]


def random_result(random: Random, claimed: Claimed, *, calm: bool) -> AttemptResult:
    weights = dict(_OUTCOMES)
    if calm:
        weights[AttemptOutcome.VERSION_GONE] = 0  # it consumes nothing, so it could go on for ever
    outcome = random.choices(list(weights), list(weights.values()))[0]
    version = random.choice([None, "same"])
    result = report(claimed, outcome, version=version, error="told to", retry_in_s=3.0)
    if outcome is AttemptOutcome.FAILED and random.random() < 0.5:
        some = claimed.cells[: random.randint(0, len(claimed.cells) - 1)]
        written = report(claimed, version=version, kinds={own.cell: CellOutcome.WRITTEN for own in some})
        result = result._replace(cells=written.cells)
    if outcome is AttemptOutcome.DEFERRED:
        trigger = random.choice(["m:T", "m:T", APPROVAL_TRIGGER])
        result = result._replace(deferral=Deferral(_next_place(claimed), trigger, {}, "it", 1e9))
    return result._replace(automation_assets=frozenset(own.cell.asset_id for own in claimed.cells))


def _next_place(claimed: Claimed) -> int:
    return sum(event.place >= 0 for event in claimed.events)


def send(around: Around, store: ProcessStore, results: Sequence[AttemptResult]) -> tuple[Channel, ...]:
    """`finish`, with the watch told whose reports these are."""
    with around.watch.acting(reporting=frozenset(result.attempt_id for result in results)):
        return unbroken(lambda: finish(store, results)).channels


class ConsumerProcess(Process):
    """Takes events as the automation does: acts, or puts them back, in the transaction that takes them."""

    def turn(self) -> None:
        for consumer in (AUTOMATION, REPLAN):
            limit = self.around.random.randint(1, 4)
            again = {cell: self.around.random.random() < 0.3 for cell in range(20)}
            for _ in range(20):
                try:
                    unbroken_again(lambda c=consumer, n=limit, a=again: self._take(c, n, a))  # type: ignore[misc]
                    break
                except LaunchAgain:
                    continue

    def _take(self, consumer: str, limit: int, again: dict[int, bool]) -> None:
        self.store.run(lambda tx: self._consume(tx, consumer, limit, again))

    def _consume(self, tx: Tx, consumer: str, limit: int, again: dict[int, bool]) -> None:
        events = tx.take_todo_skip(consumer, limit)
        back = [event for event in events if self.around.site.faults and again[event.cell.asset_id]]
        taken = [event for event in events if event not in back]
        tx.put_back_todo(consumer, back)
        if consumer == REPLAN and taken:
            # One launch a visit: a second would claim cells while the first holds tasks.
            first, *others = taken
            tx.put_back_todo(consumer, others)
            taken = [first]
            self._replan(tx, first)
        for event in taken:
            tx.audit("consumer", "consumed", {"event": event.event_id})

    def _replan(self, tx: Tx, event: TodoEvent) -> None:
        if event.run_id is None or any(run.cancel_requested for run in tx.read_runs([RunId(event.run_id)])):
            return
        location, snapshot = self.around.pin()
        cells = [(event.cell.asset_id, event.cell.partition)]
        again = step(event.cell.asset_id, partitions=[event.cell.partition], location_id=location, snapshot_id=snapshot)
        launch_in(tx, plan_of(again, pins=((location, snapshot),), request={"cells": cells}))


def unbroken_again(run: Callable[[], None]) -> None:
    """`unbroken`, but for a launch that has to start over."""
    again: list[LaunchAgain] = []

    def caught() -> None:
        try:
            run()
        except LaunchAgain as error:
            again.append(error)

    unbroken(caught)
    if again:
        raise again[0]
