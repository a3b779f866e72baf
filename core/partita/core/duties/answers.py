"""A person answers tasks that ask for it: one transaction, with the record of who, what and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from partita.core.decide.answers import Answer, answer, asked
from partita.core.duties.channels import Channel
from partita.core.duties.consequences import Beyond, Move, Written, follow, write
from partita.core.store.port import Store, Tx
from partita.core.store.values import TaskId
from partita.core.store.values_waits import Wait


@dataclass(frozen=True, slots=True)
class Answered:
    tasks: int
    channels: tuple[Channel, ...] = ()


def answer_tasks(store: Store, answers: Sequence[Answer]) -> Answered:
    """Applies the answers, all of them or none. Raises AnswerRefused."""
    try:
        written = store.run(partial(_answer, answers=answers, whole=False))
    except Beyond:
        written = store.run(partial(_answer, answers=answers, whole=True))
    return Answered(len(answers), written.channels())


def _answer(tx: Tx, *, answers: Sequence[Answer], whole: bool) -> Written:
    given = {TaskId(one.task_id): one for one in answers}
    tasks = {task.id: task for task in tx.lock_tasks(sorted(given))}
    waits: dict[TaskId, list[Wait]] = {task_id: [] for task_id in given}
    for wait in tx.waits_of(sorted(tasks)):
        waits[wait.task_id].append(wait)
    now = tx.now()
    decided = [
        (tasks.get(task_id), *answer(tasks.get(task_id), waits[task_id], one, now)) for task_id, one in given.items()
    ]
    moves: list[Move] = [(task, update) for task, update, _ in decided if task is not None]
    settlement = follow(tx, moves, whole=whole, now=now)
    tx.write_waits([update for _, _, updates in decided for update in updates])
    written = write(tx, moves, settlement)
    for task, _ in moves:
        one = given[task.id]
        labels = [wait.label for wait in asked(waits[task.id])]
        detail = {"task": task.id, "run": task.run_id, "step": task.step, "asked": labels}
        tx.audit(one.who, "approve_task" if one.approve else "reject_task", detail, reason=one.note.strip())
    resumed = sum(not update.state.terminal for _, update in moves)
    return written.plus(Written(ready=resumed))
