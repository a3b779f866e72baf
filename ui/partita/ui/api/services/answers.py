"""What tasks ask people: listed, and answered as shown.

Owns the sentences. What an answer does is decided by the core (`decide/answers.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from partita.core.decide.answers import Answer
from partita.core.duties.answers import answer_tasks
from partita.core.store.queries.api_answers import ASKING_RUNS, QUESTIONS
from partita.core.store.queries.api_read import Row, now, number, rows
from partita.core.store.queries.api_runs import CELL_RANGES_OF_TASKS, WAITING_BELOW
from partita.core.store.queries.reader import Reader
from partita.core.store.values import TaskId
from partita.core.store.values_waits import WaitKey
from partita.ui.api.models.answers import (
    AnswerConfirm,
    AnswerDone,
    AnswerPreview,
    AnswerRequest,
    Question,
    QuestionList,
)
from partita.ui.api.models.system import Need
from partita.ui.api.problems import NotFound
from partita.ui.api.services.base import Backend
from partita.ui.api.services.run_views import partitions_text
from partita.ui.api.services.words import plural

_SHOWN = 1000


class AnswerService:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def open(self, *, run: int | None = None) -> QuestionList:
        """What is asked now, those with the nearest deadline first."""
        with self._backend.store.read() as reader:
            return QuestionList(questions=self._questions(reader, run=run))

    def preview(self, request: AnswerRequest) -> AnswerPreview:
        """What the answer would meet. Changes nothing. Raises NotFound for a task that asks nothing."""
        with self._backend.store.read() as reader:
            questions = self._questions(reader, tasks=request.tasks)
            silent = sorted(set(request.tasks) - {one.task for one in questions})
            if silent:
                raise NotFound(
                    f"task {silent[0]} asks nobody",
                    fix="`partita approvals` lists what is asked, `partita why` says the rest",
                )
            rejected = sorted(set(request.tasks)) if request.verb == "reject" else []
            below = sum(number(reader, WAITING_BELOW, task_id=task) for task in rejected)
        named = " ".join(str(task) for task in dict.fromkeys(request.tasks))
        more = " --reason TEXT" if request.verb == "reject" else ""
        return AnswerPreview(
            verb=request.verb,
            sentence=_sentence(request.verb, len(set(request.tasks)), below),
            questions=questions,
            below=below,
            cli=f"partita {request.verb} {named}{more}",
        )

    def apply(self, request: AnswerConfirm) -> AnswerDone:
        """Answers what was shown, all of it or nothing. Raises AnswerRefused."""
        shown: dict[TaskId, set[WaitKey]] = {}
        for text in request.questions:
            key = _key(text)
            shown.setdefault(key.task_id, set()).add(key)
        approve, who = request.verb == "approve", self._backend.who
        answers = [Answer(task_id, approve, who, request.note, keys) for task_id, keys in sorted(shown.items())]
        done = answer_tasks(self._backend.store, answers)
        self._backend.wake(done.channels)
        return AnswerDone(verb=request.verb, tasks=sorted(shown))

    def _questions(
        self, reader: Reader, *, run: int | None = None, tasks: Sequence[int] | None = None
    ) -> list[Question]:
        chosen = None if tasks is None else sorted(set(tasks))
        found = rows(reader, QUESTIONS, run_id=run, tasks=chosen, limit=_SHOWN)
        ids = sorted({row["task_id"] for row in found})
        spans: dict[int, list[Row]] = {}
        for row in rows(reader, CELL_RANGES_OF_TASKS, ids=ids) if ids else []:
            spans.setdefault(row["task_id"], []).append(row)
        catalog, at = self._backend.catalogs.active(), now(reader)
        return [
            Question(
                id=f"{row['task_id']}/{row['place']}/{row['stint']}",
                task=row["task_id"],
                run=row["run_id"],
                step=row["step"],
                partitions=partitions_text(spans.get(row["task_id"], []), catalog, at),
                question=row["question"] or "",
                since=row["since"],
                until=row["deadline_at"],
            )
            for row in found
        ]


def answer_needs(reader: Reader, limit: int) -> list[Need]:
    """Runs that ask a person, those with the nearest deadline first, for the list of what needs one."""
    return [
        Need(
            severity="warn",
            text=f"{plural(row['n'], 'task')} of run {row['run_id']} {'asks' if row['n'] == 1 else 'ask'}: "
            + (row["question"] or "")
            + (f" and {row['n'] - 1:,} more" if row["n"] > 1 else ""),
            link=f"/runs/{row['run_id']}?task={row['task_id']}",
        )
        for row in rows(reader, ASKING_RUNS, limit=limit)
    ]


def _key(text: str) -> WaitKey:
    try:
        task, place, stint = (int(part) for part in text.split("/"))
    except ValueError:
        raise NotFound(f"there is no question {text!r}", fix="take the ids from GET /api/v1/approvals") from None
    return WaitKey(TaskId(task), place, stint)


def _sentence(verb: str, tasks: int, below: int) -> str:
    if verb == "approve":
        return f"{plural(tasks, 'task')} {'goes' if tasks == 1 else 'go'} on: all that is asked here is approved."
    ends = "fails for good and is" if tasks == 1 else "fail for good and are"
    hear = f"; {plural(below, 'task')} below {'hears' if below == 1 else 'hear'} of it by trigger rule" if below else ""
    return f"{plural(tasks, 'task')} {ends} not tried again{hear}. Your reason is the error."
