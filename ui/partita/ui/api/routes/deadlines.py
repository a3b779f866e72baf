"""Deadlines that were missed."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query

from partita.ui.api.models import DeadlineList
from partita.ui.api.routes.common import ERRORS, Limit, Offset, Use

router = APIRouter(tags=["runs"], responses=ERRORS)

State = Annotated[Literal["late", "all"], Query(description="Only partitions that are still not there, or every miss")]


@router.get("/deadlines", operation_id="listDeadlines")
def list_deadlines(use: Use, state: State = "late", offset: Offset = 0, limit: Limit = 50) -> DeadlineList:
    return use.deadlines.page(only_late=state == "late", offset=offset, limit=limit)
