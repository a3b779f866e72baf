"""What tasks ask people, and the answers."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from partita.ui.api.models.base import Model

AnswerVerb = Literal["approve", "reject"]


class Question(Model):
    """One open question. `id` names it as it was shown: asked anew, it is another. When `until` passes the task fails."""

    id: str
    task: int
    run: int
    step: str
    partitions: str
    question: str
    since: datetime
    until: datetime


class QuestionList(Model):
    questions: list[Question]


class AnswerRequest(Model):
    """An answer for whole tasks: all that they ask."""

    verb: AnswerVerb
    tasks: list[int] = Field(min_length=1, max_length=500)


class AnswerConfirm(Model):
    """`questions` repeats the ids that were shown, all of each task. A rejection says why."""

    verb: AnswerVerb
    questions: list[str] = Field(min_length=1, max_length=5000)
    note: str = Field(default="", max_length=2000)


class AnswerPreview(Model):
    """`below` tasks of the same runs hear of a rejection by their trigger rules."""

    verb: AnswerVerb
    sentence: str
    questions: list[Question]
    below: int
    cli: str


class AnswerDone(Model):
    verb: AnswerVerb
    tasks: list[int]
