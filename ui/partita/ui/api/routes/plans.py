"""Plans and their launch."""

from __future__ import annotations

from fastapi import APIRouter

from partita.ui.api.models import LaunchRequest, LaunchView, NotLaunched, PlanDifference, PlanRequest, PlanView
from partita.ui.api.routes.common import ERRORS, Id, Use

router = APIRouter(tags=["plans"], responses=ERRORS)


@router.post("/plans", operation_id="createPlan")
def create_plan(use: Use, request: PlanRequest) -> PlanView:
    return use.plans.create(request)


@router.get("/plans/{plan_id}", operation_id="getPlan")
def get_plan(use: Use, plan_id: Id) -> PlanView:
    return use.plans.get(plan_id)


@router.get("/plans/{plan_id}/difference", operation_id="comparePlan")
def compare_plan(use: Use, plan_id: Id, against: str) -> PlanDifference:
    """From the plan whose hash begins with `against` to this one."""
    return use.plans.difference(plan_id, against)


@router.post("/plans/{plan_id}/launch", operation_id="launchPlan", responses={409: {"model": NotLaunched}})
def launch_plan(use: Use, plan_id: Id, request: LaunchRequest) -> LaunchView:
    return use.plans.launch(plan_id, request)
