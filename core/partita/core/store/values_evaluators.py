"""Observers, schedules and sensors as the store has them: functions that are evaluated on a clock, and what they asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

from partita.assets.condition_specs import CatchUp
from partita.core.store.values_ids import LocationId, RunId, SnapshotId

EvaluatorId = NewType("EvaluatorId", int)
AskedId = NewType("AskedId", int)


class EvaluationOutcome(StrEnum):
    ASKED = "asked"  # it asked for something, or reported versions
    SKIPPED = "skipped"  # it said why it asks for nothing
    NOTHING = "nothing"
    FAILED = "failed"


class AskedState(StrEnum):
    OPEN = "open"
    LAUNCHED = "launched"
    NOTHING = "nothing"  # everything that it asks for is fresh, or blocked
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Evaluator:
    """One evaluated function. `token` rises with each evaluation; `triggerer_id` is who evaluates it now. `tick_at` is the
    tick of a schedule that comes next, `failures` how many evaluations failed in a row. `catch_up` and `pace` are a person's
    word on the ticks that passed while it was paused, until it has caught up."""

    id: EvaluatorId
    location_id: LocationId
    name: str
    kind: str
    snapshot_id: SnapshotId
    spec: Mapping[str, Any]
    cursor: str | None
    position: str | None
    tick_at: datetime | None
    due_at: datetime | None
    failures: int
    token: int
    triggerer_id: str | None
    paused: bool
    retired: bool
    catch_up: CatchUp | None = None
    pace: int | None = None


@dataclass(frozen=True, slots=True)
class EvaluatorRow:
    """What a loaded version says of one: made, or changed; its cursor stays. `position` is from where a new one is told of
    events; None: from its first evaluation on."""

    name: str
    kind: str
    snapshot_id: SnapshotId
    spec: Mapping[str, Any]
    tick_at: datetime | None
    due_at: datetime | None
    retired: bool = False
    position: str | None = None


@dataclass(frozen=True, slots=True)
class EvaluatorUpdate:
    """The state after an evaluation, or after a person's word. `free`: nobody evaluates it any more, and what ran before
    commits no more."""

    id: EvaluatorId
    cursor: str | None
    position: str | None
    tick_at: datetime | None
    due_at: datetime | None
    failures: int
    free: bool = True


@dataclass(frozen=True, slots=True)
class EvaluationEnd:
    """How an evaluation ended: the newest one is told with its evaluator."""

    evaluator_id: EvaluatorId
    token: int
    outcome: EvaluationOutcome
    tick_at: datetime | None = None
    error: str | None = None
    traceback: str | None = None
    detail: Mapping[str, Any] | None = None
    log: str | None = None


@dataclass(frozen=True, slots=True)
class NewAsked:
    """One request of an evaluation; of two with the same key of one evaluator the first counts."""

    evaluator_id: EvaluatorId
    token: int
    key: str | None
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    id: AskedId
    evaluator_id: EvaluatorId
    token: int
    key: str | None
    request: Mapping[str, Any]
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class AskedUpdate:
    """Without `until` it is done; with it, it is tried again then."""

    id: AskedId
    state: AskedState
    run_id: RunId | None = None
    error: str | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class News:
    """An event that a sensor is told of."""

    id: int
    at: datetime
    kind: str
    asset_id: int | None
    partition: str | None
    run_id: int | None
    task_id: int | None
    body: Mapping[str, Any]
