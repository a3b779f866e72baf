"""Observers, schedules and sensors: when they are evaluated, and what came of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from partita.ui.api.models.base import Model

EvaluatorKindName = Literal["observe", "schedule", "sensor"]
CatchUpName = Literal["none", "latest", "all"]


class EvaluatorView(Model):
    """`state` is one of ok, failing, running, paused, waiting (due, and nobody is there to evaluate it), retired; `text` says
    more. `next_at` is null while it is paused or retired; `ticks` are the next ticks of a schedule, and `clock_changes` those of
    them whose local day has a clock change. `missed` ticks have passed since it was paused, or
    are still to be caught up with: at most `pace` runs at a time, if that was asked for."""

    id: int
    location: str
    name: str
    kind: EvaluatorKindName
    description: str
    owner: str | None
    timing: str
    tz: str | None
    about: str
    state: str
    text: str
    cursor: str | None
    next_at: datetime | None
    ticks: list[datetime]
    clock_changes: list[datetime]
    missed: int
    pace: int | None
    last_at: datetime | None
    last_ms: float | None
    last: str
    error: str | None
    failures: int


class EvaluatorList(Model):
    evaluators: list[EvaluatorView]


class EvaluationView(Model):
    """One that asked for something, said why not, or failed. `log` is the end of what it printed."""

    number: int
    tick_at: datetime | None
    started_at: datetime | None
    ended_at: datetime
    outcome: str
    text: str
    error: str | None
    traceback: str | None
    log: str | None


class AskedView(Model):
    """A request of an evaluation; `state` is open, launched, nothing or refused, `text` why."""

    id: int
    evaluation: int
    key: str | None
    selection: str
    partitions: str | None
    request: dict[str, Any]
    state: str
    text: str
    run_id: int | None
    asked_at: datetime


class EvaluatorDetail(Model):
    evaluator: EvaluatorView
    evaluations: list[EvaluationView]
    asked: list[AskedView]


class EvaluatorChange(Model):
    reason: str = Field(default="", max_length=2000)


class EvaluatorCursor(EvaluatorChange):
    """`cursor` of null: as at first."""

    cursor: str | None = Field(default=None, max_length=65_536)


class EvaluatorResume(EvaluatorChange):
    """Which ticks that passed meanwhile are evaluated; null: as the schedule itself says. With a `pace` all of them in turn, each
    while fewer than so many of the runs that the schedule asked for are active."""

    catch_up: CatchUpName | None = None
    pace: int | None = Field(default=None, ge=1, le=10_000)
