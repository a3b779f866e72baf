"""Backfills: progress, cells, and what people do with them while they run."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from partita.ui.api.models import (
    BackfillList,
    BackfillMatrix,
    BackfillSettings,
    BackfillView,
    CancelPreview,
    CancelRequest,
    PlanView,
)
from partita.ui.api.routes.common import ERRORS, Id, Limit, Offset, Use

router = APIRouter(tags=["backfills"], responses=ERRORS)


@router.get("/backfills", operation_id="listBackfills")
def list_backfills(use: Use, offset: Offset = 0, limit: Limit = 50) -> BackfillList:
    return use.backfills.page(offset=offset, limit=limit)


@router.get("/backfills/{backfill_id}", operation_id="getBackfill")
def get_backfill(use: Use, backfill_id: Id) -> BackfillView:
    return use.backfills.get(backfill_id)


@router.get("/backfills/{backfill_id}/cells", operation_id="getBackfillCells")
def get_backfill_cells(
    use: Use,
    backfill_id: Id,
    state: Annotated[list[str] | None, Query()] = None,
    offset: Offset = 0,
    limit: Limit = 200,
) -> BackfillMatrix:
    return use.backfills.cells(backfill_id, states=state or [], offset=offset, limit=limit)


@router.get("/backfills/{backfill_id}/pause", operation_id="previewPauseBackfill")
def preview_pause_backfill(use: Use, backfill_id: Id) -> CancelPreview:
    return use.backfills.pause_preview(backfill_id)


@router.post("/backfills/{backfill_id}/pause", operation_id="pauseBackfill")
def pause_backfill(use: Use, backfill_id: Id, request: CancelRequest | None = None) -> BackfillView:
    return use.backfills.pause(backfill_id, _why(request))


@router.post("/backfills/{backfill_id}/resume", operation_id="resumeBackfill")
def resume_backfill(use: Use, backfill_id: Id, request: CancelRequest | None = None) -> BackfillView:
    return use.backfills.resume(backfill_id, _why(request))


@router.post("/backfills/{backfill_id}/settings", operation_id="setBackfill")
def set_backfill(use: Use, backfill_id: Id, request: BackfillSettings) -> BackfillView:
    return use.backfills.change(backfill_id, request)


@router.post("/backfills/{backfill_id}/retry", operation_id="planRetry")
def plan_retry(use: Use, backfill_id: Id) -> PlanView:
    """The plan of what it has not made; launching it adds a run to the backfill."""
    return use.plans.retry(backfill_id).view()


@router.get("/backfills/{backfill_id}/cancel", operation_id="previewCancelBackfill")
def preview_cancel_backfill(use: Use, backfill_id: Id) -> CancelPreview:
    return use.backfills.cancel_preview(backfill_id)


@router.post("/backfills/{backfill_id}/cancel", operation_id="cancelBackfill")
def cancel_backfill(use: Use, backfill_id: Id, request: CancelRequest | None = None) -> BackfillView:
    return use.backfills.cancel(backfill_id, _why(request))


def _why(request: CancelRequest | None) -> str:
    return "" if request is None else request.reason
