"""Plans and their launch."""

from __future__ import annotations

from fastapi import APIRouter

from partita.ui.api.models import (
    LaunchRequest,
    LaunchView,
    NotLaunched,
    ParamFields,
    PlanDifference,
    PlanRequest,
    PlanView,
)
from partita.ui.api.models.plans import TaskRerun, TaskRerunRequest
from partita.ui.api.routes.common import ERRORS, Id, Traceparent, Use

router = APIRouter(tags=["plans"], responses=ERRORS)


@router.post("/plans", operation_id="createPlan")
def create_plan(use: Use, request: PlanRequest) -> PlanView:
    return use.plans.create(request)


@router.post("/plans/params", operation_id="planParams")
def plan_params(use: Use, request: PlanRequest) -> ParamFields:
    """Which params the request may give, with their types and defaults."""
    return use.plans.params(request)


@router.get("/plans/{plan_id}", operation_id="getPlan")
def get_plan(use: Use, plan_id: Id) -> PlanView:
    return use.plans.get(plan_id)


@router.get("/plans/{plan_id}/difference", operation_id="comparePlan")
def compare_plan(use: Use, plan_id: Id, against: str) -> PlanDifference:
    """From the plan whose hash begins with `against` to this one."""
    return use.plans.difference(plan_id, against)


@router.post("/tasks/{task_id}/rerun", operation_id="planTaskRerun")
def plan_task_rerun(use: Use, task_id: Id, request: TaskRerunRequest) -> TaskRerun:
    """The plan that makes a task's cells again; launch it as any other."""
    return use.reruns.view(task_id, request)


@router.post("/plans/{plan_id}/launch", operation_id="launchPlan", responses={409: {"model": NotLaunched}})
def launch_plan(use: Use, plan_id: Id, request: LaunchRequest, traceparent: Traceparent = None) -> LaunchView:
    return use.plans.launch(plan_id, request, traceparent=traceparent)
