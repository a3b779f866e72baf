"""What a person's word does to a task that asks for it: it goes on, waits for the rest, or fails for good. Pure.

An answer names the questions that the person was shown, by their stints: one that was answered, or asked anew since, is refused,
and so is the whole answer. A rejection is no failure of the step's own, so that no retry is made (S-106).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from partita.assets import PartitaError
from partita.core.decide.transitions import Actor, move
from partita.core.decide.waits import go_on
from partita.core.store.values import Task, TaskState, TaskUpdate, WaitReason, WaitStage
from partita.core.store.values_waits import Wait, WaitKey, WaitState, WaitUpdate


class AnswerRefused(PartitaError):
    """An answer to something that is not asked, or not any more."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`shown` are the questions that the person saw; `note` is why, and a rejection has one."""

    task_id: int
    approve: bool
    who: str
    note: str
    shown: Collection[WaitKey]


def asked(waits: Sequence[Wait]) -> list[Wait]:
    """The questions that are open."""
    return [wait for wait in waits if wait.asks and wait.state is WaitState.OPEN]


def answer(
    task: Task | None, waits: Sequence[Wait], given: Answer, now: datetime
) -> tuple[TaskUpdate, tuple[WaitUpdate, ...]]:
    """The moves of a locked task and its waits. Raises AnswerRefused, and then nothing of it is done."""
    questions = _questions(task, waits, given)
    assert task is not None
    if not given.approve:
        error = f"rejected by {given.who}: {given.note.strip()}"
        return move(task, TaskState.FAILED, Actor.ANSWER, error=error, finished_at=now), ()
    said = {"approved": True, "who": given.who, "note": given.note.strip(), "at": now.isoformat()}
    updates = tuple(WaitUpdate(wait.key, WaitState.FIRED, payload=said) for wait in questions)
    if any(wait.state is WaitState.OPEN and not wait.asks for wait in waits):
        rest = move(task, TaskState.DEFERRED, Actor.ANSWER, waits=WaitStage.FIRST, reason=WaitReason.WAITING_FOR)
        return rest, updates
    return go_on(task, Actor.ANSWER), updates


def _questions(task: Task | None, waits: Sequence[Wait], given: Answer) -> list[Wait]:
    verb = "approve" if given.approve else "reject"
    if not given.approve and not given.note.strip():
        raise AnswerRefused(
            f"task {given.task_id} is rejected without a reason",
            rule="the reason is the error of the task, read when somebody asks why it failed",
            fix="say why",
        )
    if task is None or task.state is not TaskState.AWAITING_INPUT:
        state = "not there" if task is None else task.state.value
        raise AnswerRefused(
            f"task {given.task_id} asks nobody: it is {state}",
            rule=f"{verb} answers a task that is awaiting_input",
            fix="partita approvals lists what is asked",
        )
    questions = asked(waits)
    if {wait.key for wait in questions} != set(given.shown):
        raise AnswerRefused(
            f"task {given.task_id} asks something else than what was shown",
            rule="what is answered is what was shown",
            fix="look at it again",
        )
    return questions
