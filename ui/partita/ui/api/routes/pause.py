"""Pausing and resuming: shown, confirmed, listed."""

from __future__ import annotations

from fastapi import APIRouter

from partita.ui.api.models import ErrorBody
from partita.ui.api.models.pause import PauseConfirm, PausePreview, PauseRequest, PausesView
from partita.ui.api.routes.common import ERRORS, Use

router = APIRouter(tags=["pauses"], responses=ERRORS)


@router.get("/pauses", operation_id="listPauses")
def list_pauses(use: Use) -> PausesView:
    return use.pauses.active()


@router.post("/pauses/preview", operation_id="previewPause")
def preview_pause(use: Use, request: PauseRequest) -> PausePreview:
    return use.pauses.preview(request)


@router.post("/pauses", operation_id="pauseOrResume", responses={409: {"model": ErrorBody}})
def pause_or_resume(use: Use, request: PauseConfirm) -> PausePreview:
    return use.pauses.apply(request)
