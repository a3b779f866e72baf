"""From exceptions to answers: `{"error": {"what", "rule", "fix"}}` with a 4xx or 5xx status.

Owns the mapping. Messages of unexpected exceptions stay in the log of the process: they may hold addresses or secrets.
"""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from partita.assets import PartitaError, UnknownAsset, UnknownPartition
from partita.core.alerts.people import NoSuchAlert
from partita.core.automation import RequestRefused
from partita.core.decide.answers import AnswerRefused
from partita.core.decide.backfills import BackfillRefused
from partita.core.decide.by_hand import ByHandRefused
from partita.core.decide.intake import ReportContradicts
from partita.core.decide.jobs import JobRefused
from partita.core.decide.runs import RunRefused
from partita.core.duties.dynamic import KeysMoved
from partita.core.duties.evaluators import EvaluatorRefused
from partita.core.duties.launch import LaunchRefused
from partita.core.planner import PlanChanged, PlanDiff
from partita.core.store.port import Busy, StoreError
from partita.core.store.port import Unavailable as Away
from partita.ui.api.models import NotLaunched, Problem
from partita.ui.api.problems import NotFound, NotWhatWasShown, StillOpen, Unavailable
from partita.ui.api.services.plan_difference import difference_view

_log = logging.getLogger("partita.api")


def answer(status: int, what: str, *, rule: str = "", fix: str = "") -> JSONResponse:
    return JSONResponse({"error": {"what": what, "rule": rule, "fix": fix}}, status_code=status)


_NOT_AS_IT_STANDS = (
    AnswerRefused,
    BackfillRefused,
    RunRefused,
    JobRefused,
    EvaluatorRefused,
    ByHandRefused,
    KeysMoved,
    NotWhatWasShown,
    PlanChanged,
    ReportContradicts,
    RequestRefused,
    StillOpen,
)


def status_of(error: PartitaError) -> int:
    if isinstance(error, NotFound | NoSuchAlert | UnknownAsset | UnknownPartition):
        return 404
    if isinstance(error, _NOT_AS_IT_STANDS):
        return 409
    if isinstance(error, Unavailable):
        return 503
    return 400


def install(app: FastAPI) -> None:
    app.add_exception_handler(PartitaError, _refused)
    app.add_exception_handler(StoreError, _store)
    app.add_exception_handler(LaunchRefused, _not_launched)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unexpected)


def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, PartitaError)
    if isinstance(error, PlanChanged | NotWhatWasShown):
        found = error.difference if isinstance(error, PlanChanged) else None
        return _not_what_was_shown(error.what, rule=error.rule, fix=error.fix, difference=found)
    return answer(status_of(error), error.what, rule=error.rule, fix=error.fix)


def _store(request: Request, error: Exception) -> Response:
    if isinstance(error, Away | Busy):
        _log.warning("%s %s: %s", request.method, request.url.path, error)
        fix = "try again; `partita runs` and this page go on when it is back"
        return answer(503, "the database does not answer in time", rule="every answer is read from Postgres", fix=fix)
    return _unexpected(request, error)


def _not_launched(_: Request, error: Exception) -> Response:
    return _not_what_was_shown(str(error), rule="what runs is what was shown", fix="plan again")


def _not_what_was_shown(what: str, *, rule: str, fix: str, difference: PlanDiff | None = None) -> JSONResponse:
    body = NotLaunched(
        error=Problem(what=what, rule=rule, fix=fix),
        difference=None if difference is None else difference_view(difference),
    )
    return JSONResponse(body.model_dump(mode="json"), status_code=409)


def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    fix = "correct it; /openapi.json has the schema"
    where = ".".join(str(part) for part in first["loc"] if part not in ("query", "body", "path"))
    match first["type"]:
        case "json_invalid":
            what = "the body is no JSON"
            rule = f"{first['ctx']['error']} at character {where}"
        case "missing":
            what, rule = f"`{where}` is missing" if where else "the body is missing", "the request cannot go without it"
        case "extra_forbidden":
            what, rule = f"`{where}` is no field of this request", "fields that nobody reads are refused"
        case _:
            what, rule = f"`{where}` cannot be used" if where else "the body cannot be used", str(first["msg"])
    return answer(422, what, rule=rule, fix=fix)


def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    what = f"{request.method} {request.url.path}: {error.detail}"
    return JSONResponse(
        {"error": {"what": what, "rule": "", "fix": "see /openapi.json for what exists"}},
        status_code=error.status_code,
        headers=error.headers,
    )


def _unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return answer(
        500, "the API failed on this request", rule="this is a bug or the database is away", fix="read its log"
    )
