"""Alerts, the notices that tell of them, and the facts that both are decided from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NewType

from partita.core.store.values_alert_kinds import AlertKind as AlertKind  # noqa: PLC0414 - its users have it from here
from partita.core.store.values_alert_kinds import Severity as Severity  # noqa: PLC0414 - its users have it from here
from partita.core.store.values_ids import AssetId, CellRef, LocationId, RunId, TaskId

AlertId = NewType("AlertId", int)
NoticeId = NewType("NoticeId", int)


class NoticeKind(StrEnum):
    PROBLEM = "problem"
    RECOVERY = "recovery"
    TEST = "test"


class NoticeState(StrEnum):
    """`dropped`: by the time it was due nobody had to be told any more."""

    PENDING = "pending"
    SENT = "sent"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class NewSignal:
    """What a transaction saw. Without an asset: of all cells of the task that failed, or of the run."""

    kind: AlertKind
    cell: CellRef | None = None
    run_id: RunId | None = None
    task_id: TaskId | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Signal:
    id: int
    kind: AlertKind
    cell: CellRef | None
    run_id: RunId | None
    task_id: TaskId | None
    detail: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class NewAlert:
    cause: str
    kind: AlertKind
    severity: Severity
    subject: str
    cell: CellRef | None
    run_id: RunId | None
    task_id: TaskId | None
    owners: tuple[str, ...]
    rules: tuple[str, ...]
    detail: Mapping[str, Any]
    since: datetime
    snoozed_until: datetime | None = None
    snoozed_by: str | None = None


@dataclass(frozen=True, slots=True)
class Alert:
    """One cause, from its first signal to its end. `quiet`: a person knows, so nothing more is sent."""

    id: AlertId
    cause: str
    kind: AlertKind
    severity: Severity
    subject: str
    cell: CellRef | None
    run_id: RunId | None
    task_id: TaskId | None
    owners: tuple[str, ...]
    rules: tuple[str, ...]
    detail: Mapping[str, Any]
    since: datetime
    first_at: datetime
    last_at: datetime
    times: int
    round: int
    acked_at: datetime | None
    acked_by: str | None
    snoozed_until: datetime | None
    snoozed_by: str | None
    note: str
    ended_at: datetime | None

    def quiet(self, now: datetime) -> bool:
        return self.acked_at is not None or (self.snoozed_until is not None and self.snoozed_until > now)


@dataclass(frozen=True, slots=True)
class AlertUpdate:
    """Every field is written; `of` carries over what does not change."""

    id: AlertId
    round: int
    acked_at: datetime | None
    acked_by: str | None
    snoozed_until: datetime | None
    snoozed_by: str | None
    note: str
    ended_at: datetime | None

    @classmethod
    def of(cls, alert: Alert, **changes: Any) -> AlertUpdate:
        names = ("id", "round", "acked_at", "acked_by", "snoozed_until", "snoozed_by", "note", "ended_at")
        return cls(**({name: getattr(alert, name) for name in names} | changes))


@dataclass(frozen=True, slots=True)
class NewNotice:
    rule: str
    target: str
    kind: NoticeKind
    due_at: datetime


@dataclass(frozen=True, slots=True)
class Notice:
    id: NoticeId
    rule: str
    target: str
    kind: NoticeKind
    created_at: datetime
    due_at: datetime
    tries: int

    @property
    def line(self) -> tuple[str, str, NoticeKind]:
        """Notices of one line are put together while they wait, and paced."""
        return self.rule, self.target, self.kind


@dataclass(frozen=True, slots=True)
class NoticeItem:
    alert_id: AlertId
    target: str
    kind: NoticeKind
    round: int
    notice_id: NoticeId


@dataclass(frozen=True, slots=True)
class NoticeEnd:
    """What became of the try numbered `tries`: sent, given up, dropped, or pending again until `due_at`."""

    id: NoticeId
    tries: int
    state: NoticeState
    due_at: datetime
    error: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingStep:
    """Tasks of one step of a run that have not started; `since` is when the oldest of them was asked for."""

    run_id: RunId
    step: str
    asset_id: AssetId
    tasks: int
    since: datetime
    reason: str | None


@dataclass(frozen=True, slots=True)
class SickLocation:
    """`broken` modules do not load; `state` is the location's."""

    id: LocationId
    name: str
    state: str
    since: datetime
    error: str | None
    broken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Maintenance:
    id: int
    selection: str
    starts_at: datetime
    ends_at: datetime
    by: str
    reason: str
