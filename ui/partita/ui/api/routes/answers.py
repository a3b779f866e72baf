"""What tasks ask people: listed, shown, answered."""

from __future__ import annotations

from fastapi import APIRouter

from partita.ui.api.models import ErrorBody
from partita.ui.api.models.answers import AnswerConfirm, AnswerDone, AnswerPreview, AnswerRequest, QuestionList
from partita.ui.api.routes.common import ERRORS, Use

router = APIRouter(tags=["approvals"], responses=ERRORS)


@router.get("/approvals", operation_id="listApprovals")
def list_approvals(use: Use, run: int | None = None) -> QuestionList:
    return use.answers.open(run=run)


@router.post("/approvals/preview", operation_id="previewAnswer")
def preview_answer(use: Use, request: AnswerRequest) -> AnswerPreview:
    return use.answers.preview(request)


@router.post("/approvals", operation_id="answer", responses={409: {"model": ErrorBody}})
def answer(use: Use, request: AnswerConfirm) -> AnswerDone:
    """All that the named tasks ask, or nothing when one of them asks something else by now."""
    return use.answers.apply(request)
