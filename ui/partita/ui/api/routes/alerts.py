"""Alerts: listed, acknowledged, snoozed, reopened; rules tried; notices held back for maintenance."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from partita.ui.api.models import ErrorBody
from partita.ui.api.models.alerts import (
    AckRequest,
    AlertActionPreview,
    AlertDetail,
    AlertPage,
    AlertRules,
    AlertsChanged,
    MadeMaintenance,
    MaintenancePreview,
    MaintenanceRequest,
    NewMaintenance,
    NoticeList,
    ReopenRequest,
    SnoozeRequest,
    TriedRule,
    TryRule,
)
from partita.ui.api.routes.common import ERRORS, Id, Limit, Offset, Use

router = APIRouter(tags=["alerts"], responses=ERRORS)

State = Annotated[
    Literal["open", "acknowledged", "snoozed", "ended", "unended", "all"],
    Query(description="`open`: nobody knows of it yet; `unended`: its cause is not over, whoever knows of it"),
]


@router.get("/alerts", operation_id="listAlerts")
def list_alerts(
    use: Use,
    state: State = "unended",
    kind: str | None = None,
    owner: str | None = None,
    offset: Offset = 0,
    limit: Limit = 50,
) -> AlertPage:
    return use.alerts.page(
        state=None if state in ("unended", "all") else state,
        all_open=state == "unended",
        kind=kind,
        owner=owner,
        offset=offset,
        limit=limit,
    )


@router.get("/alerts/rules", operation_id="listAlertRules")
def list_rules(use: Use) -> AlertRules:
    return use.alerts.rules()


@router.get("/alerts/notices", operation_id="listNotices")
def list_notices(use: Use, limit: Limit = 50) -> NoticeList:
    return use.alerts.notices(limit=limit)


@router.post("/alerts/ack", operation_id="acknowledgeAlerts")
def acknowledge(use: Use, request: AckRequest) -> AlertsChanged:
    return use.alerts.acknowledge(request)


@router.post("/alerts/snooze", operation_id="snoozeAlerts")
def snooze(use: Use, request: SnoozeRequest) -> AlertsChanged:
    return use.alerts.snooze(request)


@router.post("/alerts/reopen", operation_id="reopenAlerts")
def reopen(use: Use, request: ReopenRequest) -> AlertsChanged:
    """Takes an acknowledgement or a snooze back: they are told once more."""
    return use.alerts.reopen(request)


@router.get("/alerts/test", operation_id="previewAlertTest")
def preview_test(use: Use, rule: str) -> AlertActionPreview:
    return use.alerts.try_preview(rule)


@router.post("/alerts/test", operation_id="tryAlertRule")
def try_rule(use: Use, request: TryRule) -> TriedRule:
    return use.alerts.try_rule(request.rule)


@router.post("/alerts/maintenance/preview", operation_id="previewMaintenance")
def preview_hold(use: Use, request: MaintenanceRequest) -> MaintenancePreview:
    return use.alerts.hold_preview(request)


@router.post("/alerts/maintenance", operation_id="holdBackNotices", responses={409: {"model": ErrorBody}})
def hold_back(use: Use, request: NewMaintenance) -> MadeMaintenance:
    return use.alerts.hold_back(request)


@router.get("/alerts/maintenance/{maintenance_id}/end", operation_id="previewEndMaintenance")
def preview_end(use: Use, maintenance_id: Id) -> AlertActionPreview:
    return use.alerts.end_preview(maintenance_id)


@router.post("/alerts/maintenance/{maintenance_id}/end", operation_id="endMaintenance", status_code=204)
def end_hold(use: Use, maintenance_id: Id) -> None:
    use.alerts.end_hold(maintenance_id)


@router.get("/alerts/{alert_id}", operation_id="getAlert")
def get_alert(use: Use, alert_id: Id) -> AlertDetail:
    return use.alerts.alert(alert_id)
