"""Named jobs."""

from __future__ import annotations

from fastapi import APIRouter

from partita.ui.api.models import ErrorBody
from partita.ui.api.models.jobs import (
    JobChange,
    JobConfirm,
    JobList,
    JobPlan,
    JobPreview,
    JobRemoved,
    JobRequest,
    JobResume,
    JobRun,
    JobView,
)
from partita.ui.api.routes.common import ERRORS, Use

router = APIRouter(tags=["jobs"], responses=ERRORS)


@router.get("/jobs", operation_id="listJobs")
def list_jobs(use: Use) -> JobList:
    return use.jobs.list()


@router.get("/jobs/{name}", operation_id="getJob")
def get_job(use: Use, name: str) -> JobView:
    return use.jobs.get(name)


@router.post("/jobs/preview", operation_id="previewJob")
def preview_job(use: Use, request: JobRequest) -> JobPreview:
    return use.jobs.preview(request)[1]


@router.post("/jobs", operation_id="addJob", responses={409: {"model": ErrorBody}})
def add_job(use: Use, request: JobConfirm) -> JobView:
    return use.jobs.add(request)


@router.post("/jobs/{name}/plan", operation_id="planJob")
def plan_job(use: Use, name: str, request: JobRun | None = None) -> JobPlan:
    """What it asks for now; launch the plan with the tags and the lane of the answer."""
    return use.jobs.plan(name, request)[1]


@router.post("/jobs/{name}/pause", operation_id="pauseJob", responses={409: {"model": ErrorBody}})
def pause_job(use: Use, name: str, request: JobChange | None = None) -> JobView:
    return use.jobs.pause(name, request or JobChange())


@router.post("/jobs/{name}/resume", operation_id="resumeJob", responses={409: {"model": ErrorBody}})
def resume_job(use: Use, name: str, request: JobResume | None = None) -> JobView:
    return use.jobs.resume(name, request or JobResume())


@router.delete("/jobs/{name}", operation_id="removeJob")
def remove_job(use: Use, name: str, request: JobChange | None = None) -> JobRemoved:
    return use.jobs.remove(name, request or JobChange())
