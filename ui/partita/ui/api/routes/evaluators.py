"""Observers, schedules and sensors."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from partita.ui.api.models import ErrorBody
from partita.ui.api.models.evaluators import (
    EvaluatorChange,
    EvaluatorCursor,
    EvaluatorDetail,
    EvaluatorKindName,
    EvaluatorList,
    EvaluatorResume,
    EvaluatorView,
)
from partita.ui.api.routes.common import ERRORS, Use

router = APIRouter(tags=["evaluators"], responses=ERRORS)
Kind = Annotated[EvaluatorKindName | None, Query(description="Only these")]
Retired = Annotated[bool, Query(description="Those too that no active version defines")]


@router.get("/evaluators", operation_id="listEvaluators")
def list_evaluators(use: Use, kind: Kind = None, retired: Retired = False) -> EvaluatorList:
    return use.evaluators.list(kind, retired=retired)


@router.get("/evaluators/{evaluator_id}", operation_id="getEvaluator")
def get_evaluator(use: Use, evaluator_id: int) -> EvaluatorDetail:
    return use.evaluators.detail(evaluator_id)


@router.post("/evaluators/{evaluator_id}/run", operation_id="runEvaluator", responses={409: {"model": ErrorBody}})
def run_evaluator(use: Use, evaluator_id: int) -> EvaluatorView:
    """Evaluate it now."""
    return use.evaluators.run(evaluator_id)


@router.post("/evaluators/{evaluator_id}/cursor", operation_id="setCursor")
def set_cursor(use: Use, evaluator_id: int, request: EvaluatorCursor) -> EvaluatorView:
    return use.evaluators.set_cursor(evaluator_id, request)


@router.post("/evaluators/{evaluator_id}/pause", operation_id="pauseEvaluator", responses={409: {"model": ErrorBody}})
def pause_evaluator(use: Use, evaluator_id: int, request: EvaluatorChange | None = None) -> EvaluatorView:
    return use.evaluators.pause(evaluator_id, request or EvaluatorChange())


@router.post("/evaluators/{evaluator_id}/resume", operation_id="resumeEvaluator", responses={409: {"model": ErrorBody}})
def resume_evaluator(use: Use, evaluator_id: int, request: EvaluatorResume | None = None) -> EvaluatorView:
    return use.evaluators.resume(evaluator_id, request or EvaluatorResume())
