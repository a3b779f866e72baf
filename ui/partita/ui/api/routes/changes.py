"""Accepting changed code instead of rebuilding: shown, confirmed, taken back, listed."""

from __future__ import annotations

from fastapi import APIRouter

from partita.ui.api.models import AcceptanceView, AcceptConfirm, AcceptedView, AcceptRequest, AcceptView, ErrorBody
from partita.ui.api.routes.common import ERRORS, Id, Limit, Use

router = APIRouter(tags=["changes"], responses=ERRORS)


@router.post("/acceptances/preview", operation_id="previewAcceptance")
def preview_acceptance(use: Use, request: AcceptRequest) -> AcceptView:
    return use.acceptances.view(request)


@router.post("/acceptances", operation_id="accept", responses={409: {"model": ErrorBody}})
def accept(use: Use, request: AcceptConfirm) -> AcceptedView:
    return use.acceptances.confirm(request)


@router.get("/acceptances", operation_id="listAcceptances")
def list_acceptances(use: Use, limit: Limit = 50) -> list[AcceptanceView]:
    return use.acceptances.listed(limit)


@router.post("/acceptances/{acceptance_id}/undo", operation_id="undoAcceptance")
def undo_acceptance(use: Use, acceptance_id: Id) -> AcceptedView:
    return use.acceptances.undo(acceptance_id)
