"""Runs, tasks, attempts, logs, backfills."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from partita.ui.api.models import (
    AttemptDetail,
    BackfillList,
    BackfillView,
    LogPageView,
    RunDetail,
    RunList,
    RunSummary,
    TaskDetail,
    TaskList,
)
from partita.ui.api.routes.common import ERRORS, Id, Limit, Offset, Use
from partita.ui.api.sse import log_stream

router = APIRouter(tags=["runs"], responses=ERRORS)


@router.get("/runs", operation_id="listRuns")
def list_runs(use: Use, state: str | None = None, offset: Offset = 0, limit: Limit = 50) -> RunList:
    return use.runs.page(state=state, offset=offset, limit=limit)


@router.get("/runs/{run_id}", operation_id="getRun")
def get_run(use: Use, run_id: Id) -> RunDetail:
    return use.runs.detail(run_id)


@router.get("/runs/{run_id}/tasks", operation_id="listTasks")
def list_tasks(
    use: Use,
    run_id: Id,
    state: str | None = None,
    asset: str | None = None,
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=2000)] = 200,
) -> TaskList:
    return use.runs.tasks(run_id, state=state, asset=asset, offset=offset, limit=limit)


@router.post("/runs/{run_id}/cancel", operation_id="cancelRun")
def cancel_run(use: Use, run_id: Id) -> RunSummary:
    return use.runs.cancel(run_id)


@router.get("/tasks/{task_id}", operation_id="getTask")
def get_task(use: Use, task_id: Id) -> TaskDetail:
    return use.runs.task(task_id)


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


@router.get("/backfills", operation_id="listBackfills")
def list_backfills(use: Use, offset: Offset = 0, limit: Limit = 50) -> BackfillList:
    return use.runs.backfills(offset=offset, limit=limit)


@router.get("/backfills/{backfill_id}", operation_id="getBackfill")
def get_backfill(use: Use, backfill_id: Id) -> BackfillView:
    return use.runs.backfill(backfill_id)


@router.post("/backfills/{backfill_id}/cancel", operation_id="cancelBackfill")
def cancel_backfill(use: Use, backfill_id: Id) -> BackfillView:
    return use.runs.cancel_backfill(backfill_id)
