"""What becomes of tasks that wait, outside or for a person: resumed by events, failed by errors or by their deadline. Pure.

A waiting task holds no slot (law 7). A wait is decided once: the first event of its stint is kept, later ones are refused
(S-168, S-169). Its deadline runs from the first time that it was opened, over all retries, and when it has passed no
retry is made: waiting longer is not what was asked for (S-173).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from partita.assets.wait_specs import APPROVAL_TRIGGER
from partita.core.decide.retry import after_failure
from partita.core.decide.transitions import Actor, move
from partita.core.duties.values import LaunchTask, LaunchWait
from partita.core.duties.values_attempts import Deferral
from partita.core.store.values import WAITING, Task, TaskId, TaskState, TaskUpdate, WaitReason, WaitStage
from partita.core.store.values_waits import NewWait, Wait, WaitKey, WaitState, WaitUpdate


@dataclass(frozen=True, slots=True)
class Fired:
    """A wait's event. `payload` is JSON and never None."""

    key: WaitKey
    payload: Any


@dataclass(frozen=True, slots=True)
class Broken:
    """A trigger that raised: its wait cannot go on."""

    key: WaitKey
    error: str


@dataclass(frozen=True, slots=True)
class Waited:
    """What a report means. `task` is None while the task goes on waiting; `refused` are reports that speak for nothing."""

    task: TaskUpdate | None
    waits: tuple[WaitUpdate, ...]
    refused: tuple[WaitKey, ...]


def asks(wait: Deferral | LaunchWait) -> bool:
    """Whether a person answers it: nobody watches such a wait."""
    return wait.trigger == APPROVAL_TRIGGER


def first_stage(waits: Sequence[LaunchWait]) -> WaitStage | None:
    """Of a task that waits for these before it starts."""
    if any(asks(wait) for wait in waits):
        return WaitStage.ASK
    return WaitStage.FIRST if waits else None


def defer(task: Task, asked: Deferral) -> TaskUpdate:
    """A running attempt that ends and waits. It keeps its place in the queue for the time when it goes on."""
    return move(
        task,
        TaskState.AWAITING_INPUT if asks(asked) else TaskState.DEFERRED,
        Actor.FINISH,
        worker_id=None,
        queued_at=None,
        waits=WaitStage.OPEN,
        reason=WaitReason.APPROVAL if asks(asked) else WaitReason.WAITING_FOR,
        reason_detail={"for": [asked.label]},
    )


def report(task: Task, waits: Sequence[Wait], reports: Sequence[Fired | Broken], now: datetime) -> Waited:
    """The meaning of reports on the waits of one locked task. `waits` are all of them."""
    live = {wait.key: wait for wait in waits if wait.state is WaitState.OPEN and task.state in WAITING}
    taken: dict[WaitKey, Fired | Broken] = {}
    refused: list[WaitKey] = []
    for one in reports:
        if one.key in live and one.key not in taken:
            taken[one.key] = one
        else:
            refused.append(one.key)
    broken = next((one for one in taken.values() if isinstance(one, Broken)), None)
    updates = [
        WaitUpdate(one.key, WaitState.FIRED, payload=one.payload) for one in taken.values() if isinstance(one, Fired)
    ]
    fired_now = {update.key for update in updates}
    fired_before = any(wait.state is WaitState.FIRED for wait in waits)
    if broken is not None:
        updates += [_let_go(wait, broken) for wait in live.values() if wait.key not in fired_now]
        update = _after_broken(task, live[broken.key], broken, now, has_events=bool(fired_now) or fired_before)
        # One that breaks at once would be tried again for ever: it is hardly ever seen open by whoever looks for late ones.
        update = expire(task, [live[broken.key]], now, broke=broken.error) or update
        return Waited(update, tuple(updates), tuple(refused))
    done = bool(taken) and fired_now == set(live)
    return Waited(go_on(task) if done else None, tuple(updates), tuple(refused))


def _let_go(wait: Wait, broken: Broken) -> WaitUpdate:
    # Dormant: a retry opens it again, with what is left of its time.
    return WaitUpdate(wait.key, WaitState.DORMANT, error=broken.error if wait.key == broken.key else None)


def go_on(task: Task, by: Actor = Actor.WAIT) -> TaskUpdate:
    """Of a task for which everything came."""
    stage = WaitStage.RESUME if task.waits is WaitStage.OPEN else WaitStage.MET
    return move(task, TaskState.SCHEDULED, by, waits=stage)


def _after_broken(task: Task, wait: Wait, broken: Broken, now: datetime, *, has_events: bool) -> TaskUpdate:
    stage = task.waits
    if stage is WaitStage.OPEN:
        stage = WaitStage.MET if has_events else None
    error = f"waiting for {wait.label} failed: {broken.error}"
    return after_failure(task, now, error=error, by=Actor.WAIT, waits=stage)


def expire(task: Task, waits: Sequence[Wait], now: datetime, *, broke: str = "") -> TaskUpdate | None:
    """The end of a waiting task one of whose waits is past its deadline; None when none is. `broke` is how its trigger did."""
    late = [
        wait
        for wait in waits
        if wait.state is WaitState.OPEN and wait.deadline_at is not None and wait.deadline_at <= now
    ]
    if not late:
        return None
    first = min(late, key=lambda wait: (wait.deadline_at or now, wait.place))
    since = "" if first.since is None else f" since {first.since.isoformat(timespec='seconds')}"
    missed = "nobody answered" if first.asks else "which did not come"
    error = f"it waited {_span(first.deadline_s)}{since} for {first.label}, {missed}: its deadline has passed"
    if broke:
        error += f"; it broke at last: {broke}"
    return move(task, TaskState.FAILED, Actor.WAIT, error=error, finished_at=now)


def wait_of(task: Task, asked: Deferral) -> NewWait:
    """The row of a deferral."""
    return NewWait(
        task_id=task.id,
        place=asked.place,
        location_id=None if asks(asked) else task.location_id,
        snapshot_id=None if asks(asked) else task.snapshot_id,
        trigger=asked.trigger,
        args=asked.args,
        label=asked.label,
        deadline_s=asked.deadline_s,
        poll_s=asked.poll_s,
        cell=asked.cell,
        newer=asked.newer,
        asks=asks(asked),
    )


def waits_at_launch(task_id: TaskId, source: LaunchTask) -> Iterator[NewWait]:
    """The rows of `wait_for=`; dormant until the task would be scheduled."""
    # Below 0, so that the places of `context.defer` begin at 0 however many there are.
    for place, wait in enumerate(source.waits, start=-len(source.waits)):
        yield NewWait(
            task_id=task_id,
            place=place,
            location_id=None if asks(wait) else source.location_id,
            snapshot_id=None if asks(wait) else source.snapshot_id,
            trigger=wait.trigger,
            args=wait.args,
            label=wait.label,
            deadline_s=wait.deadline_s,
            poll_s=wait.poll_s,
            cell=wait.cell,
            newer=wait.newer,
            asks=asks(wait),
        )


def _span(seconds: float) -> str:
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"
