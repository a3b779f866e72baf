"""Events of producers outside partita. Also under /api/events, which stays where it is whatever the version of the rest."""

from __future__ import annotations

from fastapi import APIRouter

from partita.ui.api.models import ErrorBody
from partita.ui.api.models.intake import EventBody, TakenEvents
from partita.ui.api.routes.common import ERRORS, Traceparent, Use

router = APIRouter(tags=["events"], responses=ERRORS)


@router.post("/events", operation_id="reportEvents", responses={409: {"model": ErrorBody}})
def report_events(use: Use, body: EventBody, traceparent: Traceparent = None) -> TakenEvents:
    return use.intake.take(body, traceparent=traceparent)
