"""What automation does, and what it would decide."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime

from partita.ui.api.models import AutomationPage, AutomationTest, AutomationTold
from partita.ui.api.routes.common import ERRORS, Use

router = APIRouter(tags=["automation"], responses=ERRORS)


@router.get("/automation", operation_id="getAutomation")
def get_automation(use: Use) -> AutomationPage:
    return use.automation.page()


@router.get("/automation/decision", operation_id="getAutomationDecision")
def get_decision(
    use: Use,
    asset: str,
    partitions: str | None = None,
    at: AwareDatetime | None = None,
    looks: Annotated[int, Query(ge=0, le=100)] = 5,
) -> AutomationTold:
    """What would be decided about these partitions at an instant (default: now), were the cells as they are now."""
    instant: datetime | None = at
    return use.automation.told(asset, partitions, at=instant, looks=looks)


@router.post("/automation/test", operation_id="testAutomation")
def test_automation(use: Use, test: AutomationTest) -> AutomationTold:
    """The same, were assets in another state. Asks for nothing, and changes nothing."""
    return use.automation.told(test.asset, test.partitions, at=test.at, looks=test.looks, given=test.given)
