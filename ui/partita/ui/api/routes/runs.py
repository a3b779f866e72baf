"""Runs, tasks, attempts, logs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from partita.core.store.values import RunState, TaskState
from partita.ui.api.models import (
    AttemptDetail,
    CancelPreview,
    CancelRequest,
    LogPageView,
    RunDetail,
    RunList,
    RunSettings,
    RunSummary,
    TaskDetail,
    TaskList,
)
from partita.ui.api.routes.common import ERRORS, Id, Limit, Offset, Use
from partita.ui.api.services.words import tags_of
from partita.ui.api.sse import log_stream

Tags = Annotated[list[str] | None, Query(description="NAME=VALUE; repeat it for runs with all of them")]

router = APIRouter(tags=["runs"], responses=ERRORS)


@router.get("/runs", operation_id="listRuns")
def list_runs(
    use: Use, state: RunState | None = None, tag: Tags = None, offset: Offset = 0, limit: Limit = 50
) -> RunList:
    return use.runs.page(state=state and state.value, tags=tags_of(tag or ()), offset=offset, limit=limit)


@router.get("/runs/{run_id}", operation_id="getRun")
def get_run(use: Use, run_id: Id) -> RunDetail:
    return use.runs.detail(run_id)


@router.get("/runs/{run_id}/tasks", operation_id="listTasks")
def list_tasks(
    use: Use,
    run_id: Id,
    state: TaskState | None = None,
    asset: str | None = None,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=2000)] = 200,
) -> TaskList:
    return use.runs.tasks(run_id, state=state and state.value, asset=asset, offset=offset, limit=limit)


@router.post("/runs/{run_id}/cancel", operation_id="cancelRun")
def cancel_run(use: Use, run_id: Id, request: CancelRequest | None = None) -> RunSummary:
    return use.runs.cancel(run_id, _why(request))


@router.get("/runs/{run_id}/cancel", operation_id="previewCancelRun")
def preview_cancel_run(use: Use, run_id: Id) -> CancelPreview:
    return use.runs.cancel_preview(run_id)


@router.post("/runs/{run_id}/settings", operation_id="changeRun")
def change_run(use: Use, run_id: Id, request: RunSettings) -> RunDetail:
    return use.runs.change(run_id, request)


def _why(request: CancelRequest | None) -> str:
    return "" if request is None else request.reason


@router.get("/tasks/{task_id}", operation_id="getTask")
def get_task(use: Use, task_id: Id) -> TaskDetail:
    return use.runs.task(task_id)


@router.get("/tasks/{task_id}/cancel", operation_id="previewCancelTask")
def preview_cancel_task(use: Use, task_id: Id) -> CancelPreview:
    return use.runs.cancel_task_preview(task_id)


@router.post("/tasks/{task_id}/cancel", operation_id="cancelTask")
def cancel_task(use: Use, task_id: Id, request: CancelRequest | None = None) -> TaskDetail:
    return use.runs.cancel_task(task_id, _why(request))


@router.get("/attempts/{attempt_id}", operation_id="getAttempt")
def get_attempt(use: Use, attempt_id: Id) -> AttemptDetail:
    return use.runs.attempt(attempt_id)


@router.get("/attempts/{attempt_id}/log", operation_id="getLog")
def get_log(
    use: Use,
    attempt_id: Id,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=5000)] = 1000,
    search: str | None = None,
    level: str | None = None,
) -> LogPageView:
    return use.logs.page(attempt_id, offset=offset, limit=limit, search=search, level=level)


@router.get(
    "/attempts/{attempt_id}/log/stream",
    operation_id="streamLog",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def stream_log(use: Use, attempt_id: Id, request: Request, offset: Offset = 0) -> Response:
    return await log_stream(use.logs, attempt_id, request, offset=offset)
