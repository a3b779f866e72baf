"""Automatic requests that wait for a person."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from partita.ui.api.models import (
    ApproveRequest,
    ErrorBody,
    RejectRequest,
    RequestDecision,
    RequestDetail,
    RequestList,
)
from partita.ui.api.routes.common import ERRORS, Id, Limit, Offset, Traceparent, Use

router = APIRouter(tags=["requests"], responses=ERRORS)

State = Annotated[
    Literal["awaiting_input", "approved", "rejected", "expired", "superseded", "all"],
    Query(description="Only requests in this state"),
]


@router.get("/requests", operation_id="listRequests")
def list_requests(use: Use, state: State = "awaiting_input", offset: Offset = 0, limit: Limit = 50) -> RequestList:
    return use.requests.page(state=None if state == "all" else state, offset=offset, limit=limit)


@router.get("/requests/{request_id}", operation_id="getRequest")
def get_request(use: Use, request_id: Id) -> RequestDetail:
    return use.requests.detail(request_id)


@router.post("/requests/{request_id}/approve", operation_id="approveRequest", responses={409: {"model": ErrorBody}})
def approve_request(
    use: Use, request_id: Id, request: ApproveRequest, traceparent: Traceparent = None
) -> RequestDecision:
    return use.requests.approve(request_id, request, traceparent=traceparent)


@router.post("/requests/{request_id}/reject", operation_id="rejectRequest", responses={409: {"model": ErrorBody}})
def reject_request(use: Use, request_id: Id, request: RejectRequest) -> RequestDecision:
    return use.requests.reject(request_id, request)
