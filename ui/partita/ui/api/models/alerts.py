"""Alerts, the notices that tell of them, rules and maintenance windows."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from partita.ui.api.models.base import Model

AlertState = Literal["open", "acknowledged", "snoozed", "ended"]
Ids = Field(min_length=1, max_length=500)
Why = Field(default="", max_length=2000)


class AlertView(Model):
    """One cause. `text` tells it in words; `told` notices were sent of it, `undelivered` ones were given up."""

    id: int
    kind: str
    severity: Literal["info", "warning", "critical"]
    state: AlertState
    text: str
    subject: str
    asset: str | None
    partition: str | None
    run_id: int | None
    task_id: int | None
    owners: list[str]
    rules: list[str]
    runbook: str | None
    first_at: datetime
    last_at: datetime
    times: int
    acked_at: datetime | None
    acked_by: str | None
    snoozed_until: datetime | None
    snoozed_by: str | None
    note: str
    ended_at: datetime | None
    told: int
    undelivered: int


class AlertPage(Model):
    alerts: list[AlertView]
    total: int


class NoticeView(Model):
    """`target` is a place in partita.toml and `scheme` what kind of address stands there: the address itself is never shown."""

    id: int
    rule: str
    target: str
    scheme: str | None
    kind: Literal["problem", "recovery", "test"]
    state: Literal["pending", "sent", "failed", "dropped"]
    created_at: datetime
    due_at: datetime
    tries: int
    ended_at: datetime | None
    error: str | None


class AlertDetail(Model):
    alert: AlertView
    notices: list[NoticeView]
    detail: dict[str, Any]


class NoticeList(Model):
    """Newest first."""

    notices: list[NoticeView]


class TargetView(Model):
    name: str
    scheme: str


class RuleView(Model):
    """`targets` empty: the owners of the assets are told. Durations in seconds."""

    name: str
    on: list[str]
    assets: str
    owner: str | None
    severity: str
    targets: list[TargetView]
    recovery: bool
    wait_s: float
    every_s: float
    blocked_after_s: float
    error: str | None


class OwnerView(Model):
    name: str
    targets: list[TargetView]
    runbook: str | None


class MaintenanceView(Model):
    """`id` null: it stands in partita.toml. `ends_at` null: it is not open now."""

    id: int | None
    name: str
    selection: str
    starts_at: datetime | None
    ends_at: datetime | None
    by: str | None
    reason: str


class AlertRules(Model):
    rules: list[RuleView]
    owners: list[OwnerView]
    maintenance: list[MaintenanceView]


class AckRequest(Model):
    ids: list[int] = Ids
    note: str = Why


class SnoozeRequest(AckRequest):
    for_s: float


class ReopenRequest(Model):
    ids: list[int] = Ids


class AlertsChanged(Model):
    """`ids` changed; the others that were named had ended, or were so before."""

    ids: list[int]


class TryRule(Model):
    rule: str


class TriedRule(Model):
    """The notices that were put: their states tell whether they arrived."""

    ids: list[int]


class AlertActionPreview(Model):
    """What sending a test message, or ending a window, would do now. `cli` does the same."""

    sentence: str
    cli: str


class MaintenanceRequest(Model):
    selection: str
    for_s: float


class MaintenancePreview(AlertActionPreview):
    """What a window would hold back: messages about `assets`, by owner; those of `rules`, to `targets` (places of the
    configuration, never addresses). `open` alerts about them stay as they are."""

    assets: list[str]
    owners: dict[str, int]
    rules: list[str]
    targets: list[TargetView]
    open: int
    ends_at: datetime


class NewMaintenance(MaintenanceRequest):
    """`confirm_assets`: so many were shown; with another number now nothing is done."""

    confirm_assets: int | None = None
    reason: str = Why


class MadeMaintenance(Model):
    id: int
